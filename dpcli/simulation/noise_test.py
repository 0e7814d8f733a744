"""Tests of whether observed errors can come from the noise of the plan.

Noise is independent from cell to cell, so the number of errors above a limit is binomial, with a
probability that the plan states. Of numbers that share noise, the share of those above their limits
is independent from vector to vector. A verdict against a correct plan has a probability below 1e-9.
"""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from functools import cached_property
from math import ceil, inf, log, sqrt

from dpcli.numeric.arrays import Array, Floats, np
from dpcli.planning.plan import PlannedQuery

LOG_FALSE_ALARM = log(1e-9 / 4)
"""Log probability of a false alarm in one of up to four tests of a query."""


class NoiseVerdict(Enum):
    """The observed noise, compared with the noise that the plan states."""

    AS_PREDICTED = "as predicted"
    LARGER = "larger than predicted"
    SMALLER = "smaller than predicted"


Observed = dict[str, int | str | Fraction | None]
"""Observed figures by keys in reports; None if too few numbers were compared."""


class ErrorSample:
    """The errors of many numbers in many runs, in multiples of a unit."""

    def __init__(self, confidence: Fraction, unit: Fraction = Fraction(1)) -> None:
        self._confidence, self._unit = confidence, unit
        self._runs: list[Floats] = []

    def add(self, errors: Array) -> None:
        """Add the signed errors of one run, in multiples of the unit."""
        self._runs.append(errors.astype(np.float64))

    @property
    def compared(self) -> int:
        """How many errors there are."""
        return sum(map(len, self._runs))

    @property
    def sizes(self) -> Floats:
        """The absolute errors, in multiples of the unit; float64."""
        return abs(np.concatenate([*self._runs, np.zeros(0)]))

    @property
    def bias(self) -> Fraction | None:
        """The mean over runs of the mean signed error of a run; None without errors."""
        means = self._means
        return Fraction(float(means.mean())) * self._unit if len(means) else None

    @property
    def _means(self) -> Floats:
        return np.array([run.mean() for run in self._runs if len(run)])

    @property
    def observed(self) -> Observed:
        """The quantile of absolute errors at the confidence, and the mean error.

        The errors of one run can depend on each other, so the standard error of the mean is that of
        the means of runs.
        """
        observed = spread = None
        if self.compared:
            rank = max(ceil(self.compared * self._confidence), 1) - 1
            observed = Fraction(float(np.sort(self.sizes)[rank])) * self._unit
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
    """Errors of one query in all runs, compared with the noise that the plan states.

    The error of a selection is the best score minus the score of the chosen candidate. The verdict
    on a selection compares this error with a bound that holds for any data. The verdict is None if
    the same noise `selected` the groups, for quantiles that are chosen by recursion, because their
    predicted error assumes that values lie densely and evenly, and for objectives, because errors
    of coefficients also depend on the rows.
    """

    def __init__(self, part: PlannedQuery, confidence: Fraction, *, selected: bool) -> None:
        self.part, self._confidence, self._selected = part, confidence, selected
        self._query, self._unit = part.weighted.query, part.weighted.step
        self.predicted = part.error(confidence)
        self.errors = ErrorSample(confidence, self._unit)
        self._largest_errors: list[float] = []

    def add(self, noisy: Array, exact: Array) -> None:
        """Add one run: noisy and exact numbers.

        For a selection, these are the chosen candidates, and exact scores or counts.
        """
        errors = self._query.trial_errors(noisy, exact)
        self.errors.add(errors)
        if self._query.chooses:
            groups = len(exact) // self._query.cells_per_group
            self._largest_errors += errors.reshape(groups, -1).max(axis=1).tolist()

    @property
    def observed(self) -> Observed:
        """The errors, the fraction within the prediction, and that of best choices."""
        sizes, query = self.errors.sizes, self._query
        within = sizes <= float(self.predicted / self._unit)
        return {
            "role": self.part.weighted.role,
            "mechanism": self.part.mechanism_kind,
            "predicted95": self.predicted,
            **self.errors.observed,
            "within": fraction(int(within.sum()), len(sizes)),
            "best": fraction(int((sizes == 0).sum()), len(sizes)) if query.chooses else None,
            "verdict": self.verdict.value if self.verdict else None,
        }

    @cached_property
    def verdict(self) -> NoiseVerdict | None:
        """Whether the noise is as the plan states, or None; read it after the last run."""
        sizes = self.errors.sizes
        if self._selected or not len(sizes):
            return None
        if self.part.is_exact:
            return NoiseVerdict.LARGER if sizes.any() else NoiseVerdict.AS_PREDICTED
        if self._query.chooses:
            max_error = self._query.shortfall_bound(self.part.calibrated.noise, self._confidence)
            if max_error is None:
                return None
            failed = sum(error > max_error for error in self._largest_errors)
            large, _ = binomial_test(failed, len(self._largest_errors), 1 - self._confidence)
            return NoiseVerdict.LARGER if large else NoiseVerdict.AS_PREDICTED
        noise, (together, _) = self.part.calibrated.noise, self._query.vectors or (1, "")
        vectors = len(sizes) // together
        for confidence in (Fraction(1, 2), self._confidence):
            margins, outside = noise.margins(confidence), 1 - confidence
            widths = np.resize([float(margin.width) for margin in margins], len(sizes))
            # The half-width is the least with P[|noise| > width] <= outside < P[|noise| >= width],
            # or a little more than that.
            least = widths - (noise.resolution - 1)
            beyond, reached = ((sizes > widths).sum(), (sizes >= least).sum())
            if binomial_test(float(beyond) / together, vectors, outside)[0]:
                return NoiseVerdict.LARGER
            if binomial_test(float(reached) / together, vectors, outside)[1]:
                return NoiseVerdict.SMALLER
        return NoiseVerdict.AS_PREDICTED


def fraction(part: int, whole: int) -> Fraction | None:
    """The fraction `part / whole`; None if `whole` is zero."""
    return Fraction(part, whole) if whole else None


def binomial_test(successes: float, trials: int, probability: Fraction) -> tuple[bool, bool]:
    """Whether there are too many successes for this probability, and whether too few.

    P[X >= x] <= exp(-n KL(x/n || p)) for x >= n p, and P[X <= x] likewise below (Chernoff 1952),
    also for sums of shares between zero and one (Hoeffding 1963). The first test is also valid if
    the true probability is smaller, the second if it is larger.
    """
    if not trials:
        return False, False
    observed, expected = successes / trials, float(probability)
    rejected = -trials * _kl_divergence(observed, expected) < LOG_FALSE_ALARM
    return rejected and observed > expected, rejected and observed < expected


def _kl_divergence(observed: float, expected: float) -> float:
    """Divergence of two Bernoulli distributions, in nats (Kullback and Leibler 1951)."""
    total = 0.0
    for p, q in ((observed, expected), (1 - observed, 1 - expected)):
        if p > 0:
            total += p * log(p / q) if q > 0 else inf
    return total
