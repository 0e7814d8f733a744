"""Audits of whole releases: what the published numbers of two neighbors reveal, at most.

A file has many groups of the same few rows, so one release has as many independent answers; in the
file of the neighbor, every group has one row more. The best test that a first half of the answers
shows is judged by the second half: a lower bound of epsilon that holds with a confidence of
1 - 1e-6 (Clopper and Pearson 1934). The bound must not exceed the epsilon of the spec.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.special import betaincinv

import dpcli
from dpcli.fields.section import column_role, example_line
from dpcli.numeric.arrays import Floats
from dpcli.statistics import STATISTICS
from dpcli.statistics.postprocessing import FLAGS, Flag
from dpcli.statistics.statistic import Statistic
from tests.support.rules import also_slow, mostly_extended
from tests.support.streams import Stream

DELTA = 1e-5
WRONG = 1e-6
"""How often a bound may be wrong."""

SIDE = 100
"""Groups are pairs of labels, of which the second has this many."""


Row = tuple[int, bool, bool]
"""The values of the columns x, a and b."""


FEW: tuple[Row, ...] = ((5, True, False), (5, False, True), (5, True, True))


@dataclass(frozen=True)
class AuditedDesign:
    """An entry of a spec with epsilon 1, the rows of a group, and the row that is added to them.

    `direction` is the weight of each number of a group in the test, by default one; with
    `flagged`, also of the flag of each number, after all numbers, and with `ends`, of the ends of
    each interval. With `counted`, the numbers are the noisy counts that decide the order of labels,
    in the order of their texts.
    """

    entry: str
    rows: tuple[Row, ...] = FEW
    added: Row = (5, True, True)
    direction: tuple[float, ...] = ()
    flagged: bool = False
    counted: bool = False
    ends: bool = False


GAUSSIAN = f"mechanism: gaussian, delta: {DELTA}"
QUARTILES = "quantiles: [0.25, 0.5, 0.75]"
FAR = (10, True, True)
LOW, HIGH = (2, True, True), (8, True, True)
DESIGNS = {
    "count": AuditedDesign("statistic: count"),
    "gaussian count": AuditedDesign(f"statistic: count, {GAUSSIAN}"),
    "sum": AuditedDesign("statistic: sum, column: x", FEW, FAR),
    "mean by distances from both bounds": AuditedDesign("statistic: mean, column: x", FEW * 8, FAR),
    "rows near points": AuditedDesign("statistic: inequality, column: x", FEW * 8, FAR, (0.0, 1.0)),
    "gaussian mean": AuditedDesign(f"statistic: mean, column: x, {GAUSSIAN}", FEW * 8, FAR),
    "variance by Bernstein sums": AuditedDesign("statistic: variance, column: x", FEW * 8, FAR),
    "gaussian variance": AuditedDesign(
        f"statistic: variance, column: x, {GAUSSIAN}", FEW * 8, (0, True, True)
    ),
    "covariance by products": AuditedDesign(
        "statistic: covariance, columns: [x, y]", FEW * 8, FAR, (1.0, 1.0, 1.0)
    ),
    "ratio to rows": AuditedDesign(
        "statistic: ratio, numerator: x, denominator: rows", FEW * 8, FAR
    ),
    "ratio of sums": AuditedDesign("statistic: ratio, numerator: x, denominator: y", FEW * 8, FAR),
    "selections": AuditedDesign("statistic: selections, columns: [a, b]", direction=(1.0, 1.0)),
    "gaussian selections": AuditedDesign(
        f"statistic: selections, columns: [a, b], {GAUSSIAN}", direction=(1.0, 1.0)
    ),
    "marginals": AuditedDesign(
        "statistic: marginals, columns: [a, b], ways: 1", direction=(-1.0, 1.0, -1.0, 1.0)
    ),
    "gaussian marginals": AuditedDesign(
        f"statistic: marginals, columns: [a, b], ways: 1, {GAUSSIAN}",
        direction=(-1.0, 1.0, -1.0, 1.0),
    ),
    "median": AuditedDesign(
        "statistic: median, column: x, mechanism: permute_and_flip", (LOW,) * 3 + (HIGH,) * 2, HIGH
    ),
    "median by counts": AuditedDesign(
        "statistic: median, column: x", (LOW,) * 3 + (HIGH,) * 2, HIGH
    ),
    "mode with its size": AuditedDesign(
        # The value is always a rank of one: the flag alone tells what the size says.
        "statistic: mode, column: a, mechanism: permute_and_flip",
        FEW * 8,
        (5, True, True),
        (0.0, 1.0),
        flagged=True,
    ),
    "order by counts": AuditedDesign(
        "statistic: top_k, column: a, k: 2", direction=(-1.0, 1.0), counted=True
    ),
    "gaussian order by counts": AuditedDesign(
        f"statistic: top_k, column: a, k: 2, {GAUSSIAN}", direction=(-1.0, 1.0), counted=True
    ),
    "rank by counts": AuditedDesign(
        # The value is always a rank of one: the flag says whether the interval has both ranks.
        "statistic: mode, column: a",
        FEW * 3,
        (5, True, True),
        (0.0, 1.0),
        flagged=True,
    ),
    "median with ranges": AuditedDesign(
        "statistic: median, column: x, mechanism: permute_and_flip",
        ((LOW,) * 3 + (HIGH,) * 2) * 5,
        HIGH,
        (1.0, -11.0, 1.0, 1.0),
        flagged=True,
        ends=True,
    ),
    "price with its size": AuditedDesign(
        "statistic: choose, column: x, candidates: [2, 5], utility: revenue",
        (LOW,) * 15 + ((5, True, True),) * 6,
        (5, True, True),
        (1.0, -11.0),
        flagged=True,
    ),
    "three quantiles by recursion": AuditedDesign(
        f"statistic: quantile, column: x, {QUARTILES}, mechanism: permute_and_flip",
        (LOW,) * 3 + (HIGH,) * 2,
        HIGH,
        (1.0, 1.0, 1.0),
    ),
    "three quantiles by counts": AuditedDesign(
        f"statistic: quantile, column: x, {QUARTILES}, mechanism: laplace",
        (LOW,) * 3 + (HIGH,) * 2,
        HIGH,
        (1.0, 1.0, 1.0),
    ),
}

CHANGED = {
    "mean by a centered pair": AuditedDesign("statistic: mean, column: x", FEW * 8, FAR),
    "variance by quadratic sums": AuditedDesign("statistic: variance, column: x", FEW * 8, FAR),
    "description": AuditedDesign("statistic: describe, column: x", FEW * 8, FAR, (0.0, 1.0, 1.0)),
    "selections of exchanged rows": AuditedDesign(
        "statistic: selections, columns: [a, b]", FEW * 8, (5, True, False), (1.0, -1.0)
    ),
    "histogram of moved rows": AuditedDesign(
        "statistic: histogram, column: a", FEW * 8, (5, True, False), (-1.0, 1.0)
    ),
    "counts with a public sum": AuditedDesign(
        "statistic: histogram, column: k", FEW * 8, (5, True, False), (-1.0, 1.0)
    ),
    "one-way tables of exchanged rows": AuditedDesign(
        "statistic: marginals, columns: [a, b], ways: 1",
        FEW * 8,
        (5, True, False),
        (-1.0, 1.0, 1.0, -1.0),
    ),
    "ratio of products": AuditedDesign(
        "statistic: ratio, numerator: x, denominator: y", FEW * 8, FAR
    ),
    "regression by products": AuditedDesign(
        "statistic: linear_regression, column: y, on: [x]", FEW * 8, FAR, (1.0, 10.0)
    ),
    "regression by its objective": AuditedDesign(
        "statistic: linear_regression, column: y, on: [x], method: objective",
        FEW * 8,
        FAR,
        (1.0, 10.0),
    ),
    "logistic regression": AuditedDesign(
        "statistic: logistic_regression, column: a, on: [x]", FEW * 8, (10, False, True), (1.0, 5.0)
    ),
}
"""Entries without groups, under change-one: the row that is `added` replaces `OPPOSITE`."""

AUDITED_ELSEWHERE = {
    "variance by quadratic sums",  # those of the description
    "regression by its objective",  # tests/unit/mechanisms/test_objective_perturbation.py
    "logistic regression",  # tests/unit/mechanisms/test_logistic_objective.py
}
"""Entries of which slow tests audit releases, and others the same answers."""

OPPOSITE: Row = (0, False, True)

OTHER_COLUMNS = {
    "comparison",
    "count_distinct",
    "correlation",
    "linear_regression",
    "logistic_regression",
    "top_k",
}
"""Statistics that need columns, or a unit, that the audited file lacks."""


def derived_design(statistic: Statistic) -> AuditedDesign:
    """A design of a statistic from its required fields, with the examples of those of its own."""
    parts = [f"statistic: {statistic.name}"]
    for key, field in statistic.fields.model_fields.items():
        role = column_role(field)
        if field.is_required() and role is None:
            parts.append(example_line(key, field))
        elif field.is_required() and role is not None:
            name = "a" if "boolean" in role.kinds else "x"
            parts.append(f"{key}: {name if role.refers_to == 'column' else f'[{name}]'}")
    return AuditedDesign(", ".join(parts), FEW[:1], FAR)


def derived_designs() -> Iterator[tuple[str, AuditedDesign]]:
    """The designs of the statistics that none of the above is about."""
    audited = {re.match(r"statistic: (\w+)", design.entry)[1] for design in DESIGNS.values()}  # type: ignore[index]
    for statistic in STATISTICS:
        if statistic.name not in audited | OTHER_COLUMNS:
            yield statistic.name, derived_design(statistic)


DERIVED = dict(derived_designs())
ALL_DESIGNS = DESIGNS | DERIVED

AUDITED_BY_DEFAULT = (
    "gaussian count",
    "sum",
    "mean by distances from both bounds",
    "ratio of sums",
    "selections",
    "marginals",
    "median by counts",
    "median with ranges",
    "mode with its size",
    "gaussian order by counts",
    "three quantiles by recursion",
)
"""Designs in which every kind of query and of noise occurs; the audits of others are extended."""

NEW = [name for name in DERIVED if not type(STATISTICS.named(name)).__module__.startswith("dpcli.")]
"""Statistics from outside the package, as in tests of how one is added."""


def file_of_groups(
    entry: str, rows: Sequence[Row], groups: int, epsilon: int = 9
) -> tuple[str, pl.DataFrame]:
    """A spec with one entry for groups of the same `rows`, and the file of these rows.

    The columns c to f are copies of a and b. `epsilon` is the budget.
    """
    names = [f"g{place}" for place in range(groups // SIDE)], [f"h{place}" for place in range(SIDE)]
    spec = f"""
dpcli: 1
dataset: audit
privacy: {{unit: row, neighbors: add-remove, budget: {{epsilon: {epsilon}, delta: 0.1}}}}
columns:
  g: {{type: category, values: [{", ".join(names[0])}]}}
  h: {{type: category, values: [{", ".join(names[1])}]}}
  x: {{type: integer, bounds: [0, 10]}}
  y: {{type: integer, bounds: [0, 10]}}
  a: {{type: boolean}}
  b: {{type: boolean}}
  c: {{type: boolean}}
  d: {{type: boolean}}
  e: {{type: boolean}}
  f: {{type: boolean}}
statistics: [{{name: asked, by: [g, h], {entry}}}]
"""
    table = pl.DataFrame(
        {
            "g": np.repeat(names[0], SIDE * len(rows)),
            "h": np.tile(np.repeat(names[1], len(rows)), groups // SIDE),
        }
        | {
            name: [str(row[place]).lower() for row in rows] * groups
            for name, place in zip("xabcdef", (0, 1, 2, 1, 2, 1, 2), strict=True)
        }
        # The second number of a row is as far from the upper bound as the first from the lower one.
        | {"y": [str(10 - row[0]) for row in rows] * groups}
    )
    return spec, table


def published(design: AuditedDesign, entry: str, groups: int, path: Path, *, more: bool) -> Floats:
    """The numbers of every group of one release, shape (groups, numbers); with one row `more`."""
    rows = (*design.rows, *([design.added] if more else []))
    spec, table = file_of_groups(entry, rows, groups)
    (path / "spec.yaml").write_text(spec, encoding="utf-8")
    plan = dpcli.plan(dpcli.load_spec(path / "spec.yaml"))
    with dpcli.Ledger.create(path / f"{len(list(path.iterdir()))}.sqlite") as ledger:
        released = dpcli.release(plan, table, ledger=ledger, release_id="r")
    name = "asked.raw" if design.counted else "asked"
    numbers = released.table.filter(pl.col("statistic") == name)
    if design.counted:
        numbers = numbers.sort("g", "h", "item")
    values = numbers["value"].cast(pl.Float64).to_numpy()
    values = values.reshape(groups, -1)
    if design.flagged:
        places = [FLAGS.index(Flag(flag)) for flag in numbers["flag"].fill_null("")]
        values = np.hstack([values, np.array(places).reshape(groups, -1)])
    if design.ends:
        found = [numbers[end].cast(pl.Float64).to_numpy() for end in ("lower", "upper")]
        values = np.hstack([values, *(end.reshape(groups, -1) for end in found)])
    return np.asarray(values, dtype=float)


def published_by_entries(
    design: AuditedDesign, epsilon: float, entries: int, path: Path, *, more: bool
) -> Floats:
    """The numbers of equal entries of one release, as `published`; with one row replaced."""
    rows = (*design.rows, design.added if more else OPPOSITE)
    asked = "".join(
        f"  - {{name: s{place}, {design.entry}, epsilon: {epsilon}}}\n" for place in range(entries)
    )
    spec = f"""
dpcli: 1
dataset: audit
privacy: {{unit: row, neighbors: change-one, budget: {{epsilon: {epsilon * entries}}}}}
columns:
  x: {{type: integer, bounds: [0, 10]}}
  y: {{type: integer, bounds: [0, 10]}}
  a: {{type: boolean}}
  b: {{type: boolean}}
  k: {{type: category, values: [u, v], missing: u}}
statistics:
{asked}"""
    columns = {
        "x": [str(row[0]) for row in rows],
        "y": [str(10 - row[0] + row[2]) for row in rows],
        "a": [str(row[1]).lower() for row in rows],
        "b": [str(row[2]).lower() for row in rows],
        "k": ["v" if row[1] else "" for row in rows],
    }
    (path / "spec.yaml").write_text(spec, encoding="utf-8")
    plan = dpcli.plan(dpcli.load_spec(path / "spec.yaml"))
    with dpcli.Ledger.create(path / f"{len(list(path.iterdir()))}.sqlite") as ledger:
        released = dpcli.release(plan, pl.DataFrame(columns), ledger=ledger, release_id="r")
    values = released.table["value"].cast(pl.Float64).to_numpy()
    return np.asarray(values.reshape(entries, -1), dtype=float)


def least_epsilon(one: Floats, other: Floats, delta: float) -> float:
    """A lower bound of the epsilon that tells apart two distributions, from their draws.

    Tests ask whether a number is at least a threshold, or at most. Half of the draws choose the
    threshold for which the bound would be greatest; the others give the bound.
    """
    half = len(one) // 2
    best, found = -1.0, 0.0
    for sign in (1.0, -1.0):
        for first, second in ((one, other), (other, one)):
            chosen, judged = (sign * draws[:half] for draws in (first, second))
            for threshold in np.unique(
                np.quantile(np.append(chosen, judged), np.linspace(0, 1, 201))
            ):
                bound = _bound(chosen >= threshold, judged >= threshold, delta)
                if bound > best:
                    left, right = sign * first[half:], sign * second[half:]
                    best = bound
                    found = _bound(left >= threshold, right >= threshold, delta)
    return found


def _bound(one: np.ndarray, other: np.ndarray, delta: float) -> float:
    """The bound of one test, from how often it is true of the draws of either."""
    above, below = int(one.sum()), int(other.sum())
    least = float(betaincinv(above, len(one) - above + 1, WRONG / 2)) if above else 0.0
    rest = len(other) - below
    most = float(betaincinv(below + 1, rest, 1 - WRONG / 2)) if rest else 1.0
    return log((least - delta) / most) if least > delta else -1.0


def audited(name: str, groups: int, epsilon: float, folder: Path) -> float:
    """The lower bound of the epsilon of a design that is planned with this epsilon."""
    design = ALL_DESIGNS[name]
    entry = f"{design.entry}, epsilon: {epsilon}"
    draws = [published(design, entry, groups, folder, more=more) for more in (False, True)]
    direction = np.array(design.direction or (1.0,) * draws[0].shape[1])
    draws = [numbers @ direction for numbers in draws]
    return least_epsilon(draws[0], draws[1], DELTA if "gaussian" in entry else 0.0)


@pytest.mark.parametrize("groups", also_slow(2_000, 100_000))
@pytest.mark.parametrize("name", mostly_extended(ALL_DESIGNS, *AUDITED_BY_DEFAULT, *NEW))
def test_a_release_reveals_no_more_than_stated(
    name: str, groups: int, tmp_path: Path, stream: Stream
) -> None:
    """No test on the published numbers of as many groups shows more than epsilon 1."""
    assert audited(name, groups, 1.0, tmp_path) <= 1.0


@pytest.mark.parametrize("name", ["count", "sum", "mean by distances from both bounds", *NEW])
def test_an_audit_notices_too_little_noise(name: str, tmp_path: Path, stream: Stream) -> None:
    """With noise for epsilon 3, the same audit shows more than epsilon 1."""
    assert audited(name, 2_000, 3.0, tmp_path) > 1.0


def audited_entries(name: str, entries: int, epsilon: float, folder: Path) -> float:
    """As `audited`, from equal entries, a hundred in a release, instead of groups."""
    design, at_once = CHANGED[name], min(entries, 100)
    draws = [
        np.vstack(
            [
                published_by_entries(design, epsilon, at_once, folder, more=more)
                for _ in range(entries // at_once)
            ]
        )
        for more in (False, True)
    ]
    direction = np.array(design.direction or (1.0,))
    return least_epsilon(draws[0] @ direction, draws[1] @ direction, 0.0)


@pytest.mark.extended
@pytest.mark.parametrize(
    ("name", "entries"),
    [(name, 100) for name in CHANGED if name not in AUDITED_ELSEWHERE]
    + [pytest.param(name, 3_000, marks=pytest.mark.slow) for name in CHANGED],
)
def test_entries_without_groups_reveal_no_more(
    name: str, entries: int, tmp_path: Path, stream: Stream
) -> None:
    """No test on the published numbers of as many equal entries shows more than epsilon 1."""
    assert audited_entries(name, entries, 1.0, tmp_path) <= 1.0


@pytest.mark.extended
def test_an_audit_of_entries_notices_too_little_noise(tmp_path: Path, stream: Stream) -> None:
    """With noise for epsilon 8, the same audit shows more than epsilon 1."""
    assert audited_entries("mean by a centered pair", 200, 8.0, tmp_path) > 1.0
