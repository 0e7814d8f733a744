"""What columns may declare about cells: a class for each key of all columns.

A column lists the classes that it takes; `Case` is for texts. `number_options` and `date_options`
have the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Annotated, Self

from dpcli.data.column import C, Column, Option, SampledTexts, Source, TextOption
from dpcli.data.declared_texts import list_text, require_distinct_texts, yaml_text
from dpcli.data.polars_text import lower_texts, pl
from dpcli.fields.section import SectionModel
from dpcli.fields.tree import scalars_of
from dpcli.fields.values import ByForm, Choice, ListOrItem, Text, Texts, whole_number
from dpcli.problems.light_dataclasses import dataclass
from dpcli.problems.reference import usual_cells

MAX_POSITION = 100_000

MAX_NAMED = 8
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

    @property
    def value_text(self) -> str:
        return yaml_text(str(self.source))


@dataclass(frozen=True, slots=True)
class MissingMarks(Option):
    """Texts that mark missing cells; a number equal to one of them is a mark too."""

    texts: tuple[str, ...]

    key = "na"
    value_type = Annotated[Texts, ListOrItem()]

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
        known = set(map(column.folded, texts))
        for scalar in scalars:
            if column.folded(scalar.text) in known:
                raise scalar.span.report("mark-declared", text=scalar.text)

    @property
    def value_text(self) -> str:
        return list_text(self.texts)

    @classmethod
    def found(cls, column: Column, cells: SampledTexts) -> list[str]:
        """Texts of cells that probably are marks, the most frequent first.

        A text without a digit is neither a number nor a date.
        """
        usual = {text for text in cells.unread if text.lower() in usual_cells()["marks"]}
        words = {
            text: rows
            for text, rows in cells.unread.items()
            if text in usual or not (column.labels or any(map(str.isnumeric, text)))
        }
        return cells.shown(words, usual)

    @classmethod
    def added(cls, column: Column, texts: Sequence[str]) -> Self | None:
        """The marks of a column and at most `MAX_NAMED` of these texts; None without any."""
        every = (*column.marks, *texts[:MAX_NAMED])
        return cls(every) if every else None


IGNORE = "ignore"


@dataclass(frozen=True, slots=True)
class Case(TextOption):
    """Texts and marks are read in any case."""

    key = "case"
    value_type = Annotated[str, Choice("unknown-choice", (IGNORE,))]

    @classmethod
    def stated(cls, value: str) -> Self:  # noqa: ARG003 - there is one value
        return cls()

    def require_fit(self, column: Column, section: SectionModel) -> None:
        """Require that declared texts differ by more than case."""
        if not _differ(column):
            raise section.report_key("equal-but-case", self.key, column=column.name)

    @property
    def value_text(self) -> str:
        return IGNORE

    def changed(self, text: pl.Expr) -> pl.Expr:
        return text.str.to_lowercase()

    def folded(self, text: str) -> str:
        return text.lower()

    def compared(self, texts: Sequence[str]) -> Sequence[str]:
        return lower_texts(texts)

    @classmethod
    def proposed(cls, column: Column, cells: SampledTexts) -> Sequence[Option | None]:
        known = set(lower_texts([*column.texts, *column.marks]))
        helps = _differ(column) and not known.isdisjoint(lower_texts(list(cells.unread)))
        return [cls() if helps else column.option(cls)]


def _differ(column: Column) -> bool:
    texts = set(column.texts)
    return len({text.lower() for text in texts}) == len(texts)
