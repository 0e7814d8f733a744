"""Cells of Parquet files that are read without their texts have the values of their texts."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from random import Random

import polars as pl
import pytest

from dpcli.data.column import Column
from dpcli.data.number_columns import NumberColumn, parse_number_cell
from dpcli.engine.files import pieces
from dpcli.engine.files.parquet import column_text
from dpcli.engine.files.pieces import read_pieces
from dpcli.engine.files.source import open_dataset
from dpcli.engine.progress import Progress
from dpcli.privacy.unit import RowUnit
from tests.oracles.opened import engine
from tests.unit.engine.files.test_native import COLUMNS, QUERIES

WIDE = (-(10**40), 10**40)


def read_alone(column: Column, cells: pl.Series) -> list[int | str | None]:
    """Each cell read without its text, or `odd` if that is an error."""
    expression = column.strict_cells(pl.first(), cells.dtype)
    assert expression is not None
    found: list[int | str | None] = []
    for at in range(len(cells)):
        try:
            found.append(cells[at : at + 1].to_frame().select(expression).item())
        except pl.exceptions.PolarsError:
            found.append("odd")
    return found


def doubles(step: Fraction, random: Random) -> list[float]:
    """Doubles of all sizes: multiples of the step, halves of it, and the doubles next to them."""
    sizes = [random.uniform(-1, 1) * 10**power for power in range(-9, 20) for _ in range(9)]
    halves = [
        float(random.randint(-(10**digits), 10**digits) * step / 2)
        for digits in range(1, 15)
        for _ in range(16)
    ]
    adjacent = [math.nextafter(half, side) for half in halves for side in (-math.inf, math.inf)]
    return [*sizes, *halves, *adjacent, 0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324]


@pytest.mark.parametrize("decimals", [0, 1, 2, 6])
def test_a_double_has_the_value_of_its_text_or_is_odd(decimals: int) -> None:
    """Most are read; a double near half a step, or with too many steps, is odd.

    One that is no number is missing.
    """
    step = Fraction(1, 10**decimals)
    column = NumberColumn("x", step, WIDE)
    cells = pl.Series(doubles(step, Random(decimals)))
    found = read_alone(column, cells)
    texts = cells.to_frame("x").select(column_text(0, cells.dtype, ".")).to_series().to_list()
    expected = [text and parse_number_cell(text, step, WIDE) for text in texts]
    pairs = zip(found, expected, strict=True)
    assert [pair for pair in pairs if pair[0] != "odd" and pair[0] != pair[1]] == []
    assert len(cells) // 4 < found.count("odd") < len(cells) * 3 // 4
    assert "odd" not in found[:9] and found[texts.index(None)] is None


def test_decimals_and_whole_numbers_are_exact_or_odd() -> None:
    """No digit may be lost, so a type with more decimals than the step is read as texts."""
    column = NumberColumn("x", Fraction(1, 100), WIDE)
    cells = pl.Series(["1.5", "-0.1", None, "99999999999999999.9"]).cast(pl.Decimal(38, 1))
    assert read_alone(column, cells) == [150, -10, None, "odd"]
    assert read_alone(column, pl.Series([7, None, 10**18])) == [700, None, "odd"]
    assert column.strict_cells(pl.first(), pl.Decimal(38, 3)) is None
    assert column.strict_cells(pl.first(), pl.Float32()) is None
    assert column.strict_cells(pl.first(), pl.String()) is None


def table(rows: int) -> pl.DataFrame:
    """Rows without an odd cell."""
    return pl.DataFrame(
        {
            "income": [row + row % 100 / 100 for row in range(rows)],
            "age": [float(row % 130) for row in range(rows)],
            "sex": ["fwm"[row % 3] for row in range(rows)],
        }
    )


@pytest.mark.parametrize("at", [0, 300, 599])
@pytest.mark.parametrize(
    ("name", "odd"), [("income", 0.005), ("income", math.inf), ("age", 1e13), ("sex", "x")]
)
def test_an_odd_cell_anywhere_changes_no_answer(
    name: str, odd: float | str, at: int, tmp_path: Path
) -> None:
    """The answers are those of the same cells in CSV; only the column of the cell is slower."""
    cells = table(600)
    changed = pl.when(pl.int_range(600) == at).then(pl.lit(odd)).otherwise(pl.col(name))
    cells = cells.with_columns(changed.alias(name))
    cells.write_parquet(path := tmp_path / "t.parquet")
    cells.write_csv(tmp_path / "t.csv")
    assert engine(QUERIES, RowUnit(), path) == engine(QUERIES, RowUnit(), tmp_path / "t.csv")
    with open_dataset((str(path),)) as dataset:
        found = read_pieces(dataset, COLUMNS, Progress(), in_place=True, native=True)
        # The copy of texts is open until the next piece is read.
        piece = next(found)
        assert set(piece.native.types) == {0, 1, 2}
        assert piece.drop_odd()
        assert {COLUMNS[index].name for index in piece.native.types} == set(cells.columns) - {name}
        assert not piece.drop_odd()


def test_texts_of_a_large_file_are_read_in_segments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A check of cells counts texts, which takes memory for each row of a query; sums do not."""
    monkeypatch.setattr(pieces, "SEGMENT", 100)
    table(250).write_parquet(path := tmp_path / "t.parquet")
    with open_dataset((str(path),)) as dataset:
        for native, expected in ((False, [100, 100, 50]), (True, [250])):
            found = read_pieces(dataset, COLUMNS, Progress(), in_place=True, native=native)
            assert [piece.frame.collect().height for piece in found] == expected
