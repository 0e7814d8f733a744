"""Dates and times as programs write them."""

from __future__ import annotations

import calendar
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd

from tests.system.shapes.shape import MONTHS, ROWS, Shape, Truth, counts, write_table

START = datetime(2023, 1, 1)  # noqa: DTZ001 - times of clocks on walls

WEEKDAYS = list(calendar.day_name)

YEARS = "type: date, bounds: [2023-01-01, 2024-12-31]"


def moments(random: Random) -> Iterator[datetime]:
    """Minutes of two years, in no order."""
    for _ in range(ROWS):
        yield START + timedelta(minutes=random.randrange(731 * 24 * 60))


def months(days: Any) -> Any:
    """The number of days in each month of a calendar."""
    return counts(days.dt.month_name(), MONTHS)


def year_months(days: Any) -> Any:
    """The number of days in each month of both years."""
    every = [f"{year}-{month:02}" for year in (2023, 2024) for month in range(1, 13)]
    return counts(days.dt.strftime("%Y-%m"), every)


def write_us_orders(path: Path, random: Random) -> None:
    """An online shop of the United States: the month comes first, and a time follows."""
    rows: list[list[object]] = [["Order ID", "Order Date", "Quantity"]]
    for order, moment in enumerate(moments(random)):
        day = f"{moment.month}/{moment.day}/{moment.year} {moment:%H:%M}"
        rows.append([f"A{order:05}", day, random.randint(1, 12)])
    write_table(path, rows)


def us_orders(path: Path) -> Truth:
    """Orders by month and of the second half of 2024, their sum and their mean day."""
    orders = pd.read_csv(path)
    day = pd.to_datetime(orders["Order Date"], format="%m/%d/%Y %H:%M").dt.normalize()
    late = orders["Quantity"][day >= "2024-07-01"]
    return {
        "rows": len(orders),
        "by_month": months(day),
        "late": len(late),
        "late_sum": late.sum(),
        "mean_day": day.map(datetime.toordinal).mean(),
    }


US_DATES = Shape(
    "US dates with times",
    "orders.csv",
    write_us_orders,
    {
        "Order Date": f'{YEARS}, format: "%m/%d/%Y %H:%M"',
        "Quantity": "type: integer, bounds: [0, 20]",
    },
    (
        "name: by_month, statistic: count, by: [month]",
        "name: late, statistic: count, where: {Order Date: {min: 2024-07-01}}",
        "name: late_sum, statistic: sum, column: Quantity, where: {Order Date: {min: 2024-07-01}}",
        "name: mean_day, statistic: mean, column: Order Date",
    ),
    us_orders,
    derive=("month: {part: month, of: Order Date}",),
)


def write_compact(path: Path, random: Random) -> None:
    """A mainframe: dates of eight digits, and zeros where there is none."""
    days = [f"{moment:%Y%m%d}" if random.random() < 0.95 else "00000000"
            for moment in moments(random)]  # fmt: skip
    write_table(path, [["SEQ", "ADMDATE"], *enumerate(days)])


def compact(path: Path) -> Truth:
    """Admissions by weekday and quarter; a cell of zeros is missing."""
    cells = pd.read_csv(path)["ADMDATE"]
    days = pd.to_datetime(cells[cells != 0].astype(str), format="%Y%m%d")
    quarters = "Q" + days.dt.quarter.astype(str)
    return {
        "rows": len(cells),
        "dated": len(days),
        "weekdays": counts(days.dt.day_name(), WEEKDAYS),
        "quarters": counts(quarters, ["Q1", "Q2", "Q3", "Q4"]),
    }


COMPACT_DATES = Shape(
    "compact dates",
    "admissions.csv",
    write_compact,
    {"ADMDATE": f'{YEARS}, format: "%Y%m%d", na: "00000000"'},
    (
        "name: dated, statistic: count, column: ADMDATE",
        "name: weekdays, statistic: count, by: [weekday]",
        "name: quarters, statistic: count, by: [quarter]",
    ),
    compact,
    derive=("weekday: {part: weekday, of: ADMDATE}", "quarter: {part: quarter, of: ADMDATE}"),
)


def write_year_months(path: Path, random: Random) -> None:
    """Statistics offices often publish the month alone."""
    rows = [(f"{moment:%Y-%m}", random.randint(0, 50)) for moment in moments(random)]
    write_table(path, [["period", "cases"], *rows], end="\n")


def by_year_month(path: Path) -> Truth:
    """Rows of each month, and the cases of one year."""
    frame = pd.read_csv(path)
    return {
        "rows": len(frame),
        "by_month": year_months(pd.to_datetime(frame["period"], format="%Y-%m")),
        "cases_2024": frame["cases"][frame["period"].str.startswith("2024")].sum(),
    }


YEAR_MONTHS = Shape(
    "year and month",
    "cases.csv",
    write_year_months,
    {"period": f'{YEARS}, format: "%Y-%m"', "cases": "type: integer, bounds: [0, 100]"},
    (
        "name: by_month, statistic: count, by: [month]",
        "name: cases_2024, statistic: sum, column: cases, where: {period: {min: 2024-01-01}}",
    ),
    by_year_month,
    derive=("month: {part: year-month, of: period}",),
)


def write_month_names(path: Path, random: Random) -> None:
    """A data base with months in capitals, and a list with months in words."""
    rows = [
        (f"{moment:%d-%b-%Y}".upper(), f"{moment:%B} {moment.day}, {moment.year}")
        for moment in moments(random)
    ]
    write_table(path, [("ADMITTED", "Reported"), *rows])


def month_names(path: Path) -> Truth:
    """Both columns have the same days."""
    frame = pd.read_csv(path)
    admitted = pd.to_datetime(frame["ADMITTED"].str.title(), format="%d-%b-%Y")
    reported = pd.to_datetime(frame["Reported"], format="%B %d, %Y")
    return {
        "rows": len(frame),
        "admitted": months(admitted),
        "reported": year_months(reported),
        "same": (admitted == reported).sum(),
    }


MONTH_NAMES = Shape(
    "month names",
    "names.csv",
    write_month_names,
    {"ADMITTED": f'{YEARS}, format: "%d-%b-%Y"', "Reported": f'{YEARS}, format: "%B %d, %Y"'},
    (
        "name: admitted, statistic: count, by: [month]",
        "name: reported, statistic: count, by: [year_month]",
        "name: same, statistic: count, where: {ADMITTED: {equals: {column: Reported}}}",
    ),
    month_names,
    derive=("month: {part: month, of: ADMITTED}", "year_month: {part: year-month, of: Reported}"),
)

HOURS = [f"{hour:02}" for hour in range(24)]


def write_offsets(path: Path, random: Random) -> None:
    """Logs of servers: UTC, offsets of other zones, and the form of web servers."""
    rows = []
    for moment in moments(random):
        utc = moment.replace(tzinfo=UTC)
        there = utc.astimezone(random.choice([UTC, timezone(timedelta(hours=-5, minutes=-30))]))
        written = there.isoformat().replace("+00:00", "Z")
        rows.append((written, f"{utc.astimezone(ZoneInfo('Asia/Tokyo')):%d/%b/%Y:%H:%M:%S %z}"))
    write_table(path, [("started", "served"), *rows], end="\n")


def offsets(path: Path) -> Truth:
    """Both columns have the same moments, by the clock of Rome."""
    frame = pd.read_csv(path)
    started = pd.to_datetime(frame["started"], utc=True, format="ISO8601")
    served = pd.to_datetime(frame["served"], utc=True, format="%d/%b/%Y:%H:%M:%S %z")
    started, served = (times.dt.tz_convert("Europe/Rome") for times in (started, served))
    return {
        "rows": len(frame),
        "by_hour": counts(started.dt.strftime("%H"), HOURS),
        "by_month": year_months(started),
        "served_at": counts(served.dt.strftime("%H"), HOURS),
        "as_written": (frame["served"].str[3:11] == "Jan/2023").sum(),
    }


OFFSETS = Shape(
    "offsets from UTC",
    "log.csv",
    write_offsets,
    {
        "started": f"{YEARS}, zone: Europe/Rome",
        "served": f'{YEARS}, format: "%d/%b/%Y:%H:%M:%S %z", zone: Europe/Rome',
        "day_in_tokyo": f'from: served, {YEARS}, format: "%d/%b/%Y:%H:%M:%S %z"',
    },
    (
        "name: by_hour, statistic: count, by: [hour]",
        "name: by_month, statistic: count, by: [month]",
        "name: served_at, statistic: count, by: [hour_served]",
        "name: as_written, statistic: count, where: {day_in_tokyo: {max: 2023-01-31}}",
    ),
    offsets,
    derive=(
        "hour: {part: hour, of: started}",
        "month: {part: year-month, of: started}",
        "hour_served: {part: hour, of: served}",
    ),
)

FORMATS = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%y", "%d %b %Y")


def write_mixed(path: Path, random: Random) -> None:
    """A list that several offices keep, each in its own way."""
    rows = [
        (moment.strftime(random.choice(FORMATS)) if random.random() < 0.9 else "unknown",)
        for moment in moments(random)
    ]
    write_table(path, [("place", "seen"), *((f"p{place}", *row) for place, row in enumerate(rows))])


def mixed(path: Path) -> Truth:
    """Every date counts, however it is written."""
    cells = pd.read_csv(path)["seen"]
    days = pd.concat(
        pd.to_datetime(cells, format=form, errors="coerce").dropna() for form in FORMATS
    )
    assert days.index.is_unique
    return {
        "rows": len(cells),
        "by_month": year_months(days),
        "unknown": pd.Series({"seen": (cells == "unknown").sum()}),
    }


MIXED_FORMATS = Shape(
    "several formats in one column",
    "seen.csv",
    write_mixed,
    {"seen": f'{YEARS}, format: ["%Y-%m-%d", "%d.%m.%Y", "%d/%m/%y", "%d %b %Y"], na: unknown'},
    (
        "name: by_month, statistic: count, by: [month]",
        "name: unknown, statistic: count_missing, columns: [seen]",
    ),
    mixed,
    derive=("month: {part: year-month, of: seen}",),
)

DATES = (US_DATES, COMPACT_DATES, YEAR_MONTHS, MONTH_NAMES, OFFSETS, MIXED_FORMATS)
