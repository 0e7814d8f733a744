"""Pure protocols: each label is supported with one of two probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpcli.light_dataclasses import dataclass
from dpcli.mechanisms.local.local_mechanism import CalibratedRandomizer, ResponseCounts
from dpcli.numeric.exact import require_exact
from dpcli.numeric.interval_arithmetic import exp_down, round_up

PROBABILITY_BITS = 128
"""Significant bits to which a probability is rounded."""


@dataclass(frozen=True, slots=True)
class PureProtocolRandomizer(CalibratedRandomizer):
    """A randomizer whose responses support labels, with one of two probabilities.

    A response supports the true label with probability `p`, and each other label with `q`. The
    `counts` of responses have, for each label, the number of responses that support it (Wang,
    Blocki, Li and Jha 2017).
    """

    p: Fraction
    q: Fraction
    categories: int

    def __post_init__(self) -> None:
        require_exact(self.p, self.q)
        if not (0 < self.p < 1 and 0 < self.q < 1):
            raise ValueError("probabilities lie between zero and one")

    def estimates(self, responses: ResponseCounts) -> tuple[Fraction, ...]:
        """(frequency among responses - q) / (p - q) for each label."""
        scale = self.p - self.q
        return tuple(
            (Fraction(count, responses.records) - self.q) / scale for count in responses.counts
        )

    def variances(self, frequencies: Sequence[float]) -> list[float]:
        """(f p (1 - p) + (1 - f) q (1 - q)) / (p - q)^2."""
        p, q, scale = float(self.p), float(self.q), float(self.p - self.q) ** 2
        return [(f * p * (1 - p) + (1 - f) * q * (1 - q)) / scale for f in frequencies]


def false_label_probability(epsilon: Fraction, others: int) -> Fraction:
    """The probability of one of the `others`, 1 / (e^epsilon + others), rounded up."""
    return round_up(1 / (exp_down(epsilon, 2 * PROBABILITY_BITS) + others), PROBABILITY_BITS)
