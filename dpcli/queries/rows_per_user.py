"""The number of users in each bin of a range: how many rows a user has."""

from __future__ import annotations

from functools import cached_property

from dpcli.privacy.sensitivity import RowContribution
from dpcli.privacy.unit import PersonUnit, Unit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import Query
from dpcli.queries.sums import ALL_ROWS, Shape, UserTotals


@dataclass(frozen=True, kw_only=True)
class RowsPerUserQuery(Query):
    """For each of several bins, the number of users whose number of rows lies in it.

    All rows of a user are counted, whatever their cells are and whatever the limits keep. The bins
    begin at `starts`, of which the first is at most one, and the last bin has no end. Raises
    ValueError unless the starts increase, and for filters and axes: a user lies in one bin.

    >>> query = RowsPerUserQuery(starts=(0, 2, 3, 6))
    >>> [query.bin_of(rows) for rows in (1, 2, 3, 5, 6, 1_000)]
    [0, 1, 2, 2, 3, 3]
    """

    starts: tuple[int, ...]

    def __post_init__(self) -> None:
        increasing = list(self.starts) == sorted(set(self.starts))
        if not self.starts or self.starts[0] > 1 or not increasing:
            raise ValueError("bins of numbers of rows begin at one at the latest, and increase")
        if self.by or self.items or self.where or self.present:
            raise ValueError("all rows of a user are counted")

    def row_limit(self, unit: PersonUnit) -> None:
        """None: all rows of a person are counted."""

    def bin_of(self, rows: int) -> int:
        """The bin of a user with this number of rows, at least one."""
        return sum(start <= rows for start in self.starts) - 1

    @cached_property
    def cells(self) -> int:
        """One number for each bin."""
        return len(self.starts)

    @cached_property
    def cells_per_group(self) -> int:
        """All of them: there are no groups."""
        return len(self.starts)

    @property
    def shape(self) -> Shape:
        """The users in each bin of their numbers of rows."""
        return UserTotals(ALL_ROWS, ALL_ROWS, starts=self.starts)

    def bounded_unit(self, unit: Unit) -> Unit:
        """A user is in one bin; ValueError where a row is the unit."""
        if isinstance(unit, PersonUnit):
            return unit.in_one_cell
        raise ValueError("rows are counted per user where a user is the unit")

    @cached_property
    def row_contribution(self) -> RowContribution:
        """A user adds one to one bin."""
        return RowContribution(0, 1)
