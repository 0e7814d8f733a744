"""Counts and sums by groups with totals over each key."""

from __future__ import annotations

import numpy as np
import pytest

from dpcli.numeric.arrays import Floats, Ints
from dpcli.planning.plan import PlannedStatistic
from dpcli.planning.results import NoisyStatistic
from dpcli.releasing.steps import estimate_statistic
from dpcli.statistics.estimates import Estimates
from tests.support.rules import also_slow
from tests.support.surveys import CONFIDENCE, held, noise_alone, planned_statistic, with_noise

SPEC = """
dpcli: 1
dataset: totals
privacy: {{unit: {unit}, neighbors: {neighbors}, budget: {{epsilon: 1000, delta: 1e-3}}}}
columns:
  who: {{type: id}}
  sex: {{type: category, values: [f, m], missing: f}}
  region: {{type: category, values: [north, south, east], missing: north}}
  age: {{type: integer, bounds: [0, 99]}}
  paid: {{type: number, bounds: [0, 50], step: 0.5}}
statistics: [{{name: s, {fields}, epsilon: {epsilon}}}]
"""

RUNS, SHAPE = 2000, (2, 3)

COUNT = "statistic: count, by: [sex, region], totals: true"
SUM = "statistic: sum, column: paid, by: [sex, region], totals: Total"
THREE = "statistic: count, by: [sex, region, {column: age, bins: {width: 50}}], totals: all"
GAUSS = ", mechanism: gaussian, delta: 1e-6"

pytestmark = pytest.mark.usefixtures("stream")


def planned(
    fields: str, neighbors: str = "add-remove", unit: str = "row", epsilon: object = 1
) -> PlannedStatistic:
    """The only statistic of a spec."""
    return planned_statistic(
        SPEC.format(unit=unit, neighbors=neighbors, fields=fields, epsilon=epsilon)
    )


def published(plan: PlannedStatistic, exact: Ints, runs: int = 1) -> tuple[Floats, Estimates]:
    """The numbers of releases of these cells, shape (runs, *keys); the last of each key is all."""
    rows = [exact.sum()[None]] * (len(plan.queries) - 1)
    answers = with_noise(plan, [exact.ravel(), *rows], runs)
    estimates = estimate_statistic(NoisyStatistic(plan, tuple(answers)), CONFIDENCE).estimates
    values = estimates.value.astype(np.float64) * float(estimates.step)
    return values.reshape(runs, *(size + 1 for size in exact.shape)), estimates


def add_up(values: Floats) -> bool:
    """Whether each total is the sum of its cells along each key, to a hundredth."""
    return all(
        np.allclose(np.take(values, -1, axis), values.sum(axis) - np.take(values, -1, axis))
        for axis in range(1, values.ndim)
    )


def test_totals_stand_last_in_each_key() -> None:
    """Keys have a further label: `all`, or what the spec names it."""
    assert [axis.labels for axis in planned(COUNT).entry.inputs.by] == [
        ("f", "m", "all"), ("north", "south", "east", "all"),
    ]  # fmt: skip
    assert planned(SUM).entry.inputs.by[0].labels == ("f", "m", "Total")
    assert planned(COUNT).cells == 12


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("fields", [COUNT, COUNT + GAUSS, SUM, THREE])
def test_totals_are_sums_of_noisy_cells_and_intervals_hold(fields: str, neighbors: str) -> None:
    """They cost nothing, and at most one more point of intervals holds than is attainable."""
    plan = planned(fields, neighbors, epsilon=0.05)
    shape = tuple(len(axis) - 1 for axis in plan.entry.inputs.by)
    exact = np.arange(np.prod(shape)).reshape(shape)
    values, _ = published(plan, exact, RUNS)
    assert add_up(values)
    expected = exact * float(plan.queries[0].weighted.step)
    for axis in range(exact.ndim):
        expected = np.concatenate([expected, expected.sum(axis, keepdims=True)], axis)
    errors = values - expected
    assert (np.abs(errors.mean(axis=0)) <= 4 * errors.std(axis=0) / RUNS**0.5 + 0.01).all()
    shares = held(plan.design.estimate(noise_alone(plan, RUNS), CONFIDENCE), 0)
    assert 0.945 <= shares.mean() <= 0.96 + (len(plan.queries) > 1) / 10


def test_a_public_total_has_no_noise() -> None:
    """Under change-one, where each row counts, cells sum to the number of rows."""
    exact = np.array([[10, 0, 5], [7, 2, 0]])
    for post in ("", ", post: [whole]"):
        values, estimates = published(planned(COUNT + post, "change-one"), exact, 20)
        assert add_up(values)
        assert (values[:, -1, -1] == 24).all()
        assert (estimates.lower == estimates.upper).reshape(20, -1)[:, -1].all()
    assert published(planned(SUM, "change-one"), exact, 20)[0][:, -1, -1].std() > 0


@pytest.mark.parametrize("tables", also_slow(100, 5000))
@pytest.mark.parametrize("loss", ["", GAUSS])
@pytest.mark.parametrize("fields", [COUNT, SUM, THREE])
def test_whole_totals_add_up_and_none_is_negative(fields: str, loss: str, tables: int) -> None:
    """In random tables of which most cells are empty, no sum is missed."""
    plan, generator = (
        planned(f"{fields}{loss}, post: [whole]", epsilon=0.3),
        np.random.default_rng(1),
    )
    shape = tuple(len(axis) - 1 for axis in plan.entry.inputs.by)
    for _ in range(tables // 20):
        exact = (200 * generator.random(shape) ** 8).astype(np.int64)
        values, _ = published(plan, exact, 20)
        assert (values == np.round(values)).all() and (values >= 0).all()
        for axis in range(1, values.ndim):
            total = np.take(values, -1, axis)
            assert (2 * total == values.sum(axis)).all()


def test_people_in_several_groups_have_totals_of_what_is_counted() -> None:
    """Each cell has noise for all groups of a person; totals are their sums."""
    plan = planned(COUNT, unit="{column: who, max_rows: 4, max_groups: 2, max_rows_per_group: 1}")
    assert len(plan.queries) == 1
    assert add_up(published(plan, np.ones(SHAPE, np.int64), 10)[0])
