"""The section `derive`: what follows from the declarations of columns."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from dpcli.data.grid_columns import NumericColumn
from dpcli.data.labels import LabeledColumn
from dpcli.mechanisms.query_sensitivity import query_sensitivity
from dpcli.planning.planner import make_plan
from dpcli.planning.words.statistics import derived_notes
from dpcli.privacy.unit import Neighbors, Relation, RowUnit
from dpcli.problems.reference import word_pages
from dpcli.queries.query import LinearQuery
from dpcli.queries.sums import Factor
from dpcli.specification.load import parse_central_spec
from tests.oracles.agreement import agreed
from tests.oracles.plain import answers_about, read_people
from tests.support.rules import for_each
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
    """They are as readable as their inputs, and each checked column adds noise."""
    text = (
        f"{COLUMNS}derive: {{total: {{sum: [wage, bonus]}}}}\nquality: {{epsilon: 1, min_readable: "
    )
    spec = parse_central_spec(completed(f"{text}0.5}}\n"), "spec.yaml")
    named = parse_central_spec(completed(f"{text}{{total: 0.5}}}}\n"), "spec.yaml")
    assert spec.quality is not None and "total" not in spec.quality.min_readable
    assert named.quality is not None and list(named.quality.min_readable) == ["total"]


def test_one_number_of_readable_cells_is_not_for_answers_that_may_be_blank() -> None:
    """In the columns of a question with several answers, most cells are blank."""
    columns = "columns: {bus: {type: boolean}, car: {type: boolean}, age: {type: boolean}}"
    entry = "{name: n, statistic: selections, columns: [bus, car], epsilon: 1}"
    for least, checked in (("0.5", ["age"]), ("{bus: 0.1}", ["bus"])):
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


CELLS = {
    "wage": ("0", "12.5", "999", "5000", ""),
    "salary": ("100", "4999", "", "x"),
    "bonus": ("-50", "7", "50", ""),
    "quantity": ("-2", "0", "10", "99", ""),
    "price": ("0", "0.25", "20", ""),
    "deaths": ("0", "9", "3"),
    "cases": ("0", "9", "4", ""),
    "birth": ("1914-01-01", "2000-02-29", "2024-12-31", ""),
    "admitted": ("2023-01-01", "2024-02-29", "2024-12-31"),
    "discharged": ("2023-01-01", "2025-12-31", ""),
}


def random_section(rng: random.Random) -> str:
    """Two columns of random kinds, the second of which uses the first."""

    def declaration(numbers: list[str]) -> str:
        first, second = rng.choice(numbers), rng.choice([*numbers, "3", "0.5"])
        more = rng.choice(("", ", bounds: [0, 60]", ", missing: 5, bounds: [-10, 10]"))
        return rng.choice(
            (
                f"{{sum: [{first}, {second}]{more}}}",
                f"{{difference: [{second}, {first}]{more}}}",
                f"{{product: [{first}, {second}]{more}, step: 1}}",
                f"{{ratio: [{second}, {first}], step: 0.001{more}}}",
                f"{{coalesce: [{first}, {rng.choice(numbers)}]{more}, step: 1}}",
            )
        )

    numbers = ["wage", "salary", "bonus", "quantity", "price", "deaths", "cases"]
    lines = [f"  x: {declaration(numbers)}", f"  y: {declaration([*numbers, 'x'])}"]
    return "\n".join(["derive:", *lines]) + "\n"


@for_each(range(80))
def test_no_neighbor_exceeds_the_sensitivity(seed: int) -> None:
    """One more row changes a sum over a derived column by at most what is stated."""
    rng = random.Random(seed)
    columns = derived_columns(random_section(rng))
    queries = [
        LinearQuery(factors=(Factor(column),))
        for column in columns.values()
        if isinstance(column, NumericColumn)
    ]
    relation = Relation(RowUnit(), Neighbors.ADD_REMOVE)
    stated = [query_sensitivity(query, relation).l1 for query in queries]
    header = ",".join(CELLS)
    rows = [",".join(rng.choice(cells) for cells in CELLS.values()) for _ in range(12)]
    people = read_people(queries, "\n".join([header, *rows, ""]).encode())
    answers = [answers_about(queries, people[:end]) for end in range(len(people) + 1)]
    for less, more in pairwise(answers):
        for limit, before, after in zip(stated, less, more, strict=True):
            assert isinstance(before, list) and isinstance(after, list)
            assert sum(abs(a - b) for a, b in zip(after, before, strict=True)) <= limit


@pytest.mark.parametrize("seed", range(15))
def test_the_engine_agrees_on_random_specs(seed: int, tmp_path: Path) -> None:
    """From the text of a spec to the sums of a file."""
    rng = random.Random(1000 + seed)
    columns = derived_columns(random_section(rng))
    queries = [
        LinearQuery(factors=(Factor(column),))
        for column in columns.values()
        if isinstance(column, NumericColumn)
    ]
    lines = [",".join(rng.choice(cells) for cells in CELLS.values()) for _ in range(200)]
    agreed(queries, "\n".join([",".join(CELLS), *lines, ""]), tmp_path)
