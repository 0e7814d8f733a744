"""Options of all columns: where cells are, and which texts mark missing ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Annotated, Self

from dpcli.data.column import C, Column, Option, SampledTexts, Source
from dpcli.data.declared_texts import require_distinct_texts
from dpcli.data.key_texts import list_text, yaml_text
from dpcli.fields.section import SectionModel
from dpcli.fields.tree import scalars_of
from dpcli.fields.values import ByForm, ListOrItem, Text, Texts, whole_number
from dpcli.problems.light_dataclasses import dataclass
from dpcli.problems.reference import usual_cells

MAX_POSITION = 100_000

MAX_NAMED = 8
"""Texts of one kind that are proposed."""


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
class Marks(Option):
    """Texts that mark missing cells. A number that is equal to one of them is a mark too."""

    texts: tuple[str, ...]

    key = "na"
    value_type = Annotated[Texts, ListOrItem()]

    @classmethod
    def stated(cls, value: Sequence[str]) -> Self:
        return cls(tuple(value))

    @property
    def marks(self) -> tuple[str, ...]:
        return self.texts

    def require_fit(self, column: Column, section: SectionModel) -> None:
        """Marks are different texts, and none is declared with another meaning."""
        scalars = scalars_of(section.node.get(self.key))
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
        """The marks of a column and the first of these texts."""
        every = (*column.marks, *texts[:MAX_NAMED])
        return cls(every) if every else None
