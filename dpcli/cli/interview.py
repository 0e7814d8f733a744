"""`dpcli init --ask`: builds a spec from answers to questions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from functools import partial, reduce
from operator import getitem
from typing import Any

from dpcli.cli.answers import (
    InvalidAnswerError,
    Prompter,
    explain,
    parse_choice,
    parse_count,
    parse_list,
    parse_values,
    parse_yes_or_no,
    question_texts,
)
from dpcli.data.column import Column
from dpcli.data.formats import DECIMALS, Dialect
from dpcli.data.grid_columns import NumericColumn, require_numeric
from dpcli.data.kinds import COLUMNS
from dpcli.data.labels import BOOLEAN_LABELS
from dpcli.data.sections import section_of
from dpcli.fields.section import field_examples
from dpcli.fields.values import MAX_EPSILON, parse_number
from dpcli.numeric.exact import plain_text, short_down, short_up
from dpcli.planning.planner import make_plan
from dpcli.planning.quality_check import noise_excess
from dpcli.problems.errors import SpecError, UsageError
from dpcli.problems.messages import capitalized, count_text, quote, truncated
from dpcli.problems.reference import word_pages
from dpcli.specification import draft
from dpcli.specification.dataset_names import dataset_name_fault
from dpcli.specification.declarations import DeclarationsModel
from dpcli.specification.load import parse_central_spec

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


def header_line(dialect: Dialect) -> str:
    """What messages call the line that is taken as the header."""
    return f"line {dialect.skip_lines + 1}" if dialect.skip_lines else "the first line"


class Interview:
    """The spec as it is built from the answers, and the questions in their order."""

    def __init__(self, prompter: Prompter, dialect: Dialect) -> None:
        self._prompter = prompter
        self._tree: dict[str, Any] = {
            "dataset": "probe", "unit": "row", "neighbors": "add-remove", "csv": dialect,
            "budget": {"epsilon": "1"}, "epsilon": PROBE,
            "quality": {}, "declarations": {}, "columns": {}, "people": {}, "statistics": {},
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
        of = {} if self._tree["unit"] == "row" else {"of": "people"}
        entries = self._tree["statistics"] or {"rows": {"statistic": "count", **of}}
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
        listed = truncated(", ".join(header))
        if (unit := ask("unit", parse_choice("row", *header), likely, columns=listed)) != "row":
            self._tree["columns"][unit] = {"type": "id"}
            self._tree["unit"] = {"column": unit}
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
        self._ask_statistics()
        while not self._tree["statistics"]:
            explain("no_statistic")
            self._ask_statistics()
        ask("min_rows", self._put_quality, units=self._units)
        self._choose_unknown()
        self._divide(ask("releases", parse_count))
        with suppress(UsageError):
            # Files of answers for earlier versions end here.
            if ask("declarations", parse_yes_or_no):
                self._ask_declarations()
        return self._text()

    def _ask_declarations(self) -> None:
        """Ask for each declaration; those without an answer stay open."""
        for page in word_pages():
            if page.name in DeclarationsModel.model_fields and (use := page.use("declarations")):
                add = partial(self._declare, page.name)
                self._prompter.ask("declaration", add, says=use.says.rstrip("."))

    def _declare(self, key: str, text: str) -> None:
        if text:
            self._put(text, "declarations", key)

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

        line, cells = header_line(self._at("csv")), count_text(count, "cell")
        about = {"line": line, "Line": capitalized(line), "cells": cells}
        if not self._at("csv").names and (certain or ask("header", parse_yes_or_no, **about)):
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
        """Ask for statistics about people, if they are protected, and about rows."""
        explain("statistics")
        if self._tree["unit"] == "row":
            self._ask_groups("rows")
            return
        explain("people")
        self._ask_groups("people")
        if self._prompter.ask("rows_too", parse_yes_or_no):
            self._tree["unit"]["max_rows"] = "3"
            self._ask("max_rows", "unit", "max_rows")
            self._ask_groups("rows")

    def _ask_groups(self, what: str) -> None:
        """Ask for a total, the sizes of groups, and statistics of numbers."""
        of = {} if self._tree["unit"] == "row" else {"of": what}

        def add_count(name: str, **more: object) -> Callable[[str], None]:
            return self._adder({name: {"statistic": "count", **of, **more}})

        self._prompter.ask("total", add_count(self._name(what)), what=what)
        if what == "people":
            self._ask_people()
        of_people = what == "people"
        for column in parse_central_spec(self._text(), "answers").columns:
            if column.is_of_people != of_people or column.is_id:
                continue
            if of_people and column.labels == BOOLEAN_LABELS:
                entry = {column.name: {"statistic": "proportion", "column": column.name}}
                self._prompter.ask("share", self._adder(entry), column=quote(column.name))
            elif column.labels:
                add = add_count(self._name(what, "by", column.name), by=[column.name])
                self._prompter.ask("groups", add, what=what, column=quote(column.name))
            elif column.has_values:
                self._ask_numbers(require_numeric(column))

    def _ask_people(self) -> None:
        """Ask for values of people: the number of their rows, and one of each column."""

        def number_of_rows(text: str) -> None:
            if text != "no":
                bounds = ["1", str(parse_count(text))]
                self._put({"count": "rows", "bounds": bounds}, "people", "rows_of_person")

        self._prompter.ask("rows_of_person", number_of_rows)
        columns = parse_central_spec(self._text(), "answers").columns
        day = next((one.name for one in columns if one.is_date), None)
        for column in parse_central_spec(self._text(), "answers").columns:
            if not column.has_values or column.is_of_people:
                continue
            key = f"person.{column.kind}"
            if key not in question_texts():
                key = "person.category" if column.labels else "person.number"
            kinds, dated = question_texts()[key]["kinds"].split(), ""
            if column.labels and day is not None:
                dated = f", first, last (by {quote(day)})"
            elif column.labels:
                kinds = kinds[:1]
            words = {"column": quote(column.name), "dated": dated}
            chosen = self._prompter.ask(key, parse_choice(*kinds, "no"), **words)
            if chosen != "no":
                self._put_value(chosen, column, day)

    def _put_value(self, kind: str, column: Column, day: str | None) -> None:
        """Add a value of people that follows from a column; `day` orders rows."""
        name = self._name(kind, column.name, among=("columns", "people"))
        if kind in ("any", "all"):
            self._put({kind: {column.name: ["true"]}}, "people", name)
            return
        source: dict[str, Any] = {kind: column.name}
        if column.labels and kind in ("first", "last"):
            source["by"] = str(day)
        outermost, path = ("columns", column.name, "bounds"), ("people", name, "bounds")
        if kind == "sum":
            number = require_numeric(column)
            # Until the answer: those of one row.
            bounds = [number.text(end) for end in number.limits]
            self._put({**source, "bounds": bounds, "step": plain_text(number.step)}, *path[:2])
            self._ask("any.bounds", *path)
        else:
            self._put(source, *path[:2])
            if outermost in self._unknown:
                self._put(self._at(*outermost), *path)
                self._unknown.append(path)

    def _ask_numbers(self, column: NumericColumn) -> None:
        kind = "date." if column.is_date else ""
        offered = ("histogram", "median") if kind else ("mean", "sum", "histogram", "median")
        section = "people" if column.is_of_people else "columns"
        if (section, column.name, "bounds") in self._unknown:
            # Bins and candidates need bounds before the release.
            offered = ("mean", "sum")
        names = {
            word: column.name
            if column.name.startswith(f"{word}_")
            else self._name(word, column.name)
            for word in offered
        }
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
        self._put({**self._tree["statistics"], **entries}, "statistics")

    def _adder(self, entries: dict[str, dict[str, Any]]) -> Callable[[str], None]:
        """A check of a yes or no that adds the entries after a yes."""
        return lambda text: self._add(entries if parse_yes_or_no(text) else {})

    def _name(self, *words: str, among: tuple[str, ...] = ("statistics",)) -> str:
        plain = re.sub(r"[^A-Za-z0-9_]+", "_", "_".join(words)).strip("_")[:90]
        taken = {name for section in among for name in self._tree[section]}
        names = [plain, *(f"{plain}_{number}" for number in range(2, len(taken) + 3))]
        return next(name for name in names if name not in taken)

    @property
    def _units(self) -> str:
        return "rows" if self._tree["unit"] == "row" else "people"

    def _put_quality(self, text: str) -> None:
        """Put a quality check into the spec, if there is anything to check."""
        check = {} if text == "skip" else {f"min_{self._units}": text}
        if any(column["type"] != "id" for column in self._tree["columns"].values()):
            check["min_readable"] = "0.98"
        self._put({"epsilon": PROBE, **check} if check else {}, "quality")

    def _choose_unknown(self) -> None:
        """Let noisy counts choose each unknown that the loader sees a statistic use."""
        for path in self._unknown:
            low, high = self._at(*path) if path[-1] == "bounds" else ("0", self._at(*path))
            start = {"from": low} if parse_number(low) else {}
            with suppress(InvalidAnswerError):
                self._put({"choose": "1-2-5", **start, "up_to": high, "epsilon": PROBE}, *path)

    def _divide(self, releases: int) -> None:
        """Divide the budget of each release; statistics share what is left equally."""
        quality = self._tree["quality"]
        chosen = [value for path in self._unknown if isinstance(value := self._at(*path), dict)]
        choice = min(PART, CHOICES / max(len(chosen), 1))
        budget = Fraction(parse_number(self._at("budget", "epsilon"))) / releases
        self._tree["epsilon"] = plain_text(short_down(budget, 3))
        for share, parts in ((choice, chosen), (PART, filter(None, [quality]))):
            for part in parts:
                part["epsilon"] = plain_text(short_down(min(share * budget, MAX_EPSILON), 3))
        if quality:
            # A check that notices nothing is no check, so it may take up to half of the budget.
            weak = noise_excess(make_plan(parse_central_spec(self._text(), "answers"))) or Fraction(
                1
            )
            wanted = min(Fraction(quality["epsilon"]) * weak, budget / 2)
            quality["epsilon"] = plain_text(short_up(wanted, 3))


def _round_step(column: NumericColumn, parts: int) -> str:
    """A multiple of the step, rounded to 1, 2 or 5, that gives about `parts` parts."""
    wanted = max(1, (column.upper - column.lower) // parts)
    digits = 10 ** (len(str(wanted)) - 1)
    times = max(nice * digits for nice in (1, 2, 5) if nice * digits <= wanted)
    return plain_text(times * column.step)
