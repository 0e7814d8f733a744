"""Which groups an entry has: those that the spec and its filter do not make impossible."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise, product
from random import Random
from typing import cast

import pytest

from dpcli.data.column import Column, ValuedColumn, common_ranges, merged_ranges
from dpcli.data.grid_columns import require_numeric
from dpcli.data.kinds import Axis
from dpcli.data.labels import CategoryColumn
from dpcli.data.possible_values import possible_values
from dpcli.queries.query import LinearQuery
from dpcli.queries.scores import ScoreQuery
from dpcli.specification.load import parse_central_spec
from dpcli.specification.model import Entry
from tests.oracles.plain import derived, truth
from tests.oracles.shapes import Row
from tests.support.rules import also_slow

SPEC = """\
dpcli: 1
dataset: d
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 9, delta: 1e-3}}
columns:
  visit: {type: date, bounds: [2005-03-10, 2020-12-31]}
  term: {type: date, bounds: [2018-03-10, 2018-06-20]}
  born: {type: date, bounds: [1900-01-01, 2020-12-31]}
  ever: {type: date, bounds: [0001-01-01, 9999-12-31]}
  filled: {type: date, bounds: [2018-03-10, 2018-06-20], missing: 2018-03-12}
  age: {type: integer, bounds: [0, 110]}
  rating: {type: number, bounds: [0.5, 5], step: 0.5}
  price: {type: number, bounds: [0, 100], step: 0.01}
  hour: {type: integer, values: [0, 6, 12, 18, 24]}
  sex: {type: category, values: [f, m, x], missing: x}
  town: {type: category, values: [a, b, c]}
  city: {type: category}
derive:
  year: {part: year, of: visit}
  month: {part: month, of: visit}
  quarter: {part: quarter, of: visit}
  year_month: {part: year-month, of: visit}
  filled_year: {part: year, of: visit, missing: "2018"}
  week: {part: week, of: term}
  weekday: {part: weekday, of: term}
  month_of_term: {part: month, of: term, labels: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}
  hour_of_term: {part: hour, of: term}
  birth_month: {part: month, of: born}
  birth_week: {part: week, of: born}
  ever_month: {part: month, of: ever}
  ever_week: {part: week, of: ever}
  band: {bands: age, width: 20}
  is_old: {is: {age: {min: 65}}}
  is_2018: {is: {year: ["2018"]}}
  at: {age: born, at: 2020-12-31}
  wait: {difference: [term, 2018-03-01], bounds: [0, 300]}
statistics:
"""


def entry(fields: str) -> Entry:
    """An entry with these fields."""
    text = f"{SPEC}  - {{name: n, epsilon: 1, {fields}}}\n"
    (only,) = parse_central_spec(text, "spec.yaml").entries
    return only


def groups(fields: str) -> list[tuple[str, ...]]:
    """The labels of each key of an entry."""
    return [key.labels for key in entry(fields).inputs.by]


MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
BANDS = ("0-19", "20-39", "40-59", "60-79", "80-99", "100-110")
RATINGS = ("0.5", "1.0", "1.5", "2.0", "2.5", "3.0", "3.5", "4.0", "4.5", "5.0")


@pytest.mark.parametrize(
    ("fields", "labels"),
    [
        ("by: [year, month], where: {year: ['2018']}", [("2018",), MONTHS]),
        ("by: [year], where: {visit: {min: 2018-01-01, max: 2019-02-01}}", [("2018", "2019")]),
        ("by: [month], where: {visit: {min: 2018-11-05, max: 2018-12-01}}", [MONTHS[10:]]),
        ("by: [month], where: {visit: {min: 2018-11-05, max: 2019-02-01}}",
         [("January", "February", "November", "December")]),
        ("by: [month], where: {year: ['2005']}", [MONTHS[2:]]),
        ("by: [month, year], where: {year_month: ['2018-03']}", [("March",), ("2018",)]),
        ("by: [quarter], where: {month: [May, July]}", [("Q2", "Q3")]),
        ("by: [quarter], where: {not: {quarter: [Q1]}}", [("Q2", "Q3", "Q4")]),
        ("by: [month], where: {not: {year_month: {starts_with: '20'}, month: [May]}}",
         [tuple(month for month in MONTHS if month != "May")]),
        ("by: [year], where: {all: [{visit: {min: 2018-01-01}}, {not: {year: ['2019']}}]}",
         [("2018", "2020")]),
        ("by: [year], where: {any: [{year: ['2018']}, {year: ['2020']}]}", [("2018", "2020")]),
        ("by: [year], where: {is_2018: true}", [("2018",)]),
        ("by: [month], where: {is_2018: true, visit: {max: 2018-02-01}}", [MONTHS[:2]]),
        ("by: [is_2018], where: {visit: {min: 2019-01-01}}", [("false",)]),
        ("by: [is_2018], where: {year_month: ['2018-05', '2018-06']}", [("true",)]),
        ("by: [month_of_term]", [("3", "4", "5", "6")]),
        ("by: [week]", [tuple(f"W{week}" for week in range(10, 26))]),
        ("by: [week], where: {term: {min: 2018-04-02, max: 2018-04-09}}", [("W14", "W15")]),
        ("by: [weekday], where: {term: {min: 2018-04-02, max: 2018-04-03}}",
         [("Monday", "Tuesday")]),
        ("by: [birth_month], where: {born: {min: 2020-11-01}}", [MONTHS[10:]]),
        ("by: [birth_week], where: {birth_month: [February]}",
         [tuple(f"W{week:02}" for week in range(5, 10))]),
        ("by: [band], where: {age: {min: 39, max: 60}}", [BANDS[1:4]]),
        ("by: [band], where: {is_old: true}", [BANDS[3:]]),
        ("by: [band, is_old], where: {is_old: false}", [BANDS[:4], ("false",)]),
        ("by: [is_old], where: {band: ['0-19', '20-39']}", [("false",)]),
        ("by: [{column: age, bins: {width: 20}}], where: {band: ['20-39']}", [("20-39",)]),
        ("by: [{column: age, bins: {width: 20}}], where: {not: {age: {min: 20, max: 99}}}",
         [("0-19", "100-110")]),
        ("by: [rating], where: {rating: {min: 3}}", [RATINGS[5:]]),
        ("by: [rating], where: {rating: [1, 4.5]}", [("1.0", "4.5")]),
        ("by: [{column: price, bins: {width: 25}}], where: {price: {below: 50}}",
         [("[0.00,25.00)", "[25.00,50.00)")]),
        ("by: [{column: price, bins: {width: 25}}], where: {price: {min: 80}}",
         [("[75.00,100.00]",)]),
        ("by: [hour]", [("0", "6", "12", "18", "24")]),
        ("by: [hour], where: {hour: {above: 6, max: 20}}", [("12", "18")]),
        ("by: [{column: hour, bins: {width: 4}}]", [("0", "6", "12", "18", "24")]),
        ("by: [{column: at, bins: {width: 20}}], where: {born: {min: 2000-01-01}}",
         [("0-19", "20-39")]),
        ("by: [{column: wait, bins: {width: 100}}]", [("0-99", "100-199")]),
        ("by: [sex], where: {sex: [f, m]}", [("f", "m")]),
    ],
)  # fmt: skip
def test_groups_that_the_filter_excludes_are_left_out(
    fields: str, labels: list[tuple[str, ...]]
) -> None:
    """Keys have the labels that a row which passes the filter can have, and no others."""
    assert groups(f"statistic: count, {fields}") == labels


@pytest.mark.parametrize(
    ("fields", "counts"),
    [
        ("by: [month], where: {visit: {missing: false}}", [12]),
        ("by: [year], where: {any: [{year: ['2018']}, {sex: [f]}]}", [16]),
        ("by: [filled_year], where: {filled_year: ['2018', '2011']}", [2]),
        ("by: [year], where: {filled_year: ['2018']}", [16]),
        ("by: [filled_year], where: {visit: {min: 2019-01-01}}", [3]),
        ("by: [ever_week], where: {ever_month: [May]}", [53]),
        ("by: [ever_week], where: {ever: {min: 9999-12-20}}", [53]),
        ("by: [hour_of_term], where: {term: {max: 2018-03-10}}", [24]),
        ("by: [sex], where: {sex: {missing: true}}", [3]),
        ("by: [month], where: {visit: {min: {column: term}}}", [12]),
        ("by: [year, year_month], where: {year: ['2018']}", [1, 12]),
    ],
)
def test_groups_that_a_row_may_be_in_stay(fields: str, counts: list[int]) -> None:
    """A missing cell with a constant, and what is not known for certain, leave out no group."""
    assert [len(labels) for labels in groups(f"statistic: count, {fields}")] == counts


def test_private_groups_stay_as_they_are() -> None:
    """The groups of a selection are those of its rows, so other entries with its keys share it."""
    text = SPEC + (
        "  - {name: a, statistic: count, by: [city, year], keys: private, delta: 1e-6,\n"
        "     epsilon: 1}\n"
        "  - {name: b, statistic: mean, column: age, by: [city, year], where: {year: ['2018']},\n"
        "     epsilon: 1}\n"
    )
    first, second = parse_central_spec(text, "spec.yaml").entries

    assert second.selected_by == first.inputs.name
    assert second.inputs.by == first.inputs.by


def test_bins_tables_and_ranked_labels_are_those_of_rows_that_pass() -> None:
    """Items within a group are left out as groups are: bins, cells of tables, and ranks."""
    histogram = entry("statistic: histogram, column: rating, where: {rating: {below: 2}}")
    assert histogram.statistic.items(histogram.inputs) == RATINGS[:3]
    tables = entry("statistic: marginals, columns: [sex, quarter], ways: 2, where: {month: May}")
    assert tables.statistic.items(tables.inputs) == (
        "sex=f; quarter=Q2", "sex=m; quarter=Q2", "sex=x; quarter=Q2",
    )  # fmt: skip
    for mechanism in ("laplace", "permute_and_flip"):
        ranked = entry(
            "statistic: top_k, column: town, k: 2, where: {not: {town: [b]}}, "
            f"mechanism: {mechanism}"
        )
        query = ranked.designs[mechanism != "laplace"].queries[0].query
        axis = query.classes[0] if isinstance(query, ScoreQuery) else query.items[0]
        assert axis.labels == ("a", "c")


def test_a_query_has_a_cell_for_each_group_that_is_left() -> None:
    """What is planned, limited and answered with noise is the groups that are left."""
    both = entry("statistic: count, by: [year, month], where: {year: ['2018']}")
    for design in both.designs:
        assert design.queries[0].query.cells == 12
    assert both.statistic.item_count(both.inputs) == 1


OF_DAYS = (
    "visit: {min: 2017-05-20, max: 2017-06-03}", "visit: {max: 2017-04-05}",
    "visit: {above: 2018-10-31}", "year: ['2018']", "month: [March, April]", "quarter: [Q4]",
    "not: {quarter: [Q1, Q3]}", "not: {visit: {min: 2017-06-01}}",
    "year_month: ['2018-12', '2019-01']", "all: [{year: ['2018']}, {not: {month: [May, June]}}]",
)  # fmt: skip
OF_AGES = (
    "age: {below: 25}", "age: [0, 40, 64, 65, 110]", "band: [20-39, 60-79]", "band: [100-110]",
    "is_old: true", "is_old: false", "not: {band: [0-19, 80-99]}", "not: {age: {min: 70}}",
    "any: [{band: [40-59], is_old: false}, {band: [0-19]}]",
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "parts", "filters"),
    [("visit", ("year", "month", "quarter", "year_month"), OF_DAYS),
     ("age", ("band", "is_old"), OF_AGES)],
    ids=["days", "ages"],
)  # fmt: skip
def test_exactly_the_labels_of_values_that_pass_are_left(
    name: str, parts: tuple[str, ...], filters: tuple[str, ...]
) -> None:
    """Of two filters of one column: its values, and the labels that are computed from them.

    All values are tried one by one. If none passes, the filters exclude each other.
    """
    text = SPEC.replace("[2005-03-10, 2020-12-31]", "[2017-03-10, 2019-01-20]")
    for place, test in enumerate(filters):
        text += f"  - {{name: n{place}, epsilon: 0.1, statistic: count, where: {{{test}}}}}\n"
    spec = parse_central_spec(text, "spec.yaml")
    named = {column.name: column for column in spec.columns}
    column = require_numeric(named[name])
    rows: list[Row] = [{column: value} for value in range(column.lower, column.upper + 1)]
    for row, part in product(rows, parts):
        row[named[part]] = derived(named[part], row)
    wheres = [only.inputs.where for only in spec.entries]
    excluded = 0
    for tests in (first + second for first, second in combinations(wheres, 2)):
        passing = [row for row in rows if all(truth(test, row) for test in tests)]
        values = possible_values(tests)
        assert (values is not None) == bool(passing)
        excluded += values is None
        for key in (column, *(named[part] for part in parts)) if values else ():
            assert values is not None and isinstance(key, ValuedColumn)
            found = [at for low, high in values.ranges(key) for at in range(low, high + 1)]
            assert found == sorted({cast("int", row[key]) for row in passing})
    assert 5 < excluded < len(filters) ** 2 / 3


def test_ranges_are_sets_of_whole_numbers() -> None:
    """Common and merged ranges hold the numbers that both, or any, hold."""
    random = Random(0)

    def some() -> tuple[tuple[int, int], ...]:
        pairs = ((random.randint(0, 20), random.randint(0, 6)) for _ in range(random.randint(0, 5)))
        return tuple((low, low + size) for low, size in pairs)

    def numbers(ranges: tuple[tuple[int, int], ...]) -> set[int]:
        return {number for low, high in ranges for number in range(low, high + 1)}

    for _ in range(500):
        first, second = some(), some()
        assert numbers(common_ranges(first, second)) == numbers(first) & numbers(second)
        merged = merged_ranges((*first, *second))
        assert numbers(merged) == numbers(first) | numbers(second)
        assert all(low > before + 1 for (_, before), (low, _) in pairwise(merged))


def test_a_row_outside_some_groups_adds_nothing() -> None:
    """A query with only some of the labels of a column does not count every row as public."""
    sex = CategoryColumn("sex", (("f", "f"), ("m", "m")), missing=1)

    assert not LinearQuery(by=(Axis(sex),)).may_skip
    assert LinearQuery(by=(Axis(sex, chosen=(0,)),)).may_skip


SMALL = """\
dpcli: 1
dataset: d
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 9, delta: 1e-3}}
columns:
  visit: {type: date, bounds: [2017-12-20, 2018-02-05]}
  age: {type: integer, bounds: [0, 9], missing: 4}
  sex: {type: category, values: [f, m, x]}
  town: {type: category, values: [a, b, c], missing: c}
  city: {type: category}
derive:
  month: {part: month, of: visit}
  weekday: {part: weekday, of: visit}
  year: {part: year, of: visit, missing: "2018"}
  band: {bands: age, width: 3}
  is_f: {is: {sex: f}}
statistics:
"""

CONDITIONS = {
    "visit": (
        "visit: {max: 2018-01-02}", "visit: {above: 2018-01-02}", "visit: {missing: true}",
        "visit: {missing: false}", "not: {visit: {max: 2018-01-30}}", "month: [January]",
        "not: {month: {starts_with: Ja}}", "month: {missing: true}", "weekday: [Monday]",
        "not: {weekday: [Monday, Sunday]}", "year: ['2017']", "year: {missing: true}",
    ),
    "age": (
        "age: {max: 4}", "age: {min: 5}", "age: {above: 2, below: 5}", "age: {missing: true}",
        "age: {missing: false}", "band: [0-2]", "not: {band: [0-2, 3-5]}", "age: [1, 4]",
    ),
    "sex": ("sex: f", "not: {sex: f}", "sex: {missing: true}", "is_f: false", "is_f: true",
            "not: {any: [{sex: m}, {sex: {missing: true}}]}", "is_f: {missing: true}"),
    "town": ("town: a", "town: [b, c]", "not: {town: c}", "town: {missing: true}",
             "not: {town: {missing: true}}"),
    "city": ("city: [oslo]", "city: [oslo, rome]", "not: {city: [rome]}", "city: {missing: true}",
             "city: {missing: false}", "city: [bonn]"),
}  # fmt: skip


def rows_of(columns: dict[str, Column], names: Sequence[str], of_tests: set[Column]) -> list[Row]:
    """All rows with these columns, each with a missing cell too."""
    values: list[list[int | str | None]] = []
    for name in names:
        column = columns[name]
        found: Sequence[int | str] = ["oslo", "rome", "bonn", "other"]
        if isinstance(column, ValuedColumn):
            found = range(column.limits[0], column.limits[1] + 1)
        values.append([*found, None])
    rows: list[Row] = []
    for cells in product(*values):
        row: Row = {}
        for name, cell in zip(names, cells, strict=True):
            column = columns[name]
            row[column.without_missing_constant()] = cell
            row[column] = column.missing if cell is None else cell
        for column in sorted(of_tests - row.keys(), key=lambda one: len(one.name)):
            cell = derived(column, row)
            row[column] = column.missing if cell is None else cell
        rows.append(row)
    return rows


@pytest.mark.parametrize("pairs", also_slow(60, 600))
def test_conditions_on_columns_exclude_each_other_exactly_if_no_row_passes(pairs: int) -> None:
    """Random conjunctions, against all rows: values, parts, bands, texts, missing cells."""
    every = [test for tests in CONDITIONS.values() for test in tests]
    entries = (
        f"  - {{name: n{at}, epsilon: 0.1, statistic: count, where: {{{test}}}}}\n"
        for at, test in enumerate(every)
    )
    spec = parse_central_spec(SMALL + "".join(entries), "spec.yaml")
    columns = {column.name: column for column in spec.columns}
    where = dict(zip(every, (one.inputs.where for one in spec.entries), strict=True))
    random, disjoint = Random(5), 0
    for _ in range(pairs):
        names = random.sample([*CONDITIONS], random.randint(1, 2))
        drawn = [name for name in names for _ in range(random.randint(1, 3))]
        tests = [one for name in drawn for one in where[random.choice(CONDITIONS[name])]]
        of_tests = {column for test in tests for column in test.columns}
        rows = rows_of(columns, names, of_tests)
        passes = any(all(truth(test, row) for test in tests) for row in rows)

        assert (possible_values(tests) is not None) == passes, [test.text for test in tests]
        disjoint += not passes
    assert disjoint > pairs / 5
