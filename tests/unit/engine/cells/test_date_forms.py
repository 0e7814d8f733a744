"""Times of day, numbers of seconds, quarters, weeks, and names of months are read as dates."""

from __future__ import annotations

import datetime
from pathlib import Path
from random import Random

import polars as pl
import pytest

from dpcli.data.date_forms import DateForm, DateFormat, DateFormatError, NumberForm, date_form
from dpcli.data.date_options import Months
from dpcli.data.dates import DateColumn
from dpcli.data.derived.calendar import DatePart, time_part_of
from dpcli.data.kinds import Axis
from dpcli.data.labels import CategoryColumn
from dpcli.data.two_digit_years import TwoDigitYears
from dpcli.engine.cells import Decoder
from dpcli.numeric.days import day_of, days_of
from dpcli.privacy.unit import RowUnit
from dpcli.queries.query import LinearQuery
from dpcli.queries.sums import Factor
from tests.oracles.opened import engine
from tests.oracles.plain import value
from tests.support.options import options
from tests.support.rules import mostly_extended
from tests.unit.engine.files.test_file_forms import workbook

CALENDAR = (days_of("0001-01-01"), days_of("9999-12-31"))
GERMAN = (
    "Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober",
    "November", "Dezember",
)  # fmt: skip
FRENCH = (
    "janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.", "nov.",
    "déc.",
)  # fmt: skip
TURKISH = (
    "Ocak", "Şubat", "Mart", "Nisan", "Mayıs", "Haziran", "Temmuz", "Ağustos", "Eylül", "Ekim",
    "Kasım", "Aralık",
)  # fmt: skip
ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")


def date(
    *forms: str,
    bounds: tuple[int, int] = CALENDAR,
    zone: str | None = None,
    months: tuple[str, ...] = (),
    first: int | None = None,
    na: tuple[str, ...] = (),
) -> DateColumn:
    """A column of dates in some forms."""
    form = DateFormat(tuple(map(date_form, forms)), zone, years=TwoDigitYears(first))
    listed = (Months(months),) if months else ()
    return DateColumn("x", bounds=bounds, options=(*options(form, na), *listed))


def read(column: DateColumn, *cells: str) -> list[object]:
    """What the engine reads in cells, which the oracle reads as well."""
    frame = pl.DataFrame({"t0": cells}, schema={"t0": pl.String})
    found = Decoder((column,)).decode(frame).to_series().to_list()
    assert found == [value(column, cell) for cell in cells]
    return found


def day_texts(column: DateColumn, *cells: str) -> list[str | None]:
    """The days that the engine reads in cells."""
    days = read(column, *cells)
    return [day_of(day).isoformat() if isinstance(day, int) else None for day in days]


@pytest.mark.parametrize(
    ("form", "cell", "day"),
    [
        ("%YQ%q", "2024Q2", "2024-04-01"),
        ("Q%q %Y", "Q3 2024", "2024-07-01"),
        ("%Y-Q%q", "2024-Q4", "2024-10-01"),
        ("%Y-Q%q", "2024-Q5", None),
        ("%Y-Q%q", "2031-Q12", None),
        ("%Y%q", "20241", "2024-01-01"),
        ("%G-W%V", "2024-W05", "2024-01-29"),
        ("%G-W%V", "2024-W5", "2024-01-29"),
        ("%G-W%V", "2020-W53", "2020-12-28"),
        ("%G-W%V", "2021-W53", None),
        ("%GW%V", "2024W01", "2024-01-01"),
        ("%G-W%V-%u", "2024-W05-7", "2024-02-04"),
        ("%G%V%u", "2024053", "2024-01-31"),
        ("%Y", "2024", "2024-01-01"),
        ("%Y", "24", None),
        ("%B %Y", "march 2024", "2024-03-01"),
        ("%B %Y", "Mar 2024", "2024-03-01"),
        ("%b %Y", "March 2024", "2024-03-01"),
        ("epoch", "1709640000", "2024-03-05"),
        ("epoch", "1709596799.999", "2024-03-04"),
        ("epoch", "-0.5", "1969-12-31"),
        ("epoch", "-86400", "1969-12-31"),
        ("epoch", "-86401", "1969-12-30"),
        ("epoch", "1709640000000", None),
        ("epoch", "1.7e9", None),
        ("epoch_ms", "1709640000123", "2024-03-05"),
        ("epoch_ms", "-1", "1969-12-31"),
        ("epoch_us", "1709640000123456", "2024-03-05"),
        ("excel", "45356", "2024-03-05"),
        ("excel", "45356.9999999", "2024-03-05"),
        ("excel", "1", "1900-01-01"),
        ("excel", "59.5", "1900-02-28"),
        ("excel", "60", None),
        ("excel", "60.5", None),
        ("excel", "61", "1900-03-01"),
        ("excel", "0.5", None),
        ("excel", "-1", None),
        ("excel", "2958465", "9999-12-31"),
        ("excel", "2958466", None),
    ],
)
def test_a_cell_is_the_day_that_its_form_states(form: str, cell: str, day: str | None) -> None:
    """The first day of a quarter, week or year; the day of an instant in UTC; a serial day."""
    assert day_texts(date(form), cell) == [day]


@pytest.mark.parametrize(
    ("form", "zone", "cell", "time"),
    [
        ("%H:%M:%S", None, "11:38:36", (11, 38)),
        ("%H:%M:%S", None, "9:05:00", (9, 5)),
        ("%H:%M", None, "24:00", (None, None)),
        ("%H:%M", None, "23:59", (23, 59)),
        ("%I:%M %p", None, "12:07 am", (0, 7)),
        ("%I:%M %p", None, "1:30 PM", (13, 30)),
        ("%H:%M:%S.%f%z", None, "11:38:36.25+02", (11, 38)),
        ("%d/%m/%Y %H:%M", None, "5/3/2024 10:41", (10, 41)),
        ("%H:%M%z %d-%m-%Y", None, "23:10+01 07-03-2024", (23, 10)),
        ("%H:%M%z %d-%m-%Y", "UTC", "23:10-01 07-03-2024", (0, 10)),
        ("%d/%m/%y %H:%M%z", "Europe/Rome", "1/7/24 10:00Z", (12, 0)),
        ("", None, "2024-03-05T10:41:59", (10, 41)),
        ("", "Asia/Kathmandu", "2024-03-05T10:00 gmt", (15, 45)),
        ("epoch", None, "1709634660", (10, 31)),
        ("epoch", "Asia/Kathmandu", "1709634660", (16, 16)),
        ("epoch_ms", "Europe/Rome", "1709634660999", (11, 31)),
        ("excel", None, "45356.4375", (10, 30)),
        ("excel", None, "45356.416666666664", (10, 0)),
        ("excel", None, "45356.9999999", (23, 59)),
        ("%Y-Q%q", None, "2024-Q1", (None, None)),
    ],
)
def test_a_cell_has_the_hour_and_the_minute_of_its_time(
    form: str, zone: str | None, cell: str, time: tuple[int | None, int | None]
) -> None:
    """They are those on the clock of the zone, or those that are written."""
    column = date(*[form] * bool(form), zone=zone, bounds=(19_000, 20_000))
    parts = [time_part_of(column, part) for part in ("hour", "minute")]
    assert [read(part, cell)[0] for part in parts if isinstance(part, DateColumn)] == [*time]


def test_a_column_of_times_alone_has_no_bounds_but_hours() -> None:
    """A cell is readable if it is a time."""
    times = DateColumn("x", options=options(DateFormat((DateForm("%H:%M"),))))
    hours = time_part_of(times, "hour")
    bare = times.without_missing_constant()
    assert isinstance(hours, DateColumn)
    assert read(hours, "11:38", "11.38", "") == [11, None, None]
    assert read(bare, "11:38", "11.38", "") == [0, None, None]


@pytest.mark.parametrize(
    ("offset", "hour"),
    {
        "+00": 23, "+0000": 23, "+00:00": 23, "-0330": 2, "+05:45": 17, "-03": 2, "Z": 23, "z": 23,
        "UTC": 23, " UTC": 23, " gmt": 23, " +0100": 22, "": None, " EST": None, "+1": None,
        "+24": None, "+00:60": None, " UTC ": 23, "ZZ": None,
    }.items(),
)  # fmt: skip
def test_an_offset_is_a_number_or_a_word_for_utc(offset: str, hour: int | None) -> None:
    """The same offsets are read by `%z` and in dates of ISO 8601."""
    cell = f"2024-03-05 23:10{offset}"
    form = date("%Y-%m-%d %H:%M%z", zone="UTC", bounds=(19_000, 20_000))
    iso = date(zone="UTC", bounds=(19_000, 20_000))
    for column in (form, iso):
        hours = time_part_of(column, "hour")
        assert isinstance(hours, DateColumn)
        expected = 23 if column is iso and not offset else hour
        assert read(hours, cell) == [expected]
        day = None if expected is None else 19_788 if expected == 2 else 19_787
        assert read(column, cell) == [day]


@pytest.mark.parametrize(
    ("bounds", "first", "cell", "day"),
    [
        (("1920-01-01", "2010-12-31"), None, "01/02/69", "1969-02-01"),
        (("1920-01-01", "2010-12-31"), None, "01/02/10", "2010-02-01"),
        (("1920-01-01", "2010-12-31"), None, "29/02/00", "2000-02-29"),
        (("1920-01-01", "2010-12-31"), None, "01/02/15", "2010-12-31"),
        (("1920-01-01", "2010-12-31"), None, "01/02/16", "1920-01-01"),
        (("2020-01-01", "2080-12-31"), None, "31/12/75", "2075-12-31"),
        (("1890-01-01", "1910-12-31"), None, "28/02/00", "1900-02-28"),
        (("1900-01-01", "2024-12-31"), 1920, "01/02/19", "2019-02-01"),
        (("1900-01-01", "2024-12-31"), 1920, "01/02/20", "1920-02-01"),
        (("1890-01-01", "2024-12-31"), 1900, "29/02/00", None),
    ],
)
def test_two_digits_of_a_year_are_those_of_a_year_within_the_bounds(
    bounds: tuple[str, str], first: int | None, cell: str, day: str | None
) -> None:
    """A first year decides where it is stated."""
    low, high = map(days_of, bounds)
    assert day_texts(date("%d/%m/%y", bounds=(low, high), first=first), cell) == [day]


def test_the_bounds_decide_years_also_for_the_hours_of_a_zone() -> None:
    """In July 1945 the clock of London was two hours ahead of UTC, and in 2045 it is one hour."""
    form, zone = "%d/%m/%y %H:%M%z", "Europe/London"
    cell = "01/07/45 12:00Z"
    for bounds, hour in (((-10_000, 0), 14), ((20_000, 30_000), 13)):
        hours = time_part_of(date(form, zone=zone, bounds=bounds), "hour")
        assert isinstance(hours, DateColumn)
        assert read(hours, cell) == [hour]


@pytest.mark.parametrize(
    ("months", "form", "cell", "day"),
    [
        (GERMAN, "%d. %B %Y", "5. M\u00e4rz 2024", "2024-03-05"),
        (GERMAN, "%d. %B %Y", "5. MÄRZ 2024", "2024-03-05"),
        (GERMAN, "%d. %B %Y", "5. dezember 2024", "2024-12-05"),
        (GERMAN, "%d%b%Y", "5Mai2024", "2024-05-05"),
        (GERMAN, "%d. %B %Y", "5. Mär 24", None),
        (FRENCH, "%d %b %Y", "5 févr. 2024", "2024-02-05"),
        (FRENCH, "%d %b %Y", "5 févr 2024", "2024-02-05"),
        (FRENCH, "%d %b %Y", "5 Févr. 2024", "2024-02-05"),
        (FRENCH, "%d %b %Y", "5 mai. 2024", None),
        (FRENCH, "%d %b %Y", "5 fe\u0301vr. 2024", "2024-02-05"),
        (TURKISH, "%d %B %Y", "5 EK\u0130M 2024", "2024-10-05"),
        (TURKISH, "%d %B %Y", "5 KASIM 2024", "2024-11-05"),
        (TURKISH, "%d %B %Y", "5 ağustos 2024", "2024-08-05"),
        (ROMAN, "%d %b %Y", "5 VIII 2024", "2024-08-05"),
        (ROMAN, "%d %b %Y", "5 v 2024", "2024-05-05"),
        (ROMAN, "%d %b %Y", "5 IIII 2024", None),
    ],
)
def test_months_have_the_listed_names(
    months: tuple[str, ...], form: str, cell: str, day: str | None
) -> None:
    """They are read in any case, and without the point at their end."""
    assert day_texts(date(form, months=months), cell) == [day]


def test_a_mark_may_have_a_listed_name_of_a_month() -> None:
    """Marks are compared with cells as both are read."""
    column = date("%d. %B %Y", months=GERMAN, na=("1. Januar 1900",))
    cells = ("1. Januar 1900", "1. JANUAR 1900", "2. Januar 1900")
    assert day_texts(column, *cells) == [None, None, "1900-01-02"]


def test_the_first_of_several_forms_decides_a_cell() -> None:
    """Words for numbers stand in a list with other formats."""
    column = date("excel", "%Y%m%d", "%d/%m/%Y", "epoch_ms")
    cells = ("45356", "20240306", "7/3/2024", "1709880000000")
    days = ["2024-03-05", "2024-03-06", "2024-03-07", "2024-03-08"]
    assert day_texts(column, *cells) == days


@pytest.mark.parametrize(
    ("forms", "cell"),
    [
        (("%m/%d/%Y", "%d/%m/%Y"), "03/05/2024"),
        (("epoch", "%Y%m%d"), "20240305"),
        (("%Y%m", "%y%m%d"), "201211"),
        (("excel", "%Y"), "2024"),
        (("epoch", "epoch_ms"), "1709633340"),
        (("%d%m%Y", "%Y%m%d"), "20121110"),
        (("%d/%m/%Y", "%d/%m/%Y %H:%M"), None),
        (("%d %b %Y", "%d %B %Y"), None),
        (("%d/%m/%Y %H:%M%z", "%d/%m/%Y %H:%M UTC", "%d/%m/%Y"), None),
        (("%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%d"), None),
        (("%H:%M", "%I:%M %p"), None),
    ],
)
def test_a_cell_that_fits_two_formats_is_named(forms: tuple[str, ...], cell: str | None) -> None:
    """The warning has a cell that both read, by what each reads, and the format that wins."""
    (warning,) = date(*forms).cautions(".") if cell else ("",)
    assert not cell or f"such as `{cell}` fits two formats: it is read by the first" in warning
    assert cell or not [*date(*forms).cautions(".")]
    if cell:
        century = days_of("1950-01-01"), days_of("2049-12-31")
        both = [date(*each, bounds=century) for each in (forms, forms[:1], forms[1:])]
        days = [read(column, cell)[0] for column in both]
        assert days[0] == days[1] != days[2]


TIMES = (
    "", "T10", "T1000Z", " 10:00", "T10:00:59.5", " 9:30 PM", " 10:00 a.m.", " 10:00:00,25",
    "  1:00", " 10:00Z", " 10:00 +02:00", " 10:00+0200 UTC", " 10:00 CEST", " 10:00 AMST",
    " 10:00 GMT+1",
    "T10:00:00+01:00[Europe/Rome]", " 10:00 America/New_York", " 24:00",
    "T10:00Z[UTC]", " 10:00 Etc/GMT+1", " 10:00 America/Port-au-Prince",
)  # fmt: skip
OTHERS = (
    " or 2024-05-03", " BC", " 00:00:00 BC", " 00:00 BCE", " noon", "T", " 2024-05-03",
    "/2024-05-04", " 10", " 25:00", " 10:60", " 10:00 - 11:00", " 10:00 or 11:00", "T10:00[",
    " 10:00 [rome]", "x", " (estimated)", "T10:00 et", "+01:00", " 10:00 Rome", " 10:00+2:00:00:00",
)  # fmt: skip


@pytest.mark.extended
def test_only_a_time_may_follow_a_day() -> None:
    """Without a format, a day with another text after it is missing."""
    column = DateColumn("x", bounds=CALENDAR)
    assert {*day_texts(column, *(f"2024-03-05{time}" for time in TIMES))} == {"2024-03-05"}
    assert {*day_texts(column, *(f"2024-03-05{other}" for other in OTHERS))} == {None}
    random = Random(1)
    pieces = [
        *" T:.+-Z[]",
        "10",
        "0",
        "5",
        "59",
        ":30",
        "UTC",
        "CET",
        "BCE",
        "Europe/Rome",
        "pm",
        "a.m.",
    ]
    texts = ("".join(random.choices(pieces, k=random.randint(1, 7))) for _ in range(10_000))
    read(column, *(f"2024-03-05{one}{text}" for text in texts for one in ("", "T10:00", " 1:30 ")))


FORMS = (
    "%d/%m/%y", "%y%j", "%YQ%q", "Q%q %y", "%G-W%V", "%G%V%u", "%V/%G %H:%M", "%Y", "%y", "%d%b%y",
    "%d. %B %Y", "%H:%M:%S", "%I:%M %p", "%H:%M%z", "%m/%d/%y %H:%M%z", "%G-%V %H:%M %z", "epoch",
    "epoch_ms", "epoch_us", "excel",
)  # fmt: skip


@pytest.mark.parametrize("seed", mostly_extended(range(60), *range(8)))
def test_random_cells_are_read_by_the_written_rules(seed: int) -> None:
    """Engine and oracle agree for lists of forms and cells that nearly have one of them."""
    random = Random(seed)
    # Other zones have other rules for summer time after 2100 in different databases.
    zone = random.choice((None, None, "Asia/Kathmandu", "UTC"))
    forms = random.sample(FORMS, random.choice((1, 1, 2)))
    low = days_of(random.choice(("1900-01-01", "1950-06-15", "2000-02-29", "0050-01-01")))
    bounds = (low, low + random.randint(1, 9000))
    months = random.choice(((), (), GERMAN, FRENCH, ROMAN))
    first = random.choice((None, None, 1900, 1920, 2000))
    column = date(*forms, bounds=bounds, zone=zone, months=months, first=first)
    cells = []
    for _ in range(25):
        day = day_of(random.choice((random.randint(-30_000, 40_000), 11_016, 11_322, low + 60)))
        form = date_form(random.choice(forms))
        text = form.written(day.isoformat(), random.randrange(24), random.randrange(60))
        if months:
            text = Months(months).listed(text)
        offset = random.choice(("+00", "+00:00", "-0330", "Z", " utc", "GMT", " Z", "+5", "UTC+2"))
        text = random.choice((text, text.upper(), text.lower())).replace("+0000", offset)
        at, odd = random.randint(0, len(text)), random.choice(["", *"0139 -/a+.5Z\n"])
        cells += [text, text[:at] + odd + text[at + 1 :], text[:at] + odd + text[at:]]
        number = f"{random.uniform(-3e9, 3e9):.{random.randint(0, 6)}f}"
        serial = f"{random.uniform(-10, 3e6):.{random.randint(0, 15)}f}"
        cells += [number, serial, str(random.randint(-(10**18), 10**18)), "60", "-0", "45356."]
    for one in (column, time_part_of(column, "hour"), time_part_of(column, "minute")):
        assert isinstance(one, DateColumn)
        read(one, *cells)


@pytest.mark.parametrize(
    ("text", "may_name"),
    {
        "%Y-%m-%d %H:%M UTC": True, "%Y-%m-%dT%H:%M:%SZ": True, "%b %d %H:%M:%S CET %Y": True,
        "%Y-%m-%d %H:%M+00": True, "%Y-%m-%d %H:%M -0500": True, "%d/%m/%Y %H:%M EST": True,
        "utc %Y-%m-%d %H:%M": True, "%Y-%m-%d %H:%M (Europe/Rome)": True,
        "%Y-%m-%dT%H:%M": False, "%H:%M, %d de %B de %Y": False, "%d/%m/%Y": False,
        "%Y-%m-%d %H:%M est": True, "EST %Y-%m-%d %H:%M": True, "%Y-%m-%d %H:%M \u221205": True,
        "%Y-%m-%d %H:%M 東京": True, "%d.%m.%Y %H:%M Uhr": False, "%Y年%m月%d日 %H時%M分": False,
        "%Y-%m-%d %H:%M ut": True, "+00 %Y-%m-%d %H:%M": True, "%Y-%m-%d %H:%M aewst": True,
        "%H:%M %d.%m.%Y irst": True, "%H:%M hours on %d.%m.%Y": False,
        "ET %Y-%m-%d %H:%M": True, "Eastern %d/%m/%Y %H:%M": True, "(Paris) %d/%m/%Y %H:%M": True,
        "Moscow time %H:%M": True, "\u5317\u4eac\u65f6\u95f4 %H:%M": True,
        "%Y-%m-%d %H:%M h et": True,
        "%H:%M o'clock et": True, "%d/%m/%Y %Hh%M\u00b11": True, "%H:%M o'clock": False,
        "%d/%m/%Y at %H:%M": False, "%dth of %B %Y %H:%M": False,
        "%Y-%m-%d %H:%M%z UTC": False, "%Y-%m-%d-%H-%M": False, "%Hh%M": False,
    }.items(),
)  # fmt: skip
def test_a_literal_text_after_a_time_may_name_a_zone(text: str, may_name: bool) -> None:
    """It has an offset, or a word that is none of the usual ones of dates and times."""
    assert DateForm(text).may_name_zone is may_name


FAULTS = {
    "%Y/%y": "category", "%Y-W%W": "%G-W%V", "%Y-W%U": "%G-W%V", "%Y-W%V": "%G-W%V", "%s": "epoch",
    "%Q": "epoch_ms", "dd/mm/yyyy": "directive", "timestamp": "epoch", "%H": "minutes",
    "%M:%S": "hour", "%q": "year", "%Y-Q%q %H:%M": "quarter", "%q%Y": "number follows",
    "%u": "week", "%G-W%V %d": "one month", "%Z %H:%M": "`%z`", "%%": "no day",
}  # fmt: skip


@pytest.mark.parametrize(("text", "words"), FAULTS.items())
def test_a_format_that_means_nothing_says_what_to_write(text: str, words: str) -> None:
    """The fault names the part that is unclear, or the form that comes near."""
    with pytest.raises(DateFormatError) as caught:
        date_form(text)
    assert words in caught.value.fault


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("day", ["1900-01-01", "1999-12-31", "2024-02-29"])
def test_what_a_form_writes_it_reads(form: str, day: str) -> None:
    """Examples in messages and synthetic data are cells that can be read."""
    column = date(form, bounds=(days_of("1900-01-01"), days_of("1999-12-31")))
    text = date_form(form).written(day, 13, 47)
    assert read(column, text) != [None]
    if isinstance(date_form(form), NumberForm):
        assert day_texts(date(form), text) == [day]
        assert [value(time_part_of(column, part), text) for part in ("hour", "minute")] == [13, 47]


MOMENT = datetime.datetime(2024, 3, 5, 10, 30)  # noqa: DTZ001
TYPED = {
    "%d/%m/%Y": (19_787, None), "%d. %B %Y %H:%M": (19_787, 10), "%H:%M:%S.%f": (0, 10),
    "%I:%M %p": (0, 10), "epoch": (19_787, 10), "epoch_ms": (19_787, 10), "excel": (19_787, 10),
    "%G-W%V-%u": (19_787, None), "%Y-Q%q": (None, None), "%d/%m/%y": (None, None),
}  # fmt: skip


def typed(column: DateColumn, path: Path) -> tuple[object, int | None]:
    """The only day and hour in a file."""
    part = DatePart(column, "hour")
    hours = CategoryColumn("h", tuple((at, at) for at in part.labels), derivation=part)
    queries = [
        LinearQuery(factors=(Factor(column),)),
        LinearQuery(present=(column,)),
        LinearQuery(by=(Axis(hours),)),
    ]
    (total,), (rows,), by_hour = engine(queries, RowUnit(), path)
    hour = next((hour for hour, count in enumerate(by_hour) if count == 1), None)
    return total if rows else None, hour


@pytest.mark.parametrize(("form", "expected"), TYPED.items())
def test_times_whose_type_a_file_states_are_read(
    tmp_path: Path, form: str, expected: tuple[int | None, int | None]
) -> None:
    """They are missing where the form would lose the day."""
    column = date(form, bounds=(0, 30_000), months=GERMAN if "B" in form else ())
    path = tmp_path / "d.parquet"
    pl.DataFrame({"x": [MOMENT]}).write_parquet(path)
    assert typed(column, path) == expected
    assert typed(column, workbook(tmp_path / "d.xlsx", ["x"], [MOMENT])) == expected


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "Europe/Rome", "America/New_York"])
@pytest.mark.parametrize("stated", [None, "America/New_York", "UTC"])
def test_a_typed_time_is_by_the_clock_of_its_type(
    tmp_path: Path, stated: str | None, zone: str
) -> None:
    """Whatever the column declares for numbers of seconds."""
    moment = datetime.datetime(2024, 3, 5, 22, 38)  # noqa: DTZ001
    path = tmp_path / "d.parquet"
    pl.DataFrame({"x": [moment]}).with_columns(
        pl.col("x").dt.replace_time_zone(stated)
    ).write_parquet(path)
    assert typed(date("epoch", zone=zone, bounds=(0, 30_000)), path) == (19_787, 22)


@pytest.mark.parametrize("form", ["%H:%M:%S", "%H:%M", "%I:%M %p"])
def test_times_of_day_whose_type_a_file_states_are_read(tmp_path: Path, form: str) -> None:
    """They are no dates of a column with a format of dates."""
    path = tmp_path / "d.parquet"
    pl.DataFrame({"x": [MOMENT.time()]}).write_parquet(path)
    assert typed(date(form, bounds=(0, 1)), path) == (0, 10)
    assert typed(date("%d/%m/%Y", bounds=(0, 1)), path) == (None, None)
    assert (
        typed(date(form, bounds=(0, 1)), workbook(tmp_path / "d.xlsx", ["x"], [MOMENT.time()]))[1]
        == 10
    )


@pytest.mark.parametrize(
    ("form", "number"),
    [("epoch", 1_709_634_600), ("epoch_ms", 1_709_634_600_123), ("excel", 45_356.4375)],
)
def test_numbers_whose_type_a_file_states_are_read(
    tmp_path: Path, form: str, number: float
) -> None:
    """In Parquet, a spreadsheet and JSON Lines they are those of a text file."""
    column = date(form, bounds=(0, 30_000))
    pl.DataFrame({"x": [number]}).write_parquet(tmp_path / "d.parquet")
    (tmp_path / "d.jsonl").write_text(f'{{"x": {number}}}\n', "utf-8")
    (tmp_path / "d.csv").write_text(f"x\n{number}\n", "utf-8")
    workbook(tmp_path / "d.xlsx", ["x"], [number])
    for path in sorted(tmp_path.iterdir()):
        assert typed(column, path) == (19_787, 10)
