"""What a plan and a report state about chosen bounds and limits."""

from __future__ import annotations

from dpcli.numeric.exact import decimal_places, decimal_text
from dpcli.planning.bounds_text import choices, chosen_sentences, kept_texts, rule_sentences
from dpcli.planning.plan import Plan, PlannedStatistic
from dpcli.report.entry_facts import QUALITY_KEYS, statistic_facts
from dpcli.report.json_text import Fact, Facts, JsonNumber
from dpcli.statistics.bounds_choice import BoundsChoice, KeptBounds
from dpcli.statistics.limit_choice import chosen_limit

BINS_COLUMNS = ("from", "to", "noisy count")
"""The columns of the table of noisy counts."""


def bounds_facts(plan: Plan) -> Facts:
    """Each choice, with its noisy counts once they are known, and what earlier releases chose."""
    facts: dict[str, list[Fact]] = {}
    for choice, planned in choices(plan):
        key = "chosen_limits" if choice.is_limit else "chosen_bounds"
        facts.setdefault(key, []).append(_choice_facts(choice, planned, plan))
    for kept, text in zip(plan.spec.kept, kept_texts(plan), strict=True):
        key = "kept_limits" if kept.is_limit else "kept_bounds"
        facts.setdefault(key, []).append(_kept_facts(kept, text))
    return dict(facts)


def _kept_facts(kept: KeptBounds, text: str) -> Fact:
    release: Facts = {"release_id": kept.release_id}
    if kept.is_limit:
        return {"key": kept.column, **release, "limit": chosen_limit(kept.bounds), "says": [text]}
    low, high = (
        JsonNumber(decimal_text(bound, decimal_places(bound)))
        for bound in (kept.bounds.lower, kept.bounds.upper)
    )
    return {"column": kept.column, **release, "lower": low, "upper": high, "says": [text]}


def _choice_facts(choice: BoundsChoice, planned: PlannedStatistic, plan: Plan) -> Fact:
    histogram, chosen = statistic_facts(planned, plan.spec.for_choices), choice.chosen
    least, most = choice.column.limits
    facts: Facts = {
        "name": planned.name,
        ("key" if choice.is_limit else "column"): choice.column.name,
        **{key: histogram[key] for key in QUALITY_KEYS},
        "ladder": choice.ladder.kind.name,
        "outermost": most if choice.is_limit else [_number(choice, least), _number(choice, most)],
        "cover": choice.cover,
        "threshold": choice.rule(planned.queries[0].noise).threshold,
        "rule": list(rule_sentences(choice, planned, plan)),
    }
    if chosen is None:
        return facts
    ends = {
        "lower": _number(choice, int(chosen.lower / choice.column.step)),
        "upper": _number(choice, int(chosen.upper / choice.column.step)),
    }
    return facts | {
        **({"limit": chosen_limit(chosen)} if choice.is_limit else ends),
        "decided": chosen.decided,
        "counts": list(chosen.counts),
        "bins": [[_number(choice, end) for end in ends] for ends in choice.bins],
        "says": list(chosen_sentences(choice, planned, plan)),
        "ledger": {"entry": chosen.entry, "head": chosen.head},
    }


def _number(choice: BoundsChoice, steps: int) -> JsonNumber:
    step = choice.column.step
    return JsonNumber(decimal_text(steps * step, decimal_places(step)))
