"""Fiducial intervals of numbers that are computed from several noisy answers.

The error of a ratio or a slope has no simple distribution, but the noise of each answer has a known
one. Noisy answers minus draws of their noise are plausible noise-free answers. The interval spans
the outcomes of these (the fiducial argument, Fisher 1930). It is exact where the outcome is a
linear function of the noise. The draws are the same in every release, so an interval is a function
of the noisy answers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import floor

from dpcli.noise.distribution import Noise
from dpcli.numeric.arrays import (
    GOLDEN_GAMMA,
    Array,
    Bools,
    Floats,
    Ints,
    clip_exact,
    integer_array,
    multiply_exact,
    np,
    scramble,
)
from dpcli.problems.light_dataclasses import dataclass
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.estimates import ANY, HAS_INTERVAL, UNBOUNDED, Estimates, Limits, common_step

Outcome = Callable[[Floats], Floats]
"""Outcomes, shape (items, cells), of answers, shape (queries, cells); in float64."""

DRAWS = 2000
"""Draws of each noise. They are evenly spaced quantiles, so 2000 are enough."""

MORE_DRAWS = 20_000
"""Draws of each noise for a confidence above 0.99."""

UNIFORM_DRAWS = 8000
"""Draws of each noise where the outcome also depends on uniform numbers, or many."""

MAX_CONFIDENCE = Fraction(999, 1000)
"""Above this confidence, no interval is given: too few draws lie outside."""

DRAWN_RISK = Fraction(9, 10)
"""The part of the risk that intervals of many draws take.

The rest is for the error of the draws: without it, up to 5.3% of intervals of 95% would miss.
"""

MAX_DRAWS_IN_MEMORY = 1 << 17
"""The most plausible answers in memory at a time, to fit the processor cache."""

ROUNDED_BELOW = 10
"""Draws of noise with a smaller scale are rounded to whole numbers, as noise is."""

EXTRA_DECIMALS = 6
"""Decimals that are kept beyond the printed ones."""


@dataclass(frozen=True)
class Printed:
    """The unit of a published number, its decimals, and the limits of its values.

    The number is an outcome times the unit; limits are those of the number. If it is a date, or a
    number of days, `date_range` has the days between the bounds.
    """

    unit: Fraction
    decimals: int
    limits: Limits = ANY
    date_range: int | None = None


class FiducialInterval:
    """The outcomes of noisy answers, with intervals for their noise-free values.

    Args:
        answers: One for each query, all about the same cells.
        outcome: Computes the outcomes from answers in steps.
        confidence: The probability that an interval contains the noise-free value.
        denominator: The index of the query that counts rows, if there is one. Draws with fewer than
            one row, or with an outcome that is not a number, allow any value. An interval that must
            include such draws has no bound on either side.
        sampled: On how many errors of samples the outcome also depends. Its answers then end with
            draws of as many standard normal numbers, which are zero at the noisy answers.
        draws: How many draws of each noise there are, up to a confidence of 0.99.
        uniform: How many independent uniform numbers from 0 to 1 the outcome also depends on. Its
            answers then end with draws of these, which are zero at the noisy answers.
    """

    def __init__(
        self,
        answers: Sequence[NoisyAnswer],
        outcome: Outcome,
        confidence: Fraction,
        denominator: int | None = None,
        *,
        sampled: int = 0,
        draws: int = DRAWS,
        uniform: int = 0,
    ) -> None:
        self._outcome = outcome
        self._denominator = denominator
        self.noisy = np.array([answer.values for answer in answers], dtype=np.float64)
        shared = answers[0].noise.norm == "vector"
        draws = UNIFORM_DRAWS if uniform or shared else draws
        if confidence > Fraction(99, 100):
            draws = MORE_DRAWS
        self._noises = (
            _of_vector(answers[0].noise, draws)[: len(answers)]
            if shared
            else np.stack(
                [_draws(answer.noise, index, draws) for index, answer in enumerate(answers)]
            )
        )
        for _ in range(sampled):
            from dpcli.noise.discrete_gaussian import DiscreteGaussian

            normal = _quantiles(DiscreteGaussian, draws)[_order(len(self.noisy), draws)]
            self.noisy = np.vstack([self.noisy, np.zeros(self.noisy.shape[1])])
            self._noises = np.vstack([self._noises, normal])
        for _ in range(uniform):
            levels = _levels(draws)[_order(len(self.noisy), draws)]
            self.noisy = np.vstack([self.noisy, np.zeros(self.noisy.shape[1])])
            self._noises = np.vstack([self._noises, -levels])
        self._outside = max(floor(draws * (1 - confidence) / 2) - 1, 0)
        self.values = outcome(self.noisy)
        self.lower = np.full_like(self.values, -np.inf)
        self.upper = np.full_like(self.values, np.inf)
        if confidence <= MAX_CONFIDENCE:
            self._find_ends(np.arange(self.noisy.shape[1]))

    def _find_ends(self, all_cells: Ints) -> None:
        """Set `lower` and `upper`, both of shape (items, cells), for these cells."""
        draws = self._noises.shape[1]
        step = max(1, MAX_DRAWS_IN_MEMORY // (draws * len(self.noisy)))
        for start in range(0, len(all_cells), step):
            cells = all_cells[start : start + step]
            plausible = self.noisy[:, cells, None] - self._noises[:, None, :]
            outcomes = self._outcome(plausible.reshape(len(plausible), -1))
            outcomes = outcomes.reshape(len(outcomes), *plausible.shape[1:])
            usable = np.isfinite(outcomes)
            if self._denominator is not None:
                usable &= plausible[self._denominator] >= 1
            # Unusable draws are sorted last. They count as below and above all others.
            outcomes = np.sort(np.where(usable, outcomes, np.nan))
            first = self._outside - (~usable).sum(axis=-1)
            below = np.take_along_axis(outcomes, np.maximum(first, 0)[..., None], axis=-1)[..., 0]
            above = outcomes[..., draws - 1 - self._outside]
            self.lower[:, cells] = np.where(first < 0, -np.inf, below)
            self.upper[:, cells] = np.where(np.isnan(above), np.inf, above)

    def replace_values(self, values: Floats, unbounded: Bools) -> None:
        """Publish other values, shape (items, cells); ends of `unbounded` are infinite."""
        self.values = values
        self.lower[:, unbounded], self.upper[:, unbounded] = -np.inf, np.inf

    def estimates(self, *printed: Printed) -> Estimates:
        """The estimates, as they are `printed`, in the order of cells, then items."""
        limits = [limit for item in printed for limit in item.limits if limit is not None]
        decimals = max(item.decimals for item in printed)
        step = common_step(Fraction(1, 10 ** (decimals + EXTRA_DECIMALS)), *limits)
        items = enumerate(printed)
        return Estimates.interleaved([self._item(index, step, item) for index, item in items])

    def _item(self, index: int, step: Fraction, printed: Printed) -> Estimates:
        """The estimates of one item for all cells; infinite ends become limits.

        Without a limit on this side, the number has no interval.
        """
        unit, decimals, within = printed.unit, printed.decimals, printed.limits
        scale, values = 10**decimals, self.values[index]
        sizes = floored(abs(values), unit / step)
        raw = np.where(values < 0, -sizes, sizes)
        low, high = (None if end is None else int(end / step) for end in within)
        unbounded, ends = np.zeros(len(values), np.bool_), []
        # Ends are rounded outwards to the last decimal.
        for end, sign, limit in ((self.lower[index], 1, low), (self.upper[index], -1, high)):
            rounded = sign * floored(sign * end, unit * scale)
            rounded, finite = multiply_exact(rounded, int(1 / (scale * step))), np.isfinite(end)
            ends.append(np.where(finite, rounded, integer_array([limit or 0])))
            unbounded |= ~finite & (limit is None)
        status = np.where(unbounded, UNBOUNDED, HAS_INTERVAL).astype(np.int8)
        value = clip_exact(raw, low, high)
        estimates = Estimates(
            step, (decimals,), value, ends[0], ends[1], status, raw, date_range=printed.date_range
        )
        return estimates.within([within])


def wider(confidence: Fraction) -> Fraction:
    """The confidence of intervals of many draws that hold as often as stated."""
    return max(confidence, min(1 - DRAWN_RISK * (1 - confidence), MAX_CONFIDENCE))


def floored(numbers: Floats, scale: Fraction) -> Array:
    """Exact floors of `numbers` times `scale`; zero where a number is not finite."""
    finite = np.where(np.isfinite(numbers), numbers, 0.0)
    scaled = finite * float(scale)
    floors = np.floor(scaled)
    # Two roundings change a product by less than one part in 2^51.
    error = abs(scaled) * 2.0**-50
    is_exact = (error < 1) & (floors < scaled - error) & (scaled + error < floors + 1)
    is_exact |= finite == 0
    result = np.where(is_exact, floors, 0.0).astype(np.int64)
    if is_exact.all():
        return result
    exact = _exact_floors(finite[~is_exact], scale)
    if exact.dtype == object:
        result = result.astype(object)
    result[~is_exact] = exact
    return result


def _exact_floors(numbers: Floats, scale: Fraction) -> Array:
    mantissas, exponents = np.frexp(numbers)
    above = np.ldexp(mantissas, 53).astype(np.int64).astype(object) * scale.numerator
    shifts = (exponents - 53).astype(object)
    below = scale.denominator << np.maximum(-shifts, 0)
    return integer_array((above << np.maximum(shifts, 0)) // below)


def _draws(noise: Noise, index: int, draws: int) -> Floats:
    """Quantiles of a noise in place of draws, in an order that `index` decides."""
    noises = _quantiles(type(noise), draws)[_order(index, draws)] * float(noise.scale)
    return np.rint(noises) if noise.scale < ROUNDED_BELOW else noises


@lru_cache(maxsize=4)
def _of_vector(noise: Noise, draws: int) -> Floats:
    """Draws of the coordinates of a vector, and their negatives; shape (size, draws).

    Any coordinates have the same distribution together.
    """
    levels = _levels(draws // 2)

    def uniform(rows: int) -> Floats:
        return np.stack([levels[_order(row, draws // 2)] for row in range(rows)])

    drawn = noise.together(uniform)
    if drawn is None:
        raise TypeError("these samples are independent")
    both = np.concatenate([drawn, -drawn], axis=1) * float(noise.scale)
    return np.rint(both) if noise.scale < ROUNDED_BELOW else both


@lru_cache(maxsize=4)
def _quantiles(distribution: type[Noise], draws: int) -> Floats:
    """Quantiles of noise of scale one at evenly spaced probabilities; shape (draws,)."""
    return distribution.quantiles(_levels(draws))


def _levels(draws: int) -> Floats:
    """Evenly spaced probabilities; shape (draws,)."""
    return (np.arange(draws) + 0.5) / draws


@lru_cache(maxsize=128)
def _order(index: int, draws: int) -> Ints:
    word = np.arange(draws, dtype=np.uint64) + np.uint64((index + 1) << 32)
    order: Ints = np.argsort(scramble(word * GOLDEN_GAMMA))
    return order
