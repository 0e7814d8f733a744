"""Whether the noise of an entry is enough for its loss, by published formulas.

They are recomputed here from scales, sensitivities and thresholds alone, in floats.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple
from fractions import Fraction

from dpcli.mechanisms.calibrated_mechanism import CalibratedMechanism
from dpcli.planning.plan import PlannedStatistic
from dpcli.privacy.unit import Neighbors, Relation
from dpcli.proof.verify import Sens, gaussian_holds
from dpcli.proof.weights import tail_of

SLACK = Fraction(1, 10**6)
"""More than the relative error of floats."""


def claim_faults(planned: PlannedStatistic) -> Iterator[str]:
    """What of an entry reveals more than its loss says."""
    noisy = [part.calibrated for part in planned.queries if not part.is_exact]
    target = planned.target
    gaussian = [part for part in noisy if part.noise.kind == "gaussian"]
    pure = [part for part in noisy if part.noise.kind != "gaussian"]
    chances = 0.0
    for part in noisy:
        if rule := part.partition_selection:
            added = part.query.sensitivity(Relation(part.relation.unit, Neighbors.ADD_REMOVE))
            chance = added.l0 * tail_of(part.noise)(rule.threshold - added.linf)
            chances += chance
            if chance > float(min(rule.delta, part.loss.delta)) * (1 + SLACK):
                yield f"a group of one unit is published with probability {chance:.3g}"
    if target.rho is None:
        left = target.epsilon - sum(part.sensitivity.l1 / part.noise.scale for part in pure)
        if left < -SLACK * target.epsilon:
            yield f"the noise has {float(-left):.6g} more epsilon than is charged"
        if gaussian and not gaussian_holds(
            [(part.noise.scale, Sens(*astuple(part.sensitivity))) for part in gaussian],
            left, target.delta - Fraction(chances),
        ):  # fmt: skip
            yield f"noise and threshold have more than delta {float(target.delta):.3g}"
    elif (rho := sum(map(mu_squared, gaussian)) / 2) > target.rho * (1 + SLACK):
        yield f"the noise has rho {float(rho):.6g}, and {float(target.rho):.6g} is charged"


def mu_squared(part: CalibratedMechanism) -> float:
    """The square of how many deviations of Gaussian noise neighbors are apart."""
    return float(part.sensitivity.l2_squared / part.noise.scale**2)
