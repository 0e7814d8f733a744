"""Optimised unary encoding: a zero or one for each label, each of them uncertain."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from dpcli.privacy.interval import exp_down, round_up
from dpcli.privacy.loss import Loss
from dpcli.randomizers.base import FINE, Asked, Channel, PureProtocol, Randomizer
from dpcli.sampling.bernoulli import Threshold, bernoulli_array

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Bits(PureProtocol):
    """The bit of the true label is set by a fair coin, each other one with probability q."""

    categories: int

    form: ClassVar = "bits"

    @property
    def ratio(self) -> Fraction:
        """(1 - q) / q: two bits differ, and one of them is set by a fair coin."""
        return (1 - self.q) / self.q

    def record(self) -> dict[str, object]:
        """How many bits, and how likely those of untrue labels are."""
        return {"categories": self.categories, "kept": str(self.p), "raised": str(self.q)}

    def describe(self) -> str:
        """How likely bits are."""
        return (
            "the bit of the true label is one with probability 0.5, each other one with "
            f"{float(self.q):.6g}"
        )

    def draw(self, cells: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
        """A column of zeros and ones for each label."""
        import numpy as np

        coins = bernoulli_array(Threshold.rational(self.p), len(cells))
        other = Threshold.rational(self.q)
        return tuple(
            np.where(cells == label, coins, bernoulli_array(other, len(cells))).view(np.uint8)
            for label in range(self.categories)
        )


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
        q = round_up(1 / (exp_down(asked.epsilon, 2 * FINE) + 1), FINE)
        return Bits(Loss(asked.epsilon), HALF, q, asked.labels)
