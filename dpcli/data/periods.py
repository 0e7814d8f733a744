"""The period that data are about."""

from __future__ import annotations

import calendar
import datetime
import re

from dpcli.numeric.days import EPOCH
from dpcli.problems.light_dataclasses import dataclass

FORM = r"([0-9]{4})(?:-(?:W([0-9]{2})|([0-9]{2})(?:-([0-9]{2}))?))?"
"""A year, a week, a month or a day, as ISO 8601 writes them."""

SEPARATOR = "/"


@dataclass(frozen=True, slots=True)
class Period:
    """Consecutive days: a year, month, week or day, or from one of them to another.

    `first` and `last` are days since 1970-01-01, and `text` is how the period was written.

    >>> [parse_period(text).days for text in ("2024", "2024-02", "2024-02-29", "2024-W09")]
    [366, 29, 1, 7]
    >>> parse_period("2024-01/2024-03").days
    91
    """

    text: str
    first: int
    last: int

    @property
    def days(self) -> int:
        """The number of days."""
        return self.last - self.first + 1


def parse_period(text: str) -> Period:
    """The period that a text names; ValueError if it names none."""
    parts = text.split(SEPARATOR)
    spans = [_span(part) for part in parts]
    (first, _), (start, last) = spans[0], spans[-1]
    if len(spans) > 2 or (len(spans) == 2 and start <= first):
        raise ValueError("a period is one span, or the first and the last of several")
    return Period(text, first, last)


def _span(text: str) -> tuple[int, int]:
    match = re.fullmatch(FORM, text)
    if match is None:
        raise ValueError("a period is a year, a month, a week or a day")
    year, week, month, day = (None if part is None else int(part) for part in match.groups())
    assert year is not None
    if week is not None:
        first = datetime.date.fromisocalendar(year, week, 1)
        last = datetime.date.fromisocalendar(year, week, 7)
    else:
        start, end = (1, 12) if month is None else (month, month)
        first = datetime.date(year, start, 1 if day is None else day)
        last = datetime.date(year, end, calendar.monthrange(year, end)[1] if day is None else day)
    return (first - EPOCH).days, (last - EPOCH).days
