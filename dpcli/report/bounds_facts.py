"""What a plan and a report state about bounds that are chosen from noisy counts."""

from __future__ import annotations

from dpcli.numeric.exact import decimal_places, decimal_text
from dpcli.planning.bounds_text import (
    choices,
    chosen_sentences,
    kept_texts,
    rule_of,
    rule_sentences,
)
from dpcli.planning.plan import Plan, PlannedStatistic
from dpcli.report.entry_facts import QUALITY_KEYS, statistic_facts
from dpcli.report.json_text import Fact, Facts, JsonNumber
from dpcli.statistics.bounds_choice import BoundsChoice, KeptBounds

BINS_COLUMNS = ("from", "to", "noisy count")
"""The columns of the table of noisy counts."""


def bounds_facts(plan: Plan) -> Facts:
    """Each choice of bounds, with its noisy counts once they are known, and kept bounds."""
    stated = [_choice_facts(choice, planned, plan) for choice, planned in choices(plan)]
    kept = [_kept_facts(*pair) for pair in zip(plan.spec.kept, kept_texts(plan), strict=True)]
    return {
        **({"chosen_bounds": stated} if stated else {}),
        **({"kept_bounds": kept} if kept else {}),
    }


def _kept_facts(kept: KeptBounds, text: str) -> Fact:
    low, high = (
        JsonNumber(decimal_text(bound, decimal_places(bound)))
        for bound in (kept.bounds.lower, kept.bounds.upper)
    )
    facts: Facts = {"column": kept.column, "release_id": kept.release_id}
    return facts | {"lower": low, "upper": high, "says": [text]}


def _choice_facts(choice: BoundsChoice, planned: PlannedStatistic, plan: Plan) -> Fact:
    histogram, chosen = statistic_facts(planned, plan.spec), choice.chosen
    least, most = choice.column.limits
    facts: Facts = {
        "name": planned.name,
        "column": choice.column.name,
        **{key: histogram[key] for key in QUALITY_KEYS},
        "ladder": choice.ladder.kind.name,
        "outermost": [_number(choice, least), _number(choice, most)],
        "cover": choice.cover,
        "threshold": rule_of(choice, planned).threshold,
        "rule": list(rule_sentences(choice, planned, plan)),
    }
    if chosen is None:
        return facts
    return facts | {
        "lower": _number(choice, int(chosen.lower / choice.column.step)),
        "upper": _number(choice, int(chosen.upper / choice.column.step)),
        "decided": chosen.decided,
        "counts": list(chosen.counts),
        "bins": [[_number(choice, end) for end in ends] for ends in choice.ladder.bins],
        "says": list(chosen_sentences(choice, planned, plan)),
        "ledger": {"entry": chosen.entry, "head": chosen.head},
    }


def _number(choice: BoundsChoice, steps: int) -> JsonNumber:
    step = choice.column.step
    return JsonNumber(decimal_text(steps * step, decimal_places(step)))
