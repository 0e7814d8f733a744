"""Objective perturbation is private, and its minimizer is exact."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement, product
from math import log

import numpy as np
import pytest
from scipy import stats

from dpcli.data.number_columns import IntegerColumn
from dpcli.mechanisms.calibrated_mechanism import CalibratedMechanism
from dpcli.mechanisms.objective_perturbation import ObjectivePerturbation
from dpcli.mechanisms.pure import Laplace
from dpcli.mechanisms.query_sensitivity import query_sensitivity
from dpcli.noise import entropy
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import NO_NOISE
from dpcli.noise.k_norm import KNormNoise, KNormVector
from dpcli.numeric.arrays import integer_array
from dpcli.privacy.loss import Loss
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation
from dpcli.queries.query import LinearQuery
from dpcli.queries.sums import Factor
from dpcli.statistics.regression.queries import LeastSquaresQuery
from tests.oracles.opened import cells_of
from tests.oracles.plain import evaluate
from tests.support.objectives import ADDED, REPLACED, Pair, Row, audit, epsilon_of, worst_losses
from tests.support.rules import also_slow, mostly_extended
from tests.support.streams import Stream

X = IntegerColumn("x", bounds=(-1, 1), missing=0)
Y = IntegerColumn("y", bounds=(-1, 1), missing=0)
LINE = LeastSquaresQuery(outcome=Factor(Y), inputs=(Factor(X),))
LEVEL = LeastSquaresQuery(outcome=Factor(Y), inputs=())
EVERY: list[Row] = list(product((-1, 0, 1), (-1, 0, 1)))


def moments(query: LeastSquaresQuery, rows: Sequence[Row]) -> list[int]:
    """The sums of products for rows of x and y, by the oracle."""
    data = "x,y\n" + "".join(f"{x},{y}\n" for x, y in rows)
    return [cells_of(cells)[0] for cells in evaluate(list(query.moments), data.encode())]


def log_density(rows: Sequence[Row], theta: np.ndarray, unit: Fraction) -> np.ndarray:
    """The logarithm of the density of the minimizer at points inside the limit.

    The slope that has the minimizer theta is v - (M + ridge) theta, and the volume around it is
    that around theta times the determinant of M + ridge.
    """
    scale, ridge = map(float, LINE.perturbation(unit))
    design = np.array([(1.0, x) for x, _ in rows]).reshape(-1, 2)
    outcomes = np.array([float(y) for _, y in rows])
    curved = design.T @ design + ridge * np.eye(2)
    slopes = design.T @ outcomes - theta @ curved
    density: np.ndarray = -np.abs(slopes).max(axis=1) / scale + log(np.linalg.det(curved))
    return density


@pytest.mark.parametrize("unit", ["0.2", "1", "2", "20"])
def test_the_density_of_the_minimizer_changes_by_at_most_epsilon(unit: str) -> None:
    """For all files of up to two rows and one more row, at all points of a grid."""
    scale = Fraction(unit)
    axis = np.linspace(-1, 1, 41)
    theta = np.array([(a, b) for a in axis for b in axis if abs(a) + abs(b) < 1])
    worst = worst_losses(lambda rows: log_density(rows, theta, scale), EVERY)
    for relation, found in worst.items():
        stated = epsilon_of(LINE, relation, scale)
        # The bound is useful: some neighbors reach more than six tenths of it.
        assert 0.6 * stated < found <= stated + 1e-9


def outcome_probabilities(rows: Sequence[Row], unit: Fraction) -> np.ndarray:
    """The exact probabilities of intervals of the intercept, the ends of its range among them.

    The intercept is (v - b) / (n + ridge), moved into [-1, 1], and b has a Laplace distribution.
    """
    scale, ridge = map(float, LEVEL.perturbation(unit))
    total, curved = sum(y for _, y in rows), len(rows) + ridge
    edges = np.linspace(-1, 1, 101)
    below = stats.laplace.cdf(edges * curved - total, scale=scale)
    return np.diff(np.concatenate([[0.0], below, [1.0]]))


@pytest.mark.parametrize("unit", ["0.5", "2", "10"])
def test_probabilities_at_the_limit_change_by_at_most_epsilon(unit: str) -> None:
    """For an intercept alone, every outcome is as private as stated, also where the limit binds."""
    scale = Fraction(unit)
    for count in range(5):
        for ones in combinations_with_replacement((-1, 0, 1), count):
            rows = [(0, y) for y in ones]
            without = outcome_probabilities(rows, scale)
            each = [outcome_probabilities([*rows, (0, y)], scale) for y in (-1, 0, 1)]
            for one in each:
                assert np.abs(np.log(one / without)).max() <= epsilon_of(LEVEL, ADDED, scale)
            for one, other in product(each, each):
                assert np.abs(np.log(one / other)).max() <= epsilon_of(LEVEL, REPLACED, scale)


def test_the_intercept_has_the_probabilities_that_were_computed(stream: Stream) -> None:
    """Draws of the mechanism follow the exact distribution, with its atoms at the limit."""
    rows, unit, draws = [(0, 1), (0, 1), (0, -1)], Fraction(2), 800
    noise = KNormNoise(unit / LEVEL.step)
    values = [drawn(LEVEL, noise, rows)[0] * float(LEVEL.grid) for _ in range(draws)]
    edges = [-np.inf, *np.linspace(-1, 1, 101), np.inf]
    cells = np.histogram(np.clip(values, -1 - 1e-9, 1 + 1e-9), [-2, *edges[1:-1], 2])[0]
    expected = outcome_probabilities(rows, unit)
    # The atoms at the limit lie in the first and the last cell of the computed ones.
    cells[0], cells[-1] = sum(v <= -1 for v in values), sum(v >= 1 for v in values)
    cells[1] -= cells[0]
    cells[-2] = sum(edges[-3] <= v < 1 for v in values)
    assert np.abs(cells - draws * expected).max() < 6 * (draws * expected).max() ** 0.5
    assert stream.calls


def drawn(query: LeastSquaresQuery, noise: KNormNoise, rows: Sequence[Row]) -> list[int]:
    """One answer of the mechanism about these rows."""
    answer = integer_array(moments(query, rows))
    return [int(v) for v in ObjectivePerturbation().minimize(noise, query, answer)]


def test_the_minimizer_is_that_of_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the same slope, no point of a fine grid around the answer has a smaller objective."""
    unit, rows = Fraction(1, 5), [(1, 1), (0, 0), (-1, -1), (1, 0), (1, 1), (-1, 0)]
    scale, ridge = map(float, LINE.perturbation(unit))
    design = np.array([(1.0, x) for x, _ in rows])
    outcomes = np.array([float(y) for _, y in rows])
    for number in range(20):
        monkeypatch.setattr(entropy, "source", Stream(f"floats {number}"))
        found = np.array(drawn(LINE, KNormNoise(unit / LINE.step), rows)) * float(LINE.grid)
        monkeypatch.setattr(entropy, "source", Stream(f"floats {number}"))
        slope = np.array([float(side.low) for side in KNormVector(2).enclosure()]) * scale

        def objective(theta: np.ndarray, slope: np.ndarray = slope) -> float:
            errors = outcomes - design @ theta
            return float(errors @ errors / 2 + slope @ theta + ridge * theta @ theta / 2)

        for a, b in product((-1e-3, 0, 1e-3), repeat=2):
            other = found + np.array([a, b])
            if np.abs(other).sum() <= 1:
                assert objective(other) >= objective(found) - 1e-5


def test_sensitivities_are_losses_of_rows_of_a_unit() -> None:
    """A replaced row costs less than two added ones; the rows of a person add up."""
    assert query_sensitivity(LINE, ADDED).l1 * LINE.step == 2
    assert query_sensitivity(LINE, REPLACED).l1 * LINE.step == Fraction(7, 2)
    person = PersonUnit("id", 2, 5, 3)
    assert query_sensitivity(LINE, Relation(person, Neighbors.ADD_REMOVE)).l1 * LINE.step == 6


def test_an_objective_is_answered_by_its_mechanism_alone() -> None:
    """Noise that is added to the sums would protect too little, and sums have no minimizer."""
    one = Loss(Fraction(1))
    for mechanism, query in ((Laplace(), LINE), (ObjectivePerturbation(), LinearQuery())):
        with pytest.raises(TypeError, match="the queries that it answers"):
            CalibratedMechanism.calibrate(mechanism, [query], ADDED, one)


def test_noise_of_another_kind_or_without_scale_is_refused() -> None:
    """Only a positive scale of its own distribution perturbs an objective."""
    for noise in (KNormNoise(Fraction(0)), DiscreteLaplace(Fraction(1))):
        with pytest.raises(ValueError, match="must be positive"):
            ObjectivePerturbation().minimize(noise, LINE, integer_array(moments(LINE, [])))


def test_without_noise_it_is_least_squares() -> None:
    """The line through points that lie on one, whose predictions stay within bounds."""
    rows = [(1, 1), (-1, 0), (1, 1), (-1, 0)]
    answer = integer_array(moments(LINE, rows))
    found = ObjectivePerturbation().minimize(NO_NOISE, LINE, answer)
    assert [float(part * LINE.grid) for part in found] == pytest.approx([0.5, 0.5], abs=1e-4)


PAIRS: list[Pair] = [
    ([(1, 1)], [], ADDED),
    ([], [(1, 1)], ADDED),
    ([(1, 1)] * 3, [(1, 1)] * 2, ADDED),
    ([(1, 1)], [(1, -1)], REPLACED),
    ([(1, 1), (-1, -1)], [(1, -1), (-1, -1)], REPLACED),
]
"""Neighbors that are hard to keep apart: few rows, at the bounds."""


@pytest.mark.parametrize("draws", also_slow(400, 50_000))
@pytest.mark.parametrize("place", mostly_extended(range(len(PAIRS)), 1))
def test_an_audit_finds_no_more_than_epsilon(
    place: int, draws: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lower limit of epsilon is at most one; with many draws for each neighbor it is near."""
    monkeypatch.setattr(entropy, "source", Stream(f"audit {place}"))
    found = audit(LINE, partial(drawn, LINE), PAIRS[place], draws)
    assert (0.1 if draws == 50_000 else -np.inf) < found <= 1
