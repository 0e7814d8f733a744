"""The section `derive`: what follows from the declarations of columns."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpcli.data.grid_columns import NumericColumn
from dpcli.data.labels import LabeledColumn
from dpcli.planning.planner import make_plan
from dpcli.planning.words.statistics import derived_notes
from dpcli.problems.reference import word_pages
from dpcli.specification.load import parse_central_spec
from tests.support.specs import completed

COLUMNS = """columns:
  wage: {type: number, bounds: [0, 1000], step: 0.5}
  salary: {type: integer, bounds: [100, 5000]}
  bonus: {type: integer, bounds: [-50, 50], missing: 0}
  quantity: {type: integer, bounds: [-2, 10]}
  price: {type: number, bounds: [0, 20], step: 0.25}
  deaths: {type: integer, bounds: [0, 9]}
  cases: {type: integer, bounds: [0, 9]}
  birth: {type: date, bounds: [1914-01-01, 2024-12-31]}
  admitted: {type: date, bounds: [2023-01-01, 2024-12-31]}
  discharged: {type: date, bounds: [2023-01-01, 2025-12-31]}
"""


def derived_columns(section: str) -> dict[str, LabeledColumn | NumericColumn]:
    """The derived columns of a section."""
    spec = parse_central_spec(completed(COLUMNS + section), "spec.yaml")
    return {
        column.name: column
        for column in spec.columns
        if isinstance(column, LabeledColumn | NumericColumn) and column.derivation
    }


def test_one_number_of_readable_cells_is_not_for_derived_columns() -> None:
    """They are as readable as their inputs, which are the columns that statistics use."""
    text = (
        f"{COLUMNS}derive: {{total: {{sum: [wage, bonus]}}}}\n"
        "statistics: [{name: s, statistic: sum, column: total, epsilon: 1}]\n"
        "quality: {epsilon: 1, min_readable: "
    )
    spec = parse_central_spec(completed(f"{text}0.5}}\n"), "spec.yaml")
    named = parse_central_spec(completed(f"{text}{{total: 0.5}}}}\n"), "spec.yaml")
    assert spec.quality is not None and list(spec.quality.min_readable) == ["wage", "bonus"]
    assert named.quality is not None and list(named.quality.min_readable) == ["total"]


def test_one_number_of_readable_cells_is_for_the_columns_that_statistics_use() -> None:
    """Blank answers of a question with several ones are no unreadable cells."""
    columns = "columns: {bus: {type: boolean}, car: {type: boolean}, age: {type: boolean}}"
    entry = "{name: n, statistic: selections, columns: [bus, car], epsilon: 1}"
    for least, checked in (("0.5", ["bus", "car"]), ("{age: 0.1}", ["age"])):
        text = f"{columns}\nquality: {{epsilon: 1, min_readable: {least}}}\nstatistics: [{entry}]\n"
        spec = parse_central_spec(completed(text), "spec.yaml")
        assert spec.quality is not None and list(spec.quality.min_readable) == checked


def test_one_number_of_readable_cells_is_for_columns_whose_missing_cells_are_counted() -> None:
    """A count of missing cells does not turn off the check of their columns."""
    columns = "columns: {age: {type: integer, bounds: [0, 9]}}"
    entry = "{name: n, statistic: count_missing, columns: [age], epsilon: 1}"
    text = f"{columns}\nquality: {{epsilon: 1, min_readable: 0.5}}\nstatistics: [{entry}]\n"
    spec = parse_central_spec(completed(text), "spec.yaml")
    assert spec.quality is not None and list(spec.quality.min_readable) == ["age"]


def test_the_example_of_the_page() -> None:
    """What `dpcli explain derive` shows is right, and the plan says how it is computed."""
    (page,) = (page for page in word_pages() if page.name == "derive")
    spec = parse_central_spec(completed(f"{COLUMNS}{page.example}\n"), "spec.yaml")

    assert [*derived_notes(make_plan(spec))] == [
        "total: wage + bonus, from -50.0 to 1050.0",
        "stay: discharged - admitted, from -730 to 1095",
        "revenue: quantity * price, from 0 to 100000",
        "rate: deaths / cases, from 0.000 to 1.000",
        "month: month of admitted, 12 labels",
        "hour: hour of admitted, 24 labels",
        "years: full years from birth to 2024-12-31, from 0 to 110",
        "band: bands of years, 3 labels",
        "income: the first of salary, wage that is not missing, from 0.0 to 5000.0",
        "late: stay from 30 to 1095, 2 labels",
    ]


@pytest.mark.parametrize(
    ("declaration", "step", "bounds"),
    [
        ("{sum: [salary, 0.3]}", "1/10", (1003, 50003)),
        ("{sum: [wage, price, 3]}", "1/4", (12, 4092)),
        ("{difference: [quantity, bonus]}", "1", (-52, 60)),
        ("{difference: [2025-01-01, birth]}", "1", (1, 40543)),
        ("{product: [quantity, price]}", "1/4", (-160, 800)),
        ("{product: [quantity, quantity, -1]}", "1", (-100, 20)),
        ("{product: [price, 1.5], step: 1}", "1", (0, 30)),
        ("{ratio: [cases, price], step: 0.5}", "1/2", (0, 72)),
        ("{ratio: [quantity, quantity], step: 0.1}", "1/10", (-100, 100)),
        ("{ratio: [7, cases], step: 1}", "1", (1, 7)),
        ("{coalesce: [wage, price, salary]}", "1/4", (0, 20000)),
        ("{coalesce: [birth, admitted]}", "1", (-20454, 20088)),
        ("{age: birth, at: admitted}", "1", (-2, 110)),
        ("{sum: [deaths, cases], bounds: [0, 5], missing: 2}", "1", (0, 5)),
    ],
)
def test_steps_and_bounds_follow(declaration: str, step: str, bounds: tuple[int, int]) -> None:
    """Steps are common divisors, bounds those of interval arithmetic, unless declared."""
    column = derived_columns(f"derive:\n  x: {declaration}\n")["x"]

    assert isinstance(column, NumericColumn)
    assert (column.step, column.bounds) == (Fraction(step), bounds)
