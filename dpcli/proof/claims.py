"""Whether the noise of an entry is enough for its loss, by published formulas.

They are recomputed here from scales, sensitivities and thresholds alone, in floats.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp, floor, sqrt

from dpcli.mechanisms.calibrated_mechanism import CalibratedMechanism
from dpcli.planning.plan import PlannedStatistic
from dpcli.privacy.unit import Neighbors, Relation
from dpcli.proof.weights import tail_of

SLACK = 1 + 1e-6
"""More than the relative error of floats."""

DISCRETE = 0.25
"""More than whole numbers change the delta of noise of scale 2 or more.

Where several numbers change; that of a single one is exact.
"""


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
            if chance > float(min(rule.delta, part.loss.delta)) * SLACK:
                yield f"a group of one unit is published with probability {chance:.3g}"
    if target.rho is None:
        charged = target.epsilon
        epsilon = sum(part.sensitivity.l1 / part.noise.scale for part in pure)
        if epsilon > charged * SLACK:
            yield f"the noise has epsilon {float(epsilon):.6g}, and {float(charged):.6g} is charged"
        delta = chances + (_delta(gaussian, float(charged - epsilon)) if gaussian else 0)
        if delta > float(target.delta) * SLACK:
            yield f"noise and threshold have delta {delta:.3g} at the charged epsilon"
    elif (rho := sum(map(mu_squared, gaussian)) / 2) > target.rho * SLACK:
        yield f"the noise has rho {float(rho):.6g}, and {float(target.rho):.6g} is charged"


def mu_squared(part: CalibratedMechanism) -> float:
    """The square of how many deviations of Gaussian noise neighbors are apart."""
    return float(part.sensitivity.l2_squared / part.noise.scale**2)


def _delta(parts: Sequence[CalibratedMechanism], epsilon: float) -> float:
    """The delta of Gaussian noise: exact if one number changes, else continuous.

    See Canonne, Kamath and Steinke 2020, and Balle and Wang 2018. Zero for several changes and a
    scale below 2, where it is not close.
    """
    noise, sensitivity = parts[0].noise, parts[0].sensitivity
    if len(parts) == 1 and sensitivity.l0 == 1:
        tail, change = tail_of(noise), sensitivity.linf
        first = floor(epsilon * float(noise.scale) ** 2 / change - change / 2 + 1e-6) + 1
        return tail(first) - exp(epsilon) * tail(first + change)
    from scipy.special import ndtr  # noqa: PLC0415 - slow to load

    if min(part.noise.scale for part in parts) < 2:
        return 0.0
    mu = sqrt(sum(map(mu_squared, parts)))
    far, near = epsilon / mu + mu / 2, epsilon / mu - mu / 2
    return float(ndtr(-near) - exp(epsilon) * ndtr(-far)) / (1 + DISCRETE)
