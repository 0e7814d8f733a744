"""Days as whole numbers, counted from 1970-01-01."""

from __future__ import annotations

import datetime

EPOCH = datetime.date(1970, 1, 1)
"""Day zero of the grid of dates."""


def day_of(days: int) -> datetime.date:
    """The day that is this number of days after 1970-01-01."""
    return EPOCH + datetime.timedelta(days=days)


def days_of(day: str) -> int:
    """The number of days from 1970-01-01 to a day such as `2024-12-31`."""
    return (datetime.date.fromisoformat(day) - EPOCH).days
