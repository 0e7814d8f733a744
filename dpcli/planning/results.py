"""The noisy answers to a plan, and the numbers that follow; all may be published."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcli.data.kinds import Axis
from dpcli.planning.plan import CentralPlan, PlannedStatistic
from dpcli.privacy.confidential import Group
from dpcli.problems.light_dataclasses import dataclass
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.quality.completeness import Complete, Completeness

if TYPE_CHECKING:
    from dpcli.planning.quality_check import QualityResult

UNKNOWN = Completeness(Complete.UNKNOWN, "nothing that was counted shows what is left out")


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
    population, if they are published too. The `completeness` says what the numbers count.
    """

    planned: PlannedStatistic
    answers: tuple[NoisyAnswer, ...]
    estimates: Estimates
    groups: tuple[Group, ...] | None = None
    raw: Estimates | None = None
    population: Estimates | None = None
    completeness: Completeness = UNKNOWN

    @property
    def bins(self) -> tuple[Axis | None, int]:
        """The bins of numbers along which numbers lie, and how many lie in each.

        They are those of a histogram, or else of the last key. Private groups are in no order.
        """
        entry = self.planned.entry
        inputs, count = entry.inputs, entry.statistic.item_count(entry.inputs)
        key, repeated = inputs.bins, 1
        if key is None and inputs.by and self.groups is None:
            key, repeated = inputs.by[-1], count
        is_ordered = key is not None and bool(key.starts) and not key.total
        is_ordered = is_ordered and not entry.statistic.chooses_labels
        return (key if is_ordered else None), repeated

    @property
    def period(self) -> str | None:
        """The key without totals whose labels follow the calendar; None without one."""
        keys = () if self.groups is not None else self.planned.entry.inputs.by
        in_calendar = (key.column.name for key in keys if key.column.in_calendar and not key.total)
        return next(in_calendar, None)


@dataclass(frozen=True, slots=True)
class NoisyNumbers:
    """The results of a release: of the quality check and of all statistics.

    If the quality check failed, `plan` is that of the check alone, and there are no statistics.
    """

    plan: CentralPlan
    statistics: tuple[EstimatedStatistic, ...]
    quality: QualityResult | None
