"""What one answer is given to spend, or what it must reach."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


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
