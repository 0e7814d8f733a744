"""Partition selection: which groups of private keys are shown.

A group that is in the data because of one person alone must not be shown, except with a
probability that delta pays for (Korolova, Kenthapadi, Mishra and Ntoulas 2009; on the whole
numbers, Desfontaines, Voss, Gipson and Mandayam 2022).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpcli.noise.distribution import Noise
from dpcli.numeric.search import search_least
from dpcli.privacy.sensitivity import Sensitivity


@dataclass(frozen=True, slots=True)
class PartitionSelection:
    """Groups are shown when their noisy count reaches `threshold`.

    A person shows a group that is theirs alone with a probability of at most
    `delta`, over all such groups together.

    Privacy: let two neighbors differ in one person. Groups that both have are protected
    by the noise of their counts. The others are at most `l0` groups, each with a count
    of at most `linf`; the chance that any of them is shown is at most delta, so
    showing none of them changes the probability of no set of outputs by more. Hence
    noise that is (epsilon, delta')-private for the counts makes the whole
    (epsilon, delta' + delta)-private. When neighbors exchange a person, each has such
    groups; both distributions then share the case that none is shown, of probability
    1 - delta at least, and the same bound holds.
    """

    threshold: int
    delta: Fraction


def threshold_for_delta(noise: Noise, alone: Sensitivity, delta: Fraction) -> PartitionSelection:
    """The least threshold that meets `delta`; `alone` is what adding one unit does.

    With l0 groups of count linf at most, l0 P[noise >= threshold - linf] <= delta
    (the union bound, which costs less than a part in 1/delta).
    """
    beyond = search_least(lambda least: alone.l0 * noise.tail_bound(least) <= delta, 0, 1)
    return PartitionSelection(alone.linf + beyond, delta)
