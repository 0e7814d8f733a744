"""The privacy unit: whether each row or all rows of a person are protected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class RowUnit:
    """Each row is protected by itself: right only if no person has two rows."""


@final
@dataclass(frozen=True, slots=True)
class PersonUnit:
    """All rows with one id are protected together, within enforced limits.

    At most `rows` rows of a person are used. Of these at most `rows_per_cell` enter
    one cell of a query with groups, and they enter at most `cells` cells. If `each`, a row
    without an id is a person of its own; else it is left out.
    """

    column: str
    rows_per_cell: int
    cells: int
    rows: int
    each: bool = False

    def __post_init__(self) -> None:
        # A number of another type could be one limit to the engine and another to a sensitivity.
        if any(type(limit) is not int for limit in (self.rows_per_cell, self.cells, self.rows)):
            raise TypeError("a limit must be a plain number")

    @property
    def limits_groups(self) -> bool:
        """Whether some of the `rows` can be too many for a query with groups."""
        return self.rows_per_cell < self.rows or self.cells < self.rows

    @property
    def ungrouped(self) -> PersonUnit:
        """The unit for a query without groups: all of the `rows` enter its one cell."""
        return PersonUnit(self.column, self.rows, 1, self.rows, self.each)

    @property
    def in_totals(self) -> PersonUnit:
        """The unit where a person enters each of `cells` cells with one total."""
        return PersonUnit(self.column, 1, self.cells, self.cells, self.each)


Unit = RowUnit | PersonUnit


def unit_text(unit: Unit) -> str:
    """Who is protected, in a few words that two ledgers can compare.

    The limits on a person's rows are not part of it: they decide how much noise is
    needed, not whom it protects.
    """
    if isinstance(unit, RowUnit):
        return "row"
    return f"person by {unit.column}" + (" or single row without one" if unit.each else "")
