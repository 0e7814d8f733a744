"""Steps that are taken with noisy answers, in order, and flags of the results.

Whatever is made of noisy answers alone is as private as they are (Dwork and Roth 2014,
proposition 2.1). It may be biased: a count that is never negative is too large on average.
A flag is a function of published digits and of public knowledge, so a reader of the table can
recompute it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from fractions import Fraction
from math import ceil, floor
from typing import ClassVar

from dpcli.privacy.decimals import readable_text, rounded
from dpcli.statistics.base import Estimate, clamped

Estimates = tuple[Estimate, ...]

Agree = Callable[[Estimates], Estimates]
"""How a statistic makes its numbers agree with each other."""


@dataclass(frozen=True)
class Step:
    """One step of `post`, made of as many `numbers` as the spec gives for it.

    It changes each published number by itself, or all of them together. `words` say what it does,
    with places for its numbers.
    """

    name: ClassVar[str]
    numbers: ClassVar[int] = 0
    words: ClassVar[str]

    @property
    def summary(self) -> str:
        """What the step does, in a few words."""
        own = (getattr(self, field.name) for field in fields(self))
        return self.words.format(*("..." if one is None else readable_text(one) for one in own))

    def one(self, estimate: Estimate) -> Estimate:
        """A number after the step."""
        return estimate

    def taken(self, estimates: Estimates, agree: Agree) -> Estimates:
        """The numbers after the step."""
        return tuple(map(self.one, estimates))


@dataclass(frozen=True)
class Clamp(Step):
    """Moves numbers and their intervals into a range that the exact numbers cannot leave.

    `post: [{clamp: [0, 100]}]`. Numbers near the ends become biased inwards.
    """

    name = "clamp"
    numbers = 2
    words = "clamped to [{}, {}]"
    low: Fraction | None
    high: Fraction | None

    def one(self, estimate: Estimate) -> Estimate:
        """The nearest number within the range, which the spec says that truth cannot leave."""
        numbers = (estimate.value, estimate.lower, estimate.upper, *estimate.within)
        value, lower, upper, least, most = (
            None if number is None else clamped(number, (self.low, self.high)) for number in numbers
        )
        least, most = self.low if least is None else least, self.high if most is None else most
        return replace(estimate, value=value, lower=lower, upper=upper, within=(least, most))


@dataclass(frozen=True)
class Nonnegative(Clamp):
    """Replaces negative numbers by zero. Totals of small numbers become too large.

    `post: [nonnegative]`.
    """

    name = "nonnegative"
    numbers = 0
    words = "negative numbers replaced by zero"
    low: Fraction | None = Fraction(0)
    high: Fraction | None = None


@dataclass(frozen=True)
class Integer(Step):
    """Rounds numbers to whole numbers, halves away from zero; intervals grow outwards.

    `post: [integer]`.
    """

    name = "integer"
    words = "rounded to whole numbers"

    def one(self, estimate: Estimate) -> Estimate:
        """The nearest whole number."""
        value, lower, upper = estimate.value, estimate.lower, estimate.upper
        return replace(
            estimate,
            value=None if value is None else rounded(value, 0),
            lower=None if lower is None else Fraction(floor(lower)),
            upper=None if upper is None else Fraction(ceil(upper)),
            places=0,
        )


@dataclass(frozen=True)
class SuppressBelow(Step):
    """Leaves out numbers below a threshold, by the noisy number, never by the exact one.

    `post: [{suppress_below: 10}]`. Near the threshold, the numbers that are left are too
    large on average.
    """

    name = "suppress_below"
    numbers = 1
    words = "noisy numbers below {} left out"
    threshold: Fraction

    def one(self, estimate: Estimate) -> Estimate:
        """The number if it reaches the threshold."""
        reached = estimate.value is not None and estimate.value >= self.threshold
        return estimate if reached else _left_out(estimate)


def _left_out(estimate: Estimate) -> Estimate:
    return replace(estimate, value=None, lower=None, upper=None)


@dataclass(frozen=True)
class Withhold(Step):
    """Leaves out numbers whose interval is wide in proportion to them; the last step of all.

    `withhold: {wider_than: 0.5}`: half the width of the interval is more than half of the
    value. By noisy numbers alone, and for their quality, not for privacy.
    """

    name = "withhold"
    words = "left out where half the width of the interval is more than {} of the value"
    share: Fraction

    def one(self, estimate: Estimate) -> Estimate:
        """The number if it is precise enough."""
        return _left_out(estimate) if wider_than(estimate, self.share) else estimate


@dataclass(frozen=True)
class Consistent(Step):
    """Makes the numbers of one entry agree: totals of `marginals`, the order of `quantile`s.

    `post: [consistent]`. `dpcli explain marginals` and `dpcli explain quantile` say how.
    """

    name = "consistent"
    words = "made to agree with each other"

    def taken(self, estimates: Estimates, agree: Agree) -> Estimates:
        """The numbers as the statistic makes them agree."""
        return agree(estimates)


STEPS: tuple[type[Step], ...] = (Nonnegative, Integer, Clamp, SuppressBelow, Consistent)
"""Every step that a spec may name."""


def after(steps: Sequence[Step], estimates: Estimates, agree: Agree) -> Estimates:
    """The numbers after all steps, in their order."""
    for step in steps:
        estimates = step.taken(estimates, agree)
    return estimates


def bare(estimates: Estimates) -> Estimates:
    """What noise made of each number, before anything else was done to it."""
    return tuple(
        # The interval was brought into the range as well, and holds no number outside it.
        one if one.raw is None else replace(one, value=one.raw, raw=None, lower=None, upper=None)
        for one in estimates
    )


UNRELIABLE = Fraction(1, 2)
"""Half-width, as a share of the value, above which a number is flagged.

Half the width of a 95% interval is about twice the standard error, so this is a coefficient of
variation of about 25%. The Australian Bureau of Statistics marks estimates from 25% on "to be used
with caution" (catalogue 6239.0, technical note 1); Statistics Canada does so from 16.6% to 33.3%,
and suppresses estimates above (release guidelines of the Canadian Community Health Survey).
"""


class Flag(StrEnum):
    """What a reader must know of a number."""

    NONE = ""
    UNRELIABLE = "unreliable"
    NO_INFORMATION = "no-information"
    SUPPRESSED = "suppressed"


def flag_of(estimate: Estimate) -> Flag:
    """The flag of a number as it is printed.

    A number without an interval has none, unless that is because nothing bounds its
    noise-free value; choices among candidates never have one.
    """
    if estimate.value is None:
        return Flag.SUPPRESSED
    if estimate.boundless:
        return Flag.NO_INFORMATION
    if estimate.lower is None or estimate.upper is None or estimate.lower == estimate.upper:
        return Flag.NONE
    low, high = estimate.within
    if low is not None and high is not None and estimate.lower <= low and estimate.upper >= high:
        return Flag.NO_INFORMATION
    return Flag.UNRELIABLE if wider_than(estimate, UNRELIABLE) else Flag.NONE


def wider_than(estimate: Estimate, share: Fraction) -> bool:
    """Whether half the width of the interval is more than a share of the value's size.

    Both are taken as they are printed. An interval that knows no bound is wider than any share.
    """
    if estimate.boundless:
        return True
    if estimate.value is None or estimate.lower is None or estimate.upper is None:
        return False
    value, lower, upper = (
        rounded(number, estimate.places)
        for number in (estimate.value, estimate.lower, estimate.upper)
    )
    return upper - lower > 2 * share * abs(value)
