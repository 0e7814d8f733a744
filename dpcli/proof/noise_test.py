"""Noise and choices, compared with their exact probabilities.

Each test counts how often something happened, whose probability is known. A verdict against right
noise has a probability below 1e-9 for each answer, so below 1e-6 for a plan of up to 1,000 answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from dpcli.noise.distribution import Noise
from dpcli.noise.vector_noise import VectorNoise
from dpcli.numeric.arrays import Array, np
from dpcli.privacy.norms import named_tables
from dpcli.proof.weights import tail_of

MOST_TESTS, MOST_PAIRS = 400, 96
"""The most tests of an answer, and pairs of neighbors of which draws choose one."""

FALSE_ALARM = 1e-9 / (2 * MOST_TESTS * MOST_PAIRS)
"""Probability of a false alarm in one of the two sides of a test."""

SHARES = (0.5, 0.25, 0.05, 0.005, 1.5e-4)
"""About the probabilities of the tails that are tested, on both sides."""

MOST_NUMBERS = 48
"""The most numbers that are tested one by one."""


class Frequencies:
    """How often things happened, next to their probabilities."""

    def __init__(self) -> None:
        self._counts: dict[str, tuple[int, int, float]] = {}
        self.total = 0

    def count(self, what: str, successes: int, trials: int, probability: float) -> None:
        """Note trials of `what`, which always has this probability."""
        before, tried, _ = self._counts.get(what, (0, 0, 0))
        self._counts[what] = before + int(successes), tried + trials, probability

    def faults(self) -> Iterator[str]:
        """What happened more or less often than it should; all is forgotten then."""
        counts, self._counts = self._counts, {}
        for what, counted in counts.items():
            if fault := binomial_fault(*counted):
                yield f"{what} {fault} often than it should"


class NoiseFrequencies(Frequencies):
    """Noises of several numbers: their tails, zeros, and equal ones."""

    def __init__(self, noise: Noise) -> None:
        super().__init__()
        # The coordinates of tables differ, and those of one vector depend on each other.
        self._is_tested = not isinstance(noise, VectorNoise) or named_tables(noise.body) is None
        self.stride = noise.size if isinstance(noise, VectorNoise) else 1
        self._noise, self._tail, self._coarse = noise, tail_of(noise), noise.resolution
        cuts = {noise.width(2 * share) + 1 for share in SHARES}
        self._cuts = sorted({*cuts, *(1 - cut for cut in cuts)})

    def add(self, noises: Array) -> None:
        """Add noises, shape (draws, numbers); noise is independent in all of them."""
        if not self._is_tested:
            return
        noises = noises[:, :: self.stride]
        self.total += noises.size
        for cut in self._cuts:
            above = int((noises >= cut).sum())
            self.count(f"noise of {cut:,} or more occurs", above, noises.size, self._tail(cut))
        few = noises[:, :MOST_NUMBERS]
        none = (self._tail(1 - self._coarse) - self._tail(self._coarse)) / self._coarse
        for number, zeros in enumerate((few == 0).sum(axis=0).tolist(), 1):
            self.count(f"number {number} has no noise", zeros, len(few), none)
        multiples, numbers = int((noises % 30 == 0).sum()), np.arange(few.shape[1])
        self.count("noise is a multiple of 30", multiples, noises.size, self._chances[0])
        self.compare("successive answers", noises[::2, :1], noises[1::2, :1])
        for apart in numbers[1:]:
            # Each pair is in some rows. No number of a row is in two: they are independent.
            rows, first = few[apart - 1 :: len(numbers) - 1], numbers[:-apart]
            first = first[first // apart % 2 == 0]
            self.compare(f"numbers {apart} apart", rows[:, first], rows[:, first + apart])

    def compare(self, what: str, one: Array, other: Array) -> None:
        """Count equal noises of two arrays, where both have some; they are independent."""
        draws, size = np.minimum(one.shape, other.shape) * self._is_tested
        equal = one[:draws, :size] == other[:draws, :size]
        self.count(f"{what} have the same noise", int(equal.sum()), equal.size, self._chances[1])

    @cached_property
    def _chances(self) -> tuple[float, float]:
        """P[noise is a multiple of 30], as coarse noise is, and P[two are the same]."""
        far = 30 * (self._noise.width(1e-12) // 30 + 1)
        step = self._coarse * max(1, far // self._coarse // 20_000)
        tails = np.array([self._tail(value) for value in range(-far, far + step, step)])
        chances = -np.diff(tails)
        multiples = 1 / 30 if step > 1 else float(chances[::30].sum())
        return multiples, float((chances**2).sum() / step)


def binomial_fault(successes: int, trials: int, probability: float) -> str:
    """`more` or `less` than it should be; empty if that may be chance."""
    from scipy.special import bdtr, bdtrc  # noqa: PLC0415 - slow to load

    # Probabilities are computed in floats, so a certain one may be off by rounding.
    chance = min(max(probability, 1e-15), 1 - 1e-15)
    if successes and bdtrc(successes - 1, trials, chance) < FALSE_ALARM:
        return "more"
    return "less" if bdtr(successes, trials, chance) < FALSE_ALARM else ""
