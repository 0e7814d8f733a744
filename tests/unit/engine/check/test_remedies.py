"""What would read the cells of a column that cannot be read as declared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from dpcli.data.column import FREQUENT, Column, SampledTexts
from dpcli.data.date_forms import DateForm, DateFormat
from dpcli.data.dates import DateColumn
from dpcli.data.formats import NumberFormat
from dpcli.data.labels import BooleanColumn, CategoryColumn, UsualWords
from dpcli.data.number_columns import IntegerColumn, NumberColumn
from dpcli.engine.check_cells import Remedy, find_remedy, missing_codes
from dpcli.numeric.days import days_of
from tests.support.options import options
from tests.support.rules import mostly_extended

MONEY = NumberColumn("x", Fraction(1, 100), (-(10**9), 10**9))
AGE = IntegerColumn("x", Fraction(1), (0, 110))
DAY = DateColumn("x", Fraction(1), (0, 30_000))
SHARE = NumberColumn("x", Fraction(1, 1000), (0, 1000))
WEIGHT = NumberColumn("x", Fraction(1, 1000), (0, 10**6))
SEX = CategoryColumn("x", (("male", "male"), ("female", "female")))
CODES = CategoryColumn("x", (("1", "one"), ("2", "two")))


def labels(*texts: str) -> CategoryColumn:
    """A column of these labels."""
    return CategoryColumn("x", tuple(zip(texts, texts, strict=True)))


TRUTH = BooleanColumn("x", (("false", "false"), ("true", "true")))


TRUTH_WORDS = replace(TRUTH, options=(UsualWords(),))


def remedy(
    column: Column, unread: Sequence[str], read: Sequence[str] = (), decimal: str = "."
) -> Remedy | None:
    """The remedy of a column with these cells."""
    return find_remedy(
        column, SampledTexts(Counter(unread), len(unread), Counter(read), len(read), decimal)
    )


def other_values(key: str) -> str:
    """The doubt that names another key for the same cells."""
    return f"`{key}` would read them as well, as other values: look at the file"


@pytest.mark.parametrize(
    ("column", "cells", "keys"),
    [
        (MONEY, ["$1,234.50", "$2.00"], ('thousands: ","', 'affixes: "$"')),
        (MONEY, ["1.234,50", "12,75"], ('thousands: "."', 'decimal: ","')),
        (MONEY, ["1 234,50", "2\u202f345\u202f678,1"], ("thousands: space", 'decimal: ","')),
        (MONEY, ["1'234.50"], ("thousands: \"'\"",)),
        (MONEY, ["(12)", "(1,200.5)", "1,000,000"], ('thousands: ","', "brackets: true")),
        (MONEY, ["12-", "1,200,000.5"], ('thousands: ","', "minus: after")),
        (MONEY, ["1,23,456.50", "12,34,567"], ("thousands: indian",)),
        (MONEY, ["12 %", "7%"], ('affixes: "%"',)),
        (MONEY, ["3 EUR", "4 €"], ('affixes: [EUR, "€"]',)),
        (MONEY, ["3,5", "12,25", "NA", "NA"], ('decimal: ","', "na: NA")),
        (AGE, ["<NA>", "n/a"], ('na: ["<NA>", n/a]',)),
        (DAY, ["31.12.2024", "1.2.2024"], ('format: "%d.%m.%Y"',)),
        (DAY, ["12/31/2024 1:05 PM", "1/2/2024 11:05 AM"], ('format: "%m/%d/%Y %I:%M %p"',)),
        (DAY, ["20240131"], ('format: "%Y%m%d"',)),
        (DAY, ["31012024"], ('format: "%d%m%Y"',)),
        (DAY, ["3 Mar 2024", "14 May 2024"], ('format: "%d %b %Y"',)),
        (DAY, ["March 3, 2024"], ('format: "%b %d, %Y"',)),
        (DAY, ["May 2024", "June 2024"], ('format: "%b %Y"',)),
        (DAY, ["2024Q2", "2023Q1"], ('format: "%YQ%q"',)),
        (DAY, ["Q2 2024", "Q1 2023"], ('format: "Q%q %Y"',)),
        (DAY, ["2024-W05", "2023-W52"], ('format: "%G-W%V"',)),
        (DAY, ["31.12.2024 10:00 UTC"], ('format: "%d.%m.%Y %H:%M %z"',)),
        (DAY, ["01JAN2020", "31DEC2020"], ('format: "%d%b%Y"',)),
        (DAY, ["JAN2020", "DEC2020"], ('format: "%b%Y"',)),
        (DAY, ["20200131120000"], ('format: "%Y%m%d%H%M%S"',)),
        (DAY, ["20200131T1200", "20200212T0930"], ('format: "%Y%m%dT%H%M"',)),
        (DAY, ["20200131T120000Z"], ('format: "%Y%m%dT%H%M%S%z"',)),
        (DAY, ["31/12/2024T10:30:01.25+02:00"], ('format: "%d/%m/%YT%H:%M:%S.%f%z"',)),
        (SEX, ["Male", "FEMALE"], ("case: ignore",)),
        (labels("Monday", "Friday"), ["MON", "FRI"], (
            "values: {Monday: Monday, Friday: Friday, FRI: Friday, MON: Monday}",
        )),
        (labels("18-24", "over 25"), ["18\u201424"], (
            'values: {"18-24": "18-24", over 25: over 25, "18\u201424": "18-24"}',
        )),
        (SEX, ["fe male", "refused"], (
            "values: {male: male, female: female, fe male: female}", "na: refused",
        )),
        (CODES, ["01", "2.0"], ("values: {1: one, 2: two, 01: one, 2.0: two}",)),
        (TRUTH, ["Yes", "No"], ("values: [No, Yes]",)),
        (TRUTH, ["yes", "NO"], ("values: [NO, yes]",)),
        (TRUTH, ["yes", "Yes"], ("values: [no, yes]", "case: ignore")),
        (TRUTH, ["nein", "ja"], ("values: [nein, ja]",)),
        (TRUTH, ["Nei", "Ja"], ("values: [Nei, Ja]",)),
        (TRUTH, ["hay\u0131r", "evet"], ("values: [hay\u0131r, evet]",)),
        (TRUTH, ["\u5426", "\u662f"], ('values: ["\u5426", "\u662f"]',)),
        (TRUTH, ["TRUE", "False"], ("case: ignore",)),
        (TRUTH, ["0", "1", "NA"], ("values: [0, 1]", "na: NA")),
    ],
)  # fmt: skip
def test_cells_of_usual_forms_have_a_remedy(
    column: Column, cells: Sequence[str], keys: tuple[str, ...]
) -> None:
    """The keys are those that a person would write, all cells are read, and nothing is in doubt."""
    assert remedy(column, cells) == Remedy(keys, "all")


@pytest.mark.parametrize(
    ("column", "cells", "keys", "doubt"),
    [
        (MONEY, ["12 Thaler"], ("affixes: Thaler",), "`Thaler` may change the size of numbers"),
        (MONEY, ["5 kg", "7 lb"], (), "`kg` and `lb` may change the size of numbers"),
        (MONEY, ["$5", "€7"], (), "`$` and `€` may change the size of numbers"),
        (MONEY, ["50%", "0.5"], (), "`%` may change the size of numbers"),
        (MONEY, ["5k", "7k"], (), "size of numbers, which `factors: {k: 1000}` declares"),
        (MONEY, ["min 5", "max 9"], (), "`min` and `max` may change the size of numbers"),
        (MONEY, ["10 min", "h 5"], (), "`min` and `h` may change the size of numbers"),
        (SHARE, ["0.56%", "12%"], (), '`%` may change the size of numbers, which `factors: {"%": '),
        (SHARE, ["5\u2030"], (), 'which `factors: {"\u2030": 0.001}` declares'),
        (MONEY, ["12,345"] * 9 + ["1,234.5"], ('thousands: ","',), "three digits after `,` may be"),
        (MONEY, ["12,345"] * 9 + ["2,68030"], ('decimal: ","',), "three digits after `,` may be"),
        (WEIGHT, ["0,345", *["2,680"] * 3], ('decimal: ","',), "three digits after `,` may be"),
        (MONEY, [*["1,234.50"] * 9, "1.234,50"], ('thousands: ","',), "may be thousands"),
        (MONEY, ["(5)", "(6)"], ("brackets: true",), "numbers in brackets, or with a minus"),
        (AGE, ["85+"], ('values: {"85+": 85}',), "`85+` would stand for that number alone"),
        (AGE, ["90 and over"], ("values: {90 and over: 90}",), "stand for that number alone"),
        (AGE, ["-"], ('na: "-"',), "`-` may not mean that an answer is missing"),
        (SEX, ["F"], ("values: {male: male, female: female, F: female}",), "`F` may mean"),
        (SEX, ["M", "F"], (
            "values: {male: male, female: female, F: female, M: male}",
        ), "`F` and `M` may mean something else"),
        (labels("Chad", "Denmark"), ["CH", "DE"], (
            "values: {Chad: Chad, Denmark: Denmark, CH: Chad, DE: Denmark}",
        ), "may mean something else"),
        (labels("ano", "av\u00f3"), ["a\u00f1o", "av\u00f4"], (
            "values: {ano: ano, av\u00f3: av\u00f3, av\u00f4: av\u00f3, a\u00f1o: ano}",
        ), "may mean something else"),
        (labels("250.1", "251"), ["250.10"], (
            "values: {250.1: 250.1, 251: 251, 250.10: 250.1}",
        ), "`250.10` may mean something else"),
        (labels("250.10", "251"), ["251.0"], (
            "values: {250.10: 250.10, 251: 251, 251.0: 251}",
        ), "`251.0` may mean something else"),
        (CODES, ["01", "001", "2.0"], (
            "values: {1: one, 2: two, 001: one, 01: one, 2.0: two}",
        ), "`001` and `01` may mean something else"),
        (CODES, ["1.000"], ("values: {1: one, 2: two, 1.000: one}",), "`1.000` may mean"),
        (TRUTH, ["1"], ("values: [0, 1]",), "`1` may mean something else"),
        (TRUTH, ["n", "s"], ("values: [n, s]",), "`n` and `s` may mean something else"),
        (TRUTH, ["J", "N"], ("values: [N, J]",), "`j` and `n` may mean something else"),
        (DAY, ["2020", "2021"], ('format: "%Y"',), "a month or a year may be a quarter"),
        (DAY, ["May 2020", "3 May 2020"], ('format: ["%b %Y", "%d %b %Y"]',), "may be a quarter"),
        (DAY, ["05.04.2023", "07.04.2023", "23/11/2023"], (
            'format: ["%d.%m.%Y", "%d/%m/%Y"]',
        ), "orders are mixed"),
        (DAY, ["3 Januar 2020"], (), "may read names in other languages"),
        (DAY, ["12-ene-2020", "3 de mayo de 2021"], (), "`months: [...]` with `format:"),
        (DAY, ["44197.5"], ("format: excel",), "numbers may be no times"),
        (DAY, ["1577836800.0"], ("format: epoch",), "numbers may be no times"),
        (DAY, ["2024-01", "2024-12"], ('format: "%Y-%m"',), "may be a quarter, a week, a day"),
        (DAY, ["1706745600"], ("format: epoch",), "or those of another place than UTC"),
        (DAY, ["45292"], ("format: excel",), "numbers may be no times"),
    ],
)  # fmt: skip
def test_what_may_mean_something_else_is_in_doubt(
    column: Column, cells: Sequence[str], keys: tuple[str, ...], doubt: str
) -> None:
    """The doubt is stated; if sizes may differ, no key is proposed."""
    column = replace(column, bounds=(-60_000, 30_000)) if column is DAY else column
    found = remedy(column, list(cells) * FREQUENT)

    assert found is not None
    assert found.keys == keys
    assert any(doubt in each and each.endswith(": look at the file") for each in found.doubts)


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        (CODES, ["-2", "1-2", "12.", ".1"]),
        (labels("<20", "20-39"), [">20", "2039", "\u226420"]),
        (labels("A+", "AB"), ["A-", "A", "A-B"]),
        (labels("12", "3"), ["1-2", "1 2", "1.2"]),
        (labels("no", "unknown"), ["not", "no?"]),
        (TRUTH, ["1", "2"]),
        (TRUTH, ["f", "m"]),
        (TRUTH, ["yes", "perhaps"]),
        (DAY, ["2024H2", "S1 2024", "2024 W 05", "KW 05 2024", "2024-T1"]),
        (DAY, ["1. Januar 2024", "3 de mayo 2024", "Monday, 5 May 2024"]),
        (DAY, ["02:30", "11:38:36", "2:30 PM"]),
        (DAY, ["170674560", "2024-123", "2010/11x"]),
        (MONEY, [">=45 (not detected)", "5 (estimated)", "5*"]),
        (MONEY, ["\u22125", "5\u4e07", "5\u00bd", "\uff15"]),
    ],
)
def test_cells_of_another_meaning_have_no_remedy(column: Column, cells: Sequence[str]) -> None:
    """Signs, digits, quarters, weeks, times and other languages are never dropped."""
    found = remedy(column, list(cells) * FREQUENT)

    assert found is None or not found.keys


def test_codes_from_1_to_12_are_read_as_numbers() -> None:
    """`1.0` is 1 and never 10, and a negative code may mean a missing answer."""
    column = labels(*map(str, range(1, 13)))
    cells = [f"{code}.0" for code in range(1, 13)]
    found = remedy(column, cells)

    assert found is not None
    assert not found.doubts
    assert all(f"{code}.0: {code}" in found.keys[0] for code in range(1, 13))
    frequent = {"-2.0": FREQUENT, "-9": FREQUENT, "3-4": 50}
    assert missing_codes(frequent, ()) == ("-2.0", "-9")
    assert missing_codes(frequent, ("-2",)) == ("-9",)


def test_cells_that_no_declaration_reads_have_no_remedy() -> None:
    """Words are no numbers, ranges no dates, and other words no declared texts."""
    for column in (MONEY, AGE, DAY, SEX, CODES, TRUTH):
        assert remedy(column, ["words 1 and 2", "18-24", "1/2/3/4"] * FREQUENT) is None


def test_frequent_words_are_marks_of_numbers_and_dates() -> None:
    """A word that many rows have next to numbers is proposed as a mark, but no label is."""
    for column, text in ((MONEY, "5"), (AGE, "5"), (DAY, "2024-12-31")):
        found = remedy(column, ["verweigert"] * FREQUENT + ["k.A."], [text])
        assert found is not None
        assert found.keys == ("na: [verweigert, k.A.]",)
        assert found.doubts == (
            "`verweigert` may not mean that an answer is missing: look at the file",
        )
        assert remedy(column, ["verweigert"] * (FREQUENT - 1), [text]) is None
        assert remedy(column, ["low", "high"] * FREQUENT) is None
    assert remedy(SEX, ["verweigert"] * FREQUENT, ["male"]) is None


def test_words_of_booleans_are_spelled_as_in_all_cells() -> None:
    """`No` can be read already, and stands in the pair with `S\u00ed` as the file has it."""
    assert remedy(TRUTH_WORDS, ["S\u00ed"], ["No"]) == Remedy(("values: [No, S\u00ed]",), "all")


def test_days_that_a_program_swapped_are_in_doubt() -> None:
    """ISO dates of days up to 12 next to other texts of later days were perhaps swapped."""
    late, early = ["23/11/2023", "31/12/2023"], ["2023-05-04", "2023-12-11"]
    found = remedy(DAY, late, early)
    assert found is not None
    assert found.keys == ('format: ["%Y-%m-%d", "%d/%m/%Y"]',)
    assert found.doubts == ("orders are mixed: look at the file",)
    certain = remedy(DAY, [*late, "01/02/2023"], [*early, "2023-12-13"])
    assert certain == Remedy(found.keys, "all")


def test_a_text_of_few_rows_is_not_named() -> None:
    """An unusual unit or an open-ended answer is named only if enough rows have it."""
    for column, text in ((MONEY, "12 Thaler"), (AGE, "97+")):
        assert remedy(column, [text] * (FREQUENT - 1)) is None
        assert remedy(column, [text] * FREQUENT) is not None
    assert missing_codes(Counter({"-99": FREQUENT, "-999": 1, "111": 50}), ()) == ("-99",)


def test_readable_cells_stay_readable() -> None:
    """A decimal comma that would lose the numbers with a point is not proposed."""
    assert remedy(MONEY, ["1,5"], ["2.5"] * 9) is None
    both = remedy(DAY, ["31/12/2024"] * 5, ["2024-12-31"] * 9)
    assert both is not None
    assert both.keys == ('format: ["%Y-%m-%d", "%d/%m/%Y"]',)


def test_groups_of_three_digits_may_be_decimals() -> None:
    """`1,234` is proposed as a thousand, and the other reading is named."""
    found = remedy(MONEY, ["1,234", "5,678"])
    assert found is not None
    assert found.keys == ('thousands: ","',)
    assert other_values('decimal: ","') in found.doubts
    found = remedy(MONEY, ["1,234,567", "5,678"])
    assert found == Remedy(('thousands: ","',), "all")
    found = remedy(MONEY, ["1,2", "5,67"])
    assert found == Remedy(('decimal: ","',), "all")
    # Three decimals are more than the step has.
    found = remedy(MONEY, ["1,234", "5,67"])
    assert found is not None
    assert found.keys == ('decimal: ","',)
    assert "three digits after `,` may be thousands" in found.doubts[0]


def test_days_and_months_may_change_places() -> None:
    """After a year comes the month. Otherwise the other order is named, if it reads as much."""
    monthly = [f"2020.{month:02}.01" for month in range(1, 13)]
    named = (other_values('format: "%Y.%d.%m"'),)
    assert remedy(DAY, monthly) == Remedy(('format: "%Y.%m.%d"',), "all", named)
    other = ['format: "%m/%d/%Y"', 'format: "%d/%m/%Y"']
    for cells, (first, *instead) in (
        (["01/02/2024", "12/01/2024"], other[::-1]),
        (["01/02/2024", "12/31/2024"], other[:1]),
        (["31/12/2024"], other[1:]),
    ):
        others = tuple(map(other_values, instead))
        assert remedy(DAY, cells) == Remedy((first,), "all", others)
    declared = replace(DAY, options=options(DateFormat((DateForm("%d/%m/%Y"),))))
    both = 'format: ["%d/%m/%Y", "%Y-%m-%d"]'
    assert remedy(declared, ["2024-01-02", "2024-12-31"]) == Remedy((both,), "all")


def test_bounds_decide_which_days_are_plausible() -> None:
    """A format of which most days are outside the bounds is neither proposed nor named."""
    year = DateColumn("x", Fraction(1), (days_of("2022-01-01"), days_of("2024-06-30")))
    cells = ["03-Mar-24", "14-May-22"]
    assert remedy(year, cells) == Remedy(('format: "%d-%b-%y"',), "all")
    assert remedy(year, ["24-05-26", "23-12-11"]) == Remedy(('format: "%y-%m-%d"',), "all")
    assert remedy(year, ["01/02/1999", "03/04/1998"]) is None
    found = remedy(DAY, cells)
    assert found is not None
    assert other_values('format: "%y-%b-%d"') in found.doubts


def test_years_of_two_digits_need_a_century_where_bounds_have_room_for_two() -> None:
    """No format could be pasted alone, so the hint names both keys."""
    century = replace(DAY, bounds=(days_of("1900-01-01"), days_of("2020-12-31")))
    says = '`format: "%d/%m/%y"` with `century_from` would read years of two digits'
    assert remedy(century, ["31/12/61"]) == Remedy((), "none", (f"{says}: look at the file",))


def test_a_remedy_keeps_what_is_declared() -> None:
    """Declared affixes and marks stay in the lists, before the new ones, of one unit only."""
    declared = NumberColumn(
        "x", MONEY.step, MONEY.bounds, options=options(NumberFormat(affixes=("EUR",)), ("-",))
    )
    found = remedy(declared, ["€5", "NA"], ["EUR 5"])
    assert found == Remedy(('affixes: [EUR, "€"]', 'na: ["-", NA]'), "all")
    found = remedy(declared, ["$5", "NA"], ["EUR 5"])
    assert found is not None
    assert found.keys == ('na: ["-", NA]',)


def test_the_decimal_mark_of_the_file_is_known() -> None:
    """With a decimal comma for all columns, only the groups of digits are new."""
    found = remedy(MONEY, ["1.234,50"], ["12,5"], decimal=",")
    assert found == Remedy(('thousands: "."',), "all")
    assert remedy(MONEY, ["12.5"] * 3, ["12,5"] * 3, decimal=",") is None


@pytest.mark.parametrize(
    "column", mostly_extended([MONEY, AGE, DAY, SEX, CODES, TRUTH], MONEY, DAY, SEX)
)
def test_odd_cells_end_no_check(column: Column) -> None:
    """Whatever cells hold, they are read by a remedy or by none."""
    chosen = Random(column.kind)
    pieces = ["$", "1", "12", "2024", ",", ".", " ", "(", ")", "/", ":", "-", "+", "e", "%", "May",
              "é", "\ufffd", "NA", "<", "{", "T", "Z", "am", "'", '"', "٣"]  # fmt: skip
    for _ in range(12):
        cells = ["".join(chosen.choices(pieces, k=chosen.randint(1, 6))) for _ in range(40)]
        found = remedy(column, [text.strip() or "x" for text in cells] * 12)
        assert found is None or found.reads != "none" or not found.keys


def test_spellings_of_an_unread_text_are_one_text() -> None:
    """Texts that differ by case alone stand once in a proposal that ignores case."""
    letters = CategoryColumn("x", (("a", "x"), ("b", "x"), ("zzz", "z")))
    found = remedy(letters, ["A", "\u00e4", "\u00c4"])

    assert found is not None
    assert "case: ignore" in found.keys


def test_spellings_are_one_text_where_case_is_ignored_already() -> None:
    """A column that ignores case gets an abbreviation once, in whatever case the file has it."""
    declared = replace(SEX, options=options(any_case=True))

    found = remedy(declared, ["f", "F", "m"], ["Male"])
    assert found is not None
    assert found.keys == ("values: {male: male, female: female, f: female, m: male}",)
