"""Steps that are taken with noisy answers, in a declared order.

Whatever is made of noisy answers alone is as private as they are (Dwork and Roth 2014,
proposition 2.1). It may be biased: a count that is never negative is too large on average.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor
from typing import ClassVar

from dpcli.privacy.decimals import readable_text
from dpcli.statistics.base import Estimate, Limits
from dpcli.statistics.flags import wider_than

Estimates = tuple[Estimate, ...]

Agree = Callable[[Estimates], Estimates]
"""How a statistic makes its numbers agree with each other."""


class Step(ABC):
    """One step of `post`; it is made of as many `numbers` as the spec gives for it."""

    name: ClassVar[str]
    numbers: ClassVar[int] = 0

    @property
    @abstractmethod
    def summary(self) -> str:
        """What the step does, in a few words."""

    @abstractmethod
    def taken(self, estimates: Estimates, agree: Agree) -> Estimates:
        """The numbers after the step."""


@dataclass(frozen=True)
class Clamp(Step):
    """Moves numbers and their intervals into a range that the exact numbers cannot leave.

    `post: [{clamp: [0, 100]}]`. Numbers near the ends become biased inwards.
    """

    name = "clamp"
    numbers = 2
    low: Fraction | None
    high: Fraction | None

    @property
    def summary(self) -> str:
        """What the step does, in a few words."""
        ends = ["..." if end is None else readable_text(end) for end in (self.low, self.high)]
        return f"clamped to [{', '.join(ends)}]"

    def taken(self, estimates: Estimates, agree: Agree) -> Estimates:
        """The nearest numbers within the range."""
        return tuple(
            replace(
                one,
                value=self._within(one.value),
                lower=self._within(one.lower),
                upper=self._within(one.upper),
                within=self._narrowed(one.within),
            )
            for one in estimates
        )

    def _narrowed(self, within: Limits) -> Limits:
        """What is possible, within the range: the spec says that truth cannot leave it."""
        low, high = within
        return (
            self.low if low is None else self._within(low),
            self.high if high is None else self._within(high),
        )

    def _within(self, value: Fraction | None) -> Fraction | None:
        """The nearest number within the range."""
        if value is None:
            return None
        value = value if self.low is None else max(value, self.low)
        return value if self.high is None else min(value, self.high)


@dataclass(frozen=True)
class Nonnegative(Clamp):
    """Replaces negative numbers by zero. Totals of small numbers become too large.

    `post: [nonnegative]`.
    """

    name = "nonnegative"
    numbers = 0
    summary = "negative numbers replaced by zero"
    low: Fraction | None = Fraction(0)
    high: Fraction | None = None


@dataclass(frozen=True)
class Integer(Step):
    """Rounds numbers to whole numbers, halves away from zero; intervals grow outwards.

    `post: [integer]`.
    """

    name = "integer"
    summary = "rounded to whole numbers"

    def taken(self, estimates: Estimates, agree: Agree) -> Estimates:
        """The nearest whole numbers."""
        return tuple(
            replace(
                one,
                value=None if one.value is None else _nearest(one.value),
                lower=None if one.lower is None else Fraction(floor(one.lower)),
                upper=None if one.upper is None else Fraction(ceil(one.upper)),
                places=0,
            )
            for one in estimates
        )


def _nearest(value: Fraction) -> Fraction:
    """The nearest whole number, halves away from zero."""
    whole = floor(abs(value) + Fraction(1, 2))
    return Fraction(whole if value > 0 else -whole)


@dataclass(frozen=True)
class SuppressBelow(Step):
    """Leaves out numbers below a threshold, by the noisy number, never by the exact one.

    `post: [{suppress_below: 10}]`. Near the threshold, the numbers that are left are too
    large on average.
    """

    name = "suppress_below"
    numbers = 1
    threshold: Fraction

    @property
    def summary(self) -> str:
        """What the step does, in a few words."""
        return f"noisy numbers below {readable_text(self.threshold)} left out"

    def taken(self, estimates: Estimates, agree: Agree) -> Estimates:
        """The numbers that reach the threshold."""
        return tuple(
            _left_out(one) if one.value is None or one.value < self.threshold else one
            for one in estimates
        )


def _left_out(estimate: Estimate) -> Estimate:
    """A number that is not published."""
    return replace(estimate, value=None, lower=None, upper=None)


@dataclass(frozen=True)
class Withhold(Step):
    """Leaves out numbers whose interval is wide in proportion to them; the last step of all.

    `withhold: {wider_than: 0.5}`: half the width of the interval is more than half of the
    value. By noisy numbers alone, and for their quality, not for privacy.
    """

    name = "withhold"
    share: Fraction

    @property
    def summary(self) -> str:
        """What the step does, in a few words."""
        return (
            "left out where half the width of the interval is more than "
            f"{readable_text(self.share)} of the value"
        )

    def taken(self, estimates: Estimates, agree: Agree) -> Estimates:
        """The numbers that are precise enough."""
        return tuple(_left_out(one) if wider_than(one, self.share) else one for one in estimates)


@dataclass(frozen=True)
class Consistent(Step):
    """Makes the numbers of one entry agree: totals of `marginals`, the order of `quantile`s.

    `post: [consistent]`. `dpcli explain marginals` and `dpcli explain quantile` say how.
    """

    name = "consistent"
    summary = "made to agree with each other"

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
