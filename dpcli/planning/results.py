"""The noisy answers to a plan, and the numbers that follow; all may be published."""

from __future__ import annotations

from dpcli.planning.plan import CentralPlan, PlannedStatistic
from dpcli.planning.quality_check import QualityResult
from dpcli.privacy.confidential import Group
from dpcli.problems.light_dataclasses import dataclass
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.estimates import Estimates


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
