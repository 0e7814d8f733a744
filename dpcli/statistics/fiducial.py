"""Intervals of what is computed from several noisy answers.

The error of a ratio or a slope has no simple distribution, but each noise has a known one. Noisy
answers minus drawn noises are plausible noise-free answers, and the outcomes of these span the
interval (the fiducial argument, Fisher 1930). It is exact where the outcome is a linear function
of the noise. The drawn noises are the same in every release, so an interval is a function of the
noisy answers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import floor

from dpcli.noise.distribution import Noise
from dpcli.numeric.arrays import (
    Array,
    Bools,
    Floats,
    Ints,
    clip_exact,
    integer_array,
    multiply_exact,
    np,
    repeated_integer,
)
from dpcli.statistics.estimates import HAS_INTERVAL, UNBOUNDED, Estimates, Limits, common_step
from dpcli.statistics.statistic import NoisyAnswer

Outcome = Callable[[Floats], Floats]
"""From noisy answers, shape (queries, cells), to outcomes, shape (items, cells); both float64."""

DRAWS = 2000
"""Drawn noises of each answer: evenly spread quantiles, so that few are enough."""

MORE_DRAWS, MOST = 20_000, Fraction(999, 1000)
"""The number of draws for a confidence above 0.99, and the confidence above which too few draws lie
outside the interval to find its ends: then it has none."""

AT_ONCE = 1 << 20
"""FiducialInterval answers that are in memory at a time."""

COARSE = 10
"""Below this scale drawn noises are rounded to whole numbers, as the noise is."""


FURTHER = 6
"""Decimals that are kept beyond the printed ones."""


class FiducialInterval:
    """The outcomes of noisy answers, with intervals of their noise-free values.

    Args:
        answers: One for each query, all about the same cells.
        outcome: What is computed from the answers, which it gets in steps.
        confidence: How often an interval contains the noise-free value.
        count: The place of the query that counts rows, if one does. With less than one row
            nothing is known: an interval that must allow for that has no bound on either side,
            and neither has one whose outcome is not a number.
    """

    def __init__(
        self,
        answers: Sequence[NoisyAnswer],
        outcome: Outcome,
        confidence: Fraction,
        count: int | None = None,
    ) -> None:
        self._outcome, self._count = outcome, count
        self.noisy = np.array([answer.values for answer in answers], dtype=np.float64)
        self._draws = DRAWS if confidence <= Fraction(99, 100) else MORE_DRAWS
        self._points = np.stack(
            [_points(answer.noise, place, self._draws) for place, answer in enumerate(answers)]
        )
        self._known = confidence <= MOST
        self._outside = max(floor(self._draws * (1 - confidence) / 2) - 1, 0)
        self.values = outcome(self.noisy)
        self.lower, self.upper = self._ends()

    def _ends(self) -> tuple[Floats, Floats]:
        """The least and the greatest plausible value, both of shape (items, cells)."""
        lower, upper = np.empty_like(self.values), np.empty_like(self.values)
        if not self._known:
            lower[:], upper[:] = -np.inf, np.inf
            return lower, upper
        step = max(1, AT_ONCE // (self._draws * len(self.noisy)))
        for start in range(0, self.noisy.shape[1], step):
            cells = slice(start, start + step)
            free = self.noisy[:, cells, None] - self._points[:, None, :]
            found = self._outcome(free.reshape(len(free), -1))
            found = found.reshape(len(found), *free.shape[1:])
            known = np.isfinite(found)
            if self._count is not None:
                known &= free[self._count] >= 1
            # What is not known is sorted last, and stands below and above all other numbers.
            found = np.sort(np.where(known, found, np.nan))
            first = self._outside - (~known).sum(axis=-1)
            below = np.take_along_axis(found, np.maximum(first, 0)[..., None], axis=-1)[..., 0]
            above = found[..., self._draws - 1 - self._outside]
            lower[:, cells] = np.where(first < 0, -np.inf, below)
            upper[:, cells] = np.where(np.isnan(above), np.inf, above)
        return lower, upper

    def replace_values(self, values: Floats, blank: Bools) -> None:
        """Publish other values, shape (items, cells); cells that are `blank` get no interval."""
        self.values = values
        self.lower[:, blank], self.upper[:, blank] = -np.inf, np.inf

    def estimates(
        self, units: Sequence[Fraction], places: Sequence[int], within: Sequence[Limits]
    ) -> Estimates:
        """The estimates cell by cell, item by item: each with its unit, decimals and range."""
        limits = [limit for each in within for limit in each if limit is not None]
        step = common_step(Fraction(1, 10 ** (max(places) + FURTHER)), *limits)
        items = enumerate(zip(units, places, within, strict=True))
        return Estimates.interleaved([self._item(at, step, *item) for at, item in items])

    def _item(
        self, item: int, step: Fraction, unit: Fraction, places: int, within: Limits
    ) -> Estimates:
        """One item of all cells; without an interval where nothing bounds it."""
        last, values = 10**places, self.values[item]
        size = floored(abs(values), unit / step)
        bare = np.where(values < 0, -size, size)
        low, high = (None if end is None else int(end / step) for end in within)
        boundless, ends = np.zeros(len(values), np.bool_), []
        # Ends are rounded outwards to the last decimal.
        for end, sign, limit in ((self.lower, 1, low), (self.upper, -1, high)):
            spans, known = sign * floored(sign * end[item], unit * last), np.isfinite(end[item])
            spans, rest = (
                multiply_exact(spans, int(1 / (last * step))),
                repeated_integer(limit or 0, len(spans)),
            )
            ends.append(np.where(known, spans, rest))
            boundless |= ~known & (limit is None)
        value, lower, upper = (clip_exact(one, low, high) for one in (bare, *ends))
        status = np.where(boundless, UNBOUNDED, HAS_INTERVAL).astype(np.int8)
        range_ = {
            name: repeated_integer(limit, len(values))
            for name, limit in (("least", low), ("most", high))
            if limit is not None
        }
        return Estimates(step, (places,), value, lower, upper, status, bare, **range_)


def floored(numbers: Floats, scale: Fraction) -> Array:
    """The whole numbers below exact multiples of floats; zero where these are not finite."""
    mantissas, exponents = np.frexp(np.where(np.isfinite(numbers), numbers, 0.0))
    above = np.ldexp(mantissas, 53).astype(np.int64).astype(object) * scale.numerator
    shifts = (exponents - 53).astype(object)
    below = scale.denominator << np.maximum(-shifts, 0)
    return integer_array((above << np.maximum(shifts, 0)) // below)


def _points(noise: Noise, place: int, draws: int) -> Floats:
    """Draws of a noise; their order differs for each place among the answers."""
    points = _even(type(noise), draws)[_order(place, draws)] * float(noise.scale)
    return np.rint(points) if noise.scale < COARSE else points


@lru_cache(maxsize=4)
def _even(distribution: type[Noise], draws: int) -> Floats:
    """The quantiles of noise of scale one, evenly spaced by probability."""
    levels = (np.arange(draws) + 0.5) / draws
    return distribution.quantiles(levels)


@lru_cache(maxsize=128)
def _order(place: int, draws: int) -> Ints:
    from dpcli.numeric.splitmix import GOLDEN_GAMMA, scramble

    word = np.arange(draws, dtype=np.uint64) + np.uint64((place + 1) << 32)
    order: Ints = np.argsort(scramble(word * GOLDEN_GAMMA))
    return order
