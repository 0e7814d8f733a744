"""Sentences about chosen bounds: how, from which counts, and which they are."""

from __future__ import annotations

from collections.abc import Iterator

from dpcli.messages import note
from dpcli.numeric.exact import readable_text
from dpcli.numeric.number_text import exact_or_up, rounded_text
from dpcli.planning.plan import Plan, PlannedStatistic
from dpcli.statistics.bounds_choice import BoundsChoice
from dpcli.statistics.bounds_rule import BoundsRule


def choices(plan: Plan) -> Iterator[tuple[BoundsChoice, PlannedStatistic]]:
    """Each choice of bounds and the histogram from which it is made."""
    return zip(plan.spec.choices, plan.bounds, strict=True)


def rule_of(choice: BoundsChoice, planned: PlannedStatistic) -> BoundsRule:
    """The rule that chooses from the noisy counts."""
    bins = len(choice.ladder.axis)
    return BoundsRule.of(planned.queries[0].noise, bins, choice.ladder.kind.decay, choice.cover)


def choice_rules(plan: Plan) -> Iterator[str]:
    """How bounds will be chosen, before that is done."""
    for choice, planned in choices(plan) if plan.chooses_bounds else ():
        yield from rule_sentences(choice, planned, plan)


def rule_sentences(choice: BoundsChoice, planned: PlannedStatistic, plan: Plan) -> Iterator[str]:
    """How the bounds of one column are chosen."""
    facts = _facts(choice, planned, plan)
    yield note("chosen.rule", **facts)
    if choice.cover < 1:
        yield note("chosen.cover", **facts)


def kept_texts(plan: Plan) -> list[str]:
    """A sentence on the bounds of each column that an earlier release chose."""
    return [
        note(
            "chosen.kept",
            column=kept.column,
            name=kept.release_id,
            low=readable_text(kept.bounds.lower),
            high=readable_text(kept.bounds.upper),
        )
        for kept in plan.spec.kept
    ]


def simulated_bounds(plan: Plan) -> Iterator[str]:
    """Which bounds a simulation has, in place of those that a release would choose."""
    names = ", ".join(choice.column.name for choice in plan.spec.choices)
    if names:
        yield note("chosen.simulated", columns=names)


def chosen_texts(plan: Plan) -> list[str]:
    """Two sentences on the bounds of each column: what was chosen, and from which counts."""
    return [
        " ".join(chosen_sentences(choice, planned, plan))
        for choice, planned in choices(plan)
        if choice.chosen is not None
    ]


def chosen_sentences(
    choice: BoundsChoice, planned: PlannedStatistic, plan: Plan
) -> tuple[str, str]:
    """What was chosen, and from which counts at which epsilon."""
    chosen, facts = choice.chosen, _facts(choice, planned, plan)
    assert chosen is not None
    key = "result" if chosen.decided else "fallback"
    key = "covering" if chosen.decided and choice.cover < 1 else key
    ends = {"low": readable_text(chosen.lower), "high": readable_text(chosen.upper)}
    return note(f"chosen.{key}", **ends, **facts), note("chosen.counts", **facts)


def _facts(choice: BoundsChoice, planned: PlannedStatistic, plan: Plan) -> dict[str, object]:
    column, query = choice.column, planned.queries[0]
    low, high = (readable_text(bound * column.step) for bound in column.limits)
    return {
        "column": column.name,
        "rows": plan.spec.rows_are,
        "bins": len(choice.ladder.axis),
        "ladder": choice.ladder.kind.name,
        "least": low,
        "most": high,
        "epsilon": exact_or_up(choice.epsilon),
        "scale": rounded_text(query.scale),
        "threshold": rule_of(choice, planned).threshold,
        "cover": rounded_text(choice.cover * 100, 4),
    }
