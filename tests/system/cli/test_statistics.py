"""Every statistic from the command line: unusual data, private groups, both layouts."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from random import Random

import pytest

from dpcli.problems.messages import capitalized
from dpcli.statistics import STATISTICS
from dpcli.statistics.tables.marginals import MeasuredTables
from tests.support.cli import ROOT, Command, reported, table
from tests.support.rules import mostly_extended
from tests.support.streams import Stream

SPEC = """
dpcli: 1
dataset: odd
privacy:
  unit: {column: p, max_rows: 2, max_groups: 1}
  neighbors: NEIGHBORS
  budget: {epsilon: 200, delta: 0.01}
columns:
  p: {type: id}
  x: {type: number, bounds: [-5, 5], step: 0.01}
  y: {type: integer, bounds: [1000000000, 1000000100]}
  c: {type: category, values: [only]}
  d: {type: category, values: [a, b]}
  f: {type: boolean, values: ["0", "1"]}
  city: {type: category}
statistics:
  - {name: n, statistic: count_distinct, by: [city], keys: private, epsilon: 5, delta: 1e-4}
  - {name: plain, statistic: count, post: [nonnegative, {clamp: [0, 900]}], raw: true, epsilon: 1}
  - {name: s, statistic: sum, column: x, post: [integer], epsilon: 1}
  - {name: avg, statistic: mean, column: y, by: [city], epsilon: 1}
  - {name: v, statistic: variance, column: x, by: [city], epsilon: 1, raw: true}
  - {name: sd, statistic: std, column: y, where: {y: {min: 1000000050}}, epsilon: 1}
  - {name: de, statistic: describe, column: x, by: [city], epsilon: 1}
  - {name: gi, statistic: inequality, column: y, bins: 4, by: [city], epsilon: 1}
  - {name: h, statistic: histogram, column: d, by: [city], post: [{suppress_below: 30}], epsilon: 1}
  - {name: med, statistic: median, column: x, by: [city], epsilon: 5}
  - {name: low, statistic: min, column: x, epsilon: 5}
  - {name: high, statistic: max, column: x, epsilon: 5}
  - {name: q, statistic: quantile, column: y, quantiles: [0.9, 0.1], by: [city], epsilon: 5}
  - {name: mo, statistic: mode, column: d, by: [city], epsilon: 5}
  - {name: tk, statistic: top_k, column: d, k: 2, by: [city], epsilon: 5}
  - {name: sole, statistic: mode, column: c, epsilon: 5}
  - {name: price, statistic: choose, column: y, candidates: [1000000050], utility: revenue,
     by: [city], epsilon: 1}
  - {name: cut, statistic: choose, column: x, candidates: [-5, 0.01, 5], utility: accuracy,
     label: f, mechanism: exponential, epsilon: 1}
  - {name: cv, statistic: covariance, columns: [x, y], by: [city], epsilon: 1}
  - {name: cr, statistic: correlation, columns: [x, y], where: {d: a}, mechanism: gaussian,
     epsilon: 1, delta: 1e-6}
  - {name: lr, statistic: linear_regression, column: y, on: [x], by: [city], epsilon: 1}
  - {name: lo, statistic: linear_regression, column: y, on: [x], method: objective, epsilon: 1}
  - {name: lg, statistic: logistic_regression, column: f, on: [x, y], epsilon: 1}
  - {name: ld, statistic: logistic_regression, column: d, values: b, on: [x], where: {f: true},
     method: objective, epsilon: 1}
  - {name: pr, statistic: proportion, column: f, by: [city], epsilon: 1, raw: true}
  - {name: ps, statistic: proportion, column: d, values: b, per: 100, mechanism: gaussian,
     epsilon: 1, delta: 1e-6}
  - {name: mb, statistic: mean, column: f, by: [d], epsilon: 1}
  - {name: ra, statistic: ratio, numerator: x, denominator: y, by: [city], epsilon: 1}
  - {name: rr, statistic: ratio, numerator: f, denominator: rows, per: 1000, epsilon: 1}
  - {name: co, statistic: comparison, between: {d: [a, b]}, by: [city], epsilon: 1}
  - {name: cm, statistic: comparison, of: sum, column: y, between: {x: [-0.5, 0]}, epsilon: 1}
  - {name: ca, statistic: comparison, of: mean, column: y, between: {d: [a, b]}, by: [f],
     reference: b, epsilon: 1}
  - {name: cp, statistic: comparison, of: proportion, column: f, per: 100,
     between: {x: [-0.5, 0, 0.5]}, epsilon: 1}
  - {name: cq, statistic: comparison, of: ratio, numerator: x, between: {d: [a, b]}, epsilon: 1}
  - {name: se, statistic: selections, columns: [c, f], max_selected: 1, by: [d], epsilon: 1}
  - {name: mi, statistic: count_missing, columns: [x, y, d], mechanism: gaussian, epsilon: 1,
     delta: 1e-6}
  - {name: ma, statistic: marginals, columns: [c, d, f], ways: 2, by: [city], epsilon: 1,
     post: [consistent]}
"""

HEADER = "p,x,y,c,d,f,city\n"


def data(rows: int) -> str:
    """People with a few rows each, in three cities, one with a name like a formula."""
    random = Random(3)
    lines = [
        f"{random.randrange(rows)},{random.gauss(0, 2):.3f},{10**9 + random.randrange(100)},"
        f"only,{random.choice('ab')},{random.choice('01')},"
        f"{random.choice(('Rome', 'Oslo', '=x'))}\n"
        for _ in range(2 * rows)
    ]
    return HEADER + "".join(lines)


DATA = {
    "no rows": HEADER,
    "odd cells": HEADER + '1,inf,,only,a,1,Rome\n2,nan,-7,?,?,?,"\n"\n,,,,,,\n3\n',
    "one person": HEADER + "me,0,1000000000,only,a,1,Rome\n" * 50,
    "one point": HEADER + "".join(f"{n},1,1000000001,only,a,1,Oslo\n" for n in range(400)),
    "people": data(1500),
}


ALL = "over rows (at most 2 of each person)"
ROWS, BY = f"{ALL[:-1]}, in at most 1 group)", "by city"
REQUESTED = (
    f"logistic regression of d on x with values b {ALL}, where f is true",
    f"proportion of f {ROWS}, {BY}",
    f"proportion of d with values b per 100 {ROWS}",
    f"ratio of x to y {ROWS}, {BY}",
    f"ratio of f to rows per 1,000 {ROWS}",
    f"comparison between a and b of d {ROWS}, {BY}",
    f"comparison of y by its sum between -0.50 and 0.00 of x {ROWS}",
    f"comparison of y by its mean between b and a of d {ROWS}, by f",
    f"comparison of f by its proportion between -0.50, 0.00 and 0.50 of x per 100 {ROWS}",
    f"number of selections of c, f with max selected 1 {ROWS}, by d",
    f"number of missing cells of x, y, d {ALL}",
    f"quantiles of y at 0.9, 0.1 among 101 candidates {ROWS}, {BY}",
)
"""What a report says was requested, for some entries of the spec."""


@pytest.mark.parametrize(
    ("name", "neighbors"),
    [
        *mostly_extended(
            product(DATA, ("add-remove", "change-one")),
            ("people", "change-one"),
            ("no rows", "add-remove"),
            ("odd cells", "add-remove"),
            ("one point", "add-remove"),
            unpack=True,
        )
    ],
)
def test_every_statistic_answers_any_data(
    name: str, neighbors: str, dpcli: Command, tmp_path: Path
) -> None:
    """For any rows, each statistic is published, and both reports state the same numbers."""
    spec, file, out = tmp_path / "s.yaml", tmp_path / "d.csv", tmp_path / "o.csv"
    spec.write_text(SPEC.replace("NEIGHBORS", neighbors), encoding="utf-8")
    file.write_text(DATA[name], encoding="utf-8")
    reports = ["--report", tmp_path / "r.json", "--report", tmp_path / "r.md"]
    dpcli("release", spec, file, "-o", out, *reports).succeeded()
    rows = table(out)
    report = reported(tmp_path / "r.json")
    assert sum(len(statistic["cells"]) for statistic in report["statistics"]) == len(rows)
    published = {row["statistic"] for row in rows}
    assert {"plain", "plain.raw", "s", "low", "high", "sole", "cut", "cr"} <= published
    if name == "people":
        assert len(published) == SPEC.count("- {name:") + SPEC.count("raw: true") + 1
        assert {row["city"] for row in rows} == {"", "Rome", "Oslo", "'=x"}
    for row in rows:
        if row["lower"]:
            assert float(row["lower"]) <= float(row["upper"])
    page = (tmp_path / "r.md").read_text(encoding="utf-8").replace("\\", "")
    assert [inputs for inputs in REQUESTED if f"{capitalized(inputs)}." not in page] == []


@pytest.mark.parametrize("where", ["estimate", "make_consistent"])
def test_a_fault_after_the_noise_is_charged(
    where: str, dpcli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release that fails after noise was drawn is charged and void, for any cause."""
    spec, file = tmp_path / "s.yaml", tmp_path / "d.csv"
    first, last = SPEC.index("  - {name: plain"), SPEC.index("  - {name: ma,")
    text = SPEC[:first] + SPEC[last:]
    spec.write_text(text.replace("NEIGHBORS", "add-remove"), encoding="utf-8")
    file.write_text(DATA["people"], encoding="utf-8")

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as broken:
        broken.setattr(MeasuredTables, where, fail)
        outcome = dpcli("release", spec, file, "--release-id", "r")
        assert outcome.status == 1
        assert outcome.out == ""
    again = dpcli("release", spec, file, "--release-id", "r")
    assert again.status == 6
    assert "release-void" in again.err
    book = ("--ledger", tmp_path / "dpcli-ledger.sqlite")
    assert dpcli("ledger", "export", "r", *book).status == 6
    history = dpcli("ledger", "history", *book).succeeded()
    assert " r " in history.out
    assert dpcli("ledger", "verify", *book).status == 0
    assert dpcli("release", spec, file, "--release-id", "s").status == 0


@pytest.mark.extended
def test_raw_numbers_lie_in_their_intervals(dpcli: Command, tmp_path: Path, stream: Stream) -> None:
    """An interval also contains a number that noise moved out of its range."""
    spec, file = tmp_path / "s.yaml", tmp_path / "d.csv"
    text = SPEC.replace("NEIGHBORS", "add-remove").replace("epsilon: 200", "epsilon: 1000")
    text = text.replace("by: [city], epsilon: 1, raw: true", "epsilon: 0.001, raw: true")
    before, entries = text.split("statistics:\n")
    kept = [line for line in entries.splitlines() if "raw: true" in line or "name: n," in line]
    spec.write_text("\n".join([before, "statistics:", *kept, ""]), encoding="utf-8")
    file.write_text(DATA["one person"], encoding="utf-8")
    driven = 0
    for _ in range(14):
        done = dpcli("release", spec, file).succeeded()
        for row in table(done.out):
            if row["statistic"].endswith(".raw") and row["lower"]:
                assert float(row["lower"]) <= float(row["value"]) <= float(row["upper"])
            driven += row["statistic"] == "v.raw" and float(row["value"]) < 0
    assert driven


def test_many_private_groups_with_many_candidates_fit_into_memory(
    dpcli: Command, tmp_path: Path
) -> None:
    """Ten thousand groups of one person, none of them shown, allocate no scores."""
    spec, file = tmp_path / "s.yaml", tmp_path / "d.csv"
    spec.write_text(
        """
dpcli: 1
dataset: d
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 10, delta: 0.1}}
columns:
  city: {type: category}
  x: {type: integer, bounds: [0, 10000]}
statistics:
  - {name: n, statistic: count, by: [city], keys: private, epsilon: 1, delta: 1e-9}
  - {name: m, statistic: median, column: x, by: [city], epsilon: 1}
  - {name: h, statistic: histogram, column: x, bins: {width: 1}, by: [city], epsilon: 1}
""",
        encoding="utf-8",
    )
    lines = [f"c{number},5\n" for number in range(10_000)] + ["big,7\n"] * 500
    file.write_text("city,x\n" + "".join(lines), encoding="utf-8")
    outcome = dpcli("release", spec, file).succeeded()
    rows = table(outcome.out)
    assert {row["city"] for row in rows} == {"big"}
    assert [row["value"] for row in rows if row["statistic"] == "m"] == ["7"]
    assert len(rows) == 2 + 10_001


def test_every_statistic_is_in_a_sample_spec() -> None:
    """For each statistic there is a sample spec with comments."""
    specs = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "specs").glob("*.yaml"))
    for statistic in STATISTICS:
        assert f"statistic: {statistic.name}" in specs


def test_the_spec_above_asks_for_every_statistic() -> None:
    """Every registered statistic is requested from the command line."""
    for statistic in STATISTICS:
        assert f"statistic: {statistic.name}," in SPEC
