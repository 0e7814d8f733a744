"""Numbers and keys of YAML: each is exact or refused, never something else."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpcli.fields.values import MAX_EXPONENT, NumberSyntaxError, parse_cell, parse_day, parse_number
from dpcli.problems.errors import SpecError
from dpcli.specification.load import parse_central_spec
from tests.support.refusals import refused
from tests.support.rules import for_each
from tests.support.specs import completed

EXACT: dict[str, Fraction] = {
    "0": Fraction(0),
    "-0": Fraction(0),
    "-0.0": Fraction(0),
    "0.0": Fraction(0),
    "0e0": Fraction(0),
    "0e60": Fraction(0),
    "1": Fraction(1),
    "-1": Fraction(-1),
    "10": Fraction(10),
    "0.1": Fraction(1, 10),
    "0.3": Fraction(3, 10),
    "0.30": Fraction(3, 10),
    "1.0": Fraction(1),
    "-2.50": Fraction(-5, 2),
    "1e0": Fraction(1),
    "1e-0": Fraction(1),
    "1e3": Fraction(1000),
    "1e-6": Fraction(1, 10**6),
    "1.0e-6": Fraction(1, 10**6),
    "1e-06": Fraction(1, 10**6),
    "1e-006": Fraction(1, 10**6),
    "2.5e2": Fraction(250),
    "-2.5e-2": Fraction(-1, 40),
    "123456789012345678": Fraction(123456789012345678),
    "0.123456789012345678": Fraction(123456789012345678, 10**18),
    "999999999999999999.999999999999999999": Fraction(10**36 - 1, 10**18),
    "1e60": Fraction(10**60),
    "1e-60": Fraction(1, 10**60),
    "9007199254740993": Fraction(9007199254740993),
    "0.1e1": Fraction(1),
    "0.000000000001": Fraction(1, 10**12),
}

NO_NUMBERS = (
    "yes no on off Yes true false y n ~ null Null None 010 00 01 -01 00.5 0x10 0o10 0b1 1_000 "
    "1_0.0 1:30 190:20:30 .inf -.inf +.inf .nan .NaN inf nan Infinity 1.0e+400 1e400 1e61 "
    "1e-61 1e999999999 1e-999999999 1e+3 1E3 1E-6 1,5 1,000 1.000.000 .5 -.5 5. 5.e3 +1 +0.5 "
    "--1 1- 1e 1e- e5 1.5.2 1/3 50% 1.2e3.4 1e1e1 1234567890123456789 0.1234567890123456789 "
    "$1 1d 1f 1j 1L 0x1p3 one 2^3 '1' __import__('os').system('id') 2001-01-01 12:00:00 =1 "
    "1;2 a - -- ! ?"
)
REFUSED = [
    *NO_NUMBERS.split(),
    *("", " ", "1 000", "- 1", "1\u00a0000", "1 # one", "1e-6 ", " 1", "1\n"),
    *("\u0661", "\u0661\u0662", "\uff11", "\u00bd", "1\u00b2", "\u22121", "\U0001d7cf"),
    *("1" * 5000, "0." + "1" * 5000, "1e" + "9" * 5000),
]


@pytest.mark.parametrize("text", EXACT, ids=lambda text: text[:30])
def test_exact_numbers(text: str) -> None:
    """A number of the grammar is its exact mathematical value."""
    assert parse_number(text) == EXACT[text]


@for_each(REFUSED)
def test_refused_numbers(text: str) -> None:
    """What is no plain number is refused, with advice."""
    with pytest.raises(NumberSyntaxError) as caught:
        parse_number(text)
    assert caught.value.advice


def test_the_advice_names_the_greatest_exponent() -> None:
    """The text of an advice says the limit that the grammar has."""
    with pytest.raises(NumberSyntaxError, match=f"at most {MAX_EXPONENT}$"):
        parse_number("1e9999")


def test_the_table_is_long() -> None:
    """The table holds at least the promised 120 cases."""
    assert len(EXACT) + len(REFUSED) >= 120


@for_each([*EXACT, *REFUSED])
def test_every_number_in_a_spec(text: str) -> None:
    """In a spec, a text in place of an epsilon is its exact value or an error there."""
    quoted = "'" + text.replace("'", "''").replace("\n", "\n\n") + "'"
    spec = completed(f"statistics:\n  - {{name: n, statistic: count, epsilon: {quoted}}}")
    value = EXACT.get(text)
    if value is not None and Fraction(1, 10**12) <= value <= 20:
        assert parse_central_spec(spec, "spec.yaml").entries[0].budget_amount.epsilon == value
        return
    with pytest.raises(SpecError) as caught:
        parse_central_spec(spec, "spec.yaml")
    (problem,) = caught.value.problems
    expected = "not-a-number" if value is None else "epsilon-out-of-range"
    assert problem.code == expected
    assert problem.place is not None and (problem.place.line, problem.place.column) == (2, 42)


@for_each([t for t in REFUSED if t and t.strip(" \n'") == t and "#" not in t])
def test_every_plain_number_in_a_spec(text: str) -> None:
    """Without quotes too, no reader of YAML turns a text into another number."""
    with pytest.raises(SpecError):
        parse_central_spec(
            completed(f"statistics:\n  - name: n\n    statistic: count\n    epsilon: {text}"),
            "spec.yaml",
        )


@pytest.mark.parametrize(
    ("text", "days"),
    [("1970-01-01", 0), ("1970-01-02", 1), ("1969-12-31", -1), ("2024-02-29", 19782)],
)
def test_dates(text: str, days: int) -> None:
    """A date is the number of days since the first of January 1970."""
    assert parse_day(text) == days


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2023-02-29",
        "2024-13-01",
        "2024-1-1",
        "20240101",
        "2024-W01-1",
        "0000-01-01",
        "2024-01-01T00:00",
        "01/02/2024",
        "2024-01-01 ",
        "\u0662024-01-01",
        "-2024-01-01",
    ],
)
def test_refused_dates(text: str) -> None:
    """What is no day of the calendar, written in full, is refused with advice."""
    with pytest.raises(NumberSyntaxError) as caught:
        parse_day(text)
    assert caught.value.advice


DUPLICATES = [
    "dataset: a\ndataset: b",
    "privacy:\n  unit: row\n  unit: row\n  neighbors: add-remove\n  budget: {epsilon: 1}",
    "privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 1, 'epsilon': 2}}",
    "columns:\n  a: {type: id}\n  a: {type: id}",
    "columns:\n  a: {type: id, type: id}",
    "columns:\n  a: {type: category, values: {0: x, '0': y}}",
    "statistics: [{name: n, name: n, statistic: count, epsilon: 1}]",
    "statistics: [{name: n, statistic: count, where: {sex: male, sex: female}, epsilon: 1}]",
    "statistics: [{name: n, statistic: count, where: {age: {min: 1, min: 2}}, epsilon: 1}]",
    "statistics: [{name: n, epsilon: 1, statistic: count, by: [{column: sex, column: sex}]}]",
]


@pytest.mark.parametrize("text", DUPLICATES)
def test_duplicate_keys_at_each_level(text: str) -> None:
    """A key that is given twice is an error on every level, and names both lines."""
    with refused("duplicate-key") as caught:
        parse_central_spec(completed(text), "spec.yaml")
    assert "first on line" in caught.value.problems[0].message


@pytest.mark.parametrize("text", ["1.000", "12.500", "-999.125"])
def test_three_digits_after_a_point_are_ambiguous_in_a_public_file(text: str) -> None:
    """They may be thousands in a line of a file; in a spec, a point is before decimals."""
    with pytest.raises(NumberSyntaxError):
        parse_cell(text, 2)
    assert parse_cell(text, 0) == Fraction(text)
    assert all(
        parse_cell(one, 2) == Fraction(one) for one in ("1.0000", "0.125", "1234.567", "1.5")
    )
