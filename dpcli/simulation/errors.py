"""Errors of many runs, next to those that the plan predicts."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, sqrt

from dpcli.numeric.arrays import Array, Floats, np
from dpcli.planning.plan import PlannedQuery

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
    """Errors of one query in all runs, next to the prediction of the plan.

    The error of a selection is the best score minus the score of the chosen candidate.
    """

    def __init__(self, part: PlannedQuery, confidence: Fraction) -> None:
        self.part = part
        self._query, self._unit = part.weighted.query, part.weighted.step
        self.predicted = part.error(confidence)
        self.errors = ErrorSample(confidence, self._unit)

    def add(self, noisy: Array, exact: Array) -> None:
        """Add one run: noisy and exact numbers.

        For a selection, these are the chosen candidates, and exact scores or counts.
        """
        self.errors.add(self._query.trial_errors(noisy, exact))

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
        }


def fraction(part: int, whole: int) -> Fraction | None:
    """The fraction `part / whole`; None if `whole` is zero."""
    return Fraction(part, whole) if whole else None
