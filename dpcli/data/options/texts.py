"""The option of columns of declared texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

from dpcli.data.column import Column, Option, SampledTexts, TextOption
from dpcli.data.lazy_polars import pl
from dpcli.data.text_cells import lower_texts
from dpcli.fields.section import SectionModel
from dpcli.fields.values import Choice
from dpcli.problems.light_dataclasses import dataclass

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
        """Declared texts differ by more than case."""
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
