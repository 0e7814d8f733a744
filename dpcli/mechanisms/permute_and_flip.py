"""The permute-and-flip mechanism: chooses candidates by their scores."""

from __future__ import annotations

from fractions import Fraction

from dpcli.mechanisms.mechanism import PureMechanism, SelectionMechanism, worst_case_rho
from dpcli.noise.candidate_choice import PermuteAndFlipChoice
from dpcli.noise.distribution import Noise
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.privacy.zcdp_conversion import pure_rho


class PermuteAndFlip(PureMechanism, SelectionMechanism):
    """Visits candidates in random order, and takes the first whose coin shows heads.

    A candidate whose score is g below the best has a coin that shows heads with probability
    exp(-g / scale). The scale is L1 / epsilon, as for `exponential`; the expected score is
    never lower, and up to twice as close to the best (McKenna and Sheldon 2020, theorem 2
    and proposition 3).

    Privacy: it is the same as adding exponential noise of this scale to each score and
    reporting the largest (Ding, Kifer, Saghaian, Steinke, Wang, Xiao and Zhang 2021). Fix
    the noise of all other candidates: the noise that this one needs to win changes between
    neighbors by at most what its distance to the winner among them changes, and the
    probability of exceeding it by a factor of at most exp(distance / scale). Coins are
    exact (Canonne, Kamath and Steinke 2020).

    Under `composition: zcdp` only its epsilon is known: each choice has rho = epsilon
    tanh(epsilon/2), as any pure answer, up to four times that of the exponential mechanism,
    whose loss has a smaller range. Of m choices with a bound on the sum of squares, equal
    epsilons are the worst case, because rho is concave in the square.

    >>> noise("permute_and_flip", change=2, epsilon="1")
    'scale 2, epsilon 1'
    """

    name = "permute_and_flip"
    distribution = PermuteAndFlipChoice

    def zcdp_rho(self, noise: Noise, sensitivity: Sensitivity) -> Fraction:
        """The rho of one pure answer for each group and choice."""
        return worst_case_rho(sensitivity, lambda change: pure_rho(change / noise.scale))
