"""Noise and choices, compared with their exact probabilities.

Each test counts how often something happened, whose probability is known. A verdict against right
noise has a probability below 1e-9 for each answer, so below 1e-6 for a plan of up to 1,000 answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, log

from dpcli.noise.distribution import Noise
from dpcli.noise.vector_noise import VectorNoise
from dpcli.numeric.arrays import Array, Floats, np
from dpcli.privacy.norms import named_tables
from dpcli.proof.weights import choice_probabilities, tail_of
from dpcli.queries.query import Query

MOST_TESTS = 200
"""The most tests of an answer."""

LOG_FALSE_ALARM = log(1e-9 / (2 * MOST_TESTS))
"""Log probability of a false alarm in one of the two sides of a test."""

SHARES = (0.5, 0.25, 0.05, 0.005)
"""About the probabilities of the tails that are tested, on both sides."""

MOST_NUMBERS = 48
"""The most numbers that are tested one by one."""


class NoiseSample:
    """Noises of several numbers, drawn many times: tails, zeros, and equal ones."""

    def __init__(self, noise: Noise) -> None:
        self._noise = noise
        # The coordinates of tables differ, and those of one vector depend on each other.
        self.is_tested = not isinstance(noise, VectorNoise) or named_tables(noise.body) is None
        self._stride = noise.size if isinstance(noise, VectorNoise) else 1
        self._tail = tail_of(noise)
        cuts = {noise.width(2 * share) + 1 for share in SHARES}
        self._cuts = sorted({*cuts, *(1 - cut for cut in cuts)})
        self._above, self.total = [0] * len(self._cuts), 0
        self._zeros, self._draws = np.zeros(0, np.int64), 0
        self._equal, self._compared = [0, 0], [0, 0]

    def add(self, noises: Array) -> None:
        """Add noises, shape (draws, numbers); noise is independent in all of them."""
        noises = noises[:, :: self._stride]
        for at, cut in enumerate(self._cuts):
            self._above[at] += int((noises >= cut).sum())
        self.total += noises.size
        few = noises[:, :MOST_NUMBERS]
        zeros = (few == 0).sum(axis=0)
        if self._zeros.shape in (zeros.shape, (0,)):
            self._zeros = zeros + (self._zeros if len(self._zeros) else 0)
            self._draws += len(few)
        # Every second one, so that comparisons are independent.
        for at, pairs in enumerate((few, few[:, :1].T)):
            even = pairs[:, : pairs.shape[1] // 2 * 2]
            self._equal[at] += int((even[:, ::2] == even[:, 1::2]).sum())
            self._compared[at] += even.size // 2

    def faults(self) -> Iterator[str]:
        """What is not as it should be."""
        if not self.is_tested or not self.total:
            return
        tail = self._tail
        for cut, above in zip(self._cuts, self._above, strict=True):
            if fault := binomial_fault(above, self.total, tail(cut)):
                end = f"{cut:,} or more" if cut > 0 else f"{cut - 1:,} or less"
                # Of small numbers, the others are counted.
                kind = fault if cut > 0 else {"more": "less", "less": "more"}[fault]
                yield f"noise of {end} occurs {kind} often than the plan says"
        none = tail(0) - tail(1)
        for number, zeros in enumerate(self._zeros.tolist()):
            if fault := binomial_fault(zeros, self._draws, none):
                yield f"number {number + 1} has no noise {fault} often"
        same = self._chance_of_equal()
        for at, what in enumerate(("numbers of one answer", "successive answers")):
            if fault := binomial_fault(self._equal[at], self._compared[at], same):
                yield f"{what} have the same noise {fault} often"

    def _chance_of_equal(self) -> float:
        """P[two independent noises are the same]."""
        far = self._noise.width(1e-12) + 1
        step = max(1, far // 20_000)
        tails = np.array([self._tail(value) for value in range(-far, far + step, step)])
        chances = -np.diff(tails)
        return float((chances**2).sum() / step)


class ChoiceSample:
    """How often each candidate is chosen first, for the same scores."""

    def __init__(self, probabilities: Floats) -> None:
        self._probabilities = probabilities
        self._counts = np.zeros(len(probabilities), np.int64)

    @classmethod
    def of(cls, query: Query, noise: Noise, scores: Array) -> ChoiceSample | None:
        """None for choices by recursion, and for too many candidates."""
        if not query.chooses_by_score or not 1 < len(scores) <= MOST_TESTS:
            return None
        return cls(choice_probabilities(noise.kind, noise.scale, scores.astype(np.float64)))

    def add(self, outputs: Array) -> None:
        """Add choices; the first of each row is about these scores."""
        self._counts += np.bincount(outputs[:, 0], minlength=len(self._counts))

    def faults(self) -> Iterator[str]:
        """What is not as it should be."""
        total = int(self._counts.sum())
        for at, (count, chance) in enumerate(
            zip(self._counts.tolist(), self._probabilities.tolist(), strict=True)
        ):
            if fault := binomial_fault(count, total, chance):
                yield f"candidate {at + 1} is chosen {fault} often"


def binomial_fault(successes: int, trials: int, probability: float) -> str:
    """`more` or `less` than it should be; empty if that may be chance.

    P[X >= x] <= exp(-n KL(x/n || p)) for x >= n p, and P[X <= x] likewise below (Chernoff 1952).
    """
    if not trials:
        return ""
    observed = successes / trials
    if -trials * _kl_divergence(observed, probability) >= LOG_FALSE_ALARM:
        return ""
    return "more" if observed > probability else "less"


def _kl_divergence(observed: float, expected: float) -> float:
    """Divergence of two Bernoulli distributions, in nats (Kullback and Leibler 1951)."""
    total = 0.0
    for p, q in ((observed, expected), (1 - observed, 1 - expected)):
        if p > 0:
            total += p * log(p / q) if q > 0 else inf
    # Probabilities are computed in floats.
    return total * (1 - 1e-9) - 1e-13
