"""Losses, guarantees and budget requests, in exact rationals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

from dpcli.numeric.exact import readable_down, readable_up, require_exact
from dpcli.privacy.dominating_pairs import DominatingPair, RandomizedResponsePair
from dpcli.privacy.zcdp_conversion import pure_rho
from dpcli.problems.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Loss:
    """An upper bound (epsilon, delta) on what is revealed.

    For any two neighbors and any set of outputs S,
    P[M(x) in S] <= exp(epsilon) P[M(x') in S] + delta (Dwork, Kenthapadi, McSherry et al. 2006).
    If delta is zero, the loss is pure. With a `rho`, the bound is zero-concentrated
    (Bun and Steinke 2016), and epsilon follows from rho at this delta. A `Loss` is not the privacy
    loss random variable of the literature.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None

    def __post_init__(self) -> None:
        require_exact(self.epsilon, self.delta, self.rho)

    def within(self, limit: Loss) -> bool:
        """Whether each part of this loss is at most that of `limit`, compared exactly."""
        concentrated = limit.rho is None or (self.rho is not None and self.rho <= limit.rho)
        return self.epsilon <= limit.epsilon and self.delta <= limit.delta and concentrated


def sum_losses(losses: Iterable[Loss]) -> Loss:
    """The sum of epsilons, and the sum of deltas."""
    terms, zero = tuple(losses), Fraction(0)
    return Loss(
        sum((loss.epsilon for loss in terms), zero), sum((loss.delta for loss in terms), zero)
    )


ZERO_LOSS = Loss(Fraction(0))
"""The loss of an answer that no neighbor can change."""


def loss_text(loss: Loss) -> str:
    """A loss as people write it, such as `epsilon 0.5, delta 1e-6`.

    What no decimal writes is rounded up.
    """
    return _loss_text(loss, readable_up)


def remaining_text(loss: Loss) -> str:
    """The text of what remains of a budget: what no decimal writes is rounded down."""
    return _loss_text(loss, readable_down)


def _loss_text(loss: Loss, text: Callable[[Fraction], str]) -> str:
    rho = "" if loss.rho is None else f" (rho {text(loss.rho)})"
    delta = f", delta {text(loss.delta)}" if loss.delta else ""
    return f"epsilon {text(loss.epsilon)}{delta}{rho}"


@dataclass(frozen=True, slots=True)
class BudgetRequest:
    """What an entry may spend: one of epsilon, rho, error or weight, and possibly a delta.

    `epsilon` and `rho` are losses. `error` is the greatest half-width of an answer, in its own
    unit; the entry gets the least loss that reaches it. `weight` divides the budget that other
    entries leave, in proportion to all weights.
    """

    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    error: Fraction | None = None
    weight: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What an answer reveals, in every measure that a composition rule may add up.

    `loss` is its (epsilon, delta), `rho` its zero-concentrated loss, and `dominating_pairs`
    together dominate it. `rho` and `dominating_pairs` may fail with a probability of
    `failure_delta`, which is part of the delta (for rho: Bun and Steinke 2016, definition 8.1).
    """

    loss: Loss
    rho: Fraction
    dominating_pairs: tuple[DominatingPair, ...]
    failure_delta: Fraction = Fraction(0)

    def __hash__(self) -> int:
        """Of a few whole numbers, because rationals are slow to hash and plans hash thousands."""
        epsilon, rho = self.loss.epsilon, self.rho
        return hash(
            (epsilon.numerator, epsilon.denominator, rho.numerator, len(self.dominating_pairs))
        )


ZERO_GUARANTEE = Guarantee(ZERO_LOSS, Fraction(0), ())
"""The guarantee of an answer that no neighbor can change."""


def pure_guarantee(epsilon: Fraction) -> Guarantee:
    """The guarantee of any mechanism that is epsilon-private with delta zero.

    None reveals more than randomized response with that epsilon (Kairouz, Oh and Viswanath 2015).
    """
    if not epsilon:
        return ZERO_GUARANTEE
    return Guarantee(Loss(epsilon), pure_rho(epsilon), (RandomizedResponsePair(1 / epsilon, 1),))


def approximate_guarantee(loss: Loss) -> Guarantee:
    """The guarantee of any mechanism that is (epsilon, delta)-private.

    None reveals more than a mechanism that publishes the truth with probability delta, and
    otherwise a randomized response with that epsilon (Kairouz, Oh and Viswanath 2015, theorem 3.2).
    So the guarantee of a pure answer holds except with probability delta.
    """
    pure = pure_guarantee(loss.epsilon)
    return Guarantee(loss, pure.rho, pure.dominating_pairs, failure_delta=loss.delta)


def compose(guarantees: Iterable[Guarantee]) -> Guarantee:
    """The guarantee of all answers together: the sum of each measure."""
    answers = tuple(guarantees)
    return Guarantee(
        sum_losses(answer.loss for answer in answers),
        sum((answer.rho for answer in answers), start=Fraction(0)),
        tuple(pair for answer in answers for pair in answer.dominating_pairs),
        sum((answer.failure_delta for answer in answers), start=Fraction(0)),
    )
