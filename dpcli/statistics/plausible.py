"""Intervals by the noise-free answers that noisy ones leave plausible.

What is made of several noisy answers has an error of no simple law. But the law of each
noise is known: noisy answers less many drawn noises are the noise-free ones that might be
behind them, and what is made of these spans the interval (the fiducial argument, Fisher
1930; exact where the outcome moves with the noise in a straight line). The drawn noises are the
same in every release, so an interval is a function of the noisy answers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, isfinite

from dpcli.arrays import Bools, Floats, Ints, np
from dpcli.privacy.noise import Noise
from dpcli.statistics.base import Answer, Estimate, Limits, clamped

Outcome = Callable[[Floats], Floats]
"""From noisy answers (questions by cells) to outcomes (items by cells)."""

DRAWS = 2000
"""Drawn noises of each answer; they are evenly spread, so few suffice."""

MORE_DRAWS, MOST = 20_000, Fraction(999, 1000)
"""As many for a confidence above 0.99; above the latter so few lie outside that no interval
is given."""

AT_ONCE = 1 << 20
"""Noise-free answers that are looked at together."""

COARSE = 10
"""Below this scale whole numbers matter, and drawn noises are rounded to them."""


class Plausible:
    """The outcomes of noisy answers, with the intervals of their noise-free values.

    `outcome` takes the answers in steps, question by question, and makes of each cell a
    number for every item. `count`, if given, is the place of the question that counts rows:
    with less than one row there is no telling, and an interval that has to allow for
    it knows no bound on either side. Nor has one where an outcome is no number.
    """

    def __init__(
        self,
        answers: Sequence[Answer],
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
        """The least and the greatest plausible value of each item and cell."""
        lower, upper = np.empty_like(self.values), np.empty_like(self.values)
        if not self._known:
            lower[:], upper[:] = -np.inf, np.inf
            return lower, upper
        step = max(1, AT_ONCE // (self._draws * len(self.noisy)))
        for start in range(0, self.noisy.shape[1], step):
            cells = slice(start, start + step)
            free = self.noisy[:, None, cells] - self._points[:, :, None]
            found = self._outcome(free.reshape(len(free), -1))
            found = found.reshape(len(found), *free.shape[1:])
            known = np.isfinite(found)
            if self._count is not None:
                known &= free[self._count] >= 1
            below = np.partition(np.where(known, found, -np.inf), self._outside, axis=1)
            last = self._draws - 1 - self._outside
            above = np.partition(np.where(known, found, np.inf), last, axis=1)
            lower[:, cells], upper[:, cells] = below[:, self._outside], above[:, last]
        return lower, upper

    def settle(self, values: Floats, blank: Bools) -> None:
        """Publish other values; cells that are `blank` get no interval."""
        self.values = values
        self.lower[:, blank], self.upper[:, blank] = -np.inf, np.inf

    def estimates(
        self, units: Sequence[Fraction], places: Sequence[int], within: Sequence[Limits]
    ) -> tuple[Estimate, ...]:
        """Cell by cell, item by item: each in its unit, with its decimals and range."""
        return tuple(
            _estimate(
                float(self.values[item, cell]),
                (float(self.lower[item, cell]), float(self.upper[item, cell])),
                *(units[item], places[item], within[item]),
            )
            for cell in range(self.values.shape[1])
            for item in range(self.values.shape[0])
        )


def _estimate(
    value: float, span: tuple[float, float], unit: Fraction, places: int, within: Limits
) -> Estimate:
    """One number in its range; without an interval if nothing bounds that."""
    low, high = within
    bare = Fraction(value) * unit
    ends = [
        _rounded(way, Fraction(end) * unit, places) if isfinite(end) else None
        for way, end in zip((floor, ceil), span, strict=True)
    ]
    first = low if ends[0] is None else clamped(ends[0], within)
    last = high if ends[1] is None else clamped(ends[1], within)
    published = clamped(bare, within)
    boundless = first is None or last is None
    if boundless:
        first = last = None
    raw = None if published == bare else bare
    return Estimate(published, first, last, places, raw, within=within, boundless=boundless)


def moved(estimate: Estimate, by: Fraction) -> Estimate:
    """The same number counted from elsewhere."""
    ends = (estimate.value, estimate.lower, estimate.upper, estimate.raw, *estimate.within)
    value, lower, upper, raw, low, high = (None if end is None else end + by for end in ends)
    return replace(estimate, value=value, lower=lower, upper=upper, raw=raw, within=(low, high))


def _rounded(way: Callable[[Fraction], int], value: Fraction, places: int) -> Fraction:
    return Fraction(way(value * 10**places), 10**places)


def _points(noise: Noise, place: int, draws: int) -> Floats:
    """Draws of a noise, in an order of its own for each place among the answers."""
    points = _even(type(noise), draws)[_order(place, draws)] * float(noise.scale)
    return np.rint(points) if noise.scale < COARSE else points


@lru_cache(maxsize=4)
def _even(distribution: type[Noise], draws: int) -> Floats:
    """The quantiles of noise of scale one, evenly spaced by probability."""
    levels = (np.arange(draws) + 0.5) / draws
    return distribution.quantiles(levels)


@lru_cache(maxsize=128)
def _order(place: int, draws: int) -> Ints:
    from dpcli.sampling.splitmix import ODD, scrambled

    word = np.arange(draws, dtype=np.uint64) + np.uint64((place + 1) << 32)
    order: Ints = np.argsort(scrambled(word * ODD))
    return order
