"""Whether observed errors can come from the noise that a plan states.

Noise is independent from cell to cell, so how often it exceeds something is binomial with a
probability that the plan states. A verdict against the plan has a probability of less than
1e-9 by chance alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from math import inf, log, sqrt

import numpy as np
import numpy.typing as npt

from dpcli.plan.model import Part
from dpcli.queries import ScoreQuery

Numbers = npt.NDArray[np.float64]

MISTAKEN = log(1e-9 / 4)
"""Logarithm of the probability of a mistake; a question is judged in up to four ways."""

LEVELS = (Fraction(1, 2), None)
"""Confidences at which noise is judged; None stands for that of the spec."""


class Verdict(Enum):
    """What was observed, compared with what the plan states."""

    KEPT = "as predicted"
    LARGER = "larger than predicted"
    SMALLER = "smaller than predicted"


@dataclass(frozen=True, slots=True)
class Errors:
    """How far numbers were off: on how many, by how much, and in which direction.

    `quantile` is what the error did not exceed as often as the confidence of the spec says;
    `bias` the mean of signed errors, `spread` its standard error. None where nothing, or too
    little, could be compared.
    """

    compared: int
    quantile: Fraction | None
    bias: Fraction | None
    spread: Fraction | None


@dataclass(frozen=True, slots=True)
class Asked:
    """The noisy answers to one question, next to what the plan states of their noise.

    `within` is the share of errors up to the predicted one. For choices the error is by how much
    the utility of what was chosen falls short of the best, and `best` the share of choices
    that nothing was better than. There is no verdict where groups were selected by the same
    noise.
    """

    part: Part
    predicted: Fraction
    errors: Errors
    within: Fraction | None
    best: Fraction | None
    verdict: Verdict | None


class Differences:
    """Signed errors of many runs, in some unit."""

    def __init__(self) -> None:
        self._runs: list[Numbers] = []

    def add(self, errors: Sequence[float]) -> None:
        """The errors of one run."""
        self._runs.append(np.array(errors, dtype=np.float64))

    @property
    def all(self) -> Numbers:
        """The errors of all runs."""
        return np.concatenate([*self._runs, np.zeros(0)])

    def errors(self, confidence: Fraction, unit: Fraction = Fraction(1)) -> Errors:
        """How far they are from zero.

        Errors of a run may depend on each other, so the standard error of the bias is that of
        the means of runs.
        """
        every = self.all
        if not len(every):
            return Errors(0, None, None, None)
        sizes = np.sort(np.abs(every))
        least = -(-len(sizes) * confidence.numerator // confidence.denominator)
        means = np.array([run.mean() for run in self._runs if len(run)])
        bias = Fraction(float(means.mean())) * unit
        spread = None
        if len(means) > 1:
            spread = Fraction(float(means.std(ddof=1)) / sqrt(len(means))) * unit
        quantile = Fraction(float(sizes[max(least, 1) - 1])) * unit
        return Errors(len(sizes), quantile, bias, spread)


class NoiseTest:
    """The errors of the answers to one part of an entry, run by run."""

    def __init__(self, part: Part, confidence: Fraction, *, selecting: bool) -> None:
        self._part, self._confidence, self._selecting = part, confidence, selecting
        self._steps = Differences()
        self._largest_gaps: list[float] = []

    def add(self, noisy: Sequence[int], exact: Sequence[int]) -> None:
        """One run: noisy numbers and those behind them, or choices and their scores."""
        query = self._part.question.query
        if not isinstance(query, ScoreQuery):
            self._steps.add([float(a - b) for a, b in zip(noisy, exact, strict=True)])
            return
        missed: list[float] = []
        for group in range(len(noisy) // query.picks):
            scores = list(exact[group * query.width : (group + 1) * query.width])
            gaps = _gaps(scores, noisy[group * query.picks : (group + 1) * query.picks])
            missed += gaps
            self._largest_gaps.append(max(gaps))
        self._steps.add(missed)

    def asked(self) -> Asked:
        """What was found, in the unit of the answer."""
        part, confidence, unit = self._part, self._confidence, self._part.question.unit
        predicted = part.error(confidence)
        sizes = np.abs(self._steps.all)
        within = share(int((sizes <= float(predicted / unit)).sum()), len(sizes))
        best = None
        if isinstance(part.question.query, ScoreQuery):
            best = share(int((sizes == 0).sum()), len(sizes))
        verdict = None if self._selecting or not len(sizes) else self._verdict(sizes)
        errors = self._steps.errors(confidence, unit)
        return Asked(part, predicted, errors, within, best, verdict)

    def _verdict(self, sizes: Numbers) -> Verdict:
        """Whether the noise is what the plan states."""
        part = self._part
        if part.public:
            return Verdict.LARGER if sizes.any() else Verdict.KEPT
        if isinstance(part.question.query, ScoreQuery):
            most = float(part.error(self._confidence) / part.question.unit)
            failed = sum(one > most for one in self._largest_gaps)
            large, _ = unlikely(failed, len(self._largest_gaps), 1 - self._confidence)
            return Verdict.LARGER if large else Verdict.KEPT
        for level in LEVELS:
            confidence = self._confidence if level is None else level
            width = part.noise.half_width(confidence)
            outside = 1 - confidence
            # P[|noise| > width] <= outside < P[|noise| >= width], for the least such width.
            if unlikely(int((sizes > width).sum()), len(sizes), outside)[0]:
                return Verdict.LARGER
            if width and unlikely(int((sizes >= width).sum()), len(sizes), outside)[1]:
                return Verdict.SMALLER
        return Verdict.KEPT


def _gaps(scores: list[int], chosen: Sequence[int]) -> list[float]:
    """By how much each choice falls short of the best that was left."""
    found, left = [], dict(enumerate(scores))
    for place in chosen:
        found.append(float(max(left.values()) - left[place]))
        del left[place]
    return found


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
