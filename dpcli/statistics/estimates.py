"""Published numbers, and intervals within what is possible, as exact arrays.

Limits of what is possible come from the spec alone, such as the bounds of a mean. Noisy numbers are
never among them: an interval that was cut by another noisy number would hold less often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, gcd
from typing import Any

from dpcli.noise.distribution import Margin
from dpcli.numeric.arrays import (
    Array,
    Bools,
    add_exact,
    clip_exact,
    integer_array,
    multiply_exact,
    np,
)
from dpcli.numeric.exact import decimal_places, in_units_of_last_place
from dpcli.problems.light_dataclasses import dataclass

# The status of a published number.
HAS_INTERVAL = 0
"""The number has an interval."""
NO_INTERVAL = 1
"""No interval is given, because no correct one is known for this statistic."""
UNBOUNDED = 2
"""No interval is given: the noisy answers leave every noise-free value possible."""
SUPPRESSED = 3
"""The number is not shown."""
IMPRECISE = 4
"""No interval is given, and the stated error is large for the group's noisy size."""

SIGNED_PART = Fraction(1, 5)
"""The least size of a number that can be negative, as a share of its range.

Half-widths are compared with sizes.
"""

Limits = tuple[Fraction | None, Fraction | None]
"""The least and greatest value that a number can have; None without a limit."""

ANY: Limits = (None, None)

NONNEGATIVE: Limits = (Fraction(0), None)

Steps = tuple[int | None, int | None]
"""Limits in whole steps."""

POINTS = ("value", "lower", "upper", "raw")
"""The fields of `Estimates` that hold numbers, in whole steps."""

NUMBER_ARRAYS = (*POINTS, "sizes", "uncut")
"""The fields of `Estimates` that hold whole numbers of steps."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """One published number, with its interval and its `raw` value if there are any."""

    value: Fraction | None
    lower: Fraction | None
    upper: Fraction | None
    decimals: int
    raw: Fraction | None = None
    item: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """The published numbers of an entry, group by group and item by item.

    All arrays have the shape (groups x items,). `value`, `lower`, `upper` and `raw` hold whole
    numbers of `step`, as int64 or Python integers.

    Attributes:
        decimals: The number of decimals to print, for each item or for all. The arrays may hold
            more decimals than that.
        status: Which numbers have an interval from `lower` to `upper`, and which are shown; int8.
        raw: The values before they were clamped into their range.
        items: The chosen categories.
        before: The noisy numbers that decided these ones, with intervals of their own.
        are_ranks: Whether the numbers are ranks, which have no standard error.
        sizes: The sizes with which half-widths are compared, if not the absolute values.
        limits: The noise-free values that the spec alone makes possible, for each item or for all.
        date_range: The days between the bounds of a column of dates. The numbers are then days
            since 1970-01-01, and published as dates. None for other numbers.
        uncut: The widths of the intervals before they were cut; None if none was.
        rows: Noisy numbers of rows, of each group or behind each number, if there are steps.
        variances: The variance of the noise in a number, before steps of `post`, for each item or
            for all; None if it depends on the answers, or no formula is known.
    """

    step: Fraction
    decimals: tuple[int, ...]
    value: Array
    lower: Array
    upper: Array
    status: Array
    raw: Array | None = None
    items: Array | None = None
    before: Estimates | None = None
    are_ranks: bool = False
    sizes: Array | None = None
    limits: tuple[Limits, ...] = (ANY,)
    date_range: int | None = None
    uncut: Array | None = None
    rows: Array | None = None
    variances: tuple[float | None, ...] = (None,)

    @classmethod
    def around(
        cls,
        values: Array,
        margins: Margin | Sequence[Margin],
        unit: Fraction,
        decimals: Sequence[int] = (),
    ) -> Estimates:
        """Estimates of noisy `values` with the `margins` of all or of each item.

        All are in steps of `unit`. Without `decimals`, numbers have those of the unit.
        """
        items = (margins,) if isinstance(margins, Margin) else margins
        each, square = [margin.width for margin in items], float(unit) ** 2
        widths = each[0] if len(each) == 1 else np.resize(integer_array(each), len(values))
        variances = tuple(part.variance and part.variance * square for part in items)
        status = np.full(len(values), HAS_INTERVAL, np.int8)
        lower, upper = add_exact(values, -widths), add_exact(values, widths)
        printed = tuple(decimals) or (decimal_places(unit),)
        return cls(unit, printed, values, lower, upper, status, variances=variances)

    @classmethod
    def chosen(
        cls, values: Array, unit: Fraction = Fraction(1), items: Array | None = None
    ) -> Estimates:
        """Chosen candidates, which have no interval."""
        status = np.full(len(values), NO_INTERVAL, np.int8)
        decimals = (decimal_places(unit),)
        return cls(unit, decimals, values, values, values, status, items=items)

    @classmethod
    def single(
        cls, numbers: Sequence[tuple[Fraction, Fraction]], decimals: Sequence[int]
    ) -> Estimates:
        """A few numbers, each with the half-width of its interval."""
        step = common_step(*(part for number in numbers for part in number))
        values = integer_array([int(value / step) for value, _ in numbers])
        margins = [Margin(int(width / step)) for _, width in numbers]
        return cls.around(values, margins, step, decimals)

    @classmethod
    def interleaved(cls, items: Sequence[Estimates]) -> Estimates:
        """Several items with the same step, in the order of groups, then items."""
        if any(item.uncut is not None for item in items):
            items = [replace(item, uncut=item.widths) for item in items]
        arrays: dict[str, Any] = {
            name: np.stack([getattr(item, name) for item in items], axis=1).ravel()
            for name in (*NUMBER_ARRAYS, "status")
            if getattr(items[0], name) is not None
        }
        by_item: dict[str, Any] = {
            name: tuple(getattr(item, name)[0] for item in items)
            for name in ("decimals", "limits", "variances")
        }
        return replace(items[0], **by_item, **arrays)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator[Estimate]:
        """The numbers one by one; for short arrays only."""
        for at, status in enumerate(self.status):
            value, lower, upper = (
                int(numbers[at]) * self.step for numbers in (self.value, self.lower, self.upper)
            )
            raw = self.value if self.raw is None else self.raw
            moved = None if raw[at] == self.value[at] else int(raw[at]) * self.step
            yield Estimate(
                None if status == SUPPRESSED else value,
                lower if status == HAS_INTERVAL else None,
                upper if status == HAS_INTERVAL else None,
                self.decimals[at % len(self.decimals)],
                moved,
                None if self.items is None else self.items[at],
            )

    def refined(self, *numbers: Fraction | None) -> Estimates:
        """The estimates with a smaller step, which divides this step and all `numbers`."""
        step = common_step(self.step, *(number for number in numbers if number is not None))
        factor = int(self.step / step)
        if factor == 1:
            return self
        return replace(self.map_numbers(lambda numbers: multiply_exact(numbers, factor)), step=step)

    def with_values(self, values: Array, step: Fraction) -> Estimates:
        """The estimates with other values, in this step, and the same intervals.

        They are printed with all decimals of the step, because values that add up must be exact.
        """
        fine, least = self.refined(step), decimal_places(step)
        decimals = tuple(max(least, own) for own in self.decimals)
        return replace(fine, value=multiply_exact(values, int(step / fine.step)), decimals=decimals)

    def shifted(self, by: Fraction) -> Estimates:
        """The estimates with `by` added to every number."""
        fine = self.refined(by)
        steps = int(by / fine.step)
        limits = (
            (None if low is None else low + by, None if high is None else high + by)
            for low, high in self.limits
        )
        return replace(
            fine.map_numbers(lambda numbers: add_exact(numbers, steps), POINTS),
            limits=tuple(limits),
        )

    def map_numbers(
        self, change: Callable[[Array], Array], names: Sequence[str] = NUMBER_ARRAYS
    ) -> Estimates:
        """The estimates with `change` applied to these arrays of whole numbers."""
        arrays = {name: getattr(self, name) for name in names}
        changed: dict[str, Any] = {
            name: change(numbers) for name, numbers in arrays.items() if numbers is not None
        }
        return replace(self, **changed)

    def in_order_of(self, quantiles: Sequence[Fraction]) -> Estimates:
        """The estimates with the values of each group in the order of their quantiles."""
        if len(quantiles) < 2:
            return self
        values = self.value.reshape(-1, len(quantiles))
        order = sorted(range(len(quantiles)), key=lambda index: quantiles[index])
        ordered = np.empty_like(values)
        ordered[:, order] = np.sort(values, axis=1)
        return replace(self, value=ordered.ravel())

    def rounded(self, numbers: Array) -> list[Array]:
        """Whole numbers of `step` in units of the last printed decimal.

        There is one array for each of `decimals`.
        """
        count = len(self.decimals)
        return [
            in_units_of_last_place(numbers[at::count], self.step, decimals)
            for at, decimals in enumerate(self.decimals)
        ]

    def within(self, limits: Sequence[Limits]) -> Estimates:
        """The estimates with intervals cut to these limits of possible values.

        There are limits for each item, or one for all. `cut_intervals` has the rule, also for
        intervals that lie outside the limits. An interval still contains its value, though noise
        led beyond a limit.
        """
        if all(ends == ANY for ends in limits):
            return self.around_values()
        count = max(len(limits), len(self.limits))
        combined = tuple(
            intersection(self.limits[item % len(self.limits)], limits[item % len(limits)])
            for item in range(count)
        )
        fine = self.refined(*(end for ends in combined for end in ends))
        columns = []
        for item, ends in enumerate(combined):
            numbers, decimals = slice(item, None, count), self.decimals[item % len(self.decimals)]
            unit = max(int(Fraction(1, 10**decimals) / fine.step), 1)
            steps = fine._in_steps(ends)  # noqa: SLF001 - of the same class
            columns.append(cut_intervals(fine.lower[numbers], fine.upper[numbers], steps, unit))
        lower, upper = (np.stack(ends, axis=1).ravel() for ends in zip(*columns, strict=True))
        has_interval = self.status == HAS_INTERVAL
        return replace(
            fine,
            lower=np.where(has_interval, lower, fine.lower),
            upper=np.where(has_interval, upper, fine.upper),
            limits=combined,
            uncut=fine.widths,
        ).around_values()

    def around_values(self) -> Estimates:
        """The estimates with each interval widened to contain its value."""
        lower, upper = np.minimum(self.lower, self.value), np.maximum(self.upper, self.value)
        return replace(self, lower=lower, upper=upper)

    @property
    def widths(self) -> Array:
        """The widths of the intervals, before they were cut to what is possible."""
        return add_exact(self.upper, -self.lower) if self.uncut is None else self.uncut

    def _in_steps(self, ends: Limits) -> Steps:
        low, high = (None if end is None else int(end / self.step) for end in ends)
        return low, high

    @property
    def covers_all(self) -> Bools:
        """Whether each interval contains all possible values, and so has no information."""
        covers = np.zeros(len(self), np.bool_)
        count = len(self.limits)
        for item, ends in enumerate(self.limits):
            low, high = self._in_steps(ends)
            if low is not None and high is not None:
                numbers = slice(item, None, count)
                covers[numbers] = (self.lower[numbers] <= low) & (self.upper[numbers] >= high)
        return covers

    @property
    def at_limits(self) -> Bools:
        """Whether each value, as printed, is a limit of what is possible, or beyond it.

        It may have been moved there, with its interval.
        """
        return self._beyond(1)

    def _beyond(self, digits: int) -> Bools:
        """Whether less than `digits` of the last place are between a value and a limit."""
        beyond, count = np.zeros(len(self), np.bool_), len(self.limits)
        for item, (low, high) in enumerate(map(self._in_steps, self.limits)):
            own = slice(item, None, count)
            last = Fraction(1, 10 ** self.decimals[item % len(self.decimals)])
            value, room = self.value[own], ceil(digits * last / self.step)
            if low is not None:
                beyond[own] |= value < low + room
            if high is not None:
                beyond[own] |= value > high - room
        return beyond

    def wider_than(self, share: Fraction) -> Bools:
        """Whether the half-width of each interval exceeds a share of the number's size.

        The size is the absolute value. If a number can be negative or is a date, its size is at
        least `SIGNED_PART` of the range of possible values, if this range has both limits. Numbers
        and intervals are rounded as printed. At a limit of what is possible, the half-width is that
        before the interval was cut. The result is also true for an interval that is unbounded, and
        for a number that is not possible.
        """
        wider = np.empty(len(self), np.bool_)
        sizes = abs(self.value) if self.sizes is None else self.sizes
        columns = map(self.rounded, (self.lower, self.upper, self.widths, sizes))
        count, at_limits = len(self.decimals), self.at_limits
        for at, (lower, upper, uncut, own) in enumerate(zip(*columns, strict=True)):
            # Days since 1970 are no size.
            size = own if self.date_range is None else np.zeros(len(own), np.int64)
            width = self._signed_width(self.limits[at % len(self.limits)])
            min_size = 0 if width is None else int(width * SIGNED_PART * 10 ** self.decimals[at])
            allowed = multiply_exact(np.maximum(size, min_size), 2 * share.numerator)
            whole = np.where(at_limits[at::count], np.maximum(upper - lower, uncut), upper - lower)
            wider[at::count] = multiply_exact(whole, share.denominator) > allowed
        wider |= self._beyond(0)
        result: Bools = (wider & (self.status == HAS_INTERVAL)) | (self.status == UNBOUNDED)
        return result

    def _signed_width(self, ends: Limits) -> Fraction | None:
        """The width of the possible range, for dates and numbers that can be negative.

        None for other numbers, and if the range lacks a limit.
        """
        low, high = ends
        if self.date_range is not None:
            return Fraction(self.date_range)
        if low is None or high is None or not low < 0 < high:
            return None
        return high - low

    def suppressed(self, where: Bools) -> Estimates:
        """The estimates with the status `SUPPRESSED` for some numbers."""
        return replace(self, status=np.where(where, SUPPRESSED, self.status))

    @property
    def before_postprocessing(self) -> Estimates:
        """The noisy numbers before they were clamped, put in order or processed."""
        if self.before is not None:
            return self.before
        return self if self.raw is None else replace(self, value=self.raw).around_values()


def common_step(*numbers: Fraction) -> Fraction:
    """The greatest number that divides all of `numbers`; one if all are zero."""
    step = Fraction(0)
    for number in numbers:
        above = gcd(step.numerator * number.denominator, number.numerator * step.denominator)
        step = Fraction(above, step.denominator * number.denominator)
    return step or Fraction(1)


def intersection(ends: Limits, more: Limits) -> Limits:
    """The limits of the values within both limits; `more` if no value is within both."""
    low, high = (
        first if second is None else second if first is None else stricter(first, second)
        for first, second, stricter in zip(ends, more, (max, min), strict=True)
    )
    return more if low is not None and high is not None and low > high else (low, high)


def cut_intervals(lower: Array, upper: Array, limits: Steps, unit: int) -> tuple[Array, Array]:
    """The ends of intervals, cut to the limits of possible values, in whole steps.

    `unit` is the last printed digit. If an interval was at least a unit wide, and less than a unit
    of it is left, it is replaced: the new interval begins at the nearest possible value, and has
    half the width, again within the limits.

    Cutting does not change which possible values an interval contains. Replacing can only raise
    the coverage. If Laplace noise led beyond a limit, and all possible values were equally likely
    before, the new interval has the stated confidence by the rule of Bayes: the distance from the
    limit then has the distribution of the absolute noise.

    >>> cut_intervals(np.array([-9, -90]), np.array([5, -10]), (0, None), 1)
    (array([0, 0]), array([ 5, 40]))
    """
    low, high = limits
    left, right = clip_exact(lower, low, high), clip_exact(upper, low, high)
    is_lost = (right - left < unit) & (upper - lower >= unit)
    if not is_lost.any():
        return left, right
    half = (upper - lower + 1) // 2
    nearest = left if low is None else np.where(right < low + unit, low, left)
    below, above = (
        clip_exact(add_exact(nearest, distance), low, high) for distance in (-half, half)
    )
    return np.where(is_lost, below, left), np.where(is_lost, above, right)
