"""Errors as they are collected, run by run."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt

import numpy as np
import numpy.typing as npt

from dpcli.plan.model import Part
from dpcli.queries import ScoreQuery
from dpcli.simulation.findings import Asked, Errors, Told
from dpcli.simulation.judging import Verdict, unlikely
from dpcli.statistics.base import Estimate

Numbers = npt.NDArray[np.float64]

LEVELS = (Fraction(1, 2), None)
"""Confidences at which noise is judged; None stands for that of the spec."""


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

        Within a run errors may hang together, so the bias is as sure as the means of
        runs agree.
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


class Question:
    """The answers to one part of an entry."""

    def __init__(self, part: Part, confidence: Fraction, *, selecting: bool) -> None:
        self._part, self._confidence, self._selecting = part, confidence, selecting
        self._steps = Differences()
        self._shortest: list[float] = []

    def add(self, noisy: Sequence[int], exact: Sequence[int]) -> None:
        """One run: noisy numbers and what is behind them, or choices and their scores."""
        query = self._part.question.query
        if not isinstance(query, ScoreQuery):
            self._steps.add([float(a - b) for a, b in zip(noisy, exact, strict=True)])
            return
        missed: list[float] = []
        for group in range(len(noisy) // query.picks):
            scores = list(exact[group * query.width : (group + 1) * query.width])
            gaps = _gaps(scores, noisy[group * query.picks : (group + 1) * query.picks])
            missed += gaps
            self._shortest.append(max(gaps))
        self._steps.add(missed)

    def asked(self) -> Asked:
        """What was found, in the unit of the answer."""
        part, confidence = self._part, self._confidence
        unit = part.question.unit
        predicted = part.error(confidence)
        sizes = np.abs(self._steps.all)
        errors = self._steps.errors(confidence, unit)
        most = float(predicted / unit)
        within = _share(int((sizes <= most).sum()), len(sizes))
        best = None
        if isinstance(part.question.query, ScoreQuery):
            best = _share(int((sizes == 0).sum()), len(sizes))
        verdict = None if self._selecting else self._verdict(sizes)
        return Asked(part, predicted, errors, within, best, verdict)

    def _verdict(self, sizes: Numbers) -> Verdict | None:
        """Whether the noise is what the plan says; None if there was nothing to see."""
        if not len(sizes):
            return None
        part = self._part
        if part.public:
            return Verdict.LARGER if sizes.any() else Verdict.KEPT
        if isinstance(part.question.query, ScoreQuery):
            most = float(part.error(self._confidence) / part.question.unit)
            failed = sum(one > most for one in self._shortest)
            large, _ = unlikely(failed, len(self._shortest), 1 - self._confidence)
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


class Published:
    """The numbers that a reader gets, of one item."""

    def __init__(self, item: str, confidence: Fraction) -> None:
        self._item, self._confidence = item, confidence
        self._errors, self._limits = Differences(), Differences()
        self._widths: list[float] = []
        self._held = self._numbers = self._left_out = 0

    def add(self, found: Sequence[tuple[Estimate, Fraction]]) -> None:
        """One run: estimates and the noise-free numbers that belong to them."""
        errors = []
        for estimate, exact in found:
            self._numbers += 1
            if estimate.value is None:
                self._left_out += 1
                continue
            errors.append(float(estimate.value - exact))
            if estimate.lower is not None and estimate.upper is not None:
                self._widths.append(float(estimate.upper - estimate.lower) / 2)
                self._held += estimate.lower <= exact <= estimate.upper
        self._errors.add(errors)

    def limit(self, changes: Sequence[Fraction]) -> None:
        """One reading: what the limits on people change."""
        self._limits.add([float(change) for change in changes])

    def told(self) -> Told:
        """What was found, in the unit of the number."""
        published = self._numbers - self._left_out
        nothing = Fraction(0)
        return Told(
            self._item,
            self._errors.errors(self._confidence),
            Fraction(float(np.median(self._widths))) if self._widths else None,
            _share(self._held, len(self._widths)),
            _share(self._left_out, self._numbers) or nothing,
            _share(published - len(self._widths), published) or nothing,
            self._limits.errors(self._confidence).bias,
        )


def _share(part: int, whole: int) -> Fraction | None:
    """A share; None of nothing."""
    return Fraction(part, whole) if whole else None
