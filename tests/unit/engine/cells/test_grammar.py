"""All rules for cells agree with the oracle and with each other."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import polars as pl
import pytest

from dpcli.data.column import Column
from dpcli.data.dates import DateColumn
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.labels import CategoryColumn, LabeledColumn
from dpcli.data.number_columns import IntegerColumn, NumberColumn
from dpcli.engine.cells import Decoder
from tests.oracles.plain import value

ALPHABET = "0123456789" * 3 + "+-.eE" * 3 + " \tinfatyINFNx_,:T/٣\0"

COLUMNS: list[LabeledColumn | NumericColumn] = [
    IntegerColumn("x", Fraction(1), (-5, 100)),
    IntegerColumn("x", Fraction(5), (-1, 20), missing=3),
    NumberColumn("x", Fraction(1, 100), (0, 20_000_000)),
    NumberColumn("x", Fraction(1, 3), (-(2**40), 2**40)),
    NumberColumn("x", Fraction(250), (-(2**61), 2**61)),
    DateColumn("x", Fraction(1), (-719_162, 2_932_896)),
    DateColumn("x", Fraction(1), (18_000, 18_500)),
    CategoryColumn("x", (("a", "A"), ("b", "B"), ("1", "A"))),
]

FAMOUS = [
    " 2", "3.0", "1e3", "0x10", "1_000", "٣", "+5", "9223372036854775807", "9223372036854775808",
    "-9223372036854775809", "1e400", "-1e400", "1e-400", "nan", "-nan", "NaN", "inf",
    "-Infinity", "infinit", "", " ", "\t", "--5", "5-", "1e", "e5", ".", "1.", ".5",
    "+.5e+3", "-0", "0.5", "1.5",
    "2.5", "-0.5", "-2.5", "2.4999999999999999999999999999", "2.5000000000000000000000000000001",
    "0.005", "0.015", "0.0049999999999999999999", "1" * 400, "0" * 5000 + "7", "0." + "3" * 5000,
    "2020-01-05", "2020-1-5", "+2020-01-05", " 2020-01-05 ", "2020-01-05T10:00", "2020-01-05 x",
    "2020-02-30", "0000-01-01", "0001-01-01", "9999-12-31", "10000-01-01", "20200105",
    "-0001-01-01", "2020-01-05\n", "2020-01-0510",
    "a", " a\t", "A", "a ", "ab", "a\0", "42\0", "42\n", "4 2",
]  # fmt: skip


def decoded(column: Column, texts: list[str]) -> list[int | None]:
    """The value of each text, by the fastest expressions that decide all of them."""
    frame = pl.DataFrame({"t0": texts}, schema={"t0": pl.String()})
    return Decoder([column]).decode(frame)["t0"].to_list()


def odd_texts(column: Column, count: int) -> list[str]:
    """Random texts that look like numbers, dates or nothing, and near halves."""
    random = Random(repr(column))
    texts = list(FAMOUS)
    for _ in range(count):
        texts.append("".join(random.choices(ALPHABET, k=random.randint(0, 12))))
        if isinstance(column, NumericColumn):
            halves = random.randint(2 * column.lower - 3, 2 * column.upper + 3)
            exact = halves * column.step / 2
            texts.append(str(float(exact)))
            texts.append(f"{float(exact):.3f}")
            texts.append(str(random.randint(-(10**6), 10**6)))
        texts.append(
            f"{random.randint(0, 9999):04}-{random.randint(0, 13)}-{random.randint(0, 32)}"
        )
        texts.append(
            f"{random.randint(0, 9999):04}-{random.randint(0, 13):02}-{random.randint(0, 32):02}"
        )
    return texts


@pytest.mark.parametrize("column", COLUMNS, ids=repr)
def test_the_fast_path_agrees_with_the_oracle_on_every_cell(
    column: LabeledColumn | NumericColumn,
) -> None:
    """Columns of odd texts are decoded to the values of the oracle."""
    texts = odd_texts(column, 1000)
    for text, actual in zip(texts, decoded(column, texts), strict=True):
        assert actual == value(column, text), text


@pytest.mark.parametrize("column", COLUMNS, ids=repr)
def test_decimal_commas_agree_with_the_oracle(column: LabeledColumn | NumericColumn) -> None:
    """Numbers with a comma have decimals, and numbers with a point are missing."""
    texts = odd_texts(column, 500)
    texts += [text.replace(".", ",") for text in texts] + ["1,5", "1.5", "1.000,5", "1,000.5"]
    cells = pl.DataFrame({"t0": texts}, schema={"t0": pl.String()})
    actual = decoded(
        column, cells.select(column.with_point(pl.col("t0"), ",")).to_series().to_list()
    )

    for text, number in zip(texts, actual, strict=True):
        assert number == value(column, text, ","), text


@pytest.mark.parametrize("column", COLUMNS[:5], ids=repr)
def test_the_written_rule_agrees_with_the_oracle_on_every_number(column: NumericColumn) -> None:
    """The exact rules alone give the integers of the oracle."""
    for text in odd_texts(column, 1000):
        actual = column.decide(text)
        expected = value(column, text)
        assert (actual if actual is not None else column.missing) == expected, text


@pytest.mark.parametrize("column", COLUMNS, ids=repr)
def test_a_cell_is_decided_by_that_cell_alone(column: LabeledColumn | NumericColumn) -> None:
    """A text has the same value alone, among other texts, and in any order."""
    texts = odd_texts(column, 300)
    together = decoded(column, texts)
    backwards = decoded(column, texts[::-1])

    assert together == backwards[::-1]
    for text, actual in zip(texts[:40], together, strict=False):
        assert decoded(column, [text]) == [actual]


def test_blank_cells_of_an_extreme_grid_are_rows() -> None:
    """If no expression is certain, a column of blanks keeps its length."""
    column = NumberColumn("x", Fraction(1, 10**38), (-10, 10), missing=0)

    assert decoded(column, ["", "", ""]) == [0, 0, 0]
    assert decoded(column, ["1", "", "-1e-38"]) == [10, 0, -1]


def test_sums_of_large_values_are_exact(tmp_path: object) -> None:
    """Values near 2^62 add up without wrapping."""
    from dpcli.engine.sums.sum_expressions import sum_expression
    from dpcli.queries.query import LinearQuery
    from dpcli.queries.sums import Factor

    column = IntegerColumn("x", Fraction(1), (0, 2**62 - 1))
    ((_, total),) = LinearQuery(factors=(Factor(column),)).weighted_sum
    frame = pl.DataFrame({"v": [2**62 - 1] * 1000}, schema={"v": pl.Int64()})

    assert frame.select(sum_expression(total, {column: "v"}, 10**6)).item() == 1000 * (2**62 - 1)
