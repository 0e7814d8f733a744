"""The exact losses of mechanisms, by brute force over their outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, product

import numpy as np
from numpy.typing import NDArray

from dpcli.mechanisms.mechanism import Mechanism, SelectionMechanism
from dpcli.mechanisms.objective_perturbation import ObjectivePerturbation
from dpcli.noise.distribution import Noise
from dpcli.privacy.sensitivity import Sensitivity
from tests.laws.test_choices import probabilities
from tests.support.mechanisms import LOG_WEIGHT

Floats = NDArray[np.float64]
Losses = tuple[Floats, Floats]
"""Losses of the outputs, and the probabilities of these outputs."""

FAR = 60


def shifts(moved: Sensitivity) -> Iterator[tuple[int, ...]]:
    """Every change of an answer that a neighbor can make, without signs."""
    for vector in product(range(moved.linf + 1), repeat=moved.l0):
        size, square = sum(vector), sum(value**2 for value in vector)
        if 0 < size <= moved.l1 and square <= moved.l2_squared and list(vector) == sorted(vector):
            yield vector


def outcomes(mechanism: Mechanism, noise: Noise, moved: Sensitivity) -> Iterator[Losses]:
    """The losses of an answer, for every change that a neighbor can make."""
    if isinstance(mechanism, SelectionMechanism):
        yield from _choices(mechanism, noise, moved)
        return
    if isinstance(mechanism, ObjectivePerturbation):
        # Nothing is known but epsilon, so the worst answer is randomized response.
        size = float(moved.l1 / noise.scale)
        yield np.array([size, -size]), np.array([1.0, np.exp(-size)]) / (1 + np.exp(-size))
        return
    for vector in shifts(moved):
        losses: Losses = (np.zeros(1), np.ones(1))
        for shift in vector:
            if shift:
                losses = composed(losses, _shifted(noise, shift))
        yield losses


def _shifted(noise: Noise, shift: int) -> Losses:
    """The losses of noise against the same noise shifted."""
    scale = float(noise.scale)
    reach = int(FAR * scale) + shift
    places = np.arange(-reach, reach + 1, dtype=np.float64)
    weight = LOG_WEIGHT[noise.kind]
    here, there = weight(scale, places), weight(scale, places - shift)
    weights = np.exp(here)
    kept = weights > 1e-40
    return (here - there)[kept], (weights / weights.sum())[kept]


def _choices(mechanism: SelectionMechanism, noise: Noise, moved: Sensitivity) -> Iterator[Losses]:
    """The losses of a choice among three candidates, in each of some groups."""
    groups = list(_one_choice(mechanism, noise, moved.linf))
    if moved.l0 == 1:
        yield from groups
        return
    # Groups and picks do not depend on each other; the worst few of each are combined.
    worst = sorted(groups, key=lambda one: -float((one[0] * one[1]).sum()))[:3]
    for chosen in product(worst, repeat=moved.l0):
        losses: Losses = (np.zeros(1), np.ones(1))
        for one in chosen:
            losses = composed(losses, one)
        yield losses


def _one_choice(mechanism: SelectionMechanism, noise: Noise, reach: int) -> Iterator[Losses]:
    """The losses of one choice, for scores from 0 to 3 and changes of a range up to `reach`.

    Only differences of scores count, and no mechanism depends on the order of the candidates.
    """
    for scores in ((0, *more) for more in combinations_with_replacement(range(4), 2)):
        before = _chosen(mechanism, noise, scores)
        for change in product(range(reach + 1), repeat=3):
            after = _chosen(mechanism, noise, [a + b for a, b in zip(scores, change, strict=True)])
            yield np.log(before) - np.log(after), before
            yield np.log(after) - np.log(before), after


def _chosen(mechanism: SelectionMechanism, noise: Noise, scores: Sequence[int]) -> Floats:
    """The probability of each candidate."""
    gaps = [max(scores) - score for score in scores]
    return np.array(probabilities(mechanism.name, gaps, noise.scale))


def composed(one: Losses, other: Losses) -> Losses:
    """The losses of both answers, without nearly impossible ones."""
    losses = (one[0][:, None] + other[0][None, :]).ravel()
    weights = (one[1][:, None] * other[1][None, :]).ravel()
    # On a grid, rounded down: what comes out is never more than the truth.
    grid = np.floor(losses * 1e7 + 1e-3).astype(np.int64)
    places, where = np.unique(grid, return_inverse=True)
    sums: Floats = np.bincount(where, weights).astype(np.float64)
    kept = sums > 1e-30
    rounded: Floats = (places * 1e-7).astype(np.float64)
    return rounded[kept], sums[kept]


def renyi(losses: Losses, order: float) -> float:
    """The Renyi divergence of this order."""
    size, weight = losses
    most = float(size.max())
    total = float((weight * np.exp((order - 1) * (size - most))).sum())
    return most + float(np.log(total)) / (order - 1)


def delta_at(losses: Losses, epsilon: float) -> float:
    """The least delta at an epsilon."""
    size, weight = losses
    over = size > epsilon
    return float((weight[over] * -np.expm1(epsilon - size[over])).sum())


def epsilon_at(losses: Losses, delta: float) -> float:
    """The least epsilon at a delta."""
    low, high = 0.0, float(max(losses[0].max(), 0.0))
    if delta_at(losses, 0.0) <= delta:
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_at(losses, middle) > delta else (low, middle)
    return low


def mean_loss(losses: Losses) -> float:
    """The mean of the loss, which is the limit of Renyi divergences at order one."""
    return float((losses[0] * losses[1]).sum())
