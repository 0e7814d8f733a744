"""`dpcli init --ask`: builds a spec from answers to questions.

Questions are on standard error, and answers are lines of standard input.
"""

from __future__ import annotations

import csv
import re
import sys
import tomllib
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from functools import cache, reduce
from operator import getitem
from pathlib import Path
from textwrap import fill
from typing import Any, BinaryIO, TypeVar

from dpcli.data.column import Column
from dpcli.data.formats import DECIMALS, Dialect
from dpcli.data.grid_columns import NumericColumn, require_numeric
from dpcli.data.kinds import COLUMNS
from dpcli.data.sections import section_of
from dpcli.fields.section import field_examples
from dpcli.fields.values import MAX_EPSILON, parse_number
from dpcli.numeric.exact import plain_text, short_down
from dpcli.problems.errors import SpecError, UsageError
from dpcli.problems.messages import closest_match, count_text, quote, quoted_list, truncated
from dpcli.specification import draft
from dpcli.specification.dataset_names import dataset_name_fault
from dpcli.specification.load import parse_central_spec

T = TypeVar("T")

MAX_LENGTH, MAX_TRIES, WIDTH = 100_000, 100, 78
"""Most characters of an answer, wrong answers to a question, columns of a line."""


class InvalidAnswerError(Exception):
    """An answer that is not accepted, with the reasons; the question is asked again."""


@cache
def question_texts() -> dict[str, dict[str, str]]:
    """The texts of every question, by key."""
    return tomllib.loads(Path(__file__).with_name("questions.toml").read_text("utf-8"))


def explain(key: str, **arguments: object) -> None:
    """Print the paragraph before a question."""
    if before := question_texts()[key].get("before", ""):
        sys.stderr.write("\n" + fill(before.format(**arguments).strip(), WIDTH) + "\n")


class Prompter:
    """Asks each question until its answer is valid; UsageError when the input ends."""

    def __init__(self, answers: BinaryIO, *, terminal: bool) -> None:
        self._answers, self._terminal = answers, terminal

    def ask(
        self, key: str, check: Callable[[str], T], default: str | None = None, **arguments: object
    ) -> T:
        """The result of `check` for the answer, or for the default if that is empty.

        Raises UsageError when the input ends, and after `MAX_TRIES` invalid answers.
        """
        explain(key, **arguments)
        question = question_texts()[key]
        default = question.get("default", "") if default is None else default
        prompt = f"{question['ask'].format(**arguments)}{f' [{default}]' if default else ''}: "
        for _ in range(MAX_TRIES):
            sys.stderr.write(prompt)
            sys.stderr.flush()
            try:
                return check(self._line() or default)
            except InvalidAnswerError as refused:
                sys.stderr.writelines(f"- {reason}\n" for reason in refused.args)
        sys.stderr.write("\n")
        raise UsageError.about("no-answer")

    def _line(self) -> str:
        line = self._answers.readline(MAX_LENGTH)
        text = line.decode("utf-8", "replace").strip()
        if not self._terminal or not line:
            # Show piped answers, so that the dialogue can be read afterwards.
            sys.stderr.write(f"{truncated(text)}\n")
        if not line:
            raise UsageError.about("no-answer")
        if "\ufffd" in text or not text.isprintable():
            raise InvalidAnswerError("the answer holds characters that cannot be shown")
        return text


def parse_choice(*choices: str) -> Callable[[str], str]:
    """A check that accepts only these words."""

    def check(text: str) -> str:
        if text in choices:
            return text
        near = closest_match(text, choices)
        hint = f"did you mean {quote(near)}?" if near else f"answer {quoted_list(choices, 'or')}"
        raise InvalidAnswerError(f"{quote(text)} is none of the answers; {hint}" if text else hint)

    return check


def parse_yes_or_no(text: str) -> bool:
    """Whether the answer is yes; InvalidAnswerError unless it is yes or no."""
    return parse_choice("yes", "no", "y", "n")(text.casefold()).startswith("y")


def parse_count(text: str) -> int:
    """A whole number from 1 to 999,999; InvalidAnswerError for another text."""
    if re.fullmatch("[1-9][0-9]{0,5}", text):
        return int(text)
    raise InvalidAnswerError("answer a whole number from 1 to 999,999")


def parse_list(text: str) -> list[str]:
    """Texts between commas; InvalidAnswerError for none. A comma may stand in quotes."""
    if not text:
        raise InvalidAnswerError("list the texts with commas between; quotes keep a comma inside")
    try:
        (texts,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        raise InvalidAnswerError("a quote is not closed, or stands inside a text") from None
    return [item.strip() for item in texts]


def parse_values(text: str) -> list[str] | dict[str, str]:
    """Texts, in a mapping if any has a label; the loader refuses an empty label."""
    texts = parse_list(text)
    if not any("=" in item for item in texts):
        return texts
    pairs = (item.partition("=") for item in texts)
    return {key.strip(): label.strip() for key, _, label in pairs}


PROBE = "1e-6"
"""The epsilon of each part of the release until all parts are known."""

PART, CHOICES = Fraction(1, 10), Fraction(3, 10)
"""Parts of the budget: for a quality check or one choice, and for all choices.

A choice is of bounds or of a limit; all choices together get at most the second part.
"""

BINS, CANDIDATES = 10, 1000

FORMS = ("na", "thousands", "format")
"""Fields about how cells are written, asked last; by default, none is declared."""

PARSERS: dict[str, Callable[[str], Any]] = {
    # The loader refuses all but two values.
    "bounds": lambda text: re.split(r"\s*,\s*|\s+to\s+|\s+", text.strip("[] ")),
    "values": parse_values,
    "na": parse_list,
}
"""Parsers of answers about fields of a column whose values are not single texts."""


class Interview:
    """The spec as it is built from the answers, and the questions in their order."""

    def __init__(self, prompter: Prompter, dialect: Dialect) -> None:
        self._prompter = prompter
        self._tree: dict[str, Any] = {
            "dataset": "probe", "unit": "row", "neighbors": "add-remove", "csv": dialect,
            "budget": {"epsilon": "1"}, "quality": {}, "columns": {}, "statistics": {},
        }  # fmt: skip
        self._unknown: list[tuple[str, ...]] = []

    def _at(self, *path: str) -> Any:
        return reduce(getitem, path, self._tree)

    def _put(self, value: object, *path: str) -> None:
        """Put a value at a path of the spec.

        Raises InvalidAnswerError, and changes nothing, if the loader refuses the value.
        """
        before, self._tree = self._tree, deepcopy(self._tree)
        self._at(*path[:-1])[path[-1]] = value
        try:
            parse_central_spec(self._text(), "answers")
        except SpecError as refused:
            self._tree = before
            texts = ((problem.message, problem.hint) for problem in refused.problems)
            raise InvalidAnswerError(*("\n  ".join(filter(None, two)) for two in texts)) from None

    def _text(self) -> str:
        """The spec as YAML; a count stands for the statistics while there are none."""
        entries = self._tree["statistics"] or {"rows": {"statistic": "count", "epsilon": PROBE}}
        tree = {**self._tree, "statistics": entries}
        return draft.spec_text(tree, tree.pop("csv"))

    def spec(self, header: Sequence[str], name: str, *, certain: bool) -> str:
        """The spec that the answers give; `name` is proposed for the dataset.

        Unless the header is `certain`, the first question is whether the first line is a header.
        Raises UsageError when the input ends.
        """
        ask, names = self._prompter.ask, self._names(header, certain=certain)
        twins = draft.duplicate_names(names)
        header = [column for column in names if not draft.why_undeclarable(column, twins)]
        explain("start")
        self._ask("dataset", "dataset", default="" if dataset_name_fault(name) else name)
        likely = draft.likely_person_column(header)
        if (unit := ask("unit", parse_choice("row", *header), likely)) != "row":
            self._tree["columns"][unit] = {"type": "id"}
            self._tree["unit"] = {"column": unit, "max_rows": "3"}
            self._ask("max_rows", "unit", "max_rows")
        self._ask("neighbors", "neighbors")
        self._ask("epsilon", "budget", "epsilon")
        if self._at("csv").delimiter != DECIMALS[1]:
            usual = DECIMALS[self._at("csv").delimiter == ";"]
            decimal = ask("decimal", parse_choice(*DECIMALS), usual)
            self._tree["csv"] = replace(self._at("csv"), decimal=decimal)
        explain("columns")
        for column in header:
            if column not in self._tree["columns"]:
                kind = ask(
                    "column", parse_choice("skip", *COLUMNS.names, "done"), column=quote(column)
                )
                if kind == "done":
                    break
                if kind != "skip":
                    self._ask_column(column, COLUMNS[kind])
        explain("statistics")
        self._ask_statistics()
        while not self._tree["statistics"]:
            explain("no_statistic")
            self._ask_statistics()
        ask("min_rows", self._put_quality)
        self._choose_unknown()
        self._divide(ask("releases", parse_count))
        return self._text()

    def _names(self, header: Sequence[str], *, certain: bool) -> Sequence[str]:
        """The names of the columns: those of the header, unless it is a record."""
        ask, count = self._prompter.ask, len(header)

        def put_names(text: str) -> list[str]:
            names = parse_list(text)
            if len(names) != count:
                found = f"these are {len(names):,} names, and the file has {count:,} columns"
                raise InvalidAnswerError(found)
            self._put(replace(self._at("csv"), names=tuple(names), header_lines=1), "csv")
            return names

        if not self._at("csv").names and (
            certain or ask("header", parse_yes_or_no, cells=count_text(count, "cell"))
        ):
            return header
        return ask("names", put_names, count=count)

    def _ask(self, key: str, *path: str, default: str | None = None, **arguments: object) -> None:
        """Ask for the value at a path of the spec; if unknown, for its outermost value."""
        read, outermost = PARSERS.get(path[-1], str), f"outermost.{key}"
        undeclared = question_texts()[key]["default"] if path[-1] in FORMS else None

        def check(text: str) -> bool:
            is_unknown = text.casefold() == "unknown" and outermost in question_texts()
            if not is_unknown and text != undeclared:
                self._put(read(text), *path)
            return is_unknown

        if self._prompter.ask(key, check, default, **arguments):
            self._unknown.append(path)
            self._ask(outermost, *path)

    def _ask_column(self, name: str, kind: type[Column]) -> None:
        self._tree["columns"][name] = {"type": kind.key}
        fields, texts = section_of(kind).model_fields, question_texts()
        # The loader accepts a column only with all its required fields.
        optional = [key for key in fields if not fields[key].is_required() and key not in FORMS]
        required = [key for key in fields if fields[key].is_required()]
        for key in (*required, *optional, *(key for key in FORMS if key in fields)):
            own = next(
                (one for owner in (kind.key, "any") if (one := f"{owner}.{key}") in texts), ""
            )
            if texts.get(own):
                self._ask(own, "columns", name, key)
            elif fields[key].is_required() and key != "type":
                example = str(next(iter(field_examples(fields[key])), ""))
                words = fields[key].description or key
                self._ask("field", "columns", name, key, default=example, description=words)

    def _ask_statistics(self) -> None:
        """Ask for a total, the sizes of groups, and statistics of numbers."""
        people = self._tree["unit"] != "row"
        what, counted = ("people", "count_distinct") if people else ("rows", "count")

        def add_count(name: str, **more: object) -> Callable[[str], None]:
            entry = {"statistic": counted, **more}
            return lambda text: self._add({name: entry} if parse_yes_or_no(text) else {})

        self._prompter.ask("total", add_count(what), what=what)
        for column in parse_central_spec(self._text(), "answers").columns:
            if column.labels:
                add = add_count(self._name("by", column.name), by=[column.name])
                self._prompter.ask("groups", add, what=what, column=quote(column.name))
            elif column.has_values:
                self._ask_numbers(require_numeric(column))

    def _ask_numbers(self, column: NumericColumn) -> None:
        kind = "date." if column.is_date else ""
        offered = ("histogram", "median") if kind else ("mean", "sum", "histogram", "median")
        if ("columns", column.name, "bounds") in self._unknown:
            # Bins and candidates need bounds before the release.
            offered = ("mean", "sum")
        names = {word: self._name(word, column.name) for word in offered}
        common = {"column": column.name}
        entries: dict[str, Any] = {word: {"statistic": word, **common} for word in offered}
        width = _round_step(column, BINS)
        if "histogram" in offered:
            entries["histogram"]["bins"] = {"width": width}
            if column.upper - column.lower > CANDIDATES:
                entries["median"]["candidates"] = {"step": _round_step(column, CANDIDATES)}

        def check(text: str) -> bool:
            choose = parse_choice(*offered, "none", "no")
            chosen = [choose(word) for word in re.split(r"[,\s]+", text.casefold())]
            self._add({names[word]: entries[word] for word in chosen if word in offered})
            return "histogram" in chosen

        if self._prompter.ask(f"{kind}numbers", check, column=quote(column.name)):
            place = ("statistics", names["histogram"], "bins", "width")
            self._ask(f"{kind}width", *place, default=width)

    def _add(self, entries: dict[str, dict[str, Any]]) -> None:
        new = {name: {**entry, "epsilon": PROBE} for name, entry in entries.items()}
        self._put({**self._tree["statistics"], **new}, "statistics")

    def _name(self, *words: str) -> str:
        plain = re.sub(r"[^A-Za-z0-9_]+", "_", "_".join(words)).strip("_")[:90]
        taken = self._tree["statistics"]
        names = [plain, *(f"{plain}_{number}" for number in range(2, len(taken) + 3))]
        return next(name for name in names if name not in taken)

    def _put_quality(self, text: str) -> None:
        """Put a quality check into the spec, if there is anything to check."""
        check = {} if text == "skip" else {"min_rows": text}
        if any(column["type"] != "id" for column in self._tree["columns"].values()):
            check["min_readable"] = "0.8"
        self._put({"epsilon": PROBE, **check} if check else {}, "quality")

    def _choose_unknown(self) -> None:
        """Let noisy counts choose each unknown that the loader sees a statistic use."""
        for path in self._unknown:
            low, high = self._at(*path) if path[-1] == "bounds" else ("0", self._at(*path))
            start = {"from": low} if parse_number(low) else {}
            with suppress(InvalidAnswerError):
                self._put({"choose": "1-2-5", **start, "up_to": high, "epsilon": PROBE}, *path)

    def _divide(self, releases: int) -> None:
        """Divide the budget of each release; statistics get equal parts of what is left."""
        quality, entries = self._tree["quality"], self._tree["statistics"].values()
        chosen = [value for path in self._unknown if isinstance(value := self._at(*path), dict)]
        choice = min(PART, CHOICES / max(len(chosen), 1))
        each = (1 - choice * len(chosen) - PART * bool(quality)) / len(entries)
        budget = Fraction(parse_number(self._at("budget", "epsilon"))) / releases
        for share, parts in ((choice, chosen), (PART, filter(None, [quality])), (each, entries)):
            for part in parts:
                part["epsilon"] = plain_text(short_down(min(share * budget, MAX_EPSILON), 3))


def _round_step(column: NumericColumn, parts: int) -> str:
    """A multiple of the step, rounded to 1, 2 or 5, that gives about `parts` parts."""
    wanted = max(1, (column.upper - column.lower) // parts)
    digits = 10 ** (len(str(wanted)) - 1)
    times = max(nice * digits for nice in (1, 2, 5) if nice * digits <= wanted)
    return plain_text(times * column.step)
