"""Choices of candidates by their scores, which need no delta."""

from __future__ import annotations

from fractions import Fraction

from dpcli.mechanisms.mechanism import PureMechanism, SelectionMechanism
from dpcli.mechanisms.pure import worst_case_rho
from dpcli.noise.candidate_choice import ExponentialChoice, PermuteAndFlipChoice
from dpcli.noise.distribution import Noise
from dpcli.numeric.exact import short_up
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.privacy.zcdp_conversion import pure_rho


class Exponential(PureMechanism, SelectionMechanism):
    """Chooses a candidate with probability proportional to exp(score / scale).

    The scale is L1 / epsilon, where L1 is the most that a neighbor can change the
    difference of two scores, summed over groups and picks. For scores that change by D in
    any direction that is 2 D; where a neighbor changes them all in one direction, D.

    Privacy: between neighbors the weights of two candidates change their ratio by a factor
    of at most exp(distance / scale). So does the ratio of one weight to the sum of all,
    which is the probability of the candidate; hence probabilities change by a factor of at
    most exp(epsilon) (McSherry and Talwar 2007; in terms of distances, Dong, Durfee and
    Rogers 2020). Several picks are a sequence of such choices, and groups that no person
    shares do not add up. Choices are sampled exactly, by rejection with whole numbers
    (Canonne, Kamath and Steinke 2020), and no score is too large.

    Under `composition: zcdp` its rho is the sum of (range/scale)^2/8 over groups and picks:
    its loss has a range no wider than range/scale (Dong, Durfee and Rogers 2020), and such
    a loss is subgaussian (Cesar and Rogers 2021, lemma 3.4, after Hoeffding 1963).

    >>> noise("exponential", change=2, epsilon="1")
    'scale 2, epsilon 1'
    """

    name = "exponential"
    distribution = ExponentialChoice

    def zcdp_rho(self, noise: Noise, sensitivity: Sensitivity) -> Fraction:
        """The sum of (range/scale)^2 / 8, at most the rho of any pure answer."""
        ranges = short_up(sensitivity.l2_squared / (8 * noise.scale**2))
        return min(ranges, pure_rho(sensitivity.l1 / noise.scale))


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
