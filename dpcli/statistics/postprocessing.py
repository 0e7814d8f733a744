"""Post-processing: the steps of `post`, and the flags of published numbers.

A function of noisy answers alone is as private as they are (Dwork and Roth 2014, proposition 2.1).
It may be biased: a count that is never negative is too large on average. A flag is a function of
published digits and public knowledge, so a reader of the table can recompute it; that of a choice
is a function of the noisy number of its rows, which is charged for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from enum import StrEnum
from fractions import Fraction
from math import ceil
from typing import ClassVar

from dpcli.numeric.arrays import Array, clip_exact, multiply_exact, np, widened
from dpcli.numeric.exact import in_units_of_last_place, readable_text
from dpcli.problems.light_dataclasses import dataclass
from dpcli.statistics.estimates import (
    HAS_INTERVAL,
    IMPRECISE,
    SUPPRESSED,
    UNBOUNDED,
    Estimates,
    intersection,
)

Reconcile = Callable[[Estimates, "Consistent"], Estimates]
"""Makes the numbers of an entry agree, as a step says (`Design.make_consistent`)."""


@dataclass(frozen=True)
class PostProcessingStep(ABC):
    """One step of `post`. The spec gives `parameters` numbers for it.

    `description` is a format string with a place for each parameter. Unless a step is `unbiased`,
    errors of the numbers after it may add up to one side. One that `needs_rows` is for answers
    that count the rows of each group.
    """

    name: ClassVar[str]
    parameters: ClassVar[int] = 0
    fits_joint_table: ClassVar[bool] = False
    description: ClassVar[str]
    unbiased: ClassVar[bool] = False
    needs_rows: ClassVar[bool] = False

    @property
    def summary(self) -> str:
        """What the step does, in a few words."""
        values = (getattr(self, field.name) for field in fields(self))
        return self.description.format(
            *("..." if value is None else readable_text(value) for value in values)
        )

    def of_groups(self) -> PostProcessingStep:
        """The step for numbers that are no counts."""
        return self

    @abstractmethod
    def apply(self, estimates: Estimates, reconcile: Reconcile) -> Estimates:
        """The numbers after the step; only `consistent` calls `reconcile`."""


@dataclass(frozen=True)
class Clamp(PostProcessingStep):
    """Clamps numbers and their intervals to a range that the exact numbers cannot leave.

    `post: [{clamp: [0, 100]}]`. Numbers near the ends become biased inwards. If exact numbers can
    lie beyond, the interval contains them clamped in the same way, and may be a single number.
    """

    name = "clamp"
    parameters = 2
    description = "clamped to [{}, {}], as are the ends of the interval"
    low: Fraction | None
    high: Fraction | None

    def apply(self, estimates: Estimates, reconcile: Reconcile) -> Estimates:
        fine = estimates.refined(self.low, self.high)
        low, high = (None if end is None else int(end / fine.step) for end in (self.low, self.high))
        value, lower, upper = (
            clip_exact(numbers, low, high) for numbers in (fine.value, fine.lower, fine.upper)
        )
        limits = tuple(intersection(ends, (self.low, self.high)) for ends in fine.limits)
        return replace(
            fine, value=value, lower=lower, upper=upper, limits=limits, uncut=fine.widths
        )


@dataclass(frozen=True)
class Nonnegative(Clamp):
    """Replaces negative numbers by zero. Totals of small numbers become too large.

    `post: [nonnegative]`.
    """

    name = "nonnegative"
    parameters = 0
    description = "negative numbers replaced by zero"
    low: Fraction | None = Fraction(0)
    high: Fraction | None = None


@dataclass(frozen=True)
class Integer(PostProcessingStep):
    """Rounds to whole numbers, halves away from zero; ends of intervals are rounded outwards.

    `post: [integer]`.
    """

    name = "integer"
    description = "rounded to whole numbers"

    def apply(self, estimates: Estimates, reconcile: Reconcile) -> Estimates:
        fine = estimates.refined(Fraction(1))
        unit = int(1 / fine.step)
        value = in_units_of_last_place(fine.value, fine.step, 0)
        lower, upper = (widened(numbers, unit) for numbers in (fine.lower, fine.upper))
        ends = lower // unit, -(-upper // unit)
        value, lower, upper = (multiply_exact(numbers, unit) for numbers in (value, *ends))
        return replace(fine, value=value, lower=lower, upper=upper, decimals=(0,))


@dataclass(frozen=True)
class SuppressBelow(PostProcessingStep):
    """Leaves out numbers where a noisy count of rows is below a threshold.

    `post: [{suppress_below: 10}]`. Of counts, the noisy number itself is compared; of means, totals
    and all others, the noisy number of rows in their group, which is part of their answers. Pairs
    of a `comparison` are shown where both groups have as many. The exact numbers play no part. Near
    the threshold, counts that are left are too large on average.
    """

    name = "suppress_below"
    parameters = 1
    description = "noisy numbers below {} left out"
    threshold: Fraction

    def apply(self, estimates: Estimates, reconcile: Reconcile) -> Estimates:
        return estimates.suppressed(estimates.value < ceil(self.threshold / estimates.step))

    def of_groups(self) -> PostProcessingStep:
        return SuppressSmallGroups(self.threshold)


@dataclass(frozen=True)
class SuppressSmallGroups(SuppressBelow):
    """Leaves out numbers of groups with fewer rows, by their noisy number of rows.

    That number is part of the answers of the statistic, and costs no more.
    """

    needs_rows = True
    description = "left out where a group has fewer than {} rows, by its noisy number of rows"

    def apply(self, estimates: Estimates, reconcile: Reconcile) -> Estimates:
        if estimates.rows is None:
            raise TypeError("no answer counts the rows of a group")
        rows = estimates.rows.repeat(len(estimates) // max(len(estimates.rows), 1))
        return estimates.suppressed(rows < ceil(self.threshold))


@dataclass(frozen=True)
class SuppressWide(PostProcessingStep):
    """Leaves out numbers whose interval is wide for the value; always the last step.

    `withhold: {wider_than: 0.5}` leaves out numbers whose interval has a half-width of more
    than half of the value. It uses noisy numbers alone, and serves quality, not privacy.
    """

    name = "withhold"
    description = "left out where half the width of the interval is more than {} of the value"
    share: Fraction

    def apply(self, estimates: Estimates, reconcile: Reconcile) -> Estimates:
        return estimates.suppressed(estimates.wider_than(self.share))


@dataclass(frozen=True)
class Consistent(PostProcessingStep):
    """Makes the numbers of one entry agree: totals of `marginals`, the order of `quantile`s.

    `post: [consistent]`. `dpcli explain marginals` and `dpcli explain quantile` describe it.
    """

    name = "consistent"
    description = "made to agree with each other"
    unbiased = True
    made_of: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """Names of steps that together are this one, where numbers are those of tables."""
    units: ClassVar[int | None] = None
    """Numbers add up in whole numbers of 1/`units`; None for linear numbers."""
    nonnegative: ClassVar[bool] = False

    def apply(self, estimates: Estimates, reconcile: Reconcile) -> Estimates:
        return reconcile(estimates, self)


@dataclass(frozen=True)
class ConsistentIntegers(Consistent):
    """Rounds tables that agree to whole numbers, which agree too and may be negative."""

    name = "consistent-integer"
    description = "rounded to whole numbers that agree with each other"
    unbiased = False
    made_of = (("consistent", "integer"),)
    units = 1

    def apply(self, estimates: Estimates, reconcile: Reconcile) -> Estimates:
        return Integer().apply(reconcile(estimates, self), reconcile)


@dataclass(frozen=True)
class ConsistentNonnegative(Consistent):
    """Takes the non-negative tables that fit best, with an unbiased total.

    Intervals are those of linear numbers, without what is below zero.
    """

    name = "consistent-nonnegative"
    description = "made to agree with each other, without negative numbers and with unbiased totals"
    unbiased = False
    made_of: ClassVar[tuple[tuple[str, ...], ...]] = (("consistent", "nonnegative"),)
    units = 100
    nonnegative = True
    fits_joint_table = True

    def apply(self, estimates: Estimates, reconcile: Reconcile) -> Estimates:
        return Nonnegative().apply(reconcile(estimates, self), reconcile)


@dataclass(frozen=True)
class Whole(ConsistentNonnegative):
    """Makes tables for people: whole, not negative, and with totals that add up.

    `post: [whole]`. The tables fit the noisy answers best, with an unbiased total. The linear
    numbers, which are unbiased, are published as NAME.raw: sums and comparisons use these. Most
    cells that are empty become zero. What they had is taken from other cells, the less the larger
    they are. So if nine of ten are empty, a large number is too small by about half a standard
    deviation of its noise, and by up to two where it is the sum of cells as small as their noise.
    """

    name = "whole"
    description = (
        "made whole and not negative, and to add up; numbers are mostly within two of the linear "
        "ones where none is near zero; where most cells are empty, large numbers are too small by "
        "half a standard deviation of their noise to one, or to two if their cells are small"
    )
    made_of = (("consistent", "nonnegative", "integer"), ("consistent", "integer", "nonnegative"))
    units = 1

    def apply(self, estimates: Estimates, reconcile: Reconcile) -> Estimates:
        return Integer().apply(super().apply(estimates, reconcile), reconcile)


COMBINED: tuple[type[Consistent], ...] = (ConsistentIntegers, ConsistentNonnegative, Whole)
"""Steps that stand for several, where these would break agreement one by one."""


LINEAR = Consistent()
"""The step that makes linear, unbiased numbers agree."""


def raw_agrees(steps: Sequence[PostProcessingStep]) -> bool:
    """Whether the numbers that are called raw are linear ones that agree."""
    return any(isinstance(step, COMBINED) for step in steps)


def combined(steps: Sequence[PostProcessingStep]) -> tuple[PostProcessingStep, ...]:
    """The steps, with one in place of the first ones that mean the same."""
    names, found = tuple(step.name for step in steps), tuple(steps)
    for step in COMBINED:
        for parts in step.made_of:
            if names[: len(parts)] == parts:
                found = (step(), *steps[len(parts) :])
    return found


STEPS: tuple[type[PostProcessingStep], ...] = (
    Nonnegative,
    Integer,
    Clamp,
    SuppressBelow,
    Consistent,
    Whole,
)
"""Every step that a spec may name."""


def apply_steps(
    steps: Sequence[PostProcessingStep], estimates: Estimates, reconcile: Reconcile
) -> Estimates:
    """The numbers after all steps, applied in their order; intervals contain them."""
    for step in steps:
        estimates = step.apply(estimates, reconcile).around_values()
    return estimates


UNRELIABLE = Fraction(1, 2)
"""A number is flagged if its half-width exceeds this share of the value.

Half the width of a 95% interval is about twice the standard error, so this is a coefficient of
variation of about 25%. The Australian Bureau of Statistics marks estimates from 25% on "to be used
with caution" (catalogue 6239.0, technical note 1); Statistics Canada does so from 16.6% to 33.3%,
and suppresses estimates above (release guidelines of the Canadian Community Health Survey).
"""


IMPRECISE_SHARE = Fraction(1, 4)
"""A choice is flagged if its error may exceed this share of its group's rows."""


class Flag(StrEnum):
    """What a reader must know of the noise in a number: the first that applies."""

    NONE = ""
    SUPPRESSED = "suppressed"
    NO_INFORMATION = "no-information"
    UNRELIABLE = "unreliable"


FLAGS = tuple(Flag)


def flags(estimates: Estimates) -> Array:
    """The flag of each number as printed: its index in `FLAGS`, an array of int64.

    The first condition that holds decides. Suppressed: the status says so. No information: nothing
    bounds the noise-free value, or the interval has all possible values. Unreliable: the interval
    is wide, or the error is known to be large. Of choices without an interval, the noisy size of
    their group decides.
    """
    status = estimates.status
    noisy = (status == HAS_INTERVAL) & (estimates.lower != estimates.upper)
    conditions = {
        Flag.SUPPRESSED: status == SUPPRESSED,
        Flag.NO_INFORMATION: (status == UNBOUNDED) | (noisy & estimates.covers_all),
        Flag.UNRELIABLE: (noisy & estimates.wider_than(UNRELIABLE)) | (status == IMPRECISE),
    }
    indices = [FLAGS.index(flag) for flag in conditions]
    flagged: Array = np.select(list(conditions.values()), indices, 0)
    return flagged
