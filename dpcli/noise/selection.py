"""The randomness of choices among candidates that fall short of the best."""

from __future__ import annotations

from abc import abstractmethod
from typing import final

from dpcli.noise.choice_sampling import exponential, permute_and_flip
from dpcli.noise.distribution import Noise
from dpcli.noise.sampling import Draws
from dpcli.numeric.arrays import Array, Ints
from dpcli.privacy.dominating_pairs import RangePair


class ChoiceNoise(Noise):
    """Adds nothing: a candidate that falls short of the best by g has a weight of exp(-g / scale).

    A new kind states how it picks.
    """

    @property
    def name(self) -> str:
        """That of the mechanism."""
        return self.kind.replace("_", "-")

    @abstractmethod
    def pick(self, gaps: Array) -> Ints:
        """The place of the chosen candidate in each row.

        Each falls short of the best of its row by its gap.
        """

    def sample(self, count: int, *, many: bool = False) -> Draws:
        """Nothing is added, so there are none."""
        raise ValueError(f"a choice of scale {self.scale} is not added {count} times, {many}")

    def tail(self, least: int) -> float:
        """Nothing is added, so there is none."""
        raise ValueError(f"a choice of scale {self.scale} has no tail at {least}")


@final
class PermuteAndFlipChoice(ChoiceNoise):
    """Coins are tossed for candidates in random order, until one shows heads."""

    kind = "permute_and_flip"

    def pick(self, gaps: Array) -> Ints:
        """The first whose coin shows heads."""
        return permute_and_flip(gaps, self.scale)


@final
class ExponentialChoice(ChoiceNoise):
    """A candidate is chosen with a probability in proportion to its weight."""

    kind = "exponential"
    pair = RangePair

    def pick(self, gaps: Array) -> Ints:
        """One by its weight."""
        return exponential(gaps, self.scale)
