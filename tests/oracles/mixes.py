"""Random releases with disjoint answers: what dpcli charges, and what dp-accounting finds.

The bound of dpcli is pessimistic, this one is optimistic: every loss is rounded down, and a unit
meets the same alternative whatever was published before. It shares no code with dpcli: it uses the
scales and sensitivities of the answers alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, reduce
from itertools import combinations
from random import Random

import numpy as np
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld.pld_pmf import DensePLDPmf

from dpcli.mechanisms import MECHANISMS
from dpcli.privacy.accounting import COMPOSITIONS
from dpcli.privacy.accounting.composition import GuaranteePair, parallel_composition
from dpcli.privacy.loss import Guarantee, Loss
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.privacy.unit import Neighbors

DELTA = Fraction(1, 10**5)

STEP = 1e-4
"""Width of the grid of losses."""

SINGLE, TABLE = Sensitivity(1, 1, 1, 1), Sensitivity(2, 2, 2, 1)
"""How much a single count changes, and how much a table does if a row is exchanged."""


@dataclass(frozen=True)
class Answer:
    """One answer: its mechanism and scale, and its sensitivity for neighbors and add-remove."""

    mechanism: str
    scale: Fraction
    whole: Sensitivity
    single: Sensitivity

    @property
    def guarantees(self) -> GuaranteePair:
        """What dpcli states."""
        mechanism = MECHANISMS[self.mechanism]
        noise = mechanism.distribution(self.scale)
        loss = Loss(Fraction(self.whole.l1) / self.scale)
        if mechanism.needs_delta:
            loss = Loss(4 * loss.epsilon, Fraction(1, 10**6))
        return GuaranteePair(
            mechanism.guarantee(noise, self.whole, loss),
            mechanism.add_remove_guarantee(noise, self.single, loss),
        )


@dataclass(frozen=True)
class Release:
    """Answers about all rows, and answers about each of several disjoint parts."""

    common: tuple[Answer, ...]
    parts: tuple[tuple[Answer, ...], ...]

    def cases(self, neighbors: Neighbors) -> Iterator[tuple[tuple[Answer, Sensitivity], ...]]:
        """What a unit can change: all changed answers, each with its sensitivity."""
        exchanged = neighbors is Neighbors.CHANGE_ONE
        common = tuple((answer, answer.whole) for answer in self.common)
        for part in self.parts or ((),):
            yield common + tuple((answer, answer.whole) for answer in part)
        for couple in combinations(self.parts, 2) if exchanged else ():
            yield common + tuple((answer, answer.single) for part in couple for answer in part)

    def charged(self, neighbors: Neighbors) -> dict[Guarantee, int]:
        """What dpcli counts."""
        placed = [
            ([answer.guarantees for answer in part], ("column", index))
            for index, part in enumerate(self.parts)
        ]
        common = [([answer.guarantees for answer in self.common], None)]
        return parallel_composition([*common, *placed], neighbors)


def neighbors_of(seed: int) -> Neighbors:
    """Each relation in turn."""
    return list(Neighbors)[seed % 2]


def overstatement(seed: int) -> float | None:
    """The `pld` bound of the releases of a seed over what they reveal; None without answers."""
    neighbors = neighbors_of(seed)
    mix = releases(Random(seed), neighbors)
    charged: Counter[Guarantee] = Counter()
    for release in mix:
        charged.update(release.charged(neighbors))
    if not charged:
        return None
    stated = COMPOSITIONS["pld"].total(charged, DELTA).epsilon
    return float(stated) / revealed(mix, neighbors, float(DELTA))


def releases(random: Random, neighbors: Neighbors) -> list[Release]:
    """One to three random releases."""

    def answers(least: int, most: int) -> tuple[Answer, ...]:
        return tuple(answer(random, neighbors) for _ in range(random.randint(least, most)))

    return [
        Release(answers(0, 2), tuple(answers(1, 2) for _ in range(random.choice([0, 2, 2, 3]))))
        for _ in range(random.randint(1, 3))
    ]


def answer(random: Random, neighbors: Neighbors) -> Answer:
    """A random count, table or choice."""
    mechanism = random.choice(["laplace", "gaussian", "permute_and_flip", "exponential"])
    epsilon = Fraction(random.randint(20, 120), 100)
    is_table = neighbors is Neighbors.CHANGE_ONE and random.random() < 0.5
    scale = (4 if mechanism == "gaussian" else 1) / epsilon
    return Answer(mechanism, scale, TABLE if is_table else SINGLE, SINGLE)


@cache
def distribution(mechanism: str, scale: Fraction, shift: int) -> pld.PrivacyLossDistribution:
    """The loss of an answer in which one number changes by `shift`, rounded down."""
    grid = {"value_discretization_interval": STEP, "pessimistic_estimate": False}
    ratio = shift / float(scale)
    if mechanism == "laplace":
        return pld.from_discrete_laplace_mechanism(1 / float(scale), shift, **grid)
    if mechanism == "gaussian":
        return pld.from_discrete_gaussian_mechanism(float(scale), shift, **grid)
    if mechanism == "permute_and_flip":
        return pld.from_randomized_response(2 / (1 + np.exp(ratio)), 2, **grid)
    # The worst choices have delta (e^(n/2) - e^(t/2))^2 / (e^n - 1) at t. The density of the loss
    # is the second derivative minus the first. The losses of a step are rounded down to its start.
    last = int(ratio / STEP) + 1
    losses = np.minimum(np.abs(np.arange(-last, last + 1)) * STEP, ratio)
    halves = np.exp(np.copysign(losses, np.arange(-last, last + 1)) / 2)
    deltas = (np.exp(ratio / 2) - halves) ** 2 / np.expm1(ratio)
    slopes = halves * (halves - np.exp(ratio / 2)) / np.expm1(ratio)
    pmf = DensePLDPmf(STEP, -last, np.diff(slopes - deltas), 0.0, pessimistic_estimate=False)
    return pld.PrivacyLossDistribution(pmf)


def revealed(mix: Sequence[Release], neighbors: Neighbors, delta: float) -> float:
    """An epsilon at `delta` that is at most the true one: that of the worst case."""
    wholes: list[pld.PrivacyLossDistribution | None] = [None]
    for release in mix:
        cases = {tuple(sorted(_changes(case).items())) for case in release.cases(neighbors)}
        found = [_composed(case) for case in cases]
        wholes = [
            one if before is None else before if one is None else before.compose(one)
            for before in wholes for one in found
        ]  # fmt: skip
    return max(
        (float(whole.get_epsilon_for_delta(delta)) for whole in wholes if whole), default=0.0
    )


def _changes(case: Sequence[tuple[Answer, Sensitivity]]) -> Counter[tuple[str, Fraction, int]]:
    changes: Counter[tuple[str, Fraction, int]] = Counter()
    for changed, sensitivity in case:
        changes[changed.mechanism, changed.scale, sensitivity.linf] += sensitivity.l0
    return changes


@cache
def _composed(
    changes: tuple[tuple[tuple[str, Fraction, int], int], ...],
) -> pld.PrivacyLossDistribution | None:
    parts = [distribution(*change) for change, times in changes for _ in range(times)]
    return reduce(lambda left, right: left.compose(right), parts) if parts else None
