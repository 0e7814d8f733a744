"""What a plan and a report state about choices of bounds and of a limit."""

from __future__ import annotations

from typing import Any

from dpcli.numeric.exact import decimal_places, decimal_text
from dpcli.planning.bounds_text import choices, chosen_sentences, rule_sentences
from dpcli.planning.plan import CentralPlan, PlannedStatistic
from dpcli.report.entry_facts import queries_of
from dpcli.report.entry_model import ChargeReport, ChoiceReport, ChoiceRuleReport
from dpcli.report.json_text import JsonNumber
from dpcli.statistics.bounds_choice import BoundsChoice

BINS_COLUMNS = ("from", "to", "noisy count")
"""The columns of the table of noisy counts."""


def choice_reports(plan: CentralPlan) -> list[Any] | None:
    """Each choice, with its noisy counts once they are known; None without one."""
    return [_choice_report(choice, planned, plan) for choice, planned in choices(plan)] or None


def _choice_report(
    choice: BoundsChoice, planned: PlannedStatistic, plan: CentralPlan
) -> ChoiceRuleReport:
    def numbers(steps: tuple[int, int]) -> tuple[JsonNumber, JsonNumber]:
        step = choice.column.step
        low, high = (JsonNumber(decimal_text(end * step, decimal_places(step))) for end in steps)
        return low, high

    chosen, (lower, upper) = choice.chosen, numbers(choice.limits)
    report = ChoiceRuleReport(
        name=planned.name,
        column=choice.column_name,
        **queries_of(planned, plan.spec.for_choices),
        ladder=choice.ladder.kind.name,
        outermost=numbers(choice.column.limits),
        cover=JsonNumber.of(choice.cover),
        threshold=choice.rule(planned.queries[0].calibrated.noise).threshold,
        rule=list(rule_sentences(choice, planned, plan)),
    )
    if chosen is None:
        return report
    return report.extended(
        ChoiceReport,
        lower=lower,
        upper=upper,
        decided=chosen.decided,
        counts=list(chosen.counts),
        bins=list(map(numbers, choice.bins)),
        sentences=list(chosen_sentences(choice, planned, plan)),
        ledger=ChargeReport(entry=chosen.entry, head=chosen.head),
    )
