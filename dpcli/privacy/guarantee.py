"""What one answer reveals, in every measure that its mechanism can prove."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dpcli.privacy.concentrated import pure_rho
from dpcli.privacy.loss import NOTHING, Loss, add_up
from dpcli.privacy.noise import Noise
from dpcli.privacy.sensitivity import Sensitivity


@dataclass(frozen=True, slots=True)
class Pair:
    """Two distributions that are at least as distinguishable as any answers on neighbors.

    A dominating pair (Zhu, Dong and Wang 2022), `times` independent ones of it. Of
    `laplace` and `gaussian`, discrete noise of this scale and the same shifted by `shift`. Of
    `response`, randomized response, the worst of all with epsilon = shift/scale; of `range`, the
    worst whose loss varies by at most that (Dong, Durfee and Rogers 2020).
    """

    kind: Literal["laplace", "gaussian", "response", "range"]
    scale: Fraction
    shift: int
    times: int = 1

    @property
    def ordered(self) -> bool:
        """Whether less noise is easier to distinguish, at every epsilon.

        Laplace noise of a greater scale is that of a smaller one and more, added; the worst
        pairs depend on epsilon alone. Discrete Gaussian noise of little scale has deltas that
        cross: a threshold between two whole numbers can do better with a little more noise.
        """
        return self.kind != "gaussian"

    def __hash__(self) -> int:
        """From whole numbers, as that of a guarantee."""
        return hash((self.kind, self.scale.numerator, self.scale.denominator, self.shift))


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What an answer reveals: composition rules add up one of these measures.

    `loss` is its (epsilon, delta); `rho` its zero-concentrated loss; `pairs` dominate it
    together. Except with a probability of `slack`, which is part of the delta, `rho` and `pairs`
    hold (for rho: Bun and Steinke 2016, definition 8.1).
    """

    loss: Loss
    rho: Fraction
    pairs: tuple[Pair, ...]
    slack: Fraction = Fraction(0)

    def __hash__(self) -> int:
        """From a few whole numbers: thousands are counted, and rationals are slow to hash."""
        epsilon, rho = self.loss.epsilon, self.rho
        return hash((epsilon.numerator, epsilon.denominator, rho.numerator, len(self.pairs)))


PUBLIC = Guarantee(NOTHING, Fraction(0), ())
"""Of an answer that is the same for all neighbors."""


def pure(epsilon: Fraction) -> Guarantee:
    """Of any mechanism that is epsilon-private with delta zero.

    None reveals more than randomized response of that epsilon (Kairouz, Oh and
    Viswanath 2015).
    """
    if not epsilon:
        return PUBLIC
    return Guarantee(Loss(epsilon), pure_rho(epsilon), (Pair("response", 1 / epsilon, 1),))


def approximate(loss: Loss) -> Guarantee:
    """Of anything that is (epsilon, delta)-private.

    None shows more than this: with probability delta the truth, else randomized response of that
    epsilon (Kairouz, Oh and Viswanath 2015, theorem 3.2). So what holds of a pure answer
    holds except with probability delta.
    """
    one = pure(loss.epsilon)
    return Guarantee(loss, one.rho, one.pairs, slack=loss.delta)


def together(guarantees: Iterable[Guarantee]) -> Guarantee:
    """Several answers as one: every measure is the sum of theirs."""
    each = tuple(guarantees)
    return Guarantee(
        add_up(one.loss for one in each),
        sum((one.rho for one in each), start=Fraction(0)),
        tuple(pair for one in each for pair in one.pairs),
        sum((one.slack for one in each), start=Fraction(0)),
    )


def cells_or_response(
    kind: Literal["laplace", "range", "response"], noise: Noise, sensitivity: Sensitivity
) -> tuple[Pair, ...]:
    """A pair for each cell, if all can change by the most at once; else the worst.

    For less than the most, a pair of the same kind is the more distinguishable the farther
    it is shifted. Where cells share a bound, what they do together is at least pure.
    """
    if sensitivity.l0 * sensitivity.linf == sensitivity.l1:
        return (Pair(kind, noise.scale, sensitivity.linf, sensitivity.l0),)
    return (Pair("response", noise.scale, sensitivity.l1),)
