"""Cells of declared forms are read by the written rules, and all others are missing."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random

import polars as pl
import pytest

from dpcli.data.column import Column
from dpcli.data.date_forms import DateForm, DateFormat, date_form
from dpcli.data.dates import DateColumn
from dpcli.data.derived.calendar import time_part_of
from dpcli.data.formats import LONGEST_AFFIX, LONGEST_FORMAT, Dialect, NumberFormat
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.labels import CategoryColumn, IdColumn, PrivatePartitionColumn
from dpcli.data.number_columns import NumberColumn
from dpcli.engine.cells import Decoder
from dpcli.engine.check_cells import check_cells
from dpcli.engine.files.source import open_dataset
from dpcli.engine.progress import Progress
from dpcli.numeric.days import days_of
from dpcli.privacy.unit import PersonUnit
from dpcli.problems.reference import time_zones
from dpcli.queries.query import LinearQuery
from tests.oracles.opened import engine
from tests.oracles.plain import evaluate, value
from tests.support.options import options
from tests.support.rules import mostly_extended

DAYS = ("%d/%m/%Y", "%m/%d/%y", "%Y%m%d", "%Y-%m", "%d %b %Y", "%B %d, %Y", "%Y-%j", "%d.%m.%Y")
TIMES = ("", " %H:%M", "T%H:%M:%S", " %I:%M %p", " %H%M%S", " %H:%M:%S.%f%z")


CENTURY = (days_of("1950-01-01"), days_of("2049-12-31"))


def number(form: NumberFormat | None = None, na: tuple[str, ...] = ()) -> NumericColumn:
    """A column of numbers with two decimals."""
    return NumberColumn("x", Fraction(1, 100), (-(10**7), 10**7), options=options(form, na))


def date(*forms: str, na: tuple[str, ...] = (), zone: str | None = None) -> NumericColumn:
    """A column of dates, within 100 years if a form has two digits of a year."""
    format_ = DateFormat(tuple(map(date_form, forms)), zone)
    has_two_digits = any("%y" in form for form in forms)
    bounds = CENTURY if has_two_digits else (-(10**6), 10**6)
    return DateColumn("x", bounds=bounds, options=options(format_, na))


def read(column: Column, cells: list[str | None]) -> list[object]:
    """What the engine reads in cells."""
    frame = pl.DataFrame({"t0": cells}, schema={"t0": pl.String})
    return Decoder((column,)).decode(frame).to_series().to_list()


EUROPEAN = NumberFormat(",", ".", ("€", "kg", "k"), brackets=True, values=(("85+", "85"),))


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("1.234,50", 123450),
        ("-1.234.567,5", -(10**7)),
        ("1234,5", 123450),
        ("€ 12", 1200),
        ("-€12", -1200),
        ("€-12", -1200),
        ("12\N{NO-BREAK SPACE}€", 1200),
        ("12 kg", 1200),
        ("12k", 1200),
        ("(12,5)", -1250),
        ("€(12,5)", -1250),
        ("(€12)", -1200),
        ("85+", 8500),
        ("1e2", 10000),
        ("1.23", None),
        ("0.123", None),
        ("1.2345", None),
        ("1234.567", None),
        ("(-12)", None),
        ("12 g", None),
        ("€€12", None),
        ("-", None),
        ("€", None),
        ("inf", None),
        ("--1", None),
    ],
)
def test_a_number_has_exactly_the_declared_form(cell: str, expected: int | None) -> None:
    """Groups have three digits; one affix is before or after; nothing is guessed."""
    assert read(number(EUROPEAN), [cell]) == [expected] == [value(number(EUROPEAN), cell)]


@pytest.mark.parametrize(
    ("form", "cell", "expected"),
    [
        ("%d/%m/%Y %H:%M", "7/3/2024 23:59", 19789),
        ("%d/%m/%Y %H:%M", "31/02/2024 10:00", None),
        ("%d/%m/%Y %H:%M", "7/3/2024 24:00", None),
        ("%d/%m/%Y", "7/3/24", None),
        ("%d/%m/%Y", "7/3/2024 10:00", None),
        ("%Y%m%d", "20240307", 19789),
        ("%Y%m%d", "2024037", None),
        ("%Y-%m", "2024-03", 19783),
        ("%m/%d/%y", "3/7/24", 19789),
        ("%m/%d/%y", "1/1/70", 0),
        ("%m/%d/%y", "12/31/69", -1),
        ("%d %b %Y", "7 mar 2024", 19789),
        ("%B %d, %Y", "MARCH 7, 2024", 19789),
        ("%Y-%j", "2023-366", None),
        ("%Y-%m-%d", "0000-01-01", None),
        ("%m/%d/%Y %I:%M:%S %p", "3/7/2024 12:05:00 pm", 19789),
    ],
)
def test_a_date_has_exactly_the_declared_format(form: str, cell: str, expected: int | None) -> None:
    """The calendar decides, times are read and dropped, other texts are missing."""
    assert read(date(form), [cell]) == [expected] == [value(date(form), cell)]


@pytest.mark.parametrize(
    ("form", "zone", "cell", "day", "hour"),
    [
        ("%d/%m/%Y %H:%M", None, "7/3/2024 9:05", 19789, 9),
        ("%d/%m/%Y %I:%M %p", None, "7/3/2024 12:05 am", 19789, 0),
        ("%d/%m/%Y %I:%M %p", None, "7/3/2024 12:05 PM", 19789, 12),
        ("%d/%m/%Y %I:%M %p", None, "7/3/2024 1:05 pm", 19789, 13),
        ("%d/%m/%Y", None, "7/3/2024", 19789, None),
        ("%m %Y %H:%M", None, "03 2024 23:10", 19783, 23),
        ("%H:%M%z %d-%m-%Y", None, "23:10-0100 07-03-2024", 19789, 23),
        ("%H:%M%z %d-%m-%Y", "UTC", "23:10-0100 07-03-2024", 19790, 0),
        ("%Y-%m-%d %H:%M%z", "Europe/Rome", "2024-03-31 00:59+0000", 19813, 1),
        ("%Y-%m-%d %H:%M%z", "Europe/Rome", "2024-03-31 01:00+0000", 19813, 3),
        ("%Y-%m-%d %H:%M%z", "Europe/Rome", "2024-03-31 01:00", None, None),
        ("%Y-%m-%d %H:%M%z", "Europe/Rome", "2024-03-31 01:00Z", 19813, 3),
        ("%Y-%m-%d %H:%M%z", "Europe/Rome", "2024-03-31 01:00z", 19813, 3),
        ("%Y-%m-%d %H:%M%%%z", None, "2024-03-31 01:00%Z", 19813, 1),
        ("", None, "2024-03-07T23:30Z", 19789, 23),
        ("", None, "2024-03-07", 19789, None),
        ("", None, "2024-03-07T23:30:59.5+01:00", 19789, 23),
        ("", None, "2024-03-07 23.30", None, None),
        ("", None, "2024-03-07T24:00", None, None),
        ("", "Europe/Rome", "2024-03-07T23:30Z", 19790, 0),
        ("", "Europe/Rome", "2024-03-07T23:30", 19789, 23),
        ("", "Asia/Kathmandu", "2024-03-07 18:14:59 +0000", 19789, 23),
        ("", "Asia/Kathmandu", "2024-03-07 18:15:00 +0000", 19790, 0),
        ("", "America/New_York", "2024-03-07T23:30+14:00", 19789, 4),
        ("", "America/New_York", "0001-01-01T00:30Z", None, None),
        ("", "Asia/Tokyo", "9999-12-31T23:30Z", None, None),
        ("", "Europe/Rome", "1850-06-01 23:10:03Z", -43678, 23),
        ("", "Europe/Rome", "1850-06-01 23:10:04Z", -43677, 0),
    ],
)
def test_hours_and_zones(
    form: str, zone: str | None, cell: str, day: int | None, hour: int | None
) -> None:
    """A day and its hour are those on the clock of the zone, or those that are written."""
    column = date(*[form] * bool(form), zone=zone)
    hours = time_part_of(column, "hour")
    assert read(column, [cell]) == [day] == [value(column, cell)]
    assert read(hours, [cell]) == [hour] == [value(hours, cell)]


def test_a_cell_has_the_hour_of_the_format_that_decides_its_day() -> None:
    """A later format does not read the hour of a cell that an earlier one reads."""
    hours = time_part_of(date("%Y%m%d0000", "%Y%m%d%H%M"), "hour")
    assert read(hours, ["202403050000", "202403050100"]) == [None, 1]
    assert [value(hours, cell) for cell in ("202403050000", "202403050100")] == [None, 1]


@pytest.mark.parametrize("seed", mostly_extended(range(20), *range(6)))
def test_random_instants_are_read_by_the_calendar_of_python(seed: int) -> None:
    """In random zones from 1970 to 2099, days and hours are those of `zoneinfo`.

    Before and after these years, databases of time zones differ from each other. Two digits of a
    year are one up to 2049.
    """
    random = Random(seed)
    zone = random.choice([*time_zones()])
    forms = random.choice(((), ("%Y-%m-%d %H:%M:%S%z", "%Y-%m-%d"), ("%d/%m/%y %I:%M %p %z",)))
    days = date(*forms, zone=zone)
    years = 79 if any("%y" in form for form in forms) else 129
    cells: list[str | None] = []
    for _ in range(400):
        moment = datetime(1970, 1, 2, tzinfo=UTC) + timedelta(
            seconds=random.randrange(years * 365 * 86_400)
        )
        offset = random.choice(["", "Z", "+0000", "-03:30", "+14:00", "-1200", "+24:00", "+1"])
        written = [f"{moment:%Y-%m-%d %H:%M:%S}", f"{moment:%Y-%m-%dT%H:%M}", f"{moment:%Y-%m-%d}"]
        text = random.choice([*written, f"{moment:%d/%m/%y %I:%M %p} "]) + offset
        at = random.randint(4, len(text))
        cells += [text, text[:at] + random.choice(" 0:5T") + text[at + 1 :]]
    for column in (days, time_part_of(days, "hour")):
        assert read(column, cells) == [value(column, cell or "") for cell in cells]


@pytest.mark.parametrize("step", mostly_extended((12, 1), 12))
def test_all_time_zones_are_known_to_the_engine_and_the_oracle(step: int) -> None:
    """Every name that a spec may have is a zone of polars and of Python."""
    for zone in sorted(time_zones())[::step]:
        column = time_part_of(date(zone=zone), "hour")
        assert read(column, ["2024-03-07T12:00Z"]) == [value(column, "2024-03-07T12:00Z")]


FORMS: list[tuple[Column, str]] = [
    (number(), "12"),
    (number(NumberFormat(",", ".")), "1.234,5"),
    (number(EUROPEAN), "(€ 12)"),
    (number(EUROPEAN), "85+"),
    (number(na=("-99",)), "-99"),
    (date("%d/%m/%Y"), "7/3/2024"),
    (date("%d %b %Y", "%Y-%j"), "7 SEP 2024"),
    (date("%B %Y %I:%M %p"), "august 2024 11:10 Pm"),
    (date(), "2024-03-07T23:30Z"),
    (time_part_of(date(), "hour"), "2024-03-07T23:30"),
    (time_part_of(date("%B %Y %I:%M %p"), "hour"), "august 2024 11:10 PM"),
    (
        CategoryColumn("x", (("Klasse", "k"), ("ΟΔΟΣ", "o")), options=options(any_case=True)),
        "KLASSE",
    ),
    (CategoryColumn("x", (("a", "a"),), other="b", options=options(na=("NA",))), "NA"),
    (IdColumn("x", options=options(na=("0",))), "0"),
]


@pytest.mark.parametrize(("column", "cell"), FORMS)
def test_no_character_is_overlooked(column: Column, cell: str) -> None:
    """A line end, or a letter that equals another one but for case, is as much a character.

    In Python, `$` is also true before a last line end. Where case is ignored, a long s is an `s`,
    and the sign of Kelvin a `k`. Blanks of a line are removed, and ends of lines are not.
    """
    ends = [
        "",
        "\n",
        "\r",
        "\r\n",
        "\v",
        "\x00",
        "\u2028",
        "\u0085",
        "\N{NO-BREAK SPACE}",
        "\ufeff",
    ]
    cells: list[str | None] = [text for end in ends for text in (cell + end, end + cell)]
    for letter, others in {
        "s": "ſ",
        "k": "\N{KELVIN SIGN}",
        "Σ": "σς",
        "i": "İı",
        "1": "１١",
    }.items():
        for other in others:
            cells += [cell.replace(letter, other), cell.upper().replace(letter.upper(), other)]
    cells += [cell.lower(), cell.upper(), cell.title(), cell.casefold()]
    assert read(column, cells) == [value(column, text or "") for text in cells]


@pytest.mark.parametrize("mark", ["-99", "1e3", "1E3", "0", "-0", "1.50", ".5", "007", "+5", "1,5"])
def test_numbers_are_marks_however_they_are_written_but_with_exponents(mark: str) -> None:
    """A mark with an exponent is a text alone, and no number with an exponent is marked."""
    plain = ["-99", "-9.9e1", "-99e0", "-99.", "1e3", "1000", "1E3", "+0", "-0", "0e5", "0.0", "00"]
    plain += ["1.5", "1.5e0", "15e-1", "+1.500", "0.5", ".50", "7", "7e0", "5", "+5.0", "1,5", "."]
    forms = (None, NumberFormat(",", "."), NumberFormat(affixes=("%",), values=(("NA", "0"),)))
    for form in forms:
        column = number(form, (mark,))
        cells: list[str | None] = [*plain, *(f"{cell}%" for cell in plain), "1.000,0", "NA"]
        assert read(column, cells) == [value(column, cell or "") for cell in cells]


def test_the_first_format_that_reads_a_cell_decides_it() -> None:
    """Formats are tried in order, for each cell by itself."""
    column = date("%d/%m/%Y", "%m/%d/%Y", na=("1/1/1900",))
    assert read(column, ["7/3/2024", "3/17/2024", "1/1/1900", None]) == [19789, 19799, None, None]


def test_private_keys_look_different_and_turn_no_text() -> None:
    """A key that turns other text is missing. Characters that no one sees are no part of a key."""
    column = PrivatePartitionColumn("x")
    kept = ["\u0645\u06cc\u200c\u062e", "\U0001f469\u200d\U0001f467", "a b"]
    same = ["a\u200b b", "\u2066a b", "a\u00ad b", "\ufeffa b", "a\N{NO-BREAK SPACE} b\u200e"]
    odd = ["\u202eabc", "\u202dabc", "\u200b", "a\x85b", "a\u2028b"]
    expected = [*kept, *["a b"] * len(same), *[None] * len(odd)]
    assert read(column, ["\ufeffa\u3000"]) == ["a"] == [value(column, "\ufeffa\u3000")]
    assert read(column, [*kept, *same, *odd]) == expected
    assert [value(column, text) for text in (*kept, *same, *odd)] == expected


def test_marks_of_missing_cells_are_missing_before_bounds_apply() -> None:
    """A number is a mark however it is written; a text must be the same."""
    column = number(na=("-99", "NA", "."))
    cells: list[str | None] = ["-99", "-99.0", "-099", " NA ", "na", ".", "-99.5", "99", "", None]
    expected = [None] * 6 + [-9950, 9900, None, None]
    assert read(column, cells) == expected == [value(column, cell or "") for cell in cells]
    private = PrivatePartitionColumn("x", options=options(na=("NA",)))
    assert read(private, ["NA", "Na"]) == [None, "Na"]


@pytest.mark.extended
def test_very_many_marks_are_missing_however_they_are_written() -> None:
    """A thousand numbers and texts are marks, each compared as it would be alone."""
    random = Random(0)
    numbers = [
        f"{random.randrange(-(10**6), 10**6)}.{random.choice(('', 5, 25))}" for _ in range(6)
    ]
    some = [number.rstrip(".") for number in (*numbers, "0", "-7", "-0.5", "+3", ".5", "+.25")]
    some += ["NA", ".", "-", "1e2"]
    column = number(na=(*some, *(str(10**11 + 7919 * place) for place in range(1000))))
    ways = [*product(("", "-", "+", " "), ("", "0", "00"), ("", "0", ".0", ".", " "))]
    written = [
        f"{sign}{zeros}{text.lstrip('+-')}{end}"
        for text in some
        for sign, zeros, end in random.sample(ways, 30)
    ]
    cells: list[str | None] = [*written, "100000000000.0", "100000000001", "", None]
    expected = [value(column, cell or "") for cell in cells]

    assert read(column, cells) == expected
    assert {None, -25, 700} <= set(expected) and expected[-4:] == [None, 10**7, None, None]


def test_the_longest_affixes_and_formats_are_read() -> None:
    """As many as a spec may have, of letters with many bytes, become patterns that work."""
    ends = ["".join(chr(97 + place // 10**power % 10) for power in (1, 0)) for place in range(100)]
    long, wide = (
        "\N{GRINNING FACE}" * (LONGEST_AFFIX - 2),
        "\N{GRINNING FACE}" * (LONGEST_FORMAT - 11),
    )
    affixes = tuple(long + end for end in ends)
    money = number(NumberFormat(",", "space", affixes, brackets=True))
    days = date(*(f"{wide}{end} %d/%m/%Y"[:LONGEST_FORMAT] for end in ends))

    assert read(money, [f"({affixes[99]}1 234,5)", f"7 {affixes[0]}"]) == [-123450, 700]
    assert read(days, [f"{wide}{ends[99]} 2/1/1970", "2/1/1970"]) == [1, None]


def test_cells_between_two_steps_get_the_even_step() -> None:
    """On a grid of quarters, on either side of zero, as on a grid of decimals."""
    quarters = NumberColumn("x", Fraction(1, 4), (-20, 20))
    cells: list[str | None] = ["0.125", "0.375", "0.625", "-0.125", "-0.375", "-0.625", "0.126"]
    assert read(quarters, cells) == [0, 2, 2, 0, -2, -2, 1]
    thirds = NumberColumn("x", Fraction(3), (-20, 20))
    halves: list[str | None] = ["1.5", "4.5", "7.5", "-1.5", "-4.5", "1.51"]
    assert read(thirds, halves) == [0, 2, 2, 0, -2, 1]


@pytest.mark.parametrize("singletons", [False, True])
def test_rows_whose_id_is_a_mark_are_no_persons(tmp_path: Path, singletons: bool) -> None:
    """They are left out, or persons with one row each, like rows without an id."""
    text = "who,x\n" + " 0,1\n0,1\nNA,1\n,1\n00,1\na,1\na,1\n"
    path, parquet = tmp_path / "d.csv", tmp_path / "d.parquet"
    path.write_text(text, "utf-8")
    pl.read_csv(path, infer_schema=False).write_parquet(parquet)
    unit = PersonUnit("who", 1, 1, 1, singletons, options=(("na", ("0", "NA")),))
    ids = IdColumn("who", singletons_without_id=singletons, options=options(na=("0", "NA")))
    expected = evaluate([LinearQuery()], text.encode(), unit)
    assert expected == [[6 if singletons else 2]]
    assert engine([LinearQuery()], unit, path) == expected
    assert engine([LinearQuery()], unit, parquet) == expected
    assert read(ids, [" 0", "NA", "00", "", "a"]) == [None, None, "00", None, "a"]


def test_a_text_without_a_label_gets_the_declared_other_label() -> None:
    """Blank and marked cells stay missing, and case may be ignored, also that of marks."""
    values = (("Male", "m"), ("Female", "f"))
    column = CategoryColumn("x", values, options=options(na=("NA",), any_case=True), other="rest")
    cells: list[str | None] = [" male", "FEMALE", "x", "NA", "na", " ", None]
    expected = [0, 1, 2, None, None, None, None]
    assert read(column, cells) == expected == [value(column, cell or "") for cell in cells]


AFFIXES = ("$", "%", "€", "kg", "EUR", "i", "m²", "CO2", "Rs.", "Rs", ":-", "kg (wet)", "US-$")
FACTORS = (("k", 3), ("Mio.", 6), ("万", 4), ("M", 6), ("c", -2), ("K", 0))


@pytest.mark.parametrize("seed", mostly_extended(range(60), *range(3)))
def test_random_numbers_are_read_by_the_written_rules(seed: int) -> None:
    """For random forms and cells that nearly have them, engine and oracle agree."""
    random = Random(seed)
    decimal = random.choice(".,")
    marks = [mark for mark in ("none", ".", "'", "_", "space") if mark != decimal]
    marks += [",", "indian"] if decimal == "." else []
    affixes = random.sample(AFFIXES, random.choice((0, 0, 1, 3)))
    factors = random.sample(FACTORS, random.choice((0, 0, 1, 2)))
    form = NumberFormat(
        decimal,
        random.choice(marks),
        tuple(affixes),
        brackets=random.random() < 0.5,
        values=(("5+", "5"),),
        factors=tuple(factors),
        minus_after=random.random() < 0.3,
    )
    column = number(form, random.choice(((), ("-99",), ("-", "0", "1.5"))))
    pieces = ["1", "12", "123", "000", "99", "-", "+", "(", ")", " ", ",", ".", "'", "_", "e1"]
    pieces += ["\N{NO-BREAK SPACE}", "\N{MINUS SIGN}", "–", "²", "１", "½", "\N{ZERO WIDTH SPACE}"]
    pieces += [*affixes, *affixes, *dict(factors), "5+", "inf"]
    cells: list[str | None] = [
        "".join(random.choices(pieces, k=random.randint(1, 6))) for _ in range(1500)
    ]
    for _ in range(500):
        text = form.written(f"{random.uniform(-10_000, 10_000):.{random.randint(1, 3)}f}")
        at = random.randint(0, len(text))
        cells += [text, text[:at] + random.choice(["", *pieces]) + text[at + 1 :]]
    assert read(column, cells) == [value(column, cell or "") for cell in cells]


DATES = [day + time for day, time in product(DAYS, TIMES)]


@pytest.mark.parametrize("form", mostly_extended(DATES, *DATES[::9]))
def test_random_dates_are_read_by_the_written_rules(form: str) -> None:
    """For all formats and cells that nearly have them, engine and oracle agree."""
    random, column = Random(form), date(form)
    cells: list[str | None] = []
    for _ in range(300):
        day = f"{random.choice((1970, 2024, 2069, 999))}-{random.randint(1, 12):02}-01"
        text = DateForm(form).written(day.rjust(10, "0"), random.randrange(24))
        at = random.randint(0, len(text))
        odd = random.choice(["", "0", "1", "3", "9", " ", "-", "/", "a", "+"])
        cells += [text, text[:at] + odd + text[at + 1 :], text[:at] + odd + text[at:]]
    for one in (column, time_part_of(column, "hour")):
        assert read(one, cells) == [value(one, cell or "") for cell in cells]


def test_marks_are_counted_with_blank_cells_and_other_forms_as_unreadable(tmp_path: Path) -> None:
    """The check of cells tells marks from cells that are written in another form."""
    path = tmp_path / "data.csv"
    path.write_text("x\n" + "(1.234,50)\n" * 5 + "NA\n" * 4 + "1.23\n" * 3, encoding="utf-8")
    column = replace(number(EUROPEAN, ("NA",)), source=1)
    with open_dataset((str(path),), Dialect(delimiter=";", decimal=",")) as dataset:
        (cells,) = check_cells(dataset, (column,), (None, None), Progress()).columns
    assert (cells.readable, cells.blank, cells.unreadable) == ("some", "some", "some")
    path.write_text("x\n" + "(1.234,50)\n" * 5 + "NA\n" * 4, encoding="utf-8")
    with open_dataset((str(path),), Dialect(delimiter=";", decimal=",")) as dataset:
        (cells,) = check_cells(dataset, (column,), (None, None), Progress()).columns
    assert (cells.readable, cells.blank, cells.unreadable) == ("some", "some", "none")


COMPARED = (number(), date(), CategoryColumn("x", (("a", "a"),)), IdColumn("x"))


@pytest.mark.extended
@pytest.mark.parametrize("column", COMPARED, ids=lambda column: type(column).__name__)
def test_declared_texts_are_compared_in_the_form_of_cells(column: Column) -> None:
    """Whether polars is loaded or not, a declared text takes the form that its cell takes."""
    random = Random(1)
    letters = "aB0.- -\t'\"~\u00a0\u200b\u0301e\u2212é\n"
    texts = ["".join(random.choices(letters, k=random.randrange(5))) for _ in range(2_000)]
    cells = pl.DataFrame({"t": texts}).select(column.compared_text(pl.first()).fill_null(""))
    found = [column.compared([text])[0] for text in texts]
    assert found == cells.to_series().to_list() != texts
