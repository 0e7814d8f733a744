"""Dates and times as programs write them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd

from tests.system.shapes.shape import ROWS, Cells, Shape, Truth, counts, write_table

YEARS = "type: date, bounds: [2023-01-01, 2024-12-31]"
EVERY_MONTH = [f"{year}-{month:02}" for year in (2023, 2024) for month in range(1, 13)]
EVERY_HOUR = [f"{hour:02}" for hour in range(24)]
MIXED = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%y", "%d %b %Y")


def moment(random: Random) -> datetime:
    """A minute within two years, and not in their first or last day."""
    start = datetime(2023, 1, 2)  # noqa: DTZ001 - times of clocks on walls
    return start + timedelta(minutes=random.randrange(729 * 24 * 60))


def reads(form: str, **words: Any) -> Callable[[Any], Any]:
    """What reads cells in a format of pandas; other cells are missing."""
    return lambda cells: pd.to_datetime(cells, format=form, errors="coerce", **words)


def in_rome(form: str) -> Callable[[Any], Any]:
    """What reads moments by the clock of Rome."""
    return lambda cells: reads(form, utc=True)(cells).dt.tz_convert("Europe/Rome")


def read_mixed(cells: Any) -> Any:
    """Every date counts, however it is written."""
    days = pd.concat(reads(form)(cells).dropna() for form in MIXED)
    assert days.index.is_unique
    return days.reindex(cells.index)


def write_us(random: Random) -> str:
    """The month comes first, and a time follows."""
    when = moment(random)
    return f"{when.month}/{when.day}/{when.year} {when:%H:%M}"


def write_offset(random: Random) -> str:
    """UTC, or the offset of another zone."""
    zone = random.choice([UTC, timezone(timedelta(hours=-5, minutes=-30))])
    return moment(random).replace(tzinfo=UTC).astimezone(zone).isoformat().replace("+00:00", "Z")


def write_served(random: Random) -> str:
    """A moment as web servers in Tokyo write it."""
    there = moment(random).replace(tzinfo=UTC).astimezone(ZoneInfo("Asia/Tokyo"))
    return f"{there:%d/%b/%Y:%H:%M:%S %z}"


SERVED = "%d/%b/%Y:%H:%M:%S %z"

COLUMNS = (
    Cells("Order Date", f'{YEARS}, format: "%m/%d/%Y %H:%M"', write_us, reads("%m/%d/%Y %H:%M")),
    Cells(
        "ADMDATE",
        f'{YEARS}, format: "%Y%m%d", na: "00000000"',
        lambda random: f"{moment(random):%Y%m%d}" if random.random() < 0.95 else "00000000",
        reads("%Y%m%d"),
    ),
    Cells(
        "period",
        f'{YEARS}, format: "%Y-%m"',
        lambda random: f"{moment(random):%Y-%m}",
        reads("%Y-%m"),
    ),
    Cells(
        "ADMITTED",
        f'{YEARS}, format: "%d-%b-%Y"',
        lambda random: f"{moment(random):%d-%b-%Y}".upper(),
        lambda cells: reads("%d-%b-%Y")(cells.str.title()),
    ),
    Cells(
        "Reported",
        f'{YEARS}, format: "%B %d, %Y"',
        lambda random: f"{(when := moment(random)):%B} {when.day}, {when.year}",
        reads("%B %d, %Y"),
    ),
    Cells("started", f"{YEARS}, zone: Europe/Rome", write_offset, in_rome("ISO8601")),
    Cells(
        "served", f'{YEARS}, format: "{SERVED}", zone: Europe/Rome', write_served, in_rome(SERVED)
    ),
    Cells(
        "seen",
        f'{YEARS}, format: ["%Y-%m-%d", "%d.%m.%Y", "%d/%m/%y", "%d %b %Y"], na: unknown',
        lambda random: (
            moment(random).strftime(random.choice(MIXED)) if random.random() < 0.9 else "unknown"
        ),
        read_mixed,
    ),
)


def write(path: Path, random: Random) -> None:
    """A list that several programs keep, each in its own way."""
    rows = [[place, *(column.write(random) for column in COLUMNS)] for place in range(ROWS)]
    write_table(path, [["No", *(column.name for column in COLUMNS)], *rows])


def truth(path: Path) -> Truth:
    """Rows of each month and by the hours of Rome, missing dates, and days of one column."""
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    days = {column.name: column.read(frame[column.name]) for column in COLUMNS}
    ordered = days["Order Date"].dt.normalize()
    return {
        "rows": len(frame),
        **{
            f"months_{at}": counts(cells.dt.strftime("%Y-%m"), EVERY_MONTH)
            for at, cells in enumerate(days.values())
        },
        "started_at": counts(days["started"].dt.strftime("%H"), EVERY_HOUR),
        "served_at": counts(days["served"].dt.strftime("%H"), EVERY_HOUR),
        "as_written": (frame["served"].str[3:11] == "Jan/2023").sum(),
        "missing": pd.Series({name: days[name].isna().sum() for name in ("ADMDATE", "seen")}),
        "late": (ordered >= "2024-07-01").sum(),
        "mean_day": ordered.map(datetime.toordinal).mean(),
    }


DATES = (
    Shape(
        "dates of several programs",
        "dates.csv",
        write,
        {column.name: column.declared for column in COLUMNS}
        | {"day_in_tokyo": f'from: served, {YEARS}, format: "{SERVED}"'},
        (
            *(
                f"name: months_{at}, statistic: count, by: [month_{at}]"
                for at in range(len(COLUMNS))
            ),
            "name: started_at, statistic: count, by: [hour]",
            "name: served_at, statistic: count, by: [hour_served]",
            "name: as_written, statistic: count, where: {day_in_tokyo: {max: 2023-01-31}}",
            "name: missing, statistic: count_missing, columns: [ADMDATE, seen]",
            "name: late, statistic: count, where: {Order Date: {min: 2024-07-01}}",
            "name: mean_day, statistic: mean, column: Order Date",
        ),
        truth,
        derive=(
            *(
                f"month_{at}: {{part: year-month, of: {column.name}}}"
                for at, column in enumerate(COLUMNS)
            ),
            "hour: {part: hour, of: started}",
            "hour_served: {part: hour, of: served}",
        ),
    ),
)
