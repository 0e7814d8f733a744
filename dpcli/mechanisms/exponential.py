"""The exponential mechanism: weights that fall with the distance to the best."""

from __future__ import annotations

from collections.abc import Sequence

from dpcli.mechanisms.base import Choosing
from dpcli.privacy.noise import Noise
from dpcli.sampling.choice import exponential


class Exponential(Choosing):
    """Chooses a candidate with probability proportional to exp(score / scale).

    The scale is L1 / epsilon, where L1 is the most that a neighbour can change the distance
    of two scores, summed over groups and picks. For scores that change by D in any
    direction that is 2 D; where a neighbour changes them all in one direction, D.

    Privacy: between neighbours the weights of two candidates change their ratio by a factor of
    exp(distance / scale) at most. So does the ratio of one weight to the sum of all, which is
    the probability of the candidate; hence probabilities change by exp(epsilon) at most
    (McSherry and Talwar 2007; in terms of distances, Dong, Durfee and Rogers 2020). Several
    picks are a sequence of such choices, and groups that nobody shares do not add up.
    Choices are drawn exactly, by rejection with whole numbers (Canonne, Kamath and Steinke
    2020), and no score is too large.
    """

    name = "exponential"

    def pick(self, noise: Noise, gaps: Sequence[int]) -> int:
        """The place of the chosen candidate."""
        return exponential(gaps, noise.scale)
