"""The digits that people read: two of half the width of an interval, and ends outward."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcli.numeric.exact import decimal_text
from dpcli.report.digits import any_rounded, reader_of, supported, supported_error
from dpcli.report.numbers import CellText
from dpcli.statistics.postprocessing import Flag


def cell(value: str, lower: str, upper: str, flag: Flag = Flag.NONE) -> CellText:
    """A published number in an interval."""
    return CellText("n", {"sex": "f"}, "", value, lower, upper, flag)


@pytest.mark.parametrize(
    ("published", "read"),
    [
        (("65.3271", "43.1188", "87.5354"), ("65", "43", "88")),
        (("1234.56", "1110.20", "1359.99"), ("1230", "1110", "1360")),
        (("1234", "1204", "1264"), ("1234", "1204", "1264")),
        (("2207", "2079", "2338"), ("2210", "2070", "2340")),
        (("0.45", "0.00", "5.83"), ("0.5", "0.0", "5.9")),
        (("-0.04", "-1.234", "1.111"), ("0.0", "-1.3", "1.2")),
        (("-4.73", "0.00", "0.65"), ("-4.73", "0.00", "0.65")),
        (("123456789", "122222222", "124691356"), ("123500000", "122200000", "124700000")),
        (("0.123456", "0.123400", "0.123519"), ("0.123456", "0.123400", "0.123519")),
        (("0.12345678", "0.12340000", "0.12351912"), ("0.123457", "0.123400", "0.123520")),
    ],
)
def test_two_digits_of_half_the_width_are_shown(
    published: tuple[str, str, str], read: tuple[str, str, str]
) -> None:
    """Values are rounded to nearest, lower ends down and upper ends up."""
    shown = supported(cell(*published))
    assert (shown.value, shown.lower, shown.upper) == read
    assert reader_of("all")(cell(*published)) == cell(*published)
    assert any_rounded([cell(*published)], "interval") == (published != read)
    assert not any_rounded([cell(*published)], "all")


@pytest.mark.parametrize(
    "numbers",
    [("65.3271", "", ""), ("65.3271", "65.3271", "65.3271"), ("", "", ""), ("", "1.234", "99.999"),
     ("2024-03-05", "2023-01-01", "2025-12-31")],
)  # fmt: skip
def test_without_an_interval_nothing_is_rounded(numbers: tuple[str, str, str]) -> None:
    """Choices, exact numbers, suppressed ones and dates stay as they are."""
    assert supported(cell(*numbers)) == cell(*numbers)


def test_bounds_are_not_rounded() -> None:
    """The ends of an interval that is all that is possible are public facts of the spec."""
    shown = supported(cell("5123.25", "0.00", "12345.67", Flag.NO_INFORMATION))
    assert (shown.value, shown.lower, shown.upper) == ("5100", "0.00", "12345.67")
    largest = cell("19960", "0", "19960", Flag.NO_INFORMATION)
    assert supported(largest) == largest


@given(
    st.integers(-(10**9), 10**9), st.integers(0, 10**9), st.integers(1, 10**9), st.integers(0, 6)
)
def test_a_rounded_interval_contains_the_published_one(
    low: int, within: int, width: int, places: int
) -> None:
    """It is at most a tenth wider at either end, and the value moves by at most a twentieth."""
    numbers = low + within % (width + 1), low, low + width
    value, lower, upper = (Fraction(number, 10**places) for number in numbers)
    texts = [decimal_text(number, places) for number in (value, lower, upper)]
    shown = supported(cell(texts[0], texts[1], texts[2]))
    read = [Fraction(Decimal(text)) for text in (shown.value, shown.lower, shown.upper)]
    half = (upper - lower) / 2

    assert read[1] <= lower <= upper <= read[2]
    assert read[1] <= read[0] <= read[2]
    assert lower - read[1] < half / 10 and read[2] - upper < half / 10
    assert abs(read[0] - value) <= half / 20
    assert len(shown.value) <= len(texts[0]) + 1
    assert replace(shown, value="", lower="", upper="") == cell("", "", "")


@pytest.mark.parametrize(
    ("error", "shown"),
    [("7.725", "7.8"), ("0.010", "0.010"), ("0.0502", "0.051"), ("1234", "1300"), ("0", "0")],
)
def test_errors_have_two_digits(error: str, shown: str) -> None:
    """A standard error is rounded up, and not made longer."""
    assert supported_error(error) == shown
