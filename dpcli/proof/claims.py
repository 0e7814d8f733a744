"""Whether the noise of an entry is enough for its loss, by published formulas.

They are recomputed here from scales, sensitivities and thresholds alone, in floats.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp, floor, sqrt

from dpcli.planning.plan import PlannedQuery, PlannedStatistic
from dpcli.privacy.unit import Neighbors, Relation
from dpcli.proof.weights import tail_of

FLOATS = 1e-6
"""More than the relative error of floats."""

DISCRETE = 0.25
"""More than whole numbers change the delta of noise of scale 2 or more.

Where several numbers change; that of a single one is exact.
"""


def claim_faults(planned: PlannedStatistic) -> Iterator[str]:
    """What of an entry reveals more than its loss says."""
    noisy = [part for part in planned.queries if not part.is_exact]
    target = planned.target
    gaussian = [part for part in noisy if part.calibrated.noise.kind == "gaussian"]
    pure = [part for part in noisy if part.calibrated.noise.kind != "gaussian"]
    epsilon = sum(_l1_loss(part) for part in pure)
    if target.rho is None:
        if epsilon > float(target.epsilon) * (1 + FLOATS):
            yield f"the noise has epsilon {epsilon:.6g}, and {float(target.epsilon):.6g} is charged"
        left = float(target.epsilon) - epsilon
        if gaussian and _delta(gaussian, left) > float(target.delta) * (1 + FLOATS):
            yield f"the noise has delta {_delta(gaussian, left):.3g} at the charged epsilon"
    else:
        rho = sum(_mu_squared(part) / 2 for part in gaussian)
        if rho > float(target.rho) * (1 + FLOATS):
            yield f"the noise has rho {rho:.6g}, and {float(target.rho):.6g} is charged"
    for part in noisy:
        rule = part.calibrated.partition_selection
        if rule is None:
            continue
        relation = Relation(part.calibrated.relation.unit, Neighbors.ADD_REMOVE)
        added = part.calibrated.query.sensitivity(relation)
        chance = added.l0 * tail_of(part.calibrated.noise)(rule.threshold - added.linf)
        allowed = min(rule.delta, part.calibrated.loss.delta)
        if chance > float(allowed) * (1 + FLOATS):
            yield f"a group of one unit is published with probability {chance:.3g}"


def _l1_loss(part: PlannedQuery) -> float:
    return float(part.calibrated.sensitivity.l1 / part.calibrated.noise.scale)


def _mu_squared(part: PlannedQuery) -> float:
    return float(part.calibrated.sensitivity.l2_squared / part.calibrated.noise.scale**2)


def _delta(parts: Sequence[PlannedQuery], epsilon: float) -> float:
    """The delta of Gaussian noise: exact if one number changes, else continuous.

    See Canonne, Kamath and Steinke 2020, and Balle and Wang 2018. Zero for several changes and a
    scale below 2, where it is not close.
    """
    noise, sensitivity = parts[0].calibrated.noise, parts[0].calibrated.sensitivity
    if len(parts) == 1 and sensitivity.l0 == 1:
        tail, change = tail_of(noise), sensitivity.linf
        first = floor(epsilon * float(noise.scale) ** 2 / change - change / 2 + FLOATS) + 1
        return tail(first) - exp(epsilon) * tail(first + change)
    from scipy.special import ndtr  # noqa: PLC0415 - slow to load

    if min(part.calibrated.noise.scale for part in parts) < 2:
        return 0.0
    mu = sqrt(sum(map(_mu_squared, parts)))
    far, near = epsilon / mu + mu / 2, epsilon / mu - mu / 2
    return float(ndtr(-near) - exp(epsilon) * ndtr(-far)) / (1 + DISCRETE)
