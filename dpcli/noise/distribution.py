"""What a distribution of noise states: samples, tail, width and dominating pair.

Widths and tails are post-processing of public parameters and carry no guarantee, so
floats serve; they say where the noise-free answer probably lies, and bounds are rounded
outwards. Samples are exact; `tail_up` is part of a guarantee, and certified.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import erfc, floor, log, sqrt
from typing import TYPE_CHECKING, ClassVar, Literal, final

from dpcli.noise.bernoulli import BLOCK
from dpcli.numeric.arrays import Floats, Ints, np
from dpcli.numeric.exact import require_exact
from dpcli.numeric.search import search_least
from dpcli.privacy.dominating_pairs import DominatingPair, RandomizedResponsePair

NoiseSamples = list[int] | Ints
"""Whole numbers: a list of few or of very large ones, else an array."""

PRECISION = 1e-9
"""Relative width at which a quantile is known well enough to be printed."""


class Unchangeable:
    """Takes no attribute: one that hides a method would be called in its place."""

    if not TYPE_CHECKING:  # a type checker would take any name to be one

        def __setattr__(self, name: str, _: object) -> None:
            raise AttributeError(f"`{name}` cannot be assigned")


@dataclass(frozen=True)
class Noise(Unchangeable, ABC):
    """Noise added to each whole number of an answer: symmetric around zero, with a scale in steps.

    A new distribution states its samples, its tail and its variance; the rest follows. `kind` is
    its name in ledgers and reports, `norm` the sensitivity that its scale is in proportion to, for
    a given loss; a shift of it is dominated by its `dominating_pair`.
    """

    scale: Fraction

    kind: ClassVar[str]
    norm: ClassVar[Literal["l1", "l2"]] = "l1"
    dominating_pair: ClassVar[type[DominatingPair]] = RandomizedResponsePair

    def __post_init__(self) -> None:
        require_exact(self.scale)

    @property
    def title(self) -> str:
        """Its name in a sentence, as in "discrete Laplace noise"."""
        return self.kind.replace("_", " ").title()

    @property
    def name(self) -> str:
        """What plans and reports say that answers are made with."""
        return f"discrete-{self.kind}".replace("_", "-")

    @abstractmethod
    def sample(self, count: int, *, many: bool = False) -> NoiseSamples:
        """Fresh and independent draws, exactly from the distribution.

        An array if there are `many`, unless they may not fit 64 bits.
        """

    @abstractmethod
    def tail(self, least: int) -> float:
        """P[noise >= least], for `least` above zero."""

    def tail_up(self, least: int) -> Fraction:
        """P[noise >= least] for `least` above zero, rounded up, with a proof."""
        raise ValueError(f"no proof of how far {self.kind} noise spreads, at {self.scale}, {least}")

    @property
    def variance(self) -> Fraction:
        """About the variance, in squared steps: that of the continuous likeness."""
        return self.scale**2

    @property
    def discrete_variance(self) -> float:
        """The variance of the discrete noise, in squared steps, to float precision."""
        return float(self.variance)

    def fourth_cumulant(self, times: float) -> float:  # noqa: ARG002 - that of few is not zero
        """How much heavier than normal the tails of `times` the noise are; zero of the normal."""
        return 0.0

    def half_width(self, confidence: Fraction) -> int:
        """The least k with P[|noise| <= k] >= `confidence`, in steps."""
        return self.width(float(1 - confidence))

    def width(self, outside: float) -> int:
        """The least k with P[|noise| > k] <= `outside`, in steps."""
        return search_least(lambda width: 2 * self.tail(width + 1) <= outside, -1, 1)

    @classmethod
    def quantiles(cls, levels: Floats) -> Floats:
        """Quantiles of the continuous likeness, of scale one."""
        fine = 1000
        outside = 2 * np.minimum(levels, 1 - levels)
        widths = [cls(Fraction(fine)).width(float(share)) / fine for share in outside]
        return np.array(np.copysign(widths, levels - 0.5))

    def shortfall(self, candidates: int, confidence: Fraction) -> int:
        """How far choices fall short of the best at most, with this `confidence`.

        Of m candidates one that falls short by t or more is chosen with a probability of
        at most m exp(-t/scale) (McSherry and Talwar 2007); permute-and-flip is never
        worse (McKenna and Sheldon 2020).
        """
        return floor(float(self.scale) * log(candidates / float(1 - confidence)))


def normal_quantile(outside: float) -> float:
    """z with P[|N(0, 1)| > z] = `outside`."""
    return search_least(
        lambda z: erfc(z / sqrt(2)) <= outside,
        0.0,
        8.0,
        lambda low, high: high - low <= PRECISION * high,
    )


def accepted_draws(count: int, block: Callable[[int], Ints]) -> Ints:
    """Draws that are left of blocks of proposals, until there are enough."""
    draws = np.empty(count, np.int64)
    filled = 0
    while filled < count:
        kept = block(min(BLOCK, 2 * (count - filled) + 64))[: count - filled]
        draws[filled : filled + kept.size] = kept
        filled += kept.size
    return draws


@final
class NoNoise(Noise):
    """Always zero, of scale zero: for a constant that no neighbor can change."""

    kind = "none"

    def sample(self, count: int, *, many: bool = False) -> NoiseSamples:  # noqa: ARG002 - they are few
        """Zeros."""
        return [0] * count

    def tail(self, least: int) -> float:  # noqa: ARG002 - there is none
        """Zero."""
        return 0.0


NO_NOISE = NoNoise(Fraction(0))
"""No noise, for an answer of sensitivity zero: no neighbor can change it."""
