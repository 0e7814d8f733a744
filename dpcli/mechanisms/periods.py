"""What answers of a series reveal about the rows of several periods."""

from __future__ import annotations

from collections import Counter

from dpcli.mechanisms.mechanism import Mechanism
from dpcli.noise.distribution import Noise
from dpcli.privacy.loss import Guarantee, Loss
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.privacy.series import of_periods


def guarantees_of_periods(
    mechanism: Mechanism, noise: Noise, one: Sensitivity, overlap: str, loss: Loss, periods: int
) -> Counter[Guarantee]:
    """The guarantees of all answers for a person with rows in this number of periods.

    `one` is the sensitivity to the rows of one period, with this `loss`. ValueError for an unknown
    `overlap`.

    Privacy: the answers change by sums of the columns of the periods, which overlap (`of_periods`).
    """
    found = Counter[Guarantee]()
    for part, count in of_periods(overlap, one, periods):
        own = Loss(loss.epsilon * part.l1 / one.l1)
        if mechanism.needs_delta:
            own = mechanism.least_loss(noise, part, loss.delta)
        found[mechanism.guarantee(noise, part, own)] += count
    return found
