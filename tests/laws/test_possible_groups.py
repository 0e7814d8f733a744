"""Groups that are left out: no row that counts is in one of them, on random specs and files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from dpcli.privacy.unit import RowUnit
from dpcli.problems.errors import SpecError
from dpcli.queries.query import LinearQuery
from dpcli.specification.load import parse_central_spec
from dpcli.specification.model import CentralSpec, Entry
from tests.laws.test_random_specs import file_of, random_row, valid_specs
from tests.oracles.opened import cells_of, engine
from tests.oracles.plain import evaluate
from tests.support.random_specs import Cells
from tests.support.rules import also_slow

DAYS = (
    "2018-03-31", "2018-04-01", "2018-12-31", "2019-01-01", "2019-02-28", "2019-06-30",
    "2017-01-01", "2021-01-01", "", "x",
)  # fmt: skip
NUMBERS = ("-1", "0", "5", "6", "12", "17", "18", "24", "30", "", "x")
CELLS: dict[str, Cells] = {
    "day": DAYS, "filled": DAYS, "age": NUMBERS, "hour": NUMBERS, "sex": ("f", "m", "?", ""),
    "half": ("0", "0.5", "1.4", "2", "9", ""),
}  # fmt: skip
"""Cells of each column, among them missing ones and some beyond the bounds."""

COLUMNS = """\
columns:
  day: {type: date, bounds: [2018-03-20, 2019-03-10]}
  filled: {type: date, bounds: [2018-03-20, 2019-03-10], missing: 2018-12-31}
  age: {type: integer, bounds: [0, 24]}
  hour: {type: integer, values: [0, 6, 12, 18, 24]}
  sex: {type: category, values: [f, m, d], missing: d}
  half: {type: number, bounds: [0, 2], step: 0.5, missing: 1}
derive:
  year: {part: year, of: day}
  month: {part: month, of: day, missing: May}
  quarter: {part: quarter, of: filled}
  week: {part: week, of: day}
  weekday: {part: weekday, of: filled}
  when: {part: year-month, of: filled}
  band: {bands: age, width: 6}
  ends: {bands: day, edges: [2018-03-20, 2018-12-31, 2019-03-10], labels: [first, last]}
  is_late: {is: {year: ["2019"]}, missing: true}
  is_old: {is: {any: [{age: {min: 18}}, {hour: 24}]}}
  both: {sum: [age, hour], bounds: [0, 40], missing: 3}
  lasting: {difference: [day, filled], bounds: [-100, 100]}
  part: {ratio: [age, hour], step: 1, bounds: [0, 9]}
  sums: {bands: both, width: 10}
"""
KEYS = (
    "year", "month", "quarter", "week", "weekday", "when", "band", "ends", "is_late", "is_old",
    "sex", "sums", "hour", "half", "part", "both",
    "{column: age, bins: {width: 5}}", "{column: hour, bins: {edges: [0, 5, 24]}}",
    "{column: day, bins: {width: 60}}", "{column: lasting, bins: {width: 30}}",
)  # fmt: skip
TESTS = (
    "day: {min: 2018-12-30}", "day: {below: 2018-04-10}", "filled: {above: 2018-06-01}",
    "year: ['2018']", "month: [May, June, January]", "month: [March]", "quarter: [Q1, Q4]",
    "week: [W01, W13]", "weekday: Sunday", "when: ['2018-12', '2019-01']", "band: [6-11, 18-23]",
    "ends: last", "is_late: true", "is_late: false", "is_old: true", "is_old: false",
    "age: {max: 11}", "age: [0, 24]", "hour: {min: 6, max: 13}", "hour: [0, 24]", "sex: [f, d]",
    "sex: {missing: true}", "half: {below: 1}", "both: {min: 30}", "sums: ['0-9']",
    "lasting: {below: 0}", "part: {min: 2}", "day: {max: {column: filled}}",
)  # fmt: skip


def random_where(random: Random, depth: int = 0) -> str:
    """A mapping of one or two tests, or of an operator with such mappings."""
    kind = random.random()
    if depth < 2 and kind < 0.5:
        inner = [random_where(random, depth + 1) for _ in range(random.randint(1, 2))]
        operator = random.choice(("all", "any", "any", "not"))
        return f"{{{operator}: {inner[0] if operator == 'not' else '[' + ', '.join(inner) + ']'}}}"
    return f"{{{random.choice(TESTS)}}}"


def random_spec(seed: int) -> str:
    """A spec with counts by random keys of rows that pass random filters."""
    random = Random(f"possible {seed}")
    lines = [
        f"  - {{name: n{place}, statistic: count, by: [{', '.join(random.sample(KEYS, 2))}], "
        f"where: {random_where(random)}, epsilon: 0.1}}"
        for place in range(6)
    ]
    return (
        "dpcli: 1\ndataset: d\n"
        "privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 9}}\n"
        f"{COLUMNS}statistics:\n" + "\n".join(lines) + "\n"
    )


def queries_of(entry: Entry) -> tuple[LinearQuery, LinearQuery, LinearQuery]:
    """The count by the groups that are left, by all groups, and of all rows with a group."""
    inputs, bins = entry.inputs, entry.inputs.bins
    axes = [*inputs.by, *inputs.margins, *([bins] if bins else [])]
    public = tuple(axis for axis in axes if not axis.is_private)
    by_left = LinearQuery(by=public, where=inputs.where)
    by_all = replace(by_left, by=tuple(replace(axis, chosen=None) for axis in public))
    return by_left, by_all, replace(by_left, by=(), present=tuple(axis.column for axis in public))


def require_no_row_outside(spec: CentralSpec, data: bytes, path: Path) -> int:
    """How many groups are left out; fails if a row that counts is in one of them."""
    queries = [query for entry in spec.entries for query in queries_of(entry)]
    path.write_bytes(data)
    exact = [cells_of(answer) for answer in engine(queries, RowUnit(), path)]
    assert exact == evaluate(queries, data)
    left_out = 0
    for start in range(0, len(exact), 3):
        counts, all_counts, (rows,) = exact[start : start + 3]
        assert sum(counts) == sum(all_counts) == rows
        # Counts above zero stand in the same order.
        assert list(filter(None, counts)) == list(filter(None, all_counts))
        left_out += len(all_counts) - len(counts)
    return left_out


def require_on_random_specs(seeds: range, path: Path) -> int:
    """How many groups are left out; a few specs are refused, as no row passes a filter."""
    left_out = specs = 0
    for seed in seeds:
        try:
            spec = parse_central_spec(random_spec(seed), "random.yaml")
        except SpecError:
            continue
        random, specs = Random(seed), specs + 1
        rows = [random_row(random, CELLS) for _ in range(40)]
        left_out += require_no_row_outside(spec, file_of(CELLS, rows), path)
    assert specs > len(seeds) / 2
    return left_out


@pytest.mark.parametrize("seeds", also_slow(range(12), range(12, 1_000)))
def test_no_row_that_counts_is_in_a_group_that_is_left_out(seeds: range, tmp_path: Path) -> None:
    """Over the groups that are left, counts sum to the count of rows that have a group."""
    assert require_on_random_specs(seeds, tmp_path / "data.csv") > 200


def test_no_row_of_a_random_spec_is_in_a_group_that_is_left_out(tmp_path: Path) -> None:
    """The same for entries of any statistic, with columns and filters of any kind."""
    for seed, spec, cells in valid_specs(range(20)):
        random = Random(seed)
        data = file_of(cells, [random_row(random, cells) for _ in range(30)])
        require_no_row_outside(spec, data, tmp_path / "data.csv")
