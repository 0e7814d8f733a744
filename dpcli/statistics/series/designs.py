"""Designs of a running series: a root with Gaussian noise, blocks with Laplace.

Both publish estimates that follow from all answers of the series. Each period has one estimate, and
totals and windows are sums of these, so the printed numbers of a series add up.
"""

from __future__ import annotations

import datetime
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, reduce
from math import ceil, sqrt
from typing import ClassVar

from dpcli.noise.distribution import Margin, Noise
from dpcli.noise.sums import blended_half_width
from dpcli.numeric.arrays import Array, Floats, add_exact, integer_array, multiply_exact, np
from dpcli.numeric.exact import decimal_places, rounded_text
from dpcli.privacy.series import BLOCK, KEPT, UNIT, coefficients, squared_norm
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import Query
from dpcli.queries.series import BlocksQuery, RootQuery, SeriesQuery, ends_block
from dpcli.statistics.design import Design, Inputs, NoisyAnswer, WeightedQuery
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.series.history import (
    Ends,
    History,
    PublishedPeriod,
    lines_of,
    printed,
    thinned,
)
from dpcli.statistics.series.past import Past, PublicState, RecentPeriod, fresh
from dpcli.statistics.series.shown import Shown

DECIMALS = 2
"""Estimates have this number of decimals more than the steps of an answer."""

UNITS = 10**DECIMALS

SEVERAL = (2, 3, 7, 30)
"""Numbers of days in a row of which plans state the loss."""

HORIZON = 365
"""Plans state the errors of a series of this number of periods."""

SAMPLED = range(HORIZON, 0, -13)
"""Numbers of periods at which errors are computed, anywhere in blocks."""


@dataclass(frozen=True, kw_only=True)
class SeriesDesign(Design):
    """A design of the numbers `shown` of a series, after its public `past`.

    Its one `query` answers a period.

    A release sets the past. Without it, the period is the first one.
    """

    query: SeriesQuery
    shown: tuple[Shown, ...]
    past: Past | None = None

    agrees: ClassVar[bool] = True
    is_compared_by_error: ClassVar[bool] = True

    @property
    def follows(self) -> str | None:
        return self.known.digest

    @property
    def is_correction(self) -> bool:
        return self.known.corrects is not None

    @property
    def step(self) -> Fraction:
        """The value of a step of the sums of a period."""
        return self.queries[0].step

    @property
    def known(self) -> Past:
        """The past, or that of a new series."""
        return self.past or fresh(self.query.of.cells or 0)

    @abstractmethod
    def _own(self, answer: Array, past: Past) -> Array:
        """The estimates of the period from its answer, in units of the last decimal."""

    def _moved(self, answer: Array, past: Past, own: Array) -> tuple[Array | None, set[int]]:
        """By how much estimates move, and the numbers of their periods."""
        return None, set()

    @abstractmethod
    def _moments(self, weights: Floats, noise: Noise, past: Past) -> tuple[float, float]:
        """Variance and fourth cumulant of a weighted sum of all estimates, in steps.

        There is a weight for each period, the first one first.
        """

    def _advanced(self, answer: Array) -> tuple[Array, list[RecentPeriod]]:
        """The estimates of the total to date, and of this period and the last days."""
        past, own = self.known, self._own(answer, self.known)
        total, number = past.state.total, past.count - 1 if past.corrects is None else past.corrects
        assert total is not None
        if past.corrects is not None:
            before = past.estimates[past.own]
            assert before is not None
            total = add_exact(total, -before)
        total = add_exact(total, own)
        others = (one for one in past.state.recent if one.number != number)
        recent = [RecentPeriod(number, past.day, own), *others]
        moves, members = self._moved(answer, past, own)
        if moves is None:
            return total, recent
        moved = [
            replace(one, estimates=add_exact(one.estimates, moves))
            if one.number in members
            else one
            for one in recent
        ]
        return add_exact(total, multiply_exact(moves, len(members))), moved

    def can_correct(self, past: Past) -> bool:
        """Whether a correction of the period can still change what is published."""
        return past.own < len(past.estimates) and past.estimates[past.own] is not None

    @property
    @abstractmethod
    def _of_several_days(self) -> str:
        """What rows of one person on several days in a row reveal, in a sentence."""

    def next_state(self, answers: Sequence[NoisyAnswer]) -> tuple[PublicState, Array]:
        """The public state after the period, and the estimates of the period."""
        total, recent = self._advanced(answers[0].values)
        most, last = max(one.days for one in self.shown), self.known.last
        needed = tuple(one for one in recent if last - one.day < most)
        return self.known.after(total, needed, self.query.kept), recent[0].estimates

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        past, noise = self.known, answers[0].noise
        total, recent = self._advanced(answers[0].values)
        cells, step, found = self.query.of.cells_per_group, self.step / UNITS, []
        for one in self.shown:
            weights, numbers = np.ones(past.count), total
            if one.days:
                inside = [part for part in recent if past.last - part.day < one.days]
                inside = recent[:1] if one.days == 1 else inside
                numbers = reduce(add_exact, (part.estimates for part in inside))
                weights[:] = 0
                weights[[part.number for part in inside]] = 1
            margin = self._margin(weights, noise, past, confidence)
            found += [
                Estimates.around(numbers[cell::cells], margin, step, (decimal_places(step),))
                for cell in range(cells)
            ]
        return Estimates.interleaved(found)

    def lines_of_history(self, published: Estimates) -> tuple[int, ...]:
        cells, count = self.query.of.cells_per_group, len(self.shown)
        return lines_of(len(published) // (count * cells), count, cells)

    def history(
        self, published: Estimates, answers: Sequence[NoisyAnswer], confidence: Fraction
    ) -> History:
        past, count = self.known, len(self.shown)
        numbers, lines = printed(published), self.lines_of_history(published)
        own = tuple(numbers[line] for line in lines)
        if past.corrects is not None:
            # What a correction publishes is about its period, and about all until now.
            own_at = [past.corrects if one.days == 1 else past.count - 1 for one in self.shown]
            return tuple(
                one.with_revised(
                    {at: own[at] for at in range(len(own)) if own_at[at % count] == one.number}
                )
                for one in past.state.history
            )
        changed = self._moved(answers[0].values, past, self._own(answers[0].values, past))
        before = past.state.history
        if changed[0] is not None:
            moves = integer_array(changed[0][: len(lines) // count])
            before = tuple(
                one.with_revised(
                    self._refined(one, moves, changed[1], published, answers[0].noise, confidence)
                )
                if one.number in changed[1]
                else one
                for one in before
            )
        return thinned((*before, PublishedPeriod(past.count - 1, past.day, own)), past.count)

    def _refined(
        self,
        period: PublishedPeriod,
        moves: Array,
        members: set[int],
        published: Estimates,
        noise: Noise,
        confidence: Fraction,
    ) -> dict[int, Ends]:
        """The number and the total of a period, after estimates of `members` moved."""
        past, found, (decimals, *_) = self.known, dict[int, Ends](), published.decimals
        last_place = Fraction(1, 10**decimals)
        factor = int(self.step / UNITS / last_place)
        was_corrected = any(
            number <= period.number < count for count, number in self.known.corrections
        )
        for at, one in enumerate(self.shown):
            if one.days > 1 or was_corrected:
                continue
            first = 0 if not one.days else period.number
            weights = np.zeros(past.count)
            weights[first : period.number + 1] = 1
            margin = self._margin(weights, noise, past, confidence)
            times = sum(first <= member <= period.number for member in members)
            known = period.numbers[at :: len(self.shown)]
            numbers = add_exact(
                integer_array([ends.value for ends in known]), multiply_exact(moves, times * factor)
            )
            estimates = Estimates.around(numbers, Margin(margin.width * factor), last_place)
            now = printed(estimates.within(published.limits[:1]))
            found |= {at + cell * len(self.shown): ends for cell, ends in enumerate(now)}
        return found

    def _margin(self, weights: Floats, noise: Noise, past: Past, confidence: Fraction) -> Margin:
        variance, fourth = self._moments(weights, noise, past)
        width = blended_half_width(fourth, variance, confidence)
        # Each estimate was rounded by at most half a unit.
        return Margin(ceil(width * UNITS) + 1, variance * UNITS**2)

    def error(self, noises: Sequence[Noise], confidence: Fraction) -> Fraction:
        """The largest half-width of a number that is shown, over a year of periods."""
        margins = (
            self._margin(one.weights(periods), noises[0], _after(periods), confidence)
            for one in self.shown
            for periods in SAMPLED
        )
        return Fraction(max(margin.width for margin in margins), UNITS) * self.step

    def compared_error(self, noises: Sequence[Noise], confidence: Fraction) -> Fraction:
        """The root mean square of the errors of a year."""
        squares = sum(
            self._variance(one, periods, noises[0]) for one in self.shown for periods in SAMPLED
        )
        return Fraction(sqrt(squares / len(SAMPLED))) * self.step

    def _variance(self, one: Shown, periods: int, noise: Noise) -> float:
        """The variance of a shown number after some periods, in steps."""
        return self._moments(one.weights(periods), noise, _after(periods))[0]

    def expected_error(self, errors: Sequence[float]) -> float:
        return errors[0]

    def sentences(self, noises: Sequence[Noise], confidence: Fraction) -> tuple[str, ...]:
        found = []
        for one in self.shown:
            variances = (self._variance(one, periods, noises[0]) for periods in (1, HORIZON))
            first, last = (
                rounded_text(Fraction(sqrt(variance)) * self.step, 3) for variance in variances
            )
            found.append(f"{one} {first}" + f", after {HORIZON} days {last}" * (first != last))
        errors = f"expected errors (root mean square): {'; '.join(found)}"
        past = self.past
        since = (
            ()
            if past is None
            else (f"it is day {past.count} of the series, which began on {_day(past.first)}",)
        )
        return (*since, self.reason, errors, self._of_several_days)

    def shown_incomplete(self, answers: Sequence[NoisyAnswer]) -> str:
        past = self.known
        days = past.last - past.first + 1
        missing = days - past.count
        return f"{missing:,} of {days:,} days of the series have no release" if missing else ""


def _day(number: int) -> str:
    return datetime.date.fromordinal(number).isoformat()


def _after(periods: int) -> Past:
    """The past of the last one of some periods, of which no sum was lost."""
    return Past(PublicState("", count=periods - 1), (), 0, "")


@dataclass(frozen=True, kw_only=True)
class RootSeries(SeriesDesign):
    """Sums of periods times the root of the matrix of running totals.

    The estimate of a period is its answer, less coefficients times estimates of earlier periods.
    """

    @classmethod
    def of(
        cls, inputs: Inputs, role: str, sums: Query, step: Fraction, shown: tuple[Shown, ...]
    ) -> RootSeries:
        """The design for these numbers of a period."""
        query = RootQuery.about(sums)
        part = WeightedQuery(role, query, step=step / UNIT)
        reason = (
            f"each answer has the sums of up to {KEPT} periods, times coefficients by which "
            "totals to date have the least noise"
        )
        return cls(inputs, (part,), ("l2",), reason=reason, query=query, shown=shown)

    @property
    def step(self) -> Fraction:
        return super().step * UNIT

    @property
    def _of_several_days(self) -> str:
        one = squared_norm(1)
        factors = (rounded_text(Fraction(squared_norm(days), one), 2) for days in SEVERAL)
        days = ", ".join(map(str, SEVERAL))
        return (
            f"rows of one person on {days} days in a row have {', '.join(factors)} times the rho "
            "of one day: only a window of days bounds what a series reveals"
        )

    def _own(self, answer: Array, past: Past) -> Array:
        numbers = multiply_exact(answer, UNITS)
        earlier = past.estimates if past.corrects is None else ()
        for coefficient, known in zip(coefficients()[1:], earlier, strict=False):
            if known is not None:
                numbers = add_exact(numbers, multiply_exact(known, -coefficient))
        return integer_array((2 * numbers.astype(object) + UNIT) // (2 * UNIT))

    def _moments(self, weights: Floats, noise: Noise, past: Past) -> tuple[float, float]:
        left = root_weights(weights, past.gone, past.corrections)
        # The rounding of each estimate counts as noise.
        variance = noise.discrete_variance / UNIT**2 + 1 / (12 * UNITS**2)
        return float(left @ left) * variance, 0.0


def root_weights(
    weights: Floats,
    gone: Sequence[tuple[int, int]] = (),
    corrections: Sequence[tuple[int, int]] = (),
) -> Floats:
    """The weights of the noises of all answers in a weighted sum of estimates.

    They solve v R = w, from the last period to the first one. A corrected sum has an answer of its
    own, and answers before the correction are about the sum that it corrects.
    """
    if not gone and not corrections:
        return np.convolve(weights[::-1], _inverse(len(weights)))[: len(weights)]
    column, left = np.array(coefficients(), np.float64) / UNIT, weights.copy()
    since, corrected = np.full(len(weights), len(weights)), list[float]()
    for period, start in gone:
        since[period] = start
    for period in range(len(weights) - 1, -1, -1):
        for count, number in reversed(corrections):
            if count == period + 1:
                corrected.append(float(left[number]))
                left[number] = 0
        if left[period]:
            first = max(0, period - KEPT + 1)
            used = column[period - first : 0 : -1] * (since[first:period] > period)
            left[first:period] -= left[period] * used
    return np.array([*left, *corrected])


@lru_cache(maxsize=64)
def _inverse(periods: int) -> Floats:
    """The first column of the inverse of the root, for this number of periods."""
    column, found = np.array(coefficients()[:periods], np.float64) / UNIT, np.zeros(periods)
    found[0] = 1
    for period in range(1, periods):
        first = max(0, period - KEPT + 1)
        found[period] = -(column[period - first : 0 : -1] @ found[first:period])
    return found


@dataclass(frozen=True, kw_only=True)
class BlocksSeries(SeriesDesign):
    """Sums of each period, and of each block of periods, with Laplace noise.

    When a block ends, least squares moves the estimates of its periods toward its sum.
    """

    @classmethod
    def of(
        cls, inputs: Inputs, role: str, sums: Query, step: Fraction, shown: tuple[Shown, ...]
    ) -> BlocksSeries:
        """The design for these numbers of a period."""
        query = BlocksQuery.about(sums)
        reason = (
            f"periods, and blocks of {BLOCK} periods, have half of the loss each; totals to date "
            "are sums of blocks and of the periods after the last block"
        )
        part = WeightedQuery(role, query, step=step)
        return cls(inputs, (part,), ("l1",), reason=reason, query=query, shown=shown)

    def can_correct(self, past: Past) -> bool:
        return super().can_correct(past) and past.own < past.state.count % BLOCK

    @property
    def _of_several_days(self) -> str:
        return "rows of one person on several days have the sum of their epsilons"

    def _own(self, answer: Array, past: Past) -> Array:
        return multiply_exact(np.split(answer, 2)[0], UNITS)

    def _moved(self, answer: Array, past: Past, own: Array) -> tuple[Array | None, set[int]]:
        if past.corrects is not None or not ends_block(past.state.count):
            return None, set()
        earlier = dict(enumerate(past.estimates[: BLOCK - 1], 1))
        known = {at: one for at, one in {0: own, **earlier}.items() if one is not None}
        block = multiply_exact(np.split(answer, 2)[1], UNITS)
        # The sum of n numbers and their total have variances n and 1: each moves by a part.
        gap = add_exact(block, -reduce(add_exact, known.values())).astype(object)
        size = len(known) + 1
        moves = integer_array((2 * gap + size) // (2 * size))
        return moves, {past.state.count - at for at in known}

    def _moments(self, weights: Floats, noise: Noise, past: Past) -> tuple[float, float]:
        variance, fourth, since = 0.0, 0.0, dict(past.gone)
        for first in range(0, len(weights), BLOCK):
            own = weights[first : first + BLOCK]
            noises = [own]
            if len(own) == BLOCK:
                end = first + BLOCK - 1
                inside = np.array([since.get(first + at, end + 1) > end for at in range(BLOCK)])
                moved = float(own[inside].sum()) / (inside.sum() + 1)
                noises = [own - moved * inside, np.array([moved])]
            each = np.concatenate(noises)
            variance += float((each**2).sum())
            fourth += float((each**4).sum())
        return (
            # Of a block, each estimate is rounded, and moved by a rounded number.
            variance * noise.discrete_variance + BLOCK * float(weights @ weights) / (12 * UNITS**2),
            fourth * noise.fourth_cumulant(1.0),
        )
