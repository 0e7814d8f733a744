"""A year of two digits is the one that the bounds, or a first year, allow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import date, timedelta

import polars as pl
import pytest

from dpcli.data.two_digit_years import TwoDigitYears, years_are_ambiguous
from dpcli.numeric.days import day_of, days_of

BOUNDS = (
    ("1920-01-01", "2010-12-31"),
    ("1920-01-01", "2019-12-31"),
    ("1895-01-01", "1905-12-31"),
    ("2000-02-29", "2000-02-29"),
    ("2050-02-27", "2050-03-01"),
    ("0001-01-01", "0003-12-31"),
    ("9970-01-01", "9999-12-31"),
)

READ = sorted(
    {*range(0, 36_525, 211)}
    | {
        days_of(day) + near
        for year in (1970, 1972, 1995, 2000, 2001, 2019, 2020, 2069)
        for day in (f"{year}-01-01", f"{year}-02-28", f"{year}-12-30")
        for near in range(3)
        if 0 <= days_of(day) + near < 36_525
    }
)
"""Days from 1970 to 2069, as polars reads two digits of a year."""


def same_days(read: int, *, ordinal: bool) -> Iterator[int]:
    """All days with the same two digits and month, or number in the year."""
    day = day_of(read)
    for year in range(day.year % 100, 10_000, 100):
        with suppress(ValueError, OverflowError):
            other = day.replace(year=year) if not ordinal else date(year, 1, 1)
            other += timedelta(days=day.timetuple().tm_yday - 1) * ordinal
            if other.year == year:
                yield days_of(other.isoformat())


def meant(years: TwoDigitYears, *, ordinal: bool) -> list[int | None]:
    """The days that the expression gives; None before the calendar."""
    read = pl.DataFrame({"read": READ}, schema={"read": pl.Int32})
    days = read.select(years.days(pl.col("read"), ordinal=ordinal)).to_series()
    return [day if day >= days_of("0001-01-01") else None for day in days]


@pytest.mark.parametrize("ordinal", [False, True])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_the_day_is_within_the_bounds_or_nearest_to_them(
    bounds: tuple[str, str], ordinal: bool
) -> None:
    """Of two days at the same distance, the earlier one is meant."""
    low, high = map(days_of, bounds)
    expected = [
        min(same_days(read, ordinal=ordinal), key=lambda day: (max(low - day, day - high, 0), day))
        for read in READ
    ]
    assert meant(TwoDigitYears(twice_middle=low + high), ordinal=ordinal) == expected


@pytest.mark.parametrize("ordinal", [False, True])
@pytest.mark.parametrize("first", [1000, 1900, 1920, 2000, 9900])
def test_a_first_year_gives_a_hundred_years(first: int, ordinal: bool) -> None:
    """A day that its year lacks, such as 29 February 1900, does not exist."""
    expected = [
        next((day for day in same_days(read, ordinal=ordinal) if day_of(day).year in years), None)
        for years in [range(first, first + 100)]
        for read in READ
    ]
    assert meant(TwoDigitYears(first, 0), ordinal=ordinal) == expected
    assert (None in expected) == (first in (1000, 1900, 9900))


@pytest.mark.parametrize(
    ("low", "high", "is_ambiguous"),
    [
        ("1920-01-01", "2019-12-31", False),
        ("1920-01-01", "2020-01-01", True),
        ("1920-06-15", "2020-06-14", False),
        ("1920-06-15", "2020-06-15", True),
        ("1900-01-01", "2024-12-31", True),
    ],
)
def test_bounds_of_more_than_a_hundred_years_are_ambiguous(
    low: str, high: str, is_ambiguous: bool
) -> None:
    """Two days within them differ in their century alone."""
    assert years_are_ambiguous(days_of(low), days_of(high)) == is_ambiguous
