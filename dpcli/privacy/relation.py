"""Which datasets count as neighbours, and who is protected."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Neighbors(Enum):
    """How two neighbouring datasets differ in one privacy unit.

    Under ADD_REMOVE (unbounded) one has a unit that the other lacks. Under
    CHANGE_ONE (bounded) a unit's rows are replaced; the number of rows is then
    public, because neighbours agree on it (Dwork and Roth 2014, section 2.3).
    """

    ADD_REMOVE = "add-remove"
    CHANGE_ONE = "change-one"


@dataclass(frozen=True, slots=True)
class RowUnit:
    """Each row is protected by itself: right only if nobody has two rows."""


@dataclass(frozen=True, slots=True)
class PersonUnit:
    """All rows with one id are protected together, within enforced limits.

    At most `rows_per_cell` rows of a person enter one cell of a query, and rows of
    a person enter at most `cells` cells; `rows` limits them over all cells.
    """

    column: str
    rows_per_cell: int
    cells: int
    rows: int | None = None


Unit = RowUnit | PersonUnit
