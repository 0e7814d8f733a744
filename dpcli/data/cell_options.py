"""What columns may declare about cells: a class for each key of all columns.

A column lists the classes that it takes; some are for texts and ids. `number_options` and
`date_options` have the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Annotated, Self

from dpcli.data.characters import plain_minus
from dpcli.data.column import C, Column, Option, Proposal, SampledTexts, Source, TextOption
from dpcli.data.declared_texts import require_distinct_texts
from dpcli.data.polars_text import lower_texts, pl
from dpcli.fields.section import SectionModel
from dpcli.fields.tree import scalars_of
from dpcli.fields.values import Boolean, ByForm, Choice, ListOrItem, Text, Texts, whole_number
from dpcli.problems.light_dataclasses import dataclass
from dpcli.problems.messages import quoted_list
from dpcli.problems.reference import usual_cells

MAX_POSITION = 100_000

MAX_NAMED = 24
"""The most texts of one kind that are proposed."""


class PositionModel(SectionModel):
    """The position of a column in a file, from 1 on."""

    column: Annotated[int, whole_number(MAX_POSITION, "columns from the left")]


@dataclass(frozen=True, slots=True)
class From(Option):
    """Where a file has the cells: another name or a position."""

    source: Source

    key = "from"
    field = "source"
    value_type = Annotated[Text | PositionModel, ByForm]

    @classmethod
    def stated(cls, value: str | PositionModel) -> Self:
        return cls(value.column if isinstance(value, PositionModel) else value)

    def applied(self, column: C) -> C:
        return replace(column, source=self.source)


@dataclass(frozen=True, slots=True)
class MissingMarks(Option):
    """Texts that mark missing cells; a number equal to one of them is a mark too."""

    texts: tuple[str, ...]

    key = "na"
    value_type = Annotated[Texts, ListOrItem()]
    for_unread = True

    @property
    def marks(self) -> tuple[str, ...]:
        return self.texts

    def require_fit(self, column: Column, section: SectionModel) -> None:
        """Require that marks differ, and that none is declared with another meaning."""
        scalars = scalars_of(section.node.value(self.key))
        require_distinct_texts([(scalar, None) for scalar in scalars])
        texts = [
            *column.texts,
            *chain.from_iterable(option.declared_texts for option in column.options),
        ]
        known = set(map(plain_minus, column.compared(texts)))
        # The words of a boolean are declared by its type.
        code = "mark-declared" if section.has("values") else "mark-declared.words"
        for scalar, text in zip(scalars, column.compared([s.text for s in scalars]), strict=True):
            if plain_minus(text) in known:
                raise scalar.span.report(code, text=scalar.text, column=column.name)

    @classmethod
    def proposed(cls, column: Column, cells: SampledTexts) -> Iterator[Proposal[Option | None]]:
        """The marks of a column and usual ones; among numbers and days, any word."""
        declared, words = {text.lower() for text in column.texts}, usual_cells()
        usual = {text for text in cells.unread if text.lower() in words["marks"]}
        is_known = cells.read and not column.labels
        rows = {
            text: rows
            for text, rows in cells.unread.items()
            if text.lower() not in declared
            and (text in usual or (is_known and not any(map(str.isnumeric, text))))
        }
        named = cells.shown(rows, usual)[:MAX_NAMED]
        every = (*column.marks, *named)
        odd = [text for text in named if text not in usual or text.lower() in words["zeros"]]
        doubt = f"{quoted_list(odd)} may not mean that an answer is missing"
        yield Proposal(cls(every) if every else None).doubt_if(odd, doubt)


class Ignored(TextOption):
    """A difference between texts that does not count."""

    __slots__ = ()

    only = "ignore"
    value_type = Annotated[str, Choice("unknown-choice", (only,))]


@dataclass(frozen=True, slots=True)
class Case(Ignored):
    """Texts and marks are read in any case."""

    key = "case"
    joins = "upper and lower case"
    for_unread = True

    def require_fit(self, column: Column, section: SectionModel) -> None:
        """Require that declared texts differ by more than case."""
        if not _differ(column):
            raise section.report_key("equal-but-case", self.key, column=column.name)

    def changed(self, text: pl.Expr) -> pl.Expr:
        # Some letters have a composed form in lower case only.
        return text.str.to_lowercase().str.normalize("NFC")

    def spellings(self, texts: Sequence[str]) -> Iterator[str]:
        yield from usual_cases(texts)

    @classmethod
    def proposed(cls, column: Column, cells: SampledTexts) -> Iterator[Proposal[Option | None]]:
        known = set(lower_texts([*column.texts, *column.marks]))
        helps = _differ(column) and not known.isdisjoint(lower_texts(list(cells.unread)))
        yield Proposal(cls() if helps else column.option(cls))


def usual_cases(texts: Sequence[str]) -> Iterator[str]:
    """The texts in lower case, in capitals, and with a capital at the start of words."""
    for change in (str.lower, str.upper, str.capitalize, str.title):
        yield from map(change, texts)


def _differ(column: Column) -> bool:
    """Whether the declared texts differ by more than case."""
    kinds = column.with_options(without=[Case]), column.with_options(Case())
    exact, in_any_case = (set(kind.compared(column.texts)) for kind in kinds)
    return len(exact) == len(in_any_case)


@dataclass(frozen=True, slots=True)
class Blanks(Ignored):
    """Blanks within an id do not count, so `AB 12` and `AB12` are one person."""

    key = "blanks"
    joins = "blanks within them"

    def changed(self, text: pl.Expr) -> pl.Expr:
        # All blanks are spaces here.
        return text.str.replace_all(" ", "", literal=True)


WHOLE_NUMBER = r"^\+?(-?)0*([0-9]+)(?:[.,](?:0{1,2}|0{4,})?)?$"
"""A whole number. Three zeros after a mark may be thousands, and are not read."""

SHORT_NUMBER = r"^([1-9])(?:\.([0-9]+))?[eE]\+([0-9]{2})$"
"""A number as R writes 100000; whole if its decimals are not too many."""


@dataclass(frozen=True, slots=True)
class Numerals(TextOption):
    """Ids that are the same whole number are one person: `7`, `07`, `7.0`, `7,0`."""

    are_numbers: bool = True

    key = "number"
    value_type = Boolean
    joins = "zeros before them, or decimals that are zeros"

    def applied(self, column: C) -> C:
        return column.with_options(self) if self.are_numbers else column

    def changed(self, text: pl.Expr) -> pl.Expr:
        digits, decimals, power = (text.str.extract(SHORT_NUMBER, part) for part in (1, 2, 3))
        digits, width = digits + decimals.fill_null(""), power.cast(pl.Int64) + 1
        is_short = digits.str.len_bytes() <= width
        written_out = pl.when(is_short).then(digits.str.pad_end(width, "0"))
        plain = text.str.replace(WHOLE_NUMBER, "${1}${2}").str.replace("^-0$", "0")
        return pl.coalesce(written_out, plain)
