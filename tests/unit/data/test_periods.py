"""Periods: the days that a text names."""

from __future__ import annotations

import datetime

import pytest

from dpcli.data.periods import parse_period
from dpcli.numeric.days import days_of

DAYS = {
    "2024": ("2024-01-01", "2024-12-31"),
    "2023-02": ("2023-02-01", "2023-02-28"),
    "2024-02": ("2024-02-01", "2024-02-29"),
    "2024-W01": ("2024-01-01", "2024-01-07"),
    "2020-W53": ("2020-12-28", "2021-01-03"),
    "2024-02-29": ("2024-02-29", "2024-02-29"),
    "2024-01/2024-03": ("2024-01-01", "2024-03-31"),
    "2023/2024": ("2023-01-01", "2024-12-31"),
    "2023-12-31/2024": ("2023-12-31", "2024-12-31"),
    "0001": ("0001-01-01", "0001-12-31"),
    "9999-12": ("9999-12-01", "9999-12-31"),
}


@pytest.mark.parametrize("text", DAYS)
def test_a_period_has_the_days_that_its_text_names(text: str) -> None:
    """A year, month, week or day has all of its days, and a span those of both ends."""
    first, last = DAYS[text]
    period = parse_period(text)
    assert (period.first, period.last) == (days_of(first), days_of(last))
    assert period.text == text


WRONG = [
    "", "24", "2024-13", "2024-00", "2023-02-29", "2024-W54", "2023-W53", "2024-W00", "2024-1",
    "9999-W53", "2024-01-00",
    "2024-1-1", "20240101", "2024-Q1", "2024/", "/2024", "2024/2023", "2024/2024",
    "2024-01/2024-01",
    "2024/2025/2026", " 2024", "2024\n", "0000", "٢٠٢٤", "yesterday", "2024-01-01T00:00",
]  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_other_texts_are_no_period(text: str) -> None:
    """Other spellings, days that do not exist, and spans that do not go on are refused."""
    with pytest.raises(ValueError, match=r"."):
        parse_period(text)


def test_every_day_is_in_its_own_week_month_and_year() -> None:
    """For three years, the names that Python gives to a day lead to periods with this day."""
    for number in range(days_of("2019-12-20"), days_of("2023-01-10")):
        day = datetime.date(1970, 1, 1) + datetime.timedelta(days=number)
        for form in ("%Y", "%Y-%m", "%Y-%m-%d", "%G-W%V"):
            period = parse_period(day.strftime(form))
            assert period.first <= number <= period.last
            assert period.days in {1, 7, 28, 29, 30, 31, 365, 366}
