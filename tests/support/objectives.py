"""What tests of perturbed objectives share: neighbors, losses of densities, and audits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np

from dpcli.mechanisms.calibrated_mechanism import CalibratedMechanism
from dpcli.mechanisms.objective_perturbation import ObjectivePerturbation
from dpcli.mechanisms.query_sensitivity import query_sensitivity
from dpcli.noise.k_norm import KNormNoise
from dpcli.numeric.arrays import Floats
from dpcli.privacy.loss import Loss
from dpcli.privacy.unit import Neighbors, Relation, RowUnit
from dpcli.statistics.regression.queries import ObjectiveQuery
from tests.support.half_spaces import least_epsilon

ADDED, REPLACED = (Relation(RowUnit(), neighbors) for neighbors in Neighbors)

Row = tuple[int, ...]
"""The inputs of a row in steps, and its outcome."""

Pair = tuple[list[Row], list[Row], Relation]
"""The rows of two files that are neighbors under a relation."""


def epsilon_of(query: ObjectiveQuery, relation: Relation, unit: Fraction) -> float:
    """The loss that is stated for noise of this scale, in natural units."""
    return float(query_sensitivity(query, relation).l1 * query.step / unit)


def worst_losses(
    log_density: Callable[[Sequence[Row]], Floats], every: Sequence[Row]
) -> dict[Relation, float]:
    """The most that densities of neighbors differ, for files of up to two rows and one more row.

    `log_density` gives the logarithms at fixed points, shape (points,), for rows among `every`.
    """
    worst = {ADDED: 0.0, REPLACED: 0.0}
    for count in range(3):
        for rows in combinations_with_replacement(every, count):
            without = log_density(rows)
            each = np.array([log_density([*rows, row]) for row in every])
            worst[ADDED] = max(worst[ADDED], float(np.abs(each - without).max()))
            spread = (each.max(axis=0) - each.min(axis=0)).max()
            worst[REPLACED] = max(worst[REPLACED], float(spread))
    return worst


def audit(
    query: ObjectiveQuery,
    draw: Callable[[KNormNoise, Sequence[Row]], list[int]],
    pair: Pair,
    draws: int,
) -> float:
    """A lower limit of epsilon from draws of a mechanism that was calibrated to epsilon 1."""
    one, other, relation = pair
    (made,) = CalibratedMechanism.calibrate(
        ObjectivePerturbation(), [query], relation, Loss(Fraction(1))
    )
    noise = made.noise
    assert isinstance(noise, KNormNoise)
    answers = [np.array([draw(noise, rows) for _ in range(draws)]) for rows in (one, other)]
    return least_epsilon(answers[0], answers[1])
