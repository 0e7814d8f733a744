"""Whether observed errors can come from the noise that a plan states.

Noise is independent from cell to cell, so how often it exceeds something is binomial with a
probability that the plan states. A verdict against the plan has a probability of less than
1e-9 by chance alone.
"""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from functools import cached_property
from math import ceil, inf, log, sqrt

from dpcli.numeric.arrays import Array, Floats, add_exact, np
from dpcli.planning.plan import PlannedQuery
from dpcli.scores import ScoreQuery

MISTAKEN = log(1e-9 / 4)
"""Logarithm of the probability of a mistake; a query is judged in up to four ways."""


class NoiseVerdict(Enum):
    """What was observed, compared with what the plan states."""

    KEPT = "as predicted"
    LARGER = "larger than predicted"
    SMALLER = "smaller than predicted"


Observed = dict[str, int | str | Fraction | None]
"""What was found, by the keys that reports have for it; None where too little was compared."""


class Errors:
    """How far numbers of many runs were off."""

    def __init__(self, confidence: Fraction, unit: Fraction = Fraction(1)) -> None:
        self._confidence, self._unit = confidence, unit
        self._runs: list[Floats] = []

    def add(self, errors: Array) -> None:
        """The signed errors of one run, counted in units."""
        self._runs.append(errors.astype(np.float64))

    @property
    def compared(self) -> int:
        """How many numbers there were."""
        return sum(map(len, self._runs))

    @property
    def sizes(self) -> Floats:
        """How large each error was, counted in units."""
        return abs(np.concatenate([*self._runs, np.zeros(0)]))

    @property
    def bias(self) -> Fraction | None:
        """The mean of signed errors."""
        means = self._means
        return Fraction(float(means.mean())) * self._unit if len(means) else None

    @property
    def _means(self) -> Floats:
        return np.array([run.mean() for run in self._runs if len(run)])

    @property
    def row(self) -> Observed:
        """What the error did not exceed as often as the confidence says, and its mean.

        Errors of one run may depend on each other, so the standard error is that of the runs.
        """
        observed = spread = None
        if self.compared:
            place = max(ceil(self.compared * self._confidence), 1) - 1
            observed = Fraction(float(np.sort(self.sizes)[place])) * self._unit
        if len(self._means) > 1:
            deviation = float(self._means.std(ddof=1))
            spread = Fraction(deviation / sqrt(len(self._means))) * self._unit
        return {
            "compared": self.compared,
            "observed95": observed,
            "bias": self.bias,
            "bias_standard_error": spread,
        }


class QueryTrial:
    """The noisy answers to one query, next to what the plan states about their noise.

    For choices the error is by how much the utility of what was chosen falls short of the best.
    There is no verdict if groups were `selected` by the same noise.
    """

    def __init__(self, part: PlannedQuery, confidence: Fraction, *, selected: bool) -> None:
        self.part, self._confidence, self._selected = part, confidence, selected
        self._query, self._unit = part.weighted.query, part.weighted.step
        self.predicted = part.error(confidence)
        self.errors = Errors(confidence, self._unit)
        self._largest_gaps: list[float] = []

    def add(self, noisy: Array, exact: Array) -> None:
        """One run: noisy numbers and those behind them, or choices and their scores."""
        query = self._query
        if not isinstance(query, ScoreQuery):
            self.errors.add(add_exact(noisy, -exact))
            return
        gaps = _gaps(exact.reshape(-1, query.cells_per_group), noisy.reshape(-1, query.k))
        self._largest_gaps += gaps.max(axis=1).tolist()
        self.errors.add(gaps.ravel())

    @property
    def row(self) -> Observed:
        """How many errors reach the predicted one at most, and how many choices are the best."""
        sizes, query = self.errors.sizes, self._query
        within = sizes <= float(self.predicted / self._unit)
        chosen = isinstance(query, ScoreQuery)
        return {
            "role": self.part.weighted.role,
            "mechanism": self.part.mechanism_kind,
            "predicted95": self.predicted,
            **self.errors.row,
            "within": share(int(within.sum()), len(sizes)),
            "best": share(int((sizes == 0).sum()), len(sizes)) if chosen else None,
            "verdict": self.verdict.value if self.verdict else None,
        }

    @cached_property
    def verdict(self) -> NoiseVerdict | None:
        """Whether the noise is what the plan states; read after the last run."""
        sizes = self.errors.sizes
        if self._selected or not len(sizes):
            return None
        if self.part.is_exact:
            return NoiseVerdict.LARGER if sizes.any() else NoiseVerdict.KEPT
        if isinstance(self._query, ScoreQuery):
            most = float(self.predicted / self._unit)
            failed = sum(one > most for one in self._largest_gaps)
            large, _ = unlikely(failed, len(self._largest_gaps), 1 - self._confidence)
            return NoiseVerdict.LARGER if large else NoiseVerdict.KEPT
        for confidence in (Fraction(1, 2), self._confidence):
            width = self.part.noise.half_width(confidence)
            outside = 1 - confidence
            # P[|noise| > width] <= outside < P[|noise| >= width], for the least such width.
            if unlikely(int((sizes > width).sum()), len(sizes), outside)[0]:
                return NoiseVerdict.LARGER
            if width and unlikely(int((sizes >= width).sum()), len(sizes), outside)[1]:
                return NoiseVerdict.SMALLER
        return NoiseVerdict.KEPT


def _gaps(scores: Array, chosen: Array) -> Array:
    """By how much each choice of a group falls short of the best that was left."""
    left, found, every = scores.copy(), [], np.arange(len(scores))
    for places in chosen.T:
        found.append(left.max(axis=1) - left[every, places])
        left[every, places] = scores.min(axis=1) - 1
    return np.stack(found, axis=1)


def share(part: int, whole: int) -> Fraction | None:
    """A share; None of nothing."""
    return Fraction(part, whole) if whole else None


def unlikely(seen: int, trials: int, chance: Fraction) -> tuple[bool, bool]:
    """Whether this many or more, and this many or fewer, do not come from this probability.

    P[X >= x] <= exp(-n KL(x/n || p)) for x >= n p, and P[X <= x] likewise below (Chernoff
    1952); so both hold as well where the true probability is below, or above, the one given.
    """
    if not trials:
        return False, False
    found, expected = seen / trials, float(chance)
    surprising = -trials * _divergence(found, expected) < MISTAKEN
    return surprising and found > expected, surprising and found < expected


def _divergence(found: float, expected: float) -> float:
    """How far two Bernoulli distributions are apart, in nats (Kullback and Leibler 1951)."""
    total = 0.0
    for one, other in ((found, expected), (1 - found, 1 - expected)):
        if one > 0:
            total += one * log(one / other) if other > 0 else inf
    return total
