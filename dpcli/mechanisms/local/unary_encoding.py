"""Unary encoding: one bit for each label."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from dpcli.light_dataclasses import dataclass
from dpcli.mechanisms.local.local_mechanism import (
    CalibratedRandomizer,
    LocalMechanism,
    RandomizerRequest,
)
from dpcli.mechanisms.local.pure_protocol import PureProtocolRandomizer, false_label_probability
from dpcli.noise.bernoulli import Threshold, bernoulli_array
from dpcli.numeric.arrays import Ints, np
from dpcli.privacy.loss import Loss


@dataclass(frozen=True, slots=True)
class UnaryEncodingRandomizer(PureProtocolRandomizer):
    """Sets the bit of the true label with probability 1/2, and each other bit with q."""

    form: ClassVar = "bits"

    @property
    def ratio(self) -> Fraction:
        """p (1 - q) / (q (1 - p)): two bits differ, one for each label."""
        return self.p * (1 - self.q) / (self.q * (1 - self.p))

    def record(self) -> dict[str, object]:
        """The number of bits, and the probabilities of a one."""
        return {"categories": self.categories, "kept": str(self.p), "raised": str(self.q)}

    def describe(self) -> str:
        return (
            "the bit of the true label is one with probability 0.5, each other one with "
            f"{float(self.q):.6g}"
        )

    def draw(self, cells: Ints) -> tuple[Ints, ...]:
        """A column of zeros and ones (uint8) for each label."""
        coins = bernoulli_array(Threshold.rational(self.p), len(cells))
        other = Threshold.rational(self.q)
        return tuple(
            np.where(cells == label, coins, bernoulli_array(other, len(cells))).view(np.uint8)
            for label in range(self.categories)
        )


class UnaryEncoding(LocalMechanism):
    """Reports for each of k labels whether it is the true one; every answer may be false.

    A column `NAME=LABEL` of zeros and ones for each label. That of the true label is one
    with probability 1/2, each other one with q = 1 / (e^epsilon + 1), rounded up.

    Privacy: two true labels differ in two bits. A bit is one with probability 1/2 if it is
    that of the true label, so the ratio of probabilities of any response is at most (1/2)
    (1-q) / (q (1/2)) = e^epsilon (optimized unary encoding: Wang, Blocki, Li and Jha 2017).
    Probabilities are exact rationals, and responses have exactly these.

    The variance of a frequency f is (f/4 + (1-f) q(1-q)) / (n (1/2-q)^2), about 4 e^epsilon
    / (n (e^epsilon - 1)^2) for any number of labels.

    >>> response("unary_encoding", labels=4, epsilon="1")
    'ratio 2.7183, epsilon 1'
    """

    name = "unary_encoding"

    def calibrate(self, request: RandomizerRequest) -> CalibratedRandomizer:
        """The probability of a one for every false label."""
        assert request.epsilon is not None
        q = false_label_probability(request.epsilon, 1)
        return UnaryEncodingRandomizer(Loss(request.epsilon), Fraction(1, 2), q, request.labels)
