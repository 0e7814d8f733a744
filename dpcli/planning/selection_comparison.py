"""Whether other noise would show private groups of fewer people."""

from __future__ import annotations

from dpcli.errors import SpecError
from dpcli.mechanisms.gaussian import Gaussian
from dpcli.messages import note
from dpcli.planning.plan import CentralPlan, PlannedStatistic
from dpcli.planning.statistic_planner import StatisticPlanner


def selection_comparisons(plan: CentralPlan) -> list[str]:
    """The threshold of Gaussian noise for the same loss, where it is lower than the planned one.

    It is where people can be in several groups: its scale grows with the square root of their
    number.
    """
    planner = StatisticPlanner(plan.spec, {})
    return [
        sentence
        for planned in plan.statistics
        if planned.entry.has_private_groups and not planned.mechanism.needs_delta
        for sentence in _comparison(planned, planner)
    ]


def _comparison(planned: PlannedStatistic, planner: StatisticPlanner) -> list[str]:
    selection = planned.queries[0].partition_selection
    if selection is None:
        return []
    try:
        other = planner.plan_with(planned.entry, Gaussian(), planned.target)
    except SpecError:
        return []
    unused = other.queries[0].partition_selection
    if unused is None or unused.threshold >= selection.threshold:
        return []
    facts = {"used": selection.threshold, "unused": unused.threshold}
    return [note("selections.fewer", name=planned.name, **facts)]
