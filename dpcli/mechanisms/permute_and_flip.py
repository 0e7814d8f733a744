"""Permute-and-flip: a choice never worse than the exponential mechanism's."""

from __future__ import annotations

from collections.abc import Sequence

from dpcli.mechanisms.base import Choosing
from dpcli.privacy.noise import Noise
from dpcli.sampling.choice import permute_and_flip


class PermuteAndFlip(Choosing):
    """Visits candidates in random order, and takes the first whose coin falls heads.

    A candidate that falls short of the best by g has a coin of heads exp(-g / scale). The scale
    is L1 / epsilon, as for `exponential`; the expected score is never lower, and up to
    twice as near to the best (McKenna and Sheldon 2020, theorem 2 and proposition 3).

    Privacy: it is the same as adding exponential noise of this scale to each score and
    reporting the largest (Ding, Kifer, Steinke, Wang, Xiao and Zhang 2021). Fix the noise of
    all other candidates: the noise that this one needs to win changes between neighbours
    by at most what its distance to the winner among them changes, and the
    probability of exceeding it by a factor of exp(distance / scale) at most.
    Coins are exact (Canonne, Kamath and Steinke 2020). In zero-concentrated privacy it is
    not as good as the exponential mechanism, whose loss has a smaller range.
    """

    name = "permute_and_flip"

    def pick(self, noise: Noise, gaps: Sequence[int]) -> int:
        """The place of the chosen candidate."""
        return permute_and_flip(gaps, noise.scale)
