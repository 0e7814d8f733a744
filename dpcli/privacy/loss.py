"""What answers reveal, what they may reveal, and a budget: exact rationals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from dpcli.privacy.decimals import readable_text


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

    def within(self, limit: Loss) -> bool:
        """Whether this reveals no more than `limit`, compared exactly."""
        concentrated = limit.rho is None or (self.rho is not None and self.rho <= limit.rho)
        return self.epsilon <= limit.epsilon and self.delta <= limit.delta and concentrated


def add_up(losses: Iterable[Loss]) -> Loss:
    """The plain sum of losses: of epsilons, and of deltas."""
    each = tuple(losses)
    zero = Fraction(0)
    return Loss(sum((one.epsilon for one in each), zero), sum((one.delta for one in each), zero))


NOTHING = Loss(Fraction(0))
"""The loss of an answer that is the same for all neighbors."""


def loss_text(loss: Loss) -> str:
    """A loss as people write it, such as `epsilon 0.5, delta 1e-6`."""
    rho = "" if loss.rho is None else f" (rho {readable_text(loss.rho)})"
    delta = f", delta {readable_text(loss.delta)}" if loss.delta else ""
    return f"epsilon {readable_text(loss.epsilon)}{delta}{rho}"


@dataclass(frozen=True, slots=True)
class Price:
    """Just one of epsilon, rho, error or share; and a delta, where it may spend one.

    `epsilon` and `rho` are given losses. `error` is the half-width that an answer must
    not exceed, in its own unit, for the least loss that reaches it. `share` is a part of what
    other entries leave of the budget, in proportion to all shares.
    """

    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    error: Fraction | None = None
    share: Fraction | None = None
