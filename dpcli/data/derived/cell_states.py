"""Whether a cell is readable, outside its bounds, unreadable or blank."""

from __future__ import annotations

from dpcli.data.column import (
    BLANK,
    OUTSIDE,
    READABLE,
    STATES,
    UNREADABLE,
    Column,
    Derivation,
    Names,
)
from dpcli.data.labels import CategoryColumn
from dpcli.data.polars_text import pl
from dpcli.problems.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CellState(Derivation):
    """The state of a cell of a column that is `without_limits`: one of `STATES`.

    A value of a derived column without a value is blank: the columns that it is computed from have
    states of their own.
    """

    column: Column

    @property
    def inputs(self) -> tuple[Column, ...]:
        return (self.column,)

    @property
    def text(self) -> str:
        return f"the state of {self.column.name}"

    @property
    def cell_of(self) -> Column | None:
        return None if self.column.derivation else self.column

    def value(self, names: Names) -> pl.Expr:
        return self.state(names, pl.lit(value=True))

    def value_of_cell(self, names: Names, is_blank: pl.Expr) -> pl.Expr:
        return self.state(names, is_blank)

    def state(self, names: Names, is_blank: pl.Expr) -> pl.Expr:
        """The state of a cell; `is_blank` is about those that cannot be read."""
        value = pl.col(names[self.column])
        outside = self.column.outside(value)
        found = pl.lit(READABLE, dtype=pl.Int8)
        if outside is not None:
            found = pl.when(outside).then(pl.lit(OUTSIDE, dtype=pl.Int8)).otherwise(found)
        missing = pl.when(is_blank).then(pl.lit(BLANK, dtype=pl.Int8)).otherwise(UNREADABLE)
        return pl.when(value.is_null()).then(missing).otherwise(found)


def cell_state(column: Column) -> CategoryColumn:
    """The column with the states of the cells of a column."""
    values = tuple((state, state) for state in STATES)
    return CategoryColumn(column.name, values, derivation=CellState(column.without_limits()))
