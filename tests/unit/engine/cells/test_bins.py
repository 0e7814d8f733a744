"""The bin of a value is found by its start, for bins of any widths."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from dpcli.data.kinds import Axis
from dpcli.data.number_columns import IntegerColumn
from dpcli.privacy.unit import RowUnit
from dpcli.queries.query import LinearQuery
from tests.oracles.opened import cells_of, engine


@pytest.mark.parametrize(
    "starts",
    [
        (0,),
        (0, 7),
        (0, 3, 10, 17),
        tuple(range(0, 50, 5)),
        tuple(start for twice in range(9) for start in (5 * twice, 5 * twice + 1)),
        (0, 2, 5, 7, 10, 49),
        tuple(number**2 for number in range(7)),
    ],
    ids=str,
)
def test_the_bin_of_a_value_is_the_last_that_starts_before_it(starts: tuple[int, ...]) -> None:
    """Bins of one width, of two widths in turn and of any widths; a missing value has none."""
    column = IntegerColumn("x", bounds=(0, 49))
    values = pl.DataFrame({"x": [*range(50), None]})
    found = values.select(column.axis_index(pl.col("x"), starts).alias("bin"))

    assert found["bin"].to_list() == [*(bisect_right(starts, x) - 1 for x in range(50)), None]


@pytest.mark.parametrize("top", [(1 << 30) - 1, 1 << 30, (1 << 31) + 5, 1 << 45])
def test_values_at_the_limits_of_machine_types_are_counted(top: int, tmp_path: Path) -> None:
    """Bins are exact where values and their differences just fit 32 bits, and where not."""
    values = (-top, 1 - top, -1, 0, 1, top - 2, top - 1, top)
    path = tmp_path / "data.csv"
    path.write_text("x\n" + "".join(f"{value}\n" for value in values), encoding="utf-8")
    column = IntegerColumn("x", bounds=(-top, top))
    for starts in ((-top, 0), (-top, -5, top - 3), (-top, 1 - top, 0, 1, top - 1, top)):
        (actual,) = engine([LinearQuery(by=(Axis(column, starts),))], RowUnit(), path)
        expected = Counter(bisect_right(starts, value) - 1 for value in values)
        assert cells_of(actual) == [expected[index] for index in range(len(starts))]


def test_thousands_of_irregular_bins_keep_the_query_plan_small(tmp_path: Path) -> None:
    """The bin of a value is looked up, so the query plan is as small as for two bins."""
    starts = (*range(10_000), *(10_000 + number**2 for number in range(100)))
    column = IntegerColumn("x", bounds=(0, 49_999))
    path = tmp_path / "data.csv"
    path.write_text("x\n" + "".join(f"{7 * row}\n" for row in range(7_000)), encoding="utf-8")
    (actual,) = engine([LinearQuery(by=(Axis(column, starts),))], RowUnit(), path)
    expected = Counter(bisect_right(starts, 7 * row) - 1 for row in range(7_000))

    assert cells_of(actual) == [expected[index] for index in range(len(starts))]
    assert len(str(column.axis_index(pl.col("x"), starts))) < 1000
