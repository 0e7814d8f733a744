"""The oracle follows the written rules: small files with answers computed by hand."""

from __future__ import annotations

import csv
from fractions import Fraction

import pytest

from dpcli.data.column import Column
from dpcli.data.dates import DateColumn
from dpcli.data.filters import InRanges
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.kinds import Axis
from dpcli.data.labels import BooleanColumn, CategoryColumn, IdColumn
from dpcli.data.number_columns import IntegerColumn, NumberColumn
from dpcli.queries.query import LinearQuery
from dpcli.queries.sums import Factor
from tests.oracles.plain import evaluate, table, value

AGE = IntegerColumn("age", bounds=(18, 100))
INCOME = NumberColumn("income", Fraction(1, 2), bounds=(-20, 400))
CENTS = NumberColumn("pay", Fraction(1, 100), bounds=(0, 10**9))
VISIT = DateColumn("visit", bounds=(0, 18_993))
SEX = CategoryColumn("sex", (("0", "male"), ("1", "female"), ("f", "female")))
MARRIED = BooleanColumn("married", (("no", "no"), ("yes", "yes")))

ROWS = LinearQuery()


def total(column: NumericColumn, offset: int = 0) -> LinearQuery:
    """The sum of one column."""
    return LinearQuery(factors=(Factor(column, offset),))


def present(column: Column) -> LinearQuery:
    """The number of rows in which a column is not missing."""
    return LinearQuery(present=(column,))


# How the bytes become records.


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (b"age\n", 0),
        (b"age", 0),
        (b"age\n20\n30\n", 2),
        (b"age\n20\n30", 2),
        (b"age\r\n20\r\n30\r\n", 2),
        (b"age\r20\r30\r", 2),
        (b"age\n20\r30\r\n40", 3),
        (b"\n\nage\n\n20\n\n\n30\n\n", 6),
        (b"\n\nage,x\n\n20,1\n\n\n30,1\n\n", 2),
        (b'age\n""\n20\n', 2),
        (b"age\n \n\t\n20\n", 3),
        (b"age\n,\n,,,\n", 2),
        (b"age\n\x0c\n\x00\n", 2),
        (b'age\n"2\n0"\n30\n', 2),
        (b'age\n"2""0"\n30\n', 2),
        (b'age\n"20\n30\n40\n', 1),
        (b'age\n20\n"', 2),
        (b"age\n2\xe2\x80\xa80\n", 1),
    ],
)
def test_records(data: bytes, rows: int) -> None:
    """Records end at LF, CRLF or CR outside quotes; blank lines count only in one column."""
    assert evaluate([ROWS], data) == [[rows]]


def test_blank_text_is_not_a_header() -> None:
    """A file of blank lines has no header."""
    for data in (b"", b"\n\n", b"\xef\xbb\xbf", b"\r\n"):
        with pytest.raises(ValueError, match="no header"):
            evaluate([ROWS], data)


def test_byte_order_mark() -> None:
    """One byte order mark before the header is ignored, even before quotes."""
    assert evaluate([total(AGE)], b"\xef\xbb\xbfage\n20\n") == [[20]]
    assert evaluate([total(AGE)], b'\xef\xbb\xbf"age"\n20\n') == [[20]]


def test_bytes_that_are_not_text() -> None:
    """A byte that is not UTF-8 damages only its own cell."""
    assert evaluate([total(AGE), ROWS], b"age,x\n20,caf\xe9\n3\xff0,\n40,\n") == [[60], [3]]
    assert table(b"a\nx\xe9y\n")[1] == [["x\N{REPLACEMENT CHARACTER}y"]]


def test_ragged_rows() -> None:
    """Absent cells of a record are missing; with a surplus one all are, unless it is blank."""
    data = b'sex,age\n1,20\n1\n0,30,99,99\n0,30, ,""\n,40\n'
    by_sex = LinearQuery(by=(Axis(SEX),))
    assert evaluate([total(AGE), by_sex, ROWS], data) == [[90], [1, 2], [5]]


def test_quotes() -> None:
    """Quotes open a cell at its start, after blanks at most, and text after them is kept."""
    data = b'a,age\n"x",20\n"x"y,30\nx"y,40\n "x",50\n"x,\n60",70\n"x"" ,80\n'
    rows = table(data)[1]
    assert [row[0] for row in rows] == ["x", "xy", 'x"y', "x", "x,\n60", 'x" ,80\n']
    assert evaluate([total(AGE)], data) == [[20 + 30 + 40 + 50 + 70]]


def test_line_ends_in_quotes() -> None:
    """A line end inside quotes is an unchanged part of the cell."""
    text = CategoryColumn("text", (("a\nb", "lf"), ("a\r\nb", "crlf"), ("a\rb", "cr")))
    data = b'text\r\n"a\nb"\r\n"a\r\nb"\r\n"a\r\nb"\r"a\rb"\n'
    assert evaluate([LinearQuery(by=(Axis(text),))], data) == [[1, 2, 1]]


def test_a_very_long_cell() -> None:
    """A cell may have any length, and the limit of the csv module does not change."""
    before = csv.field_size_limit(1000)
    try:
        assert evaluate([total(AGE)], b"x,age\n" + b"y" * 200_000 + b",20\n") == [[20]]
        assert csv.field_size_limit() == 1000
    finally:
        csv.field_size_limit(before)


def test_order_of_columns() -> None:
    """Columns are found by name, at any position."""
    assert evaluate([total(AGE)], b'"a,b",age,ages\n1,20,3\n') == [[20]]


# The value of a cell.


@pytest.mark.parametrize(
    ("cell", "steps"),
    [
        ("42", 42),
        (" \t42\t ", 42),
        ("+42", 42),
        ("042", 42),
        ("42.", 42),
        ("4.2e1", 42),
        ("420E-1", 42),
        ("4.2e+01", 42),
        ("42.4999999999999999999999999", None),
        ("42.5", None),
        ("42.000", 42),
        ("17", 18),
        ("-5", 18),
        ("-0", 18),
        (".5", None),
        ("101", 100),
        ("1e999999999", 100),
        ("-1e999999999", 18),
        ("1e-999999999", None),
        ("0e-999999999", 18),
        ("4.25e1", None),
        ("4.20e1", 42),
        ("0e999999999", 18),
        ("1e" + "9" * 398, 100),
        ("0" * 398 + "42", 42),
        ("  " + "0" * 398 + "42  ", 42),
        ("0" * 399 + "42", 42),
        ("0" * 9000 + "42." + "0" * 9000, 42),
        ("inf", 100),
        ("-INF", 18),
        ("+Infinity", 100),
        ("infin", None),
        ("\N{LATIN SMALL LETTER DOTLESS I}nf", None),
        ("", None),
        ("  ", None),
        ("nan", None),
        ("NA", None),
        ("-", None),
        (".", None),
        ("e5", None),
        ("1e", None),
        ("1e1.5", None),
        ("0x10", None),
        ("1_000", None),
        ("1,200", None),
        ("4 2", None),
        ("42\n", None),
        ("\N{NO-BREAK SPACE}42\N{ZERO WIDTH SPACE}", 42),
        ("42\v", None),
        ("42\x00", None),
        ("\N{ARABIC-INDIC DIGIT FOUR}\N{ARABIC-INDIC DIGIT TWO}", None),
        ("\N{MINUS SIGN}42", 18),
        ("--42", None),
        ("+ 42", None),
        ("42%", None),
        ("'42", None),
    ],
)
def test_numbers(cell: str, steps: int | None) -> None:
    """A cell is a whole number of ASCII digits, clamped, or it is missing."""
    assert value(AGE, cell) == steps


@pytest.mark.parametrize(
    ("cell", "steps"),
    [
        ("1.24", 2),
        ("1.25", 2),
        ("1.75", 4),
        ("-1.24", -2),
        ("-1.25", -2),
        ("-1.2500001", -3),
        ("-1.75", -4),
        ("-0.25", 0),
        ("-0.2500000000000001", -1),
        ("200.2", 400),
        ("-10.3", -20),
        ("-1e-999999", 0),
        ("-inf", -20),
    ],
)
def test_rounding(cell: str, steps: int) -> None:
    """A number becomes the nearest whole step, halves to the even one, and is clamped."""
    assert value(INCOME, cell) == steps


def test_exactness() -> None:
    """Decimals are exact: no cell passes through a binary float."""
    assert (value(CENTS, "1.005"), value(CENTS, "1.015")) == (100, 102)
    assert value(CENTS, "1.00499999999999999999999999999999") == 100
    assert value(CENTS, "9999999.99") == 999_999_999
    tiny = NumberColumn("tiny", Fraction(1, 10**12), bounds=(0, 5))
    assert value(tiny, "0.0000000000005") == 0
    assert value(tiny, "0.00000000000051") == 1
    assert value(tiny, "0.00000000000049") == 0
    assert value(tiny, "5e-12") == 5
    debt = IntegerColumn("debt", bounds=(-(10**9), 0))
    assert value(debt, "-1e8") == -(10**8)
    assert value(debt, "-1e10") == -(10**9)
    large = NumberColumn("large", Fraction(10**6), bounds=(-(2**62), 2**62))
    assert value(large, "1e20") == 10**14
    assert value(large, "499999.999") == 0
    assert (value(large, "500000"), value(large, "500001")) == (0, 1)
    assert value(large, "1e24") == 10**18
    assert value(large, "1e26") == 2**62


@pytest.mark.parametrize(
    ("cell", "days"),
    [
        ("1970-01-01", 0),
        ("1970-01-02", 1),
        ("2000-02-29", 11_016),
        ("2021-12-31", 18_992),
        (" 1970-01-11\t", 10),
        ("1970-01-11T23:59:59Z", 10),
        ("1970-01-11 noon", None),
        ("1970-01-11T", None),
        ("1970-01-11 00:00:00 BC", None),
        ("1970-01-11 \n", None),
        ("1970-01-11T00:00:00." + "0" * 500, 10),
        ("1969-12-31", 0),
        ("0001-01-01", 0),
        ("2022-01-02", 18_993),
        ("9999-12-31", 18_993),
        ("0000-01-01", None),
        ("2021-02-29", None),
        ("2021-13-01", None),
        ("2021-3-7", None),
        ("31/12/2021", None),
        ("20210307", None),
        ("1970-01-11t00", None),
        ("1970-01-11\tx", None),
        ("1970-01-110", None),
        ("+1970-01-11", None),
        ("12021-01-01", None),
        ("197\N{ARABIC-INDIC DIGIT ZERO}-01-11", None),
        ("1970\N{MINUS SIGN}01-11", None),
        ("11", None),
        ("inf", None),
        ("", None),
    ],
)
def test_dates(cell: str, days: int | None) -> None:
    """A date is YYYY-MM-DD and perhaps a time, clamped, or it is missing."""
    assert value(VISIT, cell) == days


def test_categories() -> None:
    """A category is exactly one of the declared texts; labels may be shared."""
    cells = ["0", "1", "f", " f ", "F", "male", "1.0", "01", "", "2", "\N{NO-BREAK SPACE}0"]
    expected = [0, 1, 1, 1, None, None, None, None, None, None, 0]
    assert [value(SEX, cell) for cell in cells] == expected
    assert [value(MARRIED, cell) for cell in ("no", "yes", "true", "0")] == [0, 1, None, None]


def test_ids() -> None:
    """An id is present or missing; its text does not matter."""
    person = IdColumn("person")
    data = b'person\n7\n x \n \n""\n7\n'
    assert evaluate([present(person)], data) == [[3]]


def test_missing_constant() -> None:
    """A missing cell becomes the declared constant, in every kind of column."""
    age = IntegerColumn("age", bounds=(18, 100), missing=50)
    sex = CategoryColumn("sex", SEX.values, missing=0)
    visit = DateColumn("visit", bounds=(0, 100), missing=7)
    data = b"sex,age,visit\n1,20,1970-01-02\n?,NaN,?\n1\n"
    queries = [total(age), LinearQuery(by=(Axis(sex),)), total(visit), present(age)]
    assert evaluate(queries, data) == [[20 + 50 + 50], [1, 2], [1 + 7 + 7], [3]]


# What a row adds, and to which cell.

TOWN = b"""sex,age,married,income
0,18,no,10
1,29,yes,20.25
f,30,yes,-3
1,64,,inf
0,99,no,
0,100,yes,0.5
2,40,no,7
"""


def test_counts_by_group() -> None:
    """Every declared group is answered, and rows outside all groups are skipped."""
    assert evaluate([ROWS, LinearQuery(by=(Axis(SEX),))], TOWN) == [[7], [3, 3]]
    assert evaluate([LinearQuery(by=(Axis(SEX),))], b"sex\n9\n") == [[0, 0]]


def test_bins() -> None:
    """A bin holds the values from its start to below the next; the last bin has no end."""
    bins = Axis(AGE, (18, 30, 64))
    assert evaluate([LinearQuery(by=(bins,))], TOWN) == [[2, 2, 3]]


def test_the_last_axis_is_fastest() -> None:
    """Cells are listed with the last axis fastest, whatever its kind."""
    bins = Axis(AGE, (18, 30))
    query = LinearQuery(by=(Axis(SEX), Axis(MARRIED), bins))
    # male no: 18 | 99; male yes: none | 100; female no: none; female yes: 29 | 30.
    assert evaluate([query], TOWN) == [[1, 1, 0, 1, 0, 0, 1, 1]]


def test_conditions() -> None:
    """A row passes when each condition holds in at least one of its ranges."""
    young_or_old = InRanges(AGE, ((18, 29), (100, 200)))
    female = InRanges(SEX, ((1, 1),))
    queries = [
        LinearQuery(where=(young_or_old,)),
        LinearQuery(where=(young_or_old, female)),
        LinearQuery(where=(InRanges(AGE, ()),)),
        LinearQuery(where=(InRanges(SEX, ((0, 0), (0, 1))),)),
    ]
    assert evaluate(queries, TOWN) == [[3], [1], [0], [6]]


def test_sums() -> None:
    """A sum adds whole steps minus the offset, over rows that are not missing."""
    # In half units: 20, 40 (20.25 is half-way, 40 even), -6, 400 (clamped), missing, 1, 14.
    assert evaluate([total(INCOME)], TOWN) == [[469]]
    assert evaluate([total(INCOME, 190)], TOWN) == [[469 - 6 * 190]]
    by_sex = LinearQuery(factors=(Factor(INCOME),), by=(Axis(SEX),))
    assert evaluate([by_sex], TOWN) == [[21, 434]]


def test_products() -> None:
    """Several factors are multiplied, and a row needs all of them."""
    squares = LinearQuery(factors=(Factor(INCOME), Factor(INCOME)))
    assert evaluate([squares], TOWN) == [[400 + 1600 + 36 + 160_000 + 1 + 196]]
    cross = LinearQuery(
        factors=(Factor(INCOME, 1), Factor(AGE, 18)), where=(InRanges(AGE, ((18, 30),)),)
    )
    assert evaluate([cross], TOWN) == [[0 + 39 * 11 - 7 * 12]]


def test_present_columns() -> None:
    """A row is counted only when the columns that must be present are."""
    assert evaluate([present(INCOME), present(MARRIED), present(SEX)], TOWN) == [[6], [6], [6]]
    both = LinearQuery(by=(Axis(SEX),), present=(INCOME, MARRIED))
    assert evaluate([both], TOWN) == [[2, 2]]


def test_sums_are_never_rounded() -> None:
    """Sums have any size."""
    large = IntegerColumn("large", bounds=(-(2**62), 2**62))
    data = b"large\n" + b"inf\n" * 5
    cube = LinearQuery(factors=(Factor(large), Factor(large), Factor(large)))
    assert evaluate([total(large), cube], data) == [[5 * 2**62], [5 * 2**186]]


def test_columns_of_one_name() -> None:
    """Two declarations of one column of a file are independent."""
    coarse = NumberColumn("age", Fraction(10), bounds=(0, 10))
    assert evaluate([total(AGE), total(coarse)], b"age\n25\n34\n") == [[59], [5]]
