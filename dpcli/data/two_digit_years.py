"""Which year two digits mean, by the rest of the cell and the spec."""

from __future__ import annotations

from bisect import bisect_left
from calendar import isleap
from contextlib import suppress
from functools import cache
from itertools import pairwise

from dpcli.data.polars_text import pl
from dpcli.numeric.days import EPOCH, day_of, days_of
from dpcli.problems.light_dataclasses import dataclass

READ_FIRST = 1970
"""Two digits are read as years from 1970 to 2069 before they get their meaning."""

ENDS = ("1970-01-01", "2000-02-29", "2000-03-01", "2000-12-31", "2001-01-01", "2070-01-01")
"""Between these days, the difference to the meant day changes once at most.

The year 2000 has a day that a year such as 1900 lacks.
"""

NO_DAY = -10_000_000
"""What leads from any day to one before the calendar."""


@dataclass(frozen=True, slots=True)
class TwoDigitYears:
    """The meaning of years of two digits.

    They are 100 years from the `first` one. Without it, a cell is the day nearest to the middle of
    the bounds of all that it may be, the earlier of two: so it is the one within the bounds, or if
    none is, the nearest to them. `twice_middle` is the sum of both bounds. Without either, years
    are 1970 to 2069.
    """

    first: int | None = None
    twice_middle: int | None = None

    def days(self, read: pl.Expr, *, ordinal: bool) -> pl.Expr:
        """The days that are meant by days from 1970 to 2069.

        A day that does not exist is before year 1.
        If `ordinal`, cells have the number of a day in its year, otherwise its month.
        """
        days = read
        for start, change in _changes(self, ordinal):
            days += (read >= start).cast(pl.Int32) * change
        return days

    def day(self, read: int, *, ordinal: bool) -> int | None:
        """The day that is meant by a day from 1970 to 2069; None if there is none."""
        same, days = day_of(read), list[int]()
        number = same.timetuple().tm_yday
        for year in range(same.year % 100, 10_000, 100):
            with suppress(ValueError):
                day = same.replace(year, 1, 1) if ordinal else same.replace(year)
                if not ordinal or number <= 365 + isleap(year):
                    days.append((day - EPOCH).days + (number - 1) * ordinal)
        middle = self.twice_middle
        if self.first is None and middle is not None:
            return min(days, key=lambda day: abs(2 * day - middle))
        first = self.first or READ_FIRST
        return next((day for day in days if first <= day_of(day).year < first + 100), None)


def years_are_ambiguous(low: int, high: int) -> bool:
    """Whether two days within bounds may differ in their century alone."""
    first, last = day_of(low), day_of(high)
    return (last.year - first.year, last.month, last.day) >= (100, first.month, first.day)


@cache
def _changes(years: TwoDigitYears, ordinal: bool) -> list[tuple[int, int]]:
    """Days from which on another number is added, each with the change."""

    def difference(day: int) -> int:
        meant = years.day(day, ordinal=ordinal)
        return NO_DAY if meant is None else meant - day

    starts = list[int]()
    for start, end in pairwise(map(days_of, ENDS)):
        first = difference(start)
        other = bisect_left(range(start, end), x=True, key=lambda day: difference(day) != first)
        starts += [start, start + other]
    changes = (b - a for a, b in pairwise([0, *map(difference, starts)]))
    return [pair for pair in zip(starts, changes, strict=True) if pair[1]]
