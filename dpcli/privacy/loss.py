"""What answers reveal in every measure, and what they may: exact rationals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from dpcli.numeric.exact import readable_text, require_exact
from dpcli.privacy.dominating_pairs import DominatingPair, RandomizedResponsePair
from dpcli.privacy.zcdp_conversion import pure_rho


@dataclass(frozen=True, slots=True)
class Loss:
    """An (epsilon, delta) guarantee (Dwork, Kenthapadi, McSherry et al. 2006).

    For any two neighbors and any set of outputs S,
    P[M(x) in S] <= exp(epsilon) P[M(x') in S] + delta. Delta zero is pure. With a
    `rho`, what is meant is zero-concentrated privacy (Bun and Steinke 2016), and epsilon
    is what that means at this delta.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None

    def __post_init__(self) -> None:
        require_exact(self.epsilon, self.delta, self.rho)

    def within(self, limit: Loss) -> bool:
        """Whether this reveals no more than `limit`, compared exactly."""
        concentrated = limit.rho is None or (self.rho is not None and self.rho <= limit.rho)
        return self.epsilon <= limit.epsilon and self.delta <= limit.delta and concentrated


def sum_losses(losses: Iterable[Loss]) -> Loss:
    """The plain sum of losses: of epsilons, and of deltas."""
    each = tuple(losses)
    zero = Fraction(0)
    return Loss(sum((one.epsilon for one in each), zero), sum((one.delta for one in each), zero))


ZERO_LOSS = Loss(Fraction(0))
"""The loss of an answer that is the same for all neighbors."""


def loss_text(loss: Loss) -> str:
    """A loss as people write it, such as `epsilon 0.5, delta 1e-6`."""
    rho = "" if loss.rho is None else f" (rho {readable_text(loss.rho)})"
    delta = f", delta {readable_text(loss.delta)}" if loss.delta else ""
    return f"epsilon {readable_text(loss.epsilon)}{delta}{rho}"


@dataclass(frozen=True, slots=True)
class BudgetRequest:
    """Just one of epsilon, rho, error or weight; and a delta, where it may spend one.

    `epsilon` and `rho` are given losses. `error` is the half-width that an answer must
    not exceed, in its own unit, for the least loss that reaches it. `weight` is its part of what
    other entries leave of the budget, in proportion to all weights.
    """

    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    error: Fraction | None = None
    weight: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What an answer reveals: composition rules add up one of these measures.

    `loss` is its (epsilon, delta), `rho` its zero-concentrated loss, and `dominating_pairs`
    together dominate it. `rho` and `dominating_pairs` may fail with a probability of
    `failure_delta`, which is part of the delta (for rho: Bun and Steinke 2016, definition 8.1).
    """

    loss: Loss
    rho: Fraction
    dominating_pairs: tuple[DominatingPair, ...]
    failure_delta: Fraction = Fraction(0)

    def __hash__(self) -> int:
        """From a few whole numbers: thousands are counted, and rationals are slow to hash."""
        epsilon, rho = self.loss.epsilon, self.rho
        return hash(
            (epsilon.numerator, epsilon.denominator, rho.numerator, len(self.dominating_pairs))
        )


ZERO_GUARANTEE = Guarantee(ZERO_LOSS, Fraction(0), ())
"""Of an answer that is the same for all neighbors."""


def pure_guarantee(epsilon: Fraction) -> Guarantee:
    """Of any mechanism that is epsilon-private with delta zero.

    None reveals more than randomized response of that epsilon (Kairouz, Oh and
    Viswanath 2015).
    """
    if not epsilon:
        return ZERO_GUARANTEE
    return Guarantee(Loss(epsilon), pure_rho(epsilon), (RandomizedResponsePair(1 / epsilon, 1),))


def approximate_guarantee(loss: Loss) -> Guarantee:
    """Of anything that is (epsilon, delta)-private.

    None shows more than this: with probability delta the truth, else randomized response of that
    epsilon (Kairouz, Oh and Viswanath 2015, theorem 3.2). So what holds of a pure answer
    holds except with probability delta.
    """
    one = pure_guarantee(loss.epsilon)
    return Guarantee(loss, one.rho, one.dominating_pairs, failure_delta=loss.delta)


def compose(guarantees: Iterable[Guarantee]) -> Guarantee:
    """Several answers as one: every measure is the sum of theirs."""
    each = tuple(guarantees)
    return Guarantee(
        sum_losses(one.loss for one in each),
        sum((one.rho for one in each), start=Fraction(0)),
        tuple(pair for one in each for pair in one.dominating_pairs),
        sum((one.failure_delta for one in each), start=Fraction(0)),
    )
