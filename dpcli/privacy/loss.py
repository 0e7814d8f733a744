"""What answers reveal: exact rational epsilon and delta, and the budget for them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Loss:
    """An (epsilon, delta) guarantee (Dwork, Kenthapadi, McSherry et al. 2006).

    For any two neighbours and any set of outputs S,
    P[M(x) in S] <= exp(epsilon) P[M(x') in S] + delta. Delta zero is pure.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def within(self, limit: Loss) -> bool:
        """Whether this reveals no more than `limit`, compared exactly."""
        return self.epsilon <= limit.epsilon and self.delta <= limit.delta


NOTHING = Loss(Fraction(0))
"""The loss of an answer that does not depend on anybody."""
