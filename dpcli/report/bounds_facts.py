"""What a plan and a report state about chosen bounds and limits."""

from __future__ import annotations

from typing import Any

from dpcli.numeric.exact import decimal_places, decimal_text
from dpcli.planning.bounds_text import choices, chosen_sentences, kept_texts, rule_sentences
from dpcli.planning.plan import CentralPlan, PlannedStatistic
from dpcli.report.entry_facts import queries_of
from dpcli.report.entry_model import (
    ChargeReport,
    ChoiceReport,
    ChoiceRuleReport,
    ReusedChoiceReport,
)
from dpcli.report.json_text import JsonNumber
from dpcli.statistics.bounds_choice import BoundsChoice, KeptBounds
from dpcli.statistics.limit_choice import chosen_limit

BINS_COLUMNS = ("from", "to", "noisy count")
"""The columns of the table of noisy counts."""


def choice_reports(plan: CentralPlan) -> dict[str, Any]:
    """Each choice, with its noisy counts once they are known, and what earlier releases chose."""
    reports: dict[str, list[Any]] = {}
    for choice, planned in choices(plan):
        key = "chosen_limits" if choice.is_limit else "chosen_bounds"
        reports.setdefault(key, []).append(_choice_report(choice, planned, plan))
    for kept, text in zip(plan.spec.kept, kept_texts(plan), strict=True):
        key = "kept_limits" if kept.is_limit else "kept_bounds"
        reports.setdefault(key, []).append(_reused_report(kept, text))
    return reports


def _reused_report(kept: KeptBounds, text: str) -> ReusedChoiceReport:
    if kept.is_limit:
        limit = chosen_limit(kept.bounds)
        return ReusedChoiceReport(
            key=kept.column, release_id=kept.release_id, limit=limit, sentences=[text]
        )
    lower, upper = (
        JsonNumber(decimal_text(bound, decimal_places(bound)))
        for bound in (kept.bounds.lower, kept.bounds.upper)
    )
    return ReusedChoiceReport(
        column=kept.column, release_id=kept.release_id, lower=lower, upper=upper, sentences=[text]
    )


def _choice_report(
    choice: BoundsChoice, planned: PlannedStatistic, plan: CentralPlan
) -> ChoiceRuleReport:
    low, high = choice.column.limits
    report = ChoiceRuleReport(
        name=planned.name,
        key=choice.column.name if choice.is_limit else None,
        column=None if choice.is_limit else choice.column.name,
        **queries_of(planned, plan.spec.for_choices),
        ladder=choice.ladder.kind.name,
        outermost=high if choice.is_limit else (_number(choice, low), _number(choice, high)),
        cover=JsonNumber.of(choice.cover),
        threshold=choice.rule(planned.queries[0].noise).threshold,
        rule=list(rule_sentences(choice, planned, plan)),
    )
    chosen = choice.chosen
    if chosen is None:
        return report
    lower, upper = (
        _number(choice, int(bound / choice.column.step)) for bound in (chosen.lower, chosen.upper)
    )
    return report.extended(
        ChoiceReport,
        limit=chosen_limit(chosen) if choice.is_limit else None,
        lower=None if choice.is_limit else lower,
        upper=None if choice.is_limit else upper,
        decided=chosen.decided,
        counts=list(chosen.counts),
        bins=[(_number(choice, first), _number(choice, last)) for first, last in choice.bins],
        sentences=list(chosen_sentences(choice, planned, plan)),
        ledger=ChargeReport(entry=chosen.entry, head=chosen.head),
    )


def _number(choice: BoundsChoice, steps: int) -> JsonNumber:
    step = choice.column.step
    return JsonNumber(decimal_text(steps * step, decimal_places(step)))
