"""Statistics about people: from the command line to the table, exact but for a little noise."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from dpcli import load_spec, plan, release
from tests.support.cli import Command, reported, table

SPEC = """\
dpcli: 1
dataset: patients
rows_are: visits
privacy: {unit: {column: who}, neighbors: NEIGHBORS, budget: {epsilon: 1000}}
columns:
  who: {type: id}
  day: {type: date, bounds: [2024-01-01, 2024-12-31]}
  kind: {type: category, values: [routine, emergency]}
  cost: {type: number, bounds: [0, 100], step: 0.5}
people:
  visits: {count: rows, bounds: [0, 4]}
  ever: {any: {kind: [emergency]}}
  last_kind: {last: kind, by: day}
  spent: {sum: cost, bounds: [0, 150], step: 0.5}
  change: {difference: [{last: cost, by: day}, {first: cost, by: day}], one_row: absent}
derive:
  often: {is: {visits: {min: 2}}}
statistics:
  - {name: people, statistic: count, of: people, epsilon: 20}
  - {name: visits, statistic: sum, column: visits, epsilon: 20}
  - {name: ever, statistic: count, of: people, where: {ever: true}, epsilon: 20}
  - {name: last, statistic: count, of: people, by: [last_kind], epsilon: 20}
  - {name: spent, statistic: sum, column: spent, by: [often], epsilon: 20}
  - {name: changed, statistic: sum, column: change, epsilon: 20}
  - {name: in_kinds, statistic: count, of: people, by: [kind], epsilon: 20}
  - {name: rows_of, statistic: count, of: rows, max_rows: 9, by: [last_kind], epsilon: 20}
"""

ROWS = [
    # Two visits on the last day: of labels, the one that is declared last counts.
    ("a", "2024-01-05", "emergency", "10"),
    ("a", "2024-03-01", "routine", "20.5"),
    ("a", "2024-03-01", "emergency", "20.5"),
    ("b", "2024-02-01", "routine", "100"),
    ("c", "2024-02-01", "routine", "100"),
    ("c", "2024-05-01", "routine", "90"),
    # Neither day nor kind of this visit can be read.
    ("d", "May", "other", "3"),
    ("", "2024-05-01", "emergency", "5"),
    *(("e", f"2024-0{month}-01", "routine", "0") for month in range(1, 7)),
]

EXPECTED: dict[str, list[float]] = {
    "people": [5],
    "visits": [3 + 1 + 2 + 1 + 4],
    "ever": [1],
    "last": [3, 1],
    "spent": [100 + 3, 51 + 150 + 0],
    "changed": [10.5 - 10],
    "in_kinds": [4, 1],
    "rows_of": [1 + 2 + 6, 3],
}
"""The numbers of each statistic, group by group."""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Visits of five people, and one without an id."""
    path = tmp_path / "visits.csv"
    lines = [",".join(row) for row in ROWS]
    path.write_text("\n".join(["who,day,kind,cost", *lines, ""]), encoding="utf-8")
    return path


def written(folder: Path, neighbors: str = "add-remove") -> Path:
    """The spec, in a folder."""
    spec = folder / "spec.yaml"
    spec.write_text(SPEC.replace("NEIGHBORS", neighbors), encoding="utf-8")
    return spec


def near(found: dict[str, list[float]]) -> bool:
    """Whether numbers are those that are expected, but for noise of epsilon 20."""
    assert found.keys() == EXPECTED.keys()
    # The noise of a sum of up to 150 has a scale of 7.5, and that of the others of 4.5 at most.
    width = {"spent": 100, "changed": 100}
    return all(
        abs(number - expected) <= width.get(name, 4)
        for name, numbers in found.items()
        for number, expected in zip(numbers, EXPECTED[name], strict=True)
    )


def by_name(lines: list[dict[str, str]]) -> dict[str, list[float]]:
    """The values of a long table by statistic."""
    found: dict[str, list[float]] = {}
    for line in lines:
        found.setdefault(line["statistic"], []).append(float(line["value"]))
    return found


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
def test_each_person_counts_once_by_all_of_their_rows(
    dpcli: Command, tmp_path: Path, data: Path, neighbors: str
) -> None:
    """Numbers are about people, and the plan and the report name them so."""
    spec, out = written(tmp_path, neighbors), tmp_path / "out.csv"
    plan_text = dpcli("plan", spec).succeeded().out
    words = ("-o", out, "--report", tmp_path / "r.json", "--report", tmp_path / "r.md")
    done = dpcli("release", spec, data, *words).succeeded()

    assert near(by_name(table(out)))
    assert "people: number of people; " in plan_text
    assert "visits: number of rows, from 0 to 4" in plan_text
    assert "change: last cost by day - first cost by day" in plan_text
    assert "no limit leaves any out" in plan_text
    facts = {fact["name"]: fact for fact in reported(tmp_path / "r.json")["statistics"]}
    assert facts["people"]["counts"] == facts["spent"]["counts"] == "people"
    assert facts["in_kinds"]["counted"] == "people"
    assert facts["rows_of"]["counted"] == "visits (at most 9 of each person)"
    assert facts["people"]["completeness"]["complete"] == "yes"
    assert " people " in done.err


def test_parts_and_tables_in_memory_have_the_same_people(
    dpcli: Command, tmp_path: Path, data: Path
) -> None:
    """A person whose rows are in two files, or in a table, has the values of all of them."""
    spec, frame = written(tmp_path), pl.read_csv(data, infer_schema=False)
    result = release(plan(load_spec(spec)), frame, release_id="memory")
    assert near(by_name(result.table.cast(pl.String).fill_null("").to_dicts()))
    lines = data.read_text("utf-8").splitlines(keepends=True)
    files = tmp_path / "one.csv", tmp_path / "two.csv"
    for at, file in enumerate(files):
        file.write_text("".join([lines[0], *lines[1 + at :: 2]]), encoding="utf-8")
    dpcli("release", spec, *files, "-o", tmp_path / "two.out.csv").succeeded()
    assert near(by_name(table(tmp_path / "two.out.csv")))
