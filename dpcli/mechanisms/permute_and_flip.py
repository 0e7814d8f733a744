"""Permute-and-flip: a choice never worse than the exponential mechanism's."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpcli.mechanisms.base import Choosing
from dpcli.privacy.concentrated import pure_rho
from dpcli.privacy.guarantee import Pair, cells_or_response
from dpcli.privacy.interval import sqrt_up
from dpcli.privacy.noise import Noise
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.sampling.choice import permute_and_flip


class PermuteAndFlip(Choosing):
    """Visits candidates in random order, and takes the first whose coin shows heads.

    A candidate whose score is g below the best has a coin that shows heads with probability
    exp(-g / scale). The scale is L1 / epsilon, as for `exponential`; the expected score is
    never lower, and up to twice as close to the best (McKenna and Sheldon 2020, theorem 2
    and proposition 3).

    Privacy: it is the same as adding exponential noise of this scale to each score and
    reporting the largest (Ding, Kifer, Steinke, Wang, Xiao and Zhang 2021). Fix the noise
    of all other candidates: the noise that this one needs to win changes between neighbors
    by at most what its distance to the winner among them changes, and the probability of
    exceeding it by a factor of at most exp(distance / scale). Coins are exact (Canonne,
    Kamath and Steinke 2020).

    Under `composition: zcdp` only its epsilon is known: each choice has rho = epsilon
    tanh(epsilon/2), as any pure answer, up to four times that of the exponential mechanism,
    whose loss has a smaller range. Of m choices with a bound on the sum of squares, equal
    epsilons are the worst case, because rho is concave in the square.
    """

    name = "permute_and_flip"

    def rho(self, noise: Noise, sensitivity: Sensitivity) -> Fraction:
        """That of pure choices, one for each group and pick."""
        square = sqrt_up(Fraction(sensitivity.l2_squared, sensitivity.l0))
        spread = sensitivity.l0 * pure_rho(square / noise.scale)
        return min(spread, pure_rho(sensitivity.l1 / noise.scale))

    def pairs(self, noise: Noise, sensitivity: Sensitivity) -> tuple[Pair, ...]:
        """A randomized response for each group and pick."""
        return cells_or_response("response", noise, sensitivity)

    def pick(self, noise: Noise, gaps: Sequence[int]) -> int:
        """The place of the chosen candidate."""
        return permute_and_flip(gaps, noise.scale)
