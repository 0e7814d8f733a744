"""`Noise`: what every noise distribution states.

Samples are exact. `tail_bound` is part of a privacy guarantee, and is certified. Widths and other
tails are post-processing of public parameters: they show where the noise-free answer probably
lies, they carry no guarantee, and floats are precise enough for them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import ceil, erfc, floor, log, pi, sqrt
from typing import TYPE_CHECKING, ClassVar, Literal, final

from dpcli.noise.bernoulli import BLOCK
from dpcli.numeric.arrays import Floats, Ints, np
from dpcli.numeric.exact import require_exact
from dpcli.numeric.search import search_min
from dpcli.privacy.loss import DominatingPair, RandomizedResponsePair
from dpcli.problems.light_dataclasses import dataclass

NoiseSamples = list[int] | Ints
"""Whole numbers: an array of int64, or a list if they are few or very large."""

Family = Literal["l1", "l2", "vector", "choice", "slope"]
"""How noise is used: added by L1, L2 or another norm, in choices, as a slope."""

ADDITIVE: tuple[Family, ...] = ("l1", "l2")
"""The families of noise that is added to numbers."""


@dataclass(frozen=True, slots=True)
class Margin:
    """How far noise moves a number: half the width of an interval, and the variance.

    The width is in steps; the variance, if it is known, in squared steps.
    """

    width: int
    variance: float | None = None


PRECISION = 1e-9
"""Relative error at which the search for a quantile stops."""

MAX_EXACT_VARIANCE = 400
"""The greatest variance for which `Noise.characteristic` uses tails, by default."""


class Unchangeable:
    """Refuses to set attributes: an attribute could replace a method of the object."""

    if not TYPE_CHECKING:  # a type checker would take any name to be one

        def __setattr__(self, name: str, _: object) -> None:
            raise AttributeError(f"`{name}` cannot be assigned")


@dataclass(frozen=True)
class Noise(Unchangeable, ABC):
    """Noise for each integer of an answer: symmetric around zero, its scale in steps.

    A new distribution defines its samples, its tail and its variance; the other members follow.
    `kind` names the noise in ledgers and reports. For a given loss, the scale is proportional to
    the sensitivity in `norm`. `dominating_pair` is the class of the pairs of distributions that
    dominate the noise and the shifted noise.
    """

    scale: Fraction

    kind: ClassVar[str]
    norm: ClassVar[Literal["l1", "l2", "vector"]] = "l1"
    sum_is_known: ClassVar[bool] = False
    dominating_pair: ClassVar[type[DominatingPair]] = RandomizedResponsePair

    def __post_init__(self) -> None:
        require_exact(self.scale)

    @property
    def title(self) -> str:
        """The name of the noise in a sentence, as in "discrete Laplace noise"."""
        return self.kind.replace("_", " ").title()

    @property
    def name(self) -> str:
        """The name of the noise in plans and reports."""
        return f"discrete-{self.kind}".replace("_", "-")

    @abstractmethod
    def sample(self, count: int, *, many: bool = False) -> NoiseSamples:
        """`count` independent samples, exactly from the distribution.

        With `many`, the result is an array, unless samples may not fit 64 bits.
        """

    @abstractmethod
    def positive_tail(self, value: int) -> float:
        """P[noise >= value] for `value` above zero, to float precision."""

    @final
    def approximate_tail(self, value: int) -> float:
        """P[noise >= value] for any `value`, to float precision."""
        return self.positive_tail(value) if value > 0 else 1.0 - self.positive_tail(1 - value)

    def tail_bound(self, value: int) -> Fraction:
        """A proven upper bound of P[noise >= value], for `value` above zero.

        Raises ValueError for a distribution without one: it cannot select partitions.
        """
        raise ValueError(f"{self.kind} noise of scale {self.scale} has no tail bound at {value}")

    @property
    def variance(self) -> Fraction:
        """The variance of the continuous distribution of this scale, in squared steps."""
        return self.scale**2

    @property
    def discrete_variance(self) -> float:
        """The variance of the discrete distribution in squared steps, to float precision."""
        return float(self.variance)

    def covariance(self, count: int) -> Floats:
        """The covariance of this many successive samples."""
        return np.eye(count) * self.discrete_variance

    def fourth_cumulant(self, times: float) -> float:  # noqa: ARG002 - zero for normal tails
        """The fourth cumulant of `times` the noise; zero for a normal distribution."""
        return 0.0

    def characteristic(self, angles: Floats) -> Floats:
        """E[cos(angle * noise)] for each angle.

        By default, it is computed from tails, or that of a normal distribution if the variance is
        more than `MAX_EXACT_VARIANCE`.
        """
        variance = self.discrete_variance
        if variance > MAX_EXACT_VARIANCE:
            around = np.remainder(angles + pi, 2 * pi) - pi
            return np.array(np.exp(-variance * around**2 / 2))
        values = np.arange(1, 50 * ceil(sqrt(variance)) + 50)
        tails = np.array([self.positive_tail(int(value)) for value in values])
        cosines = np.cos(np.multiply.outer(angles, values[:-1]))
        return np.array(1 - 2 * tails[0] - 2 * cosines @ np.diff(tails))

    def half_width(self, confidence: Fraction) -> int:
        """The least k with P[|noise| <= k] >= `confidence`, in steps."""
        return self.width(float(1 - confidence))

    def margin(self, confidence: Fraction) -> Margin:
        """`half_width` and `discrete_variance`."""
        return Margin(self.half_width(confidence), self.discrete_variance)

    def margins(self, confidence: Fraction) -> tuple[Margin, ...]:
        """The margins of successive samples; one if it is the same for all."""
        return (self.margin(confidence),)

    @property
    def resolution(self) -> int:
        """Half-widths are the least ones or larger by less than this, in steps."""
        return 1

    def width(self, outside: float) -> int:
        """The least k with P[|noise| > k] <= `outside`, in steps."""
        return search_min(lambda width: 2 * self.positive_tail(width + 1) <= outside, -1, 1)

    def margin_of_sum(self, count: int, confidence: Fraction) -> Margin | None:  # noqa: ARG002 - of vectors
        """The margin of a sum of successive samples; None if they are independent."""
        return None

    def together(self, uniform: Callable[[int], Floats]) -> Floats | None:  # noqa: ARG002 - of vectors
        """Successive samples of continuous noise of scale one; None if independent.

        `uniform` gives as many rows of independent uniform numbers.
        """
        return None

    @classmethod
    def quantiles(cls, levels: Floats) -> Floats:
        """Quantiles of the continuous distribution of scale one, at `levels` in (0, 1)."""
        fine = 1000
        outside = 2 * np.minimum(levels, 1 - levels)
        widths = [cls(Fraction(fine)).width(float(share)) / fine for share in outside]
        return np.array(np.copysign(widths, levels - 0.5))

    @classmethod
    def excess(cls, beyond: Floats, scales: Floats, risk: float) -> Floats:  # noqa: ARG003
        """A number for each cell, with the sign of `risk` - P[sum > `beyond`].

        The sum is that of at most two independent noises of continuous distributions; `scales` has
        the shape (noises, cells). Raises ValueError unless `sum_is_known`.
        """
        raise ValueError(f"the sum of {cls.kind} noises has no known tail")

    def deviations_of_sum(self, outside: float) -> float:  # noqa: ARG002
        """The deviations that a sum exceeds with probability `outside` at most.

        The sum is that of any number of independent noises of this kind, of this scale or larger,
        with any weights. It may lie half a step further. Raises ValueError for noise that is not
        added to numbers.
        """
        raise ValueError(f"sums of {self.kind} noises have no known tail")

    def shortfall(self, candidates: int, confidence: Fraction) -> int:
        """The greatest gap of a chosen score to the best score, with this `confidence`.

        Of m candidates, one whose score is at least t below the best is chosen with a probability
        of at most m exp(-t/scale) (McSherry and Talwar 2007). Permute-and-flip is never worse
        (McKenna and Sheldon 2020).
        """
        return floor(float(self.scale) * log(candidates / float(1 - confidence)))


@lru_cache(maxsize=256)
def normal_quantile(outside: float) -> float:
    """z with P[|N(0, 1)| > z] = `outside`."""
    return search_min(
        lambda z: erfc(z / sqrt(2)) <= outside,
        0.0,
        8.0,
        lambda low, high: high - low <= PRECISION * high,
    )


def accepted_draws(count: int, block: Callable[[int], Ints]) -> Ints:
    """`count` samples by rejection: `block(n)` returns those accepted of n proposals."""
    samples = np.empty(count, np.int64)
    filled = 0
    while filled < count:
        accepted = block(min(BLOCK, 2 * (count - filled) + 64))[: count - filled]
        samples[filled : filled + accepted.size] = accepted
        filled += accepted.size
    return samples


@final
class NoNoise(Noise):
    """Always zero, with scale zero: for an answer that no neighbor can change."""

    kind = "none"

    def sample(self, count: int, *, many: bool = False) -> NoiseSamples:  # noqa: ARG002 - a list in any case
        return [0] * count

    def positive_tail(self, value: int) -> float:  # noqa: ARG002 - always zero
        return 0.0

    def deviations_of_sum(self, outside: float) -> float:  # noqa: ARG002 - always zero
        return 0.0


NO_NOISE = NoNoise(Fraction(0))
"""The noise of an answer with sensitivity zero."""


@lru_cache(maxsize=256)
def one_sided_width(noise: Noise, outside: float) -> int:
    """The least k with P[noise > k] <= `outside`, in steps."""
    return search_min(lambda width: noise.approximate_tail(width + 1) <= outside, -1, 1)
