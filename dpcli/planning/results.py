"""The noisy answers to a plan, and the numbers that follow; all may be published."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcli.planning.plan import CentralPlan, PlannedStatistic
from dpcli.privacy.confidential import Group
from dpcli.privacy.unit import PersonUnit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.postprocessing import LIMITED_SHARE

if TYPE_CHECKING:
    from dpcli.planning.quality_check import QualityResult


@dataclass(frozen=True, slots=True)
class NoisyStatistic:
    """The noisy answers to the queries of one statistic, before post-processing.

    `groups` are the selected groups in order, if keys are private.
    """

    planned: PlannedStatistic
    answers: tuple[NoisyAnswer, ...]
    groups: tuple[Group, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class EstimatedStatistic:
    """The published numbers of one statistic.

    They follow from the noisy `answers`. `groups` are the selected groups in order, if keys are
    private. `raw` has the numbers before post-processing, and `population` the estimates for the
    population, if they are published too.
    """

    planned: PlannedStatistic
    answers: tuple[NoisyAnswer, ...]
    estimates: Estimates
    groups: tuple[Group, ...] | None = None
    raw: Estimates | None = None
    population: Estimates | None = None


@dataclass(frozen=True, slots=True)
class NoisyNumbers:
    """The results of a release: of the quality check and of all statistics.

    If the quality check failed, `plan` is that of the check alone, and there are no statistics.
    """

    plan: CentralPlan
    statistics: tuple[EstimatedStatistic, ...]
    quality: QualityResult | None


def is_limited(planned: PlannedStatistic, plan: CentralPlan, result: QualityResult | None) -> bool:
    """Whether a statistic has the flag `limited`: limits or bounds cut its data.

    It has the flag if noisy counts show that a limit on the rows of a person leaves out more than
    `LIMITED_SHARE` of the rows, or if noisy counts chose the bounds of its values: how many values
    lie beyond is not known. The flag depends on noisy answers and public facts only.
    """
    unit, queries = plan.spec.privacy.unit, [part.weighted.query for part in planned.queries]
    if isinstance(unit, PersonUnit) and result is not None:
        limits = {query.row_limit(unit) for query in queries}
        if any(result.least_share(limit) > LIMITED_SHARE for limit in limits):
            return True
    clamped = plan.spec.clamped_by_choice
    return any(column.name in clamped for query in queries for column in query.valued_columns)
