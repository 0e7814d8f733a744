"""One true answer and several untrue ones, all of these equally likely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcli.privacy.decimals import plain_text
from dpcli.privacy.interval import exp_down, round_up
from dpcli.privacy.loss import Loss
from dpcli.privacy.ratio import epsilon_of
from dpcli.randomizers.base import Asked, CannotRandomize, Channel, Tally
from dpcli.sampling.threshold import Threshold
from dpcli.sampling.vectorised import bernoulli_array, uniforms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FINE = 128
"""Bits to which a probability is rounded, relative to itself."""


@dataclass(frozen=True, slots=True)
class Symmetric(Channel):
    """The true one of `categories` labels with probability `truth`, else one of the others."""

    categories: int
    truth: Fraction

    @property
    def lie(self) -> Fraction:
        """The probability of each of the other labels."""
        return (1 - self.truth) / (self.categories - 1)

    @property
    def ratio(self) -> Fraction:
        """truth / lie, or the other way round if lies are likelier."""
        return max(self.truth, self.lie) / min(self.truth, self.lie)

    def record(self) -> dict[str, object]:
        """How many labels, and how likely the true one is."""
        return {"categories": self.categories, "truth": str(self.truth)}

    def told(self) -> str:
        """How likely the true label is."""
        exact = plain_text(self.truth)
        truth = exact if len(exact) <= 12 else f"{float(self.truth):.6g}"
        others = f"each of {self.categories - 1} others" if self.categories > 2 else "the other"
        return f"the true label with probability {truth}, {others} with {float(self.lie):.6g}"

    def draw(self, cells: NDArray[np.int64]) -> tuple[NDArray[np.int64]]:
        """Keep a label, or replace it by one of all, uniformly; each with exact odds.

        Replacing with probability k min(truth, lie) gives every label that much; what is
        left goes to the true label, or, if lies are likelier, evenly to the others.
        """
        import numpy as np

        k, count = self.categories, len(cells)
        if k == 2:
            lies = bernoulli_array(Threshold.rational(self.lie), count)
            return (cells ^ lies,)
        replaced = bernoulli_array(Threshold.rational(k * min(self.truth, self.lie)), count)
        drawn = cells.copy()
        places = np.flatnonzero(replaced)
        drawn[places] = uniforms(k, len(places))
        if self.lie > self.truth:
            places = np.flatnonzero(~replaced)
            drawn[places] = (drawn[places] + 1 + uniforms(k - 1, len(places))) % k
        return (drawn,)

    def estimates(self, tally: Tally) -> tuple[Fraction, ...]:
        """(share of responses - lie) / (truth - lie) for each label."""
        scale = self.truth - self.lie
        return tuple((Fraction(count, tally.records) - self.lie) / scale for count in tally.counts)

    def variances(self, frequencies: Sequence[float]) -> list[float]:
        """(f truth (1 - truth) + (1 - f) lie (1 - lie)) / (truth - lie)^2."""
        truth, lie = float(self.truth), float(self.lie)
        scale = float(self.truth - self.lie) ** 2
        return [
            (share * truth * (1 - truth) + (1 - share) * lie * (1 - lie)) / scale
            for share in frequencies
        ]


def settled(asked: Asked, categories: int) -> Symmetric:
    """The channel that an epsilon or a probability of the truth asks for.

    From epsilon, a lie has probability 1/(e^epsilon + k - 1), rounded up, so that
    truth / lie is at most e^epsilon.
    """
    if asked.probability is None:
        assert asked.epsilon is not None
        grown = exp_down(asked.epsilon, 2 * FINE)
        lie = round_up(1 / (grown + categories - 1), FINE)
        return Symmetric(Loss(asked.epsilon), categories, 1 - (categories - 1) * lie)
    truth = asked.probability
    if truth * categories == 1:
        raise CannotRandomize(
            f"with probability {plain_text(truth)} all {categories} answers are equally likely, "
            "whatever is true",
            "choose another probability: nothing could be estimated from such responses",
        )
    found = Symmetric(Loss(Fraction(0)), categories, truth)
    return Symmetric(Loss(epsilon_of(found.ratio)), categories, truth)
