"""`Noise`: what every noise distribution states, and widths of sums of noises.

Samples are exact. `tail_bound` is part of a privacy guarantee, and is certified. Widths and other
tails are post-processing of public parameters: they show where the noise-free answer probably
lies, they carry no guarantee, and floats are precise enough for them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import cache, lru_cache
from math import ceil, erfc, floor, gcd, log, log10, pi, prod, sin, sqrt
from typing import TYPE_CHECKING, ClassVar, Literal, final

from dpcli.noise.bernoulli import BLOCK
from dpcli.numeric.arrays import Floats, Ints, np
from dpcli.numeric.exact import require_exact
from dpcli.numeric.search import bisect, search_min
from dpcli.privacy.loss import DominatingPair, RandomizedResponsePair
from dpcli.problems.light_dataclasses import dataclass

NoiseSamples = list[int] | Ints
"""Whole numbers: an array of int64, or a list if they are few or very large."""

Family = Literal["l1", "l2", "choice", "slope"]
"""How noise is used: added to numbers by L1 or L2 norm, in choices, as a slope."""

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
    norm: ClassVar[Literal["l1", "l2"]] = "l1"
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

    def width(self, outside: float) -> int:
        """The least k with P[|noise| > k] <= `outside`, in steps."""
        return search_min(lambda width: 2 * self.positive_tail(width + 1) <= outside, -1, 1)

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
        with any weights. It may lie half a step further. Raises ValueError unless `sum_is_known`.
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


BLOCKS_PER_SCALE = 12
"""Blocks per scale in the bound of `blended_margin`: more give a tighter bound."""

MAX_EXACT_VARIANCE = 400
"""The greatest variance for which `Noise.characteristic` uses tails, by default."""

CIRCLE_DEVIATIONS = 35
"""A sum is this number of deviations from zero with a probability below 1e-14."""

LEAST_CIRCLE = 64
"""The least length of the circle in multiples of weights, for rare noise."""

NEGLIGIBLE = 1e-9
"""The bound of omitted terms at which `sum_tail` omits them."""

MANY_TERMS = 1 << 15
"""From this number of terms on, the bound may be a thousandth of the wanted probability."""

MAX_TERMS = 1 << 20
"""The most terms of `sum_tail`, whatever the bound is."""

FLOAT_ERROR = 1e-12
"""More than the error of `sum_tail` by floats and by sums beyond the circle."""

MARGIN_PRECISION = 10**6
"""The search for a margin stops at an error of the scale divided by this number."""


def blended_half_width(fourth_cumulant: float, variance: float, confidence: Fraction) -> float:
    """About the z for which P[|sum| <= z] is `confidence`, for a sum of noises.

    The weighted sum of independent noises has this variance and fourth cumulant, and so a known
    excess kurtosis. The expansion in the kurtosis (Cornish and Fisher 1938) is accurate if it is
    moderate; the bound of Chebyshev's inequality is used where it is smaller.
    """
    outside = float(1 - confidence)
    normal = normal_quantile(outside)
    excess = fourth_cumulant / variance**2
    wide = normal + excess * (normal**3 - 3 * normal) / 24
    return sqrt(variance) * min(wide, 1 / sqrt(outside))


Terms = tuple[tuple[Noise, int, int], ...]
"""Noises, each with a weight, and how many of them have this weight."""


@lru_cache(maxsize=1024)
def summed_margin(noise: Noise, count: int, confidence: Fraction) -> Margin:
    """The margin of a sum of `count` independent noises, as in `weighted_margin`."""
    if count == 1:
        return noise.margin(confidence)
    return weighted_margin(((noise, 1, count),), confidence)


@lru_cache(maxsize=1024)
def weighted_margin(terms: Terms, confidence: Fraction) -> Margin:
    """The margin of a weighted sum of noises.

    The width is the least k with P[|sum| <= k] >= `confidence`. It may be greater by as little as
    the bound in `sum_tail` is, and is at most that of Chebyshev's inequality.
    """
    variance = sum(number * weight**2 * noise.discrete_variance for noise, weight, number in terms)
    if not variance:
        return Margin(0, variance)
    step, outside = gcd(*(weight for _, weight, _ in terms)), float(1 - confidence)
    units = tuple((noise, weight // step, number) for noise, weight, number in terms)
    deviation = sqrt(variance) / step
    tail = sum_tail(units, deviation, outside)
    width = search_min(
        lambda width: tail(width) <= outside or deviation <= sqrt(outside) * (width + 1),
        -1,
        ceil(deviation),
    )
    return Margin(step * width, variance)


def sum_tail(terms: Terms, deviation: float, outside: float) -> Callable[[int], float]:
    """A bound on P[|sum| > k] for whole k, hardly above it.

    It is wanted where it is about `outside`. A sum of Laplace or Gaussian noises is beyond t
    deviations with a probability of at most about 2 exp(1 - t). So it may be taken on a circle of N
    whole numbers, where N P[|sum| <= k] is 2 k + 1 plus twice the sum over the angles 2 pi j / N,
    for 0 < j < N/2, of E[cos(angle * sum)] sin((k + 1/2) angle) / sin(angle / 2).

    Terms of large angles are omitted. Of noises with the weight 1, the expectations fall faster
    than the inverse angle, and sin(x) >= 2 x / pi. So what is omitted is at most the product of
    these expectations at 2/pi times the last angle.
    """
    deviations = CIRCLE_DEVIATIONS + log(1 / outside)
    widest = max(weight for _, weight, _ in terms)
    circle = 2 * ceil(max(deviations * deviation, LEAST_CIRCLE * widest) / 2) + 1

    def expected(angles: Floats, some: Terms) -> Floats:
        parts = (noise.characteristic(weight * angles) ** number for noise, weight, number in some)
        return np.array(prod(parts, start=np.ones(len(angles))))

    ones = tuple(term for term in terms if term[1] == 1)
    count, omitted, enough = LEAST_CIRCLE, 1.0, NEGLIGIBLE
    while omitted > enough and count < MAX_TERMS and 2 * count < circle:
        count *= 2
        enough = NEGLIGIBLE if count < MANY_TERMS else outside / 1000
        omitted = float(expected(np.array([4 * count / circle]), ones)[0])
    if 2 * count >= circle:
        count, omitted = circle // 2, 0.0
    angles = np.arange(1, count + 1, dtype=np.float64) * (2 * pi / circle)
    factors = 2 * expected(angles, terms) / np.sin(angles / 2)

    def tail(width: int) -> float:
        within = 2 * width + 1 + factors @ np.sin((width + 0.5) * angles)
        return float(1 - within / circle + omitted + FLOAT_ERROR)

    return tail


@lru_cache(maxsize=256)
def one_sided_width(noise: Noise, outside: float) -> int:
    """The least k with P[noise > k] <= `outside`, in steps."""
    if isinstance(noise, NoNoise):
        return 0
    return search_min(lambda width: noise.approximate_tail(width + 1) <= outside, -1, 1)


@lru_cache(maxsize=256)
def blended_margin(
    left: Noise, left_weight: Fraction, right: Noise, right_weight: Fraction, outside: float
) -> Fraction:
    """Nearly the least t with P[left_weight X + right_weight Y > t] <= `outside`.

    X and Y are independent noises, symmetric around zero. Weights are not negative. The
    probability is bounded by cutting X into blocks and taking the worst end of each.
    """
    if not left_weight or isinstance(left, NoNoise):
        return right_weight * one_sided_width(right, outside)
    if not right_weight or isinstance(right, NoNoise):
        return left_weight * one_sided_width(left, outside)
    blocks = _blocks(left, outside)
    first, second = float(left_weight), float(right_weight)
    # The last steps of the search need the tail at the same whole numbers again.
    far = cache(right.approximate_tail)

    def is_enough(t: float) -> bool:
        """Whether a bound on P[left_weight X + right_weight Y > t] is at most `outside`."""
        bound = 0.0
        for end, chance in blocks:
            bound += chance * (far(ceil((t - first * end) / second)) if end is not None else 1.0)
            if bound > outside:
                return False
        return True

    scale = first * float(left.scale) + second * float(right.scale)
    margin = search_min(
        is_enough, 0.0, scale, lambda low, high: high - low <= scale / MARGIN_PRECISION
    )
    return Fraction(margin)


def _blocks(noise: Noise, outside: float) -> list[tuple[int | None, float]]:
    """Blocks of values: the last value of each (None if unbounded), its probability."""
    scale = float(noise.scale)
    width = max(1, int(scale / BLOCKS_PER_SCALE))
    last = ceil(scale * (log(1 / outside) + 10))
    blocks: list[tuple[int | None, float]] = [(None, noise.approximate_tail(last + 1))]
    start, before = last + 1, blocks[0][1]
    while start > -last:
        start -= width
        now = noise.approximate_tail(start)
        blocks.append((start + width - 1, now - before))
        before = now
    # Values below all blocks are counted at the end of the lowest block.
    blocks.append((start - 1, 1.0 - before))
    return blocks


MIN_TAIL = 1e-5
"""The least tail probability that `laplace_sum_width` computes by a series."""

TERMS = 3000
"""Terms of the series for Laplace sums: its error is below a tenth of `MIN_TAIL`."""


@lru_cache(maxsize=256)
def laplace_sum_width(scales: tuple[float, ...], outside: float) -> float:
    """About the t with P[|sum| > t] = `outside`, for independent Laplace noises.

    The characteristic function of the sum is the product of 1/(1 + b^2 u^2) over the scales b, and
    P[|sum| <= t] an integral of it (Gil-Pelaez 1951), here by the trapezoidal rule. The rule has a
    period so long that the tail beyond it is negligible. Tails below `MIN_TAIL` are extrapolated
    as exponential.
    """
    if outside < MIN_TAIL:
        near, far = (laplace_sum_width(scales, tail) for tail in (10 * MIN_TAIL, MIN_TAIL))
        return far + (far - near) * log10(MIN_TAIL / outside)
    # The density is log-concave, so P[|sum| > t] <= exp(1 - t/deviation).
    max_width = 16 * sqrt(2 * sum(scale**2 for scale in scales))
    step = 2 * pi / (2 * max_width + 60 * max(scales))
    factors = [
        1 / (term * prod(1 + (scale * term * step) ** 2 for scale in scales))
        for term in range(1, TERMS)
    ]

    def beyond(width: float) -> float:
        turn = width * step
        series = sum(factor * sin(turn * term) for term, factor in enumerate(factors, 1))
        return 1 - (turn + 2 * series) / pi

    precision = max_width / MARGIN_PRECISION
    return bisect(
        lambda width: beyond(width) <= outside,
        0.0,
        max_width,
        lambda low, high: high - low <= precision,
    )[1]
