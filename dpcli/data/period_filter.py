"""The rule that keeps the rows of a period alone."""

from __future__ import annotations

from dataclasses import replace

from dpcli.data.date_options import CenturyFrom
from dpcli.data.dates import DateColumn
from dpcli.data.filters import InRanges
from dpcli.data.periods import Period
from dpcli.data.two_digit_years import READ_FIRST


def period_filter(column: DateColumn, period: Period) -> InRanges:
    """Whether the cell of a row is a day of the period.

    A cell that cannot be read is no day, whatever constant its column has for missing cells. A day
    outside the bounds of the column stays outside the period: the bounds are widened until no day
    of the period is at their ends, to which other days are clamped. They are widened to both sides
    alike, so that years of two digits, which the middle of the bounds decides, are read as before.

    Privacy: it is a function of one cell of one row and of public parameters. Applied to neighbors,
    it gives neighbors, or equal rows: if a row is added, one row or none is; if the rows of a
    person are added or exchanged, those of this person that remain are, perhaps none. All
    sensitivities hold for a person with any number of rows up to the limits, none included. So the
    loss of a release of the remaining rows is that of its queries, also of those that count rows,
    and limits apply to the remaining rows alone. Where neighbors exchange a row and the number of
    rows is public, the number of remaining rows would not be public: such specs are refused.
    """
    low, high = column.bounds or (period.first, period.last)
    wider = max(low - period.first, period.last - high, 0) + 1
    read = replace(column, bounds=(low - wider, high + wider), missing=None)
    if column.bounds is None and column.format is not None and not column.option(CenturyFrom):
        read = read.with_options(CenturyFrom(READ_FIRST))
    return InRanges(read, ((period.first, period.last),))
