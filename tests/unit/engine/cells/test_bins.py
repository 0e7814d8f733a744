"""Bins end to end: what a spec declares, counted by the engine and by plain Python."""

from __future__ import annotations

import datetime
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from math import floor
from pathlib import Path
from random import Random

import polars as pl
import pytest

from dpcli.data.kinds import Axis
from dpcli.data.number_columns import IntegerColumn
from dpcli.privacy.unit import RowUnit
from dpcli.queries.query import LinearQuery
from dpcli.specification.load import parse_central_spec
from tests.oracles.opened import cells_of, engine

SPEC = """\
dpcli: 1
dataset: d
privacy: {{unit: {unit}, neighbors: add-remove, budget: {{epsilon: 9}}}}
columns:
  who: {{type: id}}
  scale: {{type: integer, bounds: [1, 5]}}
  age: {{type: integer, bounds: [0, 110]}}
  debt: {{type: integer, bounds: [-50, 50], step: 5}}
  income: {{type: number, bounds: [0, 10000], step: 100}}
  day: {{type: date, bounds: [2024-03-01, 2024-03-31]}}
  hours: {{type: number, bounds: [0, 4], step: 0.5}}
statistics:
  - {{name: scale, statistic: histogram, column: scale, bins: {{width: 1}}, epsilon: 1}}
  - {{name: age, statistic: count, by: [{{column: age, bins: {{width: 10}}}}], epsilon: 1}}
  - {{name: debt, statistic: histogram, column: debt, bins: {{width: 20}}, epsilon: 1}}
  - {{name: income, statistic: histogram, column: income, bins: {{width: 2500}}, epsilon: 1}}
  - {{name: day, statistic: marginals, columns: [{{column: day, bins: {{width: 7}}}}], ways: 1,
     epsilon: 1}}
  - {{name: hours, statistic: histogram, column: hours, bins: {{width: 1.5}}, epsilon: 1}}
  - {{name: ages, statistic: histogram, column: age, bins: {{edges: [0, 18, 65, 110]}}, epsilon: 1}}
  - {{name: last, statistic: histogram, column: scale, bins: {{edges: [1, 4, 5, 6]}}, epsilon: 1}}
"""

MARCH = datetime.date(2024, 3, 1)
COLUMNS = {
    "scale": (1, 5, Fraction(1)),
    "age": (0, 110, Fraction(1)),
    "debt": (-50, 50, Fraction(5)),
    "income": (0, 10000, Fraction(100)),
    "hours": (0, 4, Fraction(1, 2)),
}
"""Lower bound, upper bound and step, as the spec has them."""

WHERE: dict[str, tuple[str, Callable[[Fraction], int], int]] = {
    "scale": ("scale", lambda x: int(x) - 1, 5),
    "age": ("age", lambda x: int(x) // 10, 12),
    "debt": ("debt", lambda x: int(x + 50) // 20, 6),
    "income": ("income", lambda x: int(x) // 2500, 5),
    "hours": ("hours", lambda x: min(int(x / Fraction(3, 2)), 2), 3),
    "ages": ("age", lambda x: 0 if x <= 17 else 1 if x <= 64 else 2, 3),
    "last": ("scale", lambda x: 0 if x <= 3 else int(x) - 3, 3),
}
"""For each statistic its column, in which bin a value lies, and how many bins there are."""


def between(column: str, random: Random) -> float:
    """A value near the bounds or between them; whole in a column of whole numbers."""
    low, high, _ = COLUMNS[column]
    choose = random.uniform if column in ("income", "hours") else random.randint
    return choose(low - 1, high + 1)


def on_grid(column: str, text: str) -> Fraction:
    """A cell rounded to the step (halves up) and clamped to the bounds."""
    low, high, step = COLUMNS[column]
    rounded = floor(Fraction(text) / step + Fraction(1, 2)) * step
    return min(max(rounded, Fraction(low)), Fraction(high))


@pytest.mark.parametrize("unit", ["row", "{column: who, max_rows: 12}"])
@pytest.mark.parametrize("seed", range(4))
def test_every_row_is_counted_in_the_bin_of_its_value(seed: int, unit: str, tmp_path: Path) -> None:
    """Rows, and rows of people under limits that drop none, are counted as by hand."""
    random = Random(seed)
    lines, rows = ["who,scale,age,debt,income,hours,day"], []
    for number in range(300):
        row = {
            column: str(random.choice([low, high, high, between(column, random)]))
            for column, (low, high, _) in COLUMNS.items()
        }
        day = random.choice([0, 30, random.randint(-3, 33)])
        rows.append((row, min(max(day, 0), 30)))
        texts = [row[column] for column in ("scale", "age", "debt", "income", "hours")]
        date = (MARCH + datetime.timedelta(days=day)).isoformat()
        lines.append(",".join([f"p{number % 30}", *texts, date]))
    path = tmp_path / "data.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    spec = parse_central_spec(SPEC.format(unit=unit), "spec.yaml")
    queries = {entry.inputs.name: next(entry.queries) for entry in spec.entries}
    answers = engine(list(queries.values()), spec.privacy.unit, path)
    actual = {name: cells_of(cells) for name, cells in zip(queries, answers, strict=True)}

    for name, (column, place, count) in WHERE.items():
        counted = Counter(place(on_grid(column, row[column])) for row, _ in rows)
        assert actual[name] == [counted[bin_] for bin_ in range(count)], name
    days = Counter(day // 7 for _, day in rows)
    assert actual["day"] == [days[week] for week in range(5)]


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
