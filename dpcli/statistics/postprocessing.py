"""Steps that are taken with noisy answers, in order, and flags of the results.

Whatever is made of noisy answers alone is as private as they are (Dwork and Roth 2014,
proposition 2.1). It may be biased: a count that is never negative is too large on average.
A flag is a function of published digits and of public knowledge, so a reader of the table can
recompute it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from fractions import Fraction
from math import ceil
from typing import ClassVar

from dpcli.numeric.arrays import Array, clip_exact, multiply_exact, np, repeated_integer, widened
from dpcli.numeric.exact import in_units_of_last_place, readable_text
from dpcli.statistics.estimates import HAS_INTERVAL, SUPPRESSED, UNBOUNDED, Estimates

Reconcile = Callable[[Estimates], Estimates]
"""How a statistic makes its numbers agree with each other."""


@dataclass(frozen=True)
class Step(ABC):
    """One step of `post`, made of as many `numbers` as the spec gives for it.

    `words` say what it does, with places for its numbers.
    """

    name: ClassVar[str]
    numbers: ClassVar[int] = 0
    words: ClassVar[str]

    @property
    def summary(self) -> str:
        """What the step does, in a few words."""
        own = (getattr(self, field.name) for field in fields(self))
        return self.words.format(*("..." if one is None else readable_text(one) for one in own))

    @abstractmethod
    def apply(self, estimates: Estimates, reconcile: Reconcile) -> Estimates:
        """The numbers after the step."""


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

    def apply(self, estimates: Estimates, reconcile: Reconcile) -> Estimates:
        """The nearest numbers within the range, which the spec says that truth cannot leave."""
        found = estimates.refined(self.low, self.high)
        low, high = (
            None if end is None else int(end / found.step) for end in (self.low, self.high)
        )
        least, most = (
            clip_exact(known, low, high)
            if known is not None
            else None
            if fresh is None
            else repeated_integer(fresh, len(found))
            for known, fresh in ((found.least, low), (found.most, high))
        )
        value, lower, upper = (
            clip_exact(numbers, low, high) for numbers in (found.value, found.lower, found.upper)
        )
        return replace(found, value=value, lower=lower, upper=upper, least=least, most=most)


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

    def apply(self, estimates: Estimates, reconcile: Reconcile) -> Estimates:
        """The nearest whole numbers."""
        found = estimates.refined(Fraction(1))
        one = int(1 / found.step)
        value = in_units_of_last_place(found.value, found.step, 0)
        lower, upper = (widened(numbers, one) for numbers in (found.lower, found.upper))
        ends = lower // one, -(-upper // one)
        value, lower, upper = (multiply_exact(numbers, one) for numbers in (value, *ends))
        return replace(found, value=value, lower=lower, upper=upper, places=(0,))


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

    def apply(self, estimates: Estimates, reconcile: Reconcile) -> Estimates:
        """The numbers that reach the threshold."""
        return estimates.suppressed(estimates.value < ceil(self.threshold / estimates.step))


@dataclass(frozen=True)
class SuppressWide(Step):
    """Leaves out numbers whose interval is wide in proportion to them; the last step of all.

    `withhold: {wider_than: 0.5}`: half the width of the interval is more than half of the
    value. By noisy numbers alone, and for their quality, not for privacy.
    """

    name = "withhold"
    words = "left out where half the width of the interval is more than {} of the value"
    share: Fraction

    def apply(self, estimates: Estimates, reconcile: Reconcile) -> Estimates:
        """The numbers that are precise enough."""
        return estimates.suppressed(estimates.wider_than(self.share))


@dataclass(frozen=True)
class Consistent(Step):
    """Makes the numbers of one entry agree: totals of `marginals`, the order of `quantile`s.

    `post: [consistent]`. `dpcli explain marginals` and `dpcli explain quantile` say how.
    """

    name = "consistent"
    words = "made to agree with each other"

    def apply(self, estimates: Estimates, reconcile: Reconcile) -> Estimates:
        """The numbers as the statistic makes them agree."""
        return reconcile(estimates)


STEPS: tuple[type[Step], ...] = (Nonnegative, Integer, Clamp, SuppressBelow, Consistent)
"""Every step that a spec may name."""


def apply_steps(steps: Sequence[Step], estimates: Estimates, reconcile: Reconcile) -> Estimates:
    """The numbers after all steps, in their order."""
    for step in steps:
        estimates = step.apply(estimates, reconcile)
    return estimates


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


FLAGS = tuple(Flag)


def flags(estimates: Estimates) -> Array:
    """The flag of each number as it is printed, by its place in `FLAGS`.

    A number without an interval has none, unless that is because nothing bounds its
    noise-free value; choices among candidates never have one.
    """
    status, lower, upper = estimates.status, estimates.lower, estimates.upper
    known = (status == HAS_INTERVAL) & (lower != upper)
    nothing = status == UNBOUNDED
    if estimates.least is not None and estimates.most is not None:
        nothing |= known & (lower <= estimates.least) & (upper >= estimates.most)
    found = np.where(known & estimates.wider_than(UNRELIABLE), FLAGS.index(Flag.UNRELIABLE), 0)
    found[nothing] = FLAGS.index(Flag.NO_INFORMATION)
    found[status == SUPPRESSED] = FLAGS.index(Flag.SUPPRESSED)
    return found
