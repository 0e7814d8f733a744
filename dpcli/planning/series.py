"""The better of several designs of a series, at equal loss of the account."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpcli.mechanisms.periods import guarantees_of_periods
from dpcli.numeric.exact import short_up
from dpcli.planning.plan import PlannedStatistic
from dpcli.privacy.loss import Loss
from dpcli.problems.light_dataclasses import dataclass
from dpcli.specification.model import CentralSpec

TOLERANCE = 0.002
"""How far losses that count as equal may be from each other, relatively."""

STEPS = 12
"""The most times that noise is scaled to reach a loss."""

POWER = 2 / 3
"""The power of a ratio of losses by which noise is scaled.

Losses fall with the first to second power of the noise: any of them converges.
"""

DIGITS = 6


@dataclass(frozen=True, slots=True, eq=False)
class ComparedSeries:
    """A planned series, whose noise may be scaled to compare it with others."""

    planned: PlannedStatistic
    spec: CentralSpec

    def loss(self, factor: Fraction = Fraction(1)) -> float:
        """What the account counts for a whole window, with noise of `factor` its scale."""
        privacy, (query,) = self.spec.privacy, self.planned.queries
        calibrated, overlap = query.calibrated, query.weighted.query.overlap
        assert overlap is not None
        mechanism, own = calibrated.mechanism, calibrated.loss
        guarantees = guarantees_of_periods(
            mechanism,
            mechanism.distribution(calibrated.noise.scale * factor),
            calibrated.sensitivity,
            overlap,
            Loss(own.epsilon / factor, own.delta),
            privacy.window or 1,
        )
        total = privacy.composition.total(guarantees, privacy.budget.delta)
        has_rho = privacy.budget.rho is not None and total.rho is not None
        return float(total.rho if has_rho and total.rho is not None else total.epsilon)

    def error(self, loss: float) -> float:
        """The error by which designs are compared, if the account counts this loss."""
        factor, confidence = Fraction(1), self.spec.confidence
        for _ in range(STEPS):
            ratio = self.loss(factor) / loss
            if abs(ratio - 1) < TOLERANCE:
                break
            factor = short_up(factor * Fraction(ratio**POWER), DIGITS)
        (query,) = self.planned.queries
        noise = query.calibrated.mechanism.distribution(query.calibrated.noise.scale * factor)
        return float(self.planned.design.compared_error([noise], confidence) or 0)


def better_series(planned: Sequence[PlannedStatistic], spec: CentralSpec) -> PlannedStatistic:
    """The series whose error is the least, or nearest to it, at what it costs itself.

    Losses do not all fall alike with the noise, so each is compared at its own loss of a window.
    MissingDependencyError is raised if the composition needs a package that is not installed.
    """
    series = [ComparedSeries(one, spec) for one in planned]

    def excess(one: ComparedSeries) -> float:
        loss = one.loss()
        errors = [other.error(loss) for other in series]
        return errors[series.index(one)] / min(errors)

    return min(series, key=excess).planned
