"""Whole numbers of which a column lists all: which cells have one, and where they are counted."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from dpcli.mechanisms.query_sensitivity import query_sensitivity
from dpcli.privacy.unit import RowUnit
from dpcli.specification.load import parse_central_spec
from tests.oracles.opened import cells_of, engine
from tests.oracles.plain import evaluate
from tests.support.specs import completed

CELLS = (
    "0", "6", "06", "6.0", " 12 ", "+18", "24", "00", "-0",
    "7", "-6", "25", "6.4", "23.9", "1000000", "inf", "1.2e1", "1e400", "NA", "x", "", "6 0", "6,0",
)  # fmt: skip
READ = {"0": 3, "6": 3, "12": 1, "18": 1, "24": 1}
"""How many of the cells are each listed number."""


def answers(column: str, path: Path) -> tuple[list[int], int, int]:
    """The number of cells by value, the sum, and its sensitivity."""
    text = completed(
        f"columns:\n  x: {column}\nstatistics:\n"
        "  - {name: n, statistic: count, by: [x], epsilon: 0.1}\n"
        "  - {name: s, statistic: sum, column: x, epsilon: 0.1}"
    )
    spec = parse_central_spec(text, "spec.yaml")
    queries = [next(entry.queries) for entry in spec.entries]
    counts, (total,) = map(cells_of, engine(queries, RowUnit(), path))
    if path.suffix == ".csv":
        assert [counts, [total]] == evaluate(queries, path.read_bytes())
    return counts, total, query_sensitivity(queries[1], spec.privacy.relation).l1


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    """A file with the cells, and a column without meaning."""
    path = tmp_path / "data.csv"
    path.write_text("x,y\n" + "".join(f'"{cell}",1\n' for cell in CELLS), encoding="utf-8")
    return path


def test_only_listed_numbers_are_read(csv: Path) -> None:
    """A cell equal to a listed number is read; any other is missing, and not clamped."""
    counts, total, _ = answers("{type: integer, values: [0, 6, 12, 18, 24]}", csv)

    assert counts == list(READ.values())
    assert total == sum(int(value) * count for value, count in READ.items())


def test_a_constant_replaces_cells_that_are_not_listed(csv: Path) -> None:
    """With `missing`, every other cell counts as the constant, which is one of the values."""
    counts, _, _ = answers("{type: integer, values: [24, 0, 6, 12, 18], missing: 12}", csv)
    others = len(CELLS) - sum(READ.values())

    assert counts == [3, 3, 1 + others, 1, 1]


def test_the_bounds_of_a_list_are_its_ends(csv: Path) -> None:
    """Sums have the sensitivity of the least and the greatest listed number."""
    assert answers("{type: integer, values: [-6, 0, 24]}", csv)[2] == 24
    assert answers("{type: integer, values: [-60, 0, 24]}", csv)[2] == 60


def test_listed_numbers_may_be_written_in_a_form(csv: Path) -> None:
    """Marks between digits and after numbers are removed before a number is compared."""
    csv.write_text('x,y\n"1,000 h",1\n6 h,1\n1000,1\n"1,001 h",1\n', encoding="utf-8")
    column = "{type: integer, values: [6, 1000], thousands: ',', affixes: h}"

    assert answers(column, csv)[0] == [1, 2]


@pytest.mark.parametrize("dtype", [pl.Int8, pl.Int64, pl.Float64, pl.String])
def test_typed_numbers_are_listed_too(dtype: type[pl.DataType], tmp_path: Path) -> None:
    """Numbers whose type a file states are read or missing as their texts are."""
    path = tmp_path / "data.parquet"
    numbers = [0, 6, 7, -1, 25, 24, None]
    pl.DataFrame({"x": pl.Series(numbers).cast(dtype)}).write_parquet(path)

    assert answers("{type: integer, values: [0, 6, 24]}", path)[0] == [1, 1, 1]
