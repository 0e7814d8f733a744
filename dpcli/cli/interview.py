"""`dpcli init --ask`: a spec that grows by answers.

All that is known of the file is its header. An answer is put at its place in the spec and stays
there if the loader accepts the spec; if not, the question is asked again in the loader's words.
Whatever is answered is written so that the loader reads it back to the letter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from copy import deepcopy
from fractions import Fraction
from typing import Any

from dpcli.cli.asking import (
    Asker,
    Refused,
    one_of,
    pair,
    questions,
    texts_between_commas,
    values,
    whole_number,
    yes_or_no,
)
from dpcli.columns import CategoryColumn, NumericColumn
from dpcli.errors import SpecError
from dpcli.fields import field_examples
from dpcli.messages import shown
from dpcli.numbers import number
from dpcli.privacy.decimals import plain_text, short_down
from dpcli.spec.column_types import COLUMN_TYPES
from dpcli.spec.draft import SCHEMA_LINES, as_word, csv_section, declaration, twins_of, unfit
from dpcli.spec.load import load_spec
from dpcli.spec.names import dataset_fault
from dpcli.values import MOST_EPSILON

PROBE = "1e-6"
"""The epsilon of each part of a spec until the number of parts is known."""

CHECK = Fraction(1, 20)
"""Part of the budget of a release that the quality check gets."""

DIGITS = 3
"""Significant digits of an epsilon that is a part of the budget; it is rounded down to them."""

BINS, CANDIDATES = 10, 1000
"""About how many bins are proposed, and how many candidates a median has at most."""

NOT_ASKED = ("type", "id.missing")
"""Fields of columns that nothing is asked about."""

PLAIN = re.compile(
    r"-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}|[A-Za-z]+(-[A-Za-z]+)+"
)
"""Numbers, days and words with hyphens, which need no quotes."""

SPEC = """\
{schema}
dpcli: 1
dataset: {dataset}  # the ledger account that pays for releases
{csv}
privacy:
  unit: {privacy[unit]}
  neighbors: {privacy[neighbors]}
  budget: {privacy[budget]}  # for all releases together
{quality}
# What may be in a column: public facts, never read from the data.
columns:{columns}

statistics:{statistics}
"""

QUALITY = """
# Stops a release if the file is incomplete or cannot be read.
quality: {}
"""


READ: dict[str, Callable[[str], Any]] = {"bounds": pair, "values": values}
"""What an answer about a field of a column says, where that is not one text."""


def ask_names(asker: Asker, count: int) -> tuple[str, ...]:
    """The names of the columns of a file without a header line."""

    def check(text: str) -> tuple[str, ...]:
        names = tuple(texts_between_commas(text))
        if len(names) != count:
            raise Refused(f"these are {len(names):,} names, and the file has {count:,} columns")
        Interview(asker, (), f"{csv_section({}, names)}\n").put("probe", "dataset")
        return names

    return asker.ask("names", check, count=count)


class Interview:
    """The spec so far, as plain data; `csv_line` says how the file is written."""

    def __init__(self, asker: Asker, header: Sequence[str], csv_line: str) -> None:
        self._asker, self._csv = asker, csv_line
        twins = twins_of(header)
        self._header = [name for name in header if not unfit(name, twins)]
        privacy = {"unit": "row", "neighbors": "add-remove", "budget": {"epsilon": "1"}}
        self._tree: dict[str, Any] = {
            "dataset": "probe", "privacy": privacy, "quality": {}, "columns": {}, "statistics": {},
        }  # fmt: skip

    def put(self, value: object, *path: str) -> None:
        """Put a value at a place of the spec; Refused, with the spec as before, if it is wrong."""
        before, self._tree = self._tree, deepcopy(self._tree)
        place = self._tree
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        try:
            load_spec(self._text(), "answers")
        except SpecError as refused:
            self._tree = before
            reasons = [
                one.message + (f"\n  {one.hint}" if one.hint else "") for one in refused.problems
            ]
            raise Refused(*reasons) from None

    def _ask(self, key: str, *path: str, default: str | None = None, **facts: object) -> None:
        read = READ.get(path[-1], str)
        self._asker.ask(key, lambda text: self.put(read(text), *path), default, **facts)

    def spec(self, name: str) -> str:
        """Ask everything; `name` is proposed for the dataset."""
        self._asker.say("start")
        self._ask("dataset", "dataset", default="" if dataset_fault(name) else name)
        unit = self._asker.ask("unit", one_of("row", *self._header))
        if unit != "row":
            self._tree["columns"][unit] = {"type": "id"}
            self._tree["privacy"]["unit"] = {"column": unit, "max_rows": "3"}
            self._ask("max_rows", "privacy", "unit", "max_rows")
        self._ask("neighbors", "privacy", "neighbors")
        self._ask("epsilon", "privacy", "budget", "epsilon")
        self._ask_columns()
        self._asker.say("statistics")
        while not self._tree["statistics"]:
            self._ask_statistics()
            if not self._tree["statistics"]:
                self._asker.say("no_statistic")
        self._asker.ask("min_rows", self._put_quality)
        self._divide(self._asker.ask("releases", whole_number))
        return self._text()

    def _ask_columns(self) -> None:
        self._asker.say("columns")
        shapes = {shape.kind: shape for shape in COLUMN_TYPES}
        for name in self._header:
            if name in self._tree["columns"]:
                continue
            kind = self._asker.ask("type", one_of("skip", *shapes, "done"), column=shown(name))
            if kind == "done":
                return
            if kind == "skip":
                continue
            self._tree["columns"][name] = {"type": kind}
            fields = shapes[kind].model_fields
            # The loader accepts a column only with all its required fields.
            for key in sorted(fields, key=lambda key: not fields[key].is_required()):
                place = ("columns", name, key)
                known = [one for one in (f"{kind}.{key}", key) if one in questions()]
                if key in NOT_ASKED or f"{kind}.{key}" in NOT_ASKED:
                    continue
                if known:
                    self._ask(known[0], *place)
                elif fields[key].is_required():
                    example = str(next(iter(field_examples(fields[key])), ""))
                    description = fields[key].description or key
                    self._ask("field", *place, default=example, description=description)

    def _ask_statistics(self) -> None:
        """What is released: a total, the sizes of groups, and statistics of numbers."""
        people = self._tree["privacy"]["unit"] != "row"
        what, counted = ("people", "count_distinct") if people else ("rows", "count")

        def add_count(name: str, **more: object) -> Callable[[str], None]:
            entry = {"statistic": counted, **more}
            return lambda text: self._add({name: entry} if yes_or_no(text) else {})

        self._asker.ask("total", add_count(what), what=what)
        for column in load_spec(self._text(), "answers").columns:
            if isinstance(column, CategoryColumn):
                add = add_count(self._name("by", column.name), by=[column.name])
                self._asker.ask("groups", add, what=what, column=shown(column.name))
            elif isinstance(column, NumericColumn):
                self._ask_numbers(column)

    def _ask_numbers(self, column: NumericColumn) -> None:
        kind = "date." if column.kind == "date" else ""
        offered = ("histogram", "median") if kind else ("mean", "sum", "histogram", "median")
        names = {statistic: self._name(statistic, column.name) for statistic in offered}
        own: dict[str, dict[str, object]] = {"histogram": {"bins": {"width": _part(column, BINS)}}}
        if column.upper - column.lower > CANDIDATES:
            own["median"] = {"candidates": {"step": _part(column, CANDIDATES)}}

        def check(text: str) -> bool:
            choose = one_of(*offered, "none", "no")
            chosen = [choose(word) for word in re.split(r"[,\s]+", text.casefold())]
            entries = {
                names[word]: {"statistic": word, "column": column.name, **own.get(word, {})}
                for word in chosen
                if word in offered
            }
            self._add(entries)
            return "histogram" in chosen

        if self._asker.ask(f"{kind}numbers", check, column=shown(column.name)):
            width = ("statistics", names["histogram"], "bins", "width")
            self._ask(f"{kind}width", *width, default=_part(column, BINS))

    def _add(self, entries: dict[str, dict[str, object]]) -> None:
        new = {name: {**entry, "epsilon": PROBE} for name, entry in entries.items()}
        self.put({**self._tree["statistics"], **new}, "statistics")

    def _name(self, *words: str) -> str:
        """A name for an entry, made of plain letters, that no other entry has."""
        plain = re.sub(r"[^A-Za-z0-9_]+", "_", "_".join(words)).strip("_")[:90]
        taken = self._tree["statistics"]
        names = [plain, *(f"{plain}_{count}" for count in range(2, len(taken) + 3))]
        return next(name for name in names if name not in taken)

    def _put_quality(self, text: str) -> None:
        """Put a check of the file into the spec, if there is anything to check."""
        check = {} if text == "skip" else {"min_rows": text}
        if any(column["type"] != "id" for column in self._tree["columns"].values()):
            check["min_readable"] = "0.8"
        self.put({"epsilon": PROBE, **check} if check else {}, "quality")

    def _divide(self, releases: int) -> None:
        """Divide the budget of each release among its entries and the quality check."""
        entries, quality = self._tree["statistics"], self._tree["quality"]
        budget = Fraction(number(self._tree["privacy"]["budget"]["epsilon"])) / releases
        part = CHECK * budget if quality else Fraction(0)
        each, check = (
            plain_text(short_down(min(one, MOST_EPSILON), DIGITS))
            for one in ((budget - part) / len(entries), part)
        )
        for entry in entries.values():
            entry["epsilon"] = each
        if quality:
            quality["epsilon"] = check
        facts = {"count": len(entries), "each": each, "check": check, "releases": releases}
        self._asker.say("divided", **facts)

    def _text(self) -> str:
        """The spec as a file; a count stands for its statistics while there are none."""
        tree = self._tree
        columns = [
            line
            for name, declared in tree["columns"].items()
            for line in declaration(as_word(name), _written(declared))
        ]
        entries = tree["statistics"] or {"rows": {"statistic": "count", "epsilon": PROBE}}
        return SPEC.format(
            schema="\n".join(SCHEMA_LINES),
            dataset=as_word(tree["dataset"]),
            csv=self._csv,
            privacy={key: _written(value) for key, value in tree["privacy"].items()},
            quality=QUALITY.format(_written(tree["quality"])) if tree["quality"] else "",
            columns="".join(f"\n{line}" for line in columns) or " {}",
            statistics="".join(
                f"\n  - {_written({'name': name, **entry})}" for name, entry in entries.items()
            ),
        )


def _written(value: Any) -> str:
    """Plain data as YAML in one line."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{as_word(key)}: {_written(one)}' for key, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    return value if PLAIN.fullmatch(value) else as_word(value)


def _part(column: NumericColumn, parts: int) -> str:
    """A round multiple of the step that cuts the column into about `parts` parts."""
    wanted = max(1, (column.upper - column.lower) // parts)
    digits = 10 ** (len(str(wanted)) - 1)
    times = max(nice * digits for nice in (1, 2, 5) if nice * digits <= wanted)
    return plain_text(times * column.step)
