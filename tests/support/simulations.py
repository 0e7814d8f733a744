"""Specs for simulations, and repeatable noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from dpcli.noise import entropy
from dpcli.planning.plan import CentralPlan
from dpcli.planning.planner import make_plan
from dpcli.simulation.synthetic import SyntheticDataset
from dpcli.specification.load import parse_central_spec
from tests.support.streams import Stream

ROWS = """
dpcli: 1
dataset: d
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 100, delta: 0.1}}
columns:
  age: {type: integer, bounds: [0, 110]}
  income: {type: number, bounds: [-500, 10000], step: 0.5, missing: 0}
  since: {type: date, bounds: [2020-01-01, 2020-12-31]}
  sex: {type: category, values: {0: female, 1: male, 2: other, x: other}}
  insured: {type: boolean, values: ["no", "yes"]}
  town: {type: category}
  shop: {type: id}
  unused: {type: number, step: 0.25}
statistics:
  - {name: all, statistic: count, epsilon: 1}
  - {name: by_sex, statistic: count, by: [sex], epsilon: 1}
  - {name: earned, statistic: sum, column: income, by: [sex], epsilon: 1}
  - {name: soft, statistic: sum, column: age, by: [sex], mechanism: gaussian, epsilon: 1,
     delta: 1e-6}
  - {name: average, statistic: mean, column: income, epsilon: 1}
  - {name: ages, statistic: histogram, column: age, bins: {width: 20}, epsilon: 1}
  - {name: old, statistic: count, where: {age: {min: 109}, sex: other}, epsilon: 1}
  - {name: late, statistic: count, where: {since: {min: 2020-12-31}}, epsilon: 1}
  - {name: shops, statistic: count_distinct, column: shop, epsilon: 1}
  - {name: middle, statistic: quantile, column: age, quantiles: [0.25, 0.5], epsilon: 1,
     mechanism: permute_and_flip, post: [consistent]}
  - {name: quarters, statistic: quantile, column: age, quantiles: [0.25, 0.5, 0.75], epsilon: 1,
    mechanism: permute_and_flip}
  - {name: usual, statistic: top_k, column: sex, k: 2, mechanism: permute_and_flip, epsilon: 1}
  - {name: ordered, statistic: top_k, column: sex, k: 2, epsilon: 1}
  - {name: towns, statistic: count, by: [town], keys: private, epsilon: 1, delta: 1e-4}
  - {name: town_ages, statistic: mean, column: age, by: [town], epsilon: 1}
  - {name: few, statistic: count, by: [sex, insured], epsilon: 1, post: [nonnegative,
     {suppress_below: 150}]}
"""

PEOPLE = (
    ROWS.replace("{unit: row,", "{unit: {column: who, max_rows: 2, max_groups: 1},")
    .replace("columns:\n", "columns:\n  who: {type: id}\n", 1)
    .replace(
        "  - {name: all,",
        "  - {name: people, statistic: count_distinct, by: [sex], epsilon: 1}\n"
        "  - {name: totals, statistic: sum, column: age, by: [sex], bound: sum, "
        "unit_bounds: [0, 150], epsilon: 1}\n  - {name: all,",
    )
)


@pytest.fixture(params=["rows", "people"])
def plan(request: pytest.FixtureRequest) -> CentralPlan:
    """A plan with most statistics, for rows and for people."""
    return plan_of(ROWS if request.param == "rows" else PEOPLE)


def plan_of(text: str) -> CentralPlan:
    """The plan of a spec."""
    return make_plan(parse_central_spec(text, "spec.yaml"))


def one(entries: str, privacy: str = "") -> str:
    """A spec with these statistics only."""
    text = ROWS[: ROWS.index("statistics:")] + "statistics:\n" + entries
    return text.replace("budget: {epsilon: 100, delta: 0.1}", privacy) if privacy else text


@pytest.fixture
def dummy() -> Iterator[Callable[[CentralPlan, int, int], SyntheticDataset]]:
    """Makes synthetic datasets and closes them after the test."""
    with ExitStack() as opened:
        yield lambda plan, rows, seed: opened.enter_context(SyntheticDataset(plan.spec, rows, seed))


Make = Callable[[CentralPlan, int, int], SyntheticDataset]


@pytest.fixture(autouse=True)
def stream(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Stream:
    """Replaces the source of noise by a repeatable stream, so that no test is flaky."""
    replacement = Stream(request.node.name)
    monkeypatch.setattr(entropy, "source", replacement)
    return replacement


def content(dummy: SyntheticDataset, folder: Path) -> bytes:
    """The bytes of a synthetic file."""
    path = folder / "copy.csv"
    with path.open("wb") as file:
        dummy.copy_to(file, path.name)
    return path.read_bytes()
