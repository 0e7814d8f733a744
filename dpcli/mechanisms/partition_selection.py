"""The threshold that a noisy count of a private group must reach."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpcli.noise.distribution import Noise
from dpcli.numeric.search import search_min
from dpcli.privacy.sensitivity import Sensitivity


@dataclass(frozen=True, slots=True)
class PartitionSelection:
    """A group is published if its noisy count reaches `threshold`.

    `delta` bounds the probability that any group is published that only one person is in.

    Privacy: let two neighbors differ in one person. The noise of the counts protects the groups
    that both neighbors have. The others are at most `l0` groups, each with a count of at most
    `linf`. The probability that any of them is published is at most delta, so a mechanism that
    never publishes them differs by at most delta in the probability of any set of outputs. Hence
    noise that is (epsilon, delta')-private for the counts makes the answer
    (epsilon, delta' + delta)-private. If neighbors exchange a person, each has such groups. Both
    distributions then share the case that none of them is published, which has a probability of
    at least 1 - delta, and the same bound holds.
    """

    threshold: int
    delta: Fraction


def threshold_for_delta(
    noise: Noise, sensitivity: Sensitivity, delta: Fraction
) -> PartitionSelection:
    """The least threshold that meets `delta`; `sensitivity` is to one added unit.

    For at most l0 groups with counts of at most linf, l0 P[noise >= threshold - linf] <= delta.
    This union bound adds less than a factor of 1 + delta. Raises ValueError for noise without a
    tail bound.
    """
    beyond = search_min(lambda value: sensitivity.l0 * noise.tail_bound(value) <= delta, 0, 1)
    return PartitionSelection(sensitivity.linf + beyond, delta)
