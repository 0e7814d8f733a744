"""`dpcli init --ask`: builds a spec from answers.

Only the header of the file is read. Each answer is put at its place in the spec. If the loader
refuses the spec, its messages are shown and the question is asked again. The spec is written so
that the loader reads back each answer exactly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

from dpcli.cli.budget_division import divide_budget
from dpcli.cli.dialogue import (
    InvalidAnswerError,
    Prompter,
    parse_choice,
    parse_count,
    parse_list,
    parse_pair,
    parse_values,
    parse_yes_or_no,
    question_texts,
)
from dpcli.cli.interview_choices import MAX_ROWS, Unknowns
from dpcli.columns import CategoryColumn, NumericColumn
from dpcli.csv_dialect import DECIMALS, STANDARD_DIALECT, Dialect
from dpcli.errors import SpecError
from dpcli.messages import quote
from dpcli.numeric.exact import plain_text
from dpcli.planning.notes import count_text
from dpcli.spec_fields import LABELED, field_examples
from dpcli.specification.column_types import COLUMN_TYPES, ColumnModel
from dpcli.specification.dataset_names import dataset_name_fault
from dpcli.specification.draft import (
    duplicate_names,
    likely_person_column,
    spec_text,
    why_undeclarable,
)
from dpcli.specification.load import parse_central_spec

PROBE = "1e-6"
"""The epsilon of each statistic until the number of statistics is known."""

BINS, MAX_CANDIDATES = 10, 1000
"""The approximate number of bins proposed, and the most candidates of a median."""

ASKED = ("bounds", "step", "values", "missing")
"""The fields of a column that are asked. Required ones are asked in any case."""

FORMS = ("thousands", "na", "format")
"""The fields of a column about how cells are written. The default of a question declares none."""

PARSERS: dict[str, Callable[[str], Any]] = {
    "bounds": parse_pair,
    "values": parse_values,
    "na": parse_list,
}
"""The parsers of answers about fields of a column whose values are not single texts."""


def ask_spec(
    prompter: Prompter,
    header: Sequence[str],
    name: str,
    dialect: Dialect,
    *,
    only: Sequence[str] = (),
    certain: bool,
) -> str:
    """The spec that the answers give; `name` is proposed for the dataset.

    With `only`, which are names of the header, no other column is asked for.

    Unless the header is `certain`, the first question is whether the first line is a header.
    Raises UsageError when the input ends.
    """
    count = len(header)
    if dialect.names or not (
        certain or prompter.ask("header", parse_yes_or_no, cells=count_text(count, "cell"))
    ):
        header = prompter.ask("names", lambda text: _names(prompter, text, count), count=count)
        dialect = replace(dialect, names=tuple(header), header_lines=1)
    return Interview(prompter, only or header, dialect).spec(name)


def _names(prompter: Prompter, text: str, count: int) -> list[str]:
    names = parse_list(text)
    if len(names) != count:
        raise InvalidAnswerError(
            f"these are {len(names):,} names, and the file has {count:,} columns"
        )
    # The loader decides whether they are valid names.
    Interview(prompter, (), replace(STANDARD_DIALECT, names=tuple(names))).put("probe", "dataset")
    return names


class Interview:
    """The spec as it is built from the answers, and the questions in their order."""

    def __init__(self, prompter: Prompter, header: Sequence[str], dialect: Dialect) -> None:
        self._prompter, self._dialect = prompter, dialect
        twins = duplicate_names(header)
        self._header = [name for name in header if not why_undeclarable(name, twins)]
        self._tree: dict[str, Any] = {
            "dataset": "probe", "unit": "row", "neighbors": "add-remove",
            "budget": {"epsilon": "1"}, "quality": {}, "columns": {}, "statistics": {},
        }  # fmt: skip
        self._unknowns = Unknowns()

    def put(self, value: object, *path: str) -> None:
        """Put a value at a place of the spec; InvalidAnswerError if the loader refuses it.

        After a refusal, the spec is the same as before.
        """
        before, self._tree = self._tree, deepcopy(self._tree)
        place = self._tree
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        try:
            parse_central_spec(self._text(), "answers")
        except SpecError as refused:
            self._tree = before
            reasons = [
                problem.message + (f"\n  {problem.hint}" if problem.hint else "")
                for problem in refused.problems
            ]
            raise InvalidAnswerError(*reasons) from None

    def _text(self) -> str:
        """The spec as YAML; a count stands for the statistics while there are none."""
        entries = self._tree["statistics"] or {"rows": {"statistic": "count", "epsilon": PROBE}}
        return spec_text({**self._tree, "statistics": entries}, self._dialect)

    def spec(self, name: str) -> str:
        """Ask all questions, and return the spec; `name` is proposed for the dataset."""
        ask = self._prompter.ask
        self._prompter.explain("start")
        self._ask_field("dataset", "dataset", default="" if dataset_name_fault(name) else name)
        likely = likely_person_column(self._header)
        unit = ask("unit", parse_choice("row", *self._header), likely)
        if unit != "row":
            self._tree["columns"][unit] = {"type": "id"}
            self._tree["unit"] = {"column": unit, "max_rows": "3"}
            self._ask_limits("max_rows", *MAX_ROWS)
        self._ask_field("neighbors", "neighbors")
        self._ask_field("epsilon", "budget", "epsilon")
        if self._dialect.delimiter != DECIMALS[1]:
            usual = DECIMALS[self._dialect.delimiter == ";"]
            mark = ask("decimal", parse_choice(*DECIMALS), usual)
            self._dialect = replace(self._dialect, decimal=mark)
        self._ask_columns()
        self._prompter.explain("statistics")
        self._ask_statistics()
        while not self._tree["statistics"]:
            self._prompter.explain("no_statistic")
            self._ask_statistics()
        ask("min_rows", self._put_quality)
        self._unknowns.choose(self._tree, self.put, PROBE)
        divided = divide_budget(self._tree, ask("releases", parse_count))
        self._prompter.explain("divided", **divided)
        if divided["choices"]:
            self._prompter.explain("divided_choices", **divided)
        return self._text()

    def _ask_field(self, key: str, *path: str, default: str | None = None, **facts: object) -> None:
        """Ask for the value at a place of the spec."""
        read = PARSERS.get(path[-1], str)
        self._prompter.ask(key, lambda text: self.put(read(text), *path), default, **facts)

    def _ask_limits(self, key: str, *path: str) -> None:
        """Ask for bounds or a limit, or for the outermost ones if they are not known."""
        read = PARSERS.get(path[-1], str)
        check = self._unknowns.read(path, lambda text: self.put(read(text), *path))
        if self._prompter.ask(key, check):
            self._ask_field(f"outermost.{key}", *path)

    def _ask_form(self, key: str, *path: str) -> None:
        """Ask how the cells of a column are written, and declare what differs from the default."""
        read, default = PARSERS.get(path[-1], str), question_texts()[key]["default"]
        self._prompter.ask(
            key, lambda text: None if text == default else self.put(read(text), *path)
        )

    def _ask_columns(self) -> None:
        self._prompter.explain("columns")
        shapes = {shape.kind: shape for shape in COLUMN_TYPES}
        for name in self._header:
            if name in self._tree["columns"]:
                continue
            kind = self._prompter.ask(
                "column", parse_choice("skip", *shapes, "done"), column=quote(name)
            )
            if kind == "done":
                return
            if kind != "skip":
                self._ask_column(name, shapes[kind])

    def _ask_column(self, name: str, shape: type[ColumnModel]) -> None:
        self._tree["columns"][name] = {"type": shape.kind}
        # The loader accepts a column only with all its required fields.
        fields = sorted(
            shape.model_fields.items(),
            key=lambda field: (not field[1].is_required(), field[0] in FORMS),
        )
        for key, field in fields:
            place = ("columns", name, key)
            keys = [text for text in (f"{shape.kind}.{key}", key) if text in question_texts()]
            asked = key in ASKED and (key != "values" or shape.kind in LABELED)
            if key in FORMS and keys:
                self._ask_form(keys[0], *place)
            elif keys == ["bounds"]:
                self._ask_limits("bounds", *place)
            elif asked and keys and question_texts()[keys[0]]:
                self._ask_field(keys[0], *place)
            elif field.is_required() and key != "type":
                example = str(next(iter(field_examples(field)), ""))
                self._ask_field(
                    "field", *place, default=example, description=field.description or key
                )

    def _ask_statistics(self) -> None:
        """Ask for a total, the sizes of groups, and statistics of numbers."""
        people = self._tree["unit"] != "row"
        what, counted = ("people", "count_distinct") if people else ("rows", "count")

        def add_count(name: str, **more: object) -> Callable[[str], None]:
            entry = {"statistic": counted, **more}
            return lambda text: self._add({name: entry} if parse_yes_or_no(text) else {})

        self._prompter.ask("total", add_count(what), what=what)
        for column in parse_central_spec(self._text(), "answers").columns:
            if isinstance(column, CategoryColumn):
                add = add_count(self._name("by", column.name), by=[column.name])
                self._prompter.ask("groups", add, what=what, column=quote(column.name))
            elif isinstance(column, NumericColumn):
                self._ask_numbers(column)

    def _ask_numbers(self, column: NumericColumn) -> None:
        kind = "date." if column.kind == "date" else ""
        offered = ("histogram", "median") if kind else ("mean", "sum", "histogram", "median")
        if ("columns", column.name, "bounds") in self._unknowns.places:
            # Bins and candidates need bounds before the release.
            offered = ("mean", "sum")
        names = {statistic: self._name(statistic, column.name) for statistic in offered}
        own: dict[str, dict[str, object]] = {
            "histogram": {"bins": {"width": _round_step(column, BINS)}}
        }
        if column.upper - column.lower > MAX_CANDIDATES:
            own["median"] = {"candidates": {"step": _round_step(column, MAX_CANDIDATES)}}

        def check(text: str) -> bool:
            choose = parse_choice(*offered, "none", "no")
            chosen = [choose(word) for word in re.split(r"[,\s]+", text.casefold())]
            self._add(
                {
                    names[word]: {"statistic": word, "column": column.name, **own.get(word, {})}
                    for word in chosen
                    if word in offered
                }
            )
            return "histogram" in chosen

        if self._prompter.ask(f"{kind}numbers", check, column=quote(column.name)):
            width = ("statistics", names["histogram"], "bins", "width")
            self._ask_field(f"{kind}width", *width, default=_round_step(column, BINS))

    def _put_quality(self, text: str) -> None:
        """Put a quality check into the spec, if there is anything to check."""
        check = {} if text == "skip" else {"min_rows": text}
        if any(column["type"] != "id" for column in self._tree["columns"].values()):
            check["min_readable"] = "0.8"
        self.put({"epsilon": PROBE, **check} if check else {}, "quality")

    def _add(self, entries: Mapping[str, Mapping[str, object]]) -> None:
        new = {name: {**entry, "epsilon": PROBE} for name, entry in entries.items()}
        self.put({**self._tree["statistics"], **new}, "statistics")

    def _name(self, *words: str) -> str:
        """A new name for a statistic, of plain letters."""
        plain = re.sub(r"[^A-Za-z0-9_]+", "_", "_".join(words)).strip("_")[:90]
        taken = self._tree["statistics"]
        names = [plain, *(f"{plain}_{count}" for count in range(2, len(taken) + 3))]
        return next(name for name in names if name not in taken)


def _round_step(column: NumericColumn, parts: int) -> str:
    """A multiple of the step, rounded to 1, 2 or 5, that gives about `parts` parts."""
    wanted = max(1, (column.upper - column.lower) // parts)
    digits = 10 ** (len(str(wanted)) - 1)
    times = max(nice * digits for nice in (1, 2, 5) if nice * digits <= wanted)
    return plain_text(times * column.step)
