"""Audits find what is wrong, raise no alarm for what is right, and come near to the truth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dpcli.mechanisms.pure import Laplace
from dpcli.noise.distribution import Noise
from dpcli.numeric.arrays import Array
from dpcli.planning.planner import make_plan
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.proof.answers import FEWEST, Attack
from dpcli.proof.audit import EntryAudit, audit
from dpcli.queries.query import Query
from dpcli.specification.load import read_spec_file
from dpcli.specification.model import CentralSpec
from tests.laws.test_random_specs import valid_specs
from tests.support.cli import SPECS
from tests.support.rules import also_slow
from tests.support.simulations import plan_of

PEOPLE = """
dpcli: 1
dataset: d
privacy:
  unit: {column: who, max_rows: 4, max_groups: 2, max_rows_per_group: 3}
  neighbors: NEIGHBORS
  budget: {epsilon: 100, delta: 0.1}
columns:
  who: {type: id}
  x: {type: number, step: 0.5, bounds: [-2, 10]}
  kind: {type: category, values: [a, b, c, d, e]}
  flag: {type: boolean}
people:
  seen: {count: rows, bounds: [0, 9]}
statistics:
  - {name: all, statistic: count, epsilon: 1}
  - {name: some, statistic: count, by: [kind], where: {x: {min: 9}, flag: true}, epsilon: 1}
  - {name: amounts, statistic: sum, column: x, by: [kind], epsilon: 1}
  - {name: soft, statistic: sum, column: x, by: [kind], mechanism: gaussian, epsilon: 1,
     delta: 1e-3}
  - {name: seen, statistic: sum, of: people, column: seen, epsilon: 1}
  - {name: kinds, statistic: count_distinct, column: kind, by: [flag], epsilon: 1}
"""


def audited(text: str, draws: int = 20_000) -> dict[str, EntryAudit]:
    """What an audit finds of each entry of a spec."""
    found = audit(plan_of(text), 1, draws, 15.0)
    return {entry.name: entry for entry in found.entries}


def one(statistic: str, neighbors: str = "add-remove") -> str:
    """A spec with one entry."""
    return f"""
dpcli: 1
dataset: d
privacy: {{unit: row, neighbors: {neighbors}, budget: {{epsilon: 100, delta: 0.1}}}}
columns:
  x: {{type: integer, bounds: [0, 10]}}
  kind: {{type: category, values: [a, b]}}
  town: {{type: category}}
statistics: [{{name: asked, {statistic}}}]
"""


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
def test_neighbors_of_people_reach_all_sensitivities(neighbors: str) -> None:
    """Full limits, more rows than limits, moved rows, and conditions that few rows satisfy."""
    attack = Attack(plan_of(PEOPLE.replace("NEIGHBORS", neighbors)), 1)
    attack.run(20)
    shares = {
        name: round(min(one.share or 0 for one in found), 2)
        for name, found in attack.reached.items()
    }
    assert shares == dict.fromkeys(shares, 1)
    assert not any(one.above for found in attack.reached.values() for one in found)


@pytest.mark.parametrize(
    ("entry", "least"),
    [
        ("statistic: count, epsilon: 1", 0.9),
        ("statistic: count, mechanism: gaussian, epsilon: 3, delta: 1e-3", 0.75),
        ("statistic: mode, column: kind, mechanism: permute_and_flip, epsilon: 1", 0.6),
        ("statistic: count, by: [town], keys: private, epsilon: 1, delta: 1e-3", 0.75),
    ],
)
def test_bounds_are_near_the_claim_and_not_above(entry: str, least: float) -> None:
    """With a tenth of the usual draws, at neighbors of each kind."""
    found = audited(one(entry))["asked"]
    assert found.faults == []
    assert found.bound is not None
    assert least < found.bound.shown / found.bound.claim.value < 1


@pytest.mark.slow
def test_bounds_with_usual_draws_are_as_near_as_promised() -> None:
    """0.97 of an epsilon of 1, and 0.94 of a mu.

    A choice has nine tenths of the epsilon of its entry, and the number of rows the rest.
    """
    for entry, least in (
        ("statistic: count, epsilon: 1", 0.97),
        ("statistic: mode, column: kind, mechanism: permute_and_flip, epsilon: 1", 0.8),
        ("statistic: count, mechanism: gaussian, epsilon: 3, delta: 1e-5", 0.94),
    ):
        (found,) = audit(plan_of(one(entry)), 1).entries
        assert found.bound is not None
        assert found.bound.shown / found.bound.claim.value >= least, entry


def test_too_little_noise_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its probabilities, and by what it reveals."""
    real = Laplace.add_noise

    def wrong(self: Laplace, noise: Noise, values: Array) -> Array:
        return real(self, replace(noise, scale=noise.scale / 2), values)

    monkeypatch.setattr(Laplace, "add_noise", wrong)
    faults = audited(one("statistic: count, by: [kind], epsilon: 1"))["asked"].faults
    assert any("outputs show" in fault for fault in faults)
    assert any("in a release: noise of" in fault for fault in faults)


def test_a_sensitivity_that_is_too_small_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that moves counts once."""
    monkeypatch.setattr(Query, "sensitivity", lambda self, relation: Sensitivity(1, 1, 1, 1))
    found = audited(one("statistic: count, by: [kind], epsilon: 1", "change-one"))["asked"]
    assert "neighbors change `count` by more than its L1 sensitivity" in found.faults
    assert any("outputs show" in fault for fault in found.faults)


def test_exact_answers_end_with_their_time_and_say_so() -> None:
    """A few neighbors of each query are compared in any case."""
    attack = Attack(plan_of(PEOPLE.replace("NEIGHBORS", "add-remove")), 1)
    attack.run(0)
    assert attack.was_cut
    assert attack.datasets <= (FEWEST + 1) * len(attack.makers)
    assert all(attack.pairs.values())


OTHERS = {"health", "minimal", "police", "rates", "school", "shops", "town", "welfare"}
"""Specs of which each statistic, with its query, its noise and its unit, is in another one too."""


@pytest.mark.extended
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if path.stem in OTHERS else [])
        for path in SPECS
    ],
)
def test_shipped_specs_raise_no_alarm(path: Path) -> None:
    """With few draws; `python -m tests.evidence` has figures of many."""
    spec = read_spec_file(path)
    assert isinstance(spec, CentralSpec)
    assert audit(make_plan(spec), 1, 2_000, 0.5).faults == []


@pytest.mark.extended
@pytest.mark.parametrize("seeds", also_slow(range(6), range(160)))
def test_random_specs_raise_no_alarm(seeds: range) -> None:
    """Rows and people, both relations, derived columns, hierarchies, conditions."""
    for seed, spec, _ in valid_specs(seeds):
        assert audit(make_plan(spec), seed, 1_000, 1.0).faults == [], seed
