"""Categories that follow from filters and stated texts; no spec declares them."""

from __future__ import annotations

from dpcli.data.column import Column, Derivation, Names
from dpcli.data.filters import Filter, filtered_columns
from dpcli.data.polars_text import pl
from dpcli.problems.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FirstTrue(Derivation):
    """A category: the position of the first filter that is true; missing if none is."""

    tests: tuple[Filter, ...]

    @property
    def inputs(self) -> tuple[Column, ...]:
        return filtered_columns(self.tests)

    @property
    def text(self) -> str:
        return "the first of " + ", ".join(test.text for test in self.tests)

    def value(self, names: Names) -> pl.Expr:
        return pl.coalesce(
            pl.when(test.truth(names)).then(pl.lit(index, dtype=pl.Int32))
            for index, test in enumerate(self.tests)
        )


@dataclass(frozen=True, slots=True)
class PositionAmong(Derivation):
    """A text's position among stated ones, or one past their end for any other text."""

    column: Column
    texts: tuple[str, ...]

    @property
    def inputs(self) -> tuple[Column, ...]:
        return (self.column,)

    @property
    def text(self) -> str:
        return f"{self.column.name} among {', '.join(self.texts)}"

    def value(self, names: Names) -> pl.Expr:
        text = pl.col(names[self.column])
        # Of equal texts, the last one counts.
        indices = {one: index for index, one in enumerate(self.column.compared(self.texts))}
        index = text.replace_strict(indices, default=len(self.texts), return_dtype=pl.Int64)
        return pl.when(text.is_not_null()).then(index)
