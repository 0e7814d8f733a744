"""The interval of a quotient of two noisy sums, in closed form if it can be.

The quotient of plausible answers x - n, with a coefficient a for the sum above and b for the one
below, is less than q where sum((a - q b) n) > sum((a - q b) x), if the sum below is positive. Two
noises of one kind have a known tail, from which q follows by bisection (Fieller 1954 for normal
noise). It is the interval of infinitely many draws, and takes a tenth of the time of 2,000.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Final

from dpcli.noise.distribution import NO_NOISE
from dpcli.numeric.arrays import Bools, Floats, Ints, np
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.intervals import ROUNDED_BELOW, FiducialInterval, Outcome

CERTAIN: Final = 0.01
"""The part of the risk of an interval for divisors below `min_below`."""

FARTHEST = 12
"""Standard deviations from the quotient at which the search for an end begins."""

BISECTIONS = 16
"""Search steps: an end is too far out by less than the first step/2**BISECTIONS."""


class QuotientInterval(FiducialInterval):
    """The interval of a quotient, within finite `limits`, in the units of `outcome`.

    `above` and `below` are the coefficients of the answers in the dividend and the divisor. The
    divisor is at least `min_below`.
    """

    def __init__(
        self,
        answers: Sequence[NoisyAnswer],
        outcome: Outcome,
        confidence: Fraction,
        above: Sequence[int],
        below: Sequence[int],
        *,
        min_below: int,
        limits: tuple[float, float],
    ) -> None:
        self._above = np.array(above, float)[:, None]
        self._below = np.array(below, float)[:, None]
        self._min_below, self._limits = min_below, limits
        self._risk = float(1 - confidence) / 2
        self._scales = np.array([float(answer.noise.scale) for answer in answers])[:, None]
        kinds = {type(answer.noise) for answer in answers} - {type(NO_NOISE)}
        self._kind = kinds.pop() if len(kinds) == 1 else type(NO_NOISE)
        super().__init__(answers, outcome, confidence)

    def _find_ends(self, all_cells: Ints) -> None:
        """Set the ends: by bisection where the divisor is certain, else from draws.

        Ends stay infinite where the divisor is below `min_below` with more than the allowed risk.
        """
        scales = self._scales[self._scales > 0]
        if not (
            self._kind.sum_is_known and len(self._scales) <= 2 and min(scales) >= ROUNDED_BELOW
        ):
            super()._find_ends(all_cells)
            return
        certain = self._divisor_exceeds(self._risk * CERTAIN)
        # Elsewhere the ends stay infinite: too often there is no divisor.
        drawn = ~certain & self._divisor_exceeds(self._risk)
        self._solve(np.flatnonzero(certain))
        super()._find_ends(np.flatnonzero(drawn))

    def _divisor_exceeds(self, risk: float) -> Bools:
        """Whether each divisor is at least `min_below`, except with probability `risk`."""
        beyond = (self._below * self.noisy).sum(axis=0) - self._min_below
        scales = abs(self._below) * self._scales * np.ones_like(self.noisy)
        # A divisor without noise is what it is.
        is_exact = ~scales.any(axis=0)
        return np.where(is_exact, beyond >= 0, self._kind.excess(beyond, scales, risk) > 0)

    def _solve(self, cells: Ints) -> None:
        noisy, quotient = self.noisy[:, cells], self.values[0, cells]
        risk = self._risk * (1 - CERTAIN)

        def excess(tried: Floats, side: int) -> Floats:
            """Positive where P[side * (quotient - `tried`) > 0] is below the allowed risk."""
            coefficients = self._above - self._below * tried
            beyond = -side * (coefficients * noisy).sum(axis=0)
            return self._kind.excess(beyond, abs(coefficients) * self._scales, risk)

        spread = abs(self._above - self._below * quotient) * self._scales
        divisor = (self._below * noisy).sum(axis=0)
        step = FARTHEST * np.sqrt(2 * (spread**2).sum(axis=0)) / divisor
        for ends, side, limit in zip((self.lower, self.upper), (-1, 1), self._limits, strict=True):
            far = side * np.minimum(side * (quotient + side * step), side * limit)
            far = np.where(excess(far, side) > 0, far, limit)
            ends[0, cells] = _bisected(partial(excess, side=side), quotient, far)


def _bisected(excess: Callable[[Floats], Floats], near: Floats, far: Floats) -> Floats:
    """A point just beyond the root of `excess`, which is positive at `far`."""
    for _ in range(BISECTIONS):
        middle = (near + far) / 2
        is_beyond = excess(middle) > 0
        near, far = np.where(is_beyond, near, middle), np.where(is_beyond, middle, far)
    return far
