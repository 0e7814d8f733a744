"""Optimised unary encoding: a zero or one for each label, each of them uncertain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from dpcli.privacy.interval import exp_down, round_up
from dpcli.privacy.loss import Loss
from dpcli.randomizers.base import Asked, Channel, Randomizer, Tally
from dpcli.randomizers.symmetric import FINE
from dpcli.sampling.threshold import Threshold
from dpcli.sampling.vectorised import bernoulli_array

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Bits(Channel):
    """The bit of the true label is set by a fair coin, each other one with probability `raised`."""

    categories: int
    raised: Fraction

    form: ClassVar = "bits"

    @property
    def ratio(self) -> Fraction:
        """(1 - raised) / raised: two bits differ, and the odds of one are even."""
        return (1 - self.raised) / self.raised

    def record(self) -> dict[str, object]:
        """How many bits, and how likely those of untrue labels are."""
        return {"categories": self.categories, "kept": str(HALF), "raised": str(self.raised)}

    def told(self) -> str:
        """How likely bits are."""
        return (
            "the bit of the true label is one with probability 0.5, each other one with "
            f"{float(self.raised):.6g}"
        )

    def draw(self, cells: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
        """A column of zeros and ones for each label."""
        import numpy as np

        coins = bernoulli_array(Threshold.rational(HALF), len(cells))
        raised = Threshold.rational(self.raised)
        return tuple(
            np.where(cells == label, coins, bernoulli_array(raised, len(cells))).view(np.uint8)
            for label in range(self.categories)
        )

    def estimates(self, tally: Tally) -> tuple[Fraction, ...]:
        """(share of ones - raised) / (1/2 - raised) for each label."""
        return tuple(
            (Fraction(count, tally.records) - self.raised) / (HALF - self.raised)
            for count in tally.counts
        )

    def variances(self, frequencies: Sequence[float]) -> list[float]:
        """(f/4 + (1 - f) raised (1 - raised)) / (1/2 - raised)^2."""
        raised = float(self.raised)
        scale = float(HALF - self.raised) ** 2
        return [(share / 4 + (1 - share) * raised * (1 - raised)) / scale for share in frequencies]


class UnaryEncoding(Randomizer):
    """Reports for each of k labels whether it is the true one; every answer may be false.

    A column `NAME=LABEL` of zeros and ones for each label. That of the true label is one
    with probability 1/2, each other one with q = 1 / (e^epsilon + 1), rounded up.

    Privacy: two true labels differ in two bits. A bit is one with probability 1/2 if it is
    that of the true label, so the ratio of probabilities of any response is at most (1/2)
    (1-q) / (q (1/2)) = e^epsilon (optimized unary encoding: Wang, Blocki, Li and Jha 2017).
    Probabilities are exact rationals, and responses have exactly these.

    The variance of a frequency f is (f/4 + (1-f) q(1-q)) / (n (1/2-q)^2), about 4 e^epsilon
    / (n (e^epsilon - 1)^2) for any number of labels.
    """

    name = "unary_encoding"

    def channel(self, asked: Asked) -> Channel:
        """One bit for each label."""
        assert asked.epsilon is not None
        raised = round_up(1 / (exp_down(asked.epsilon, 2 * FINE) + 1), FINE)
        return Bits(Loss(asked.epsilon), asked.labels, raised)
