"""Sentences about choices of bounds and of a limit: how, and from which counts."""

from __future__ import annotations

from collections.abc import Iterator

from dpcli.messages import note
from dpcli.numeric.exact import readable_text
from dpcli.numeric.number_text import exact_or_up, rounded_text
from dpcli.planning.plan import CentralPlan, PlannedStatistic
from dpcli.statistics.bounds_choice import BoundsChoice


def choices(plan: CentralPlan) -> Iterator[tuple[BoundsChoice, PlannedStatistic]]:
    """Each choice and the histogram from which it is made."""
    return zip(plan.spec.choices, plan.bounds, strict=True)


def choice_rules(plan: CentralPlan) -> Iterator[str]:
    """What will be chosen and how, before that is done."""
    for choice, planned in choices(plan) if plan.chooses_bounds else ():
        yield from rule_sentences(choice, planned, plan)


def rule_sentences(
    choice: BoundsChoice, planned: PlannedStatistic, plan: CentralPlan
) -> Iterator[str]:
    """How something is chosen."""
    facts = _facts(choice, planned, plan)
    yield note("chosen.rule", **facts)
    if choice.cover < 1:
        yield note("chosen.cover", **facts)


def simulated_bounds(plan: CentralPlan) -> Iterator[str]:
    """What a simulation uses in place of the bounds and the limit that a release would choose."""
    if plan.spec.choices:
        nouns = " and ".join(choice.noun for choice in plan.spec.choices)
        yield note("chosen.simulated", chosen=nouns)


def chosen_texts(plan: CentralPlan) -> list[str]:
    """Two sentences on each choice: what was chosen, and from which counts."""
    return [
        " ".join(chosen_sentences(choice, planned, plan))
        for choice, planned in choices(plan)
        if choice.chosen is not None
    ]


def chosen_sentences(
    choice: BoundsChoice, planned: PlannedStatistic, plan: CentralPlan
) -> tuple[str, str]:
    """What was chosen, and from which counts at which epsilon."""
    chosen, facts = choice.chosen, _facts(choice, planned, plan)
    assert chosen is not None
    key = ("covering" if choice.cover < 1 else "result") if chosen.decided else "fallback"
    beyond = note(f"chosen.{choice.beyond}", **facts)
    result = note(f"chosen.{key}", value=choice.text(chosen), beyond=beyond, **facts)
    return result, note("chosen.counts", **facts)


def _facts(choice: BoundsChoice, planned: PlannedStatistic, plan: CentralPlan) -> dict[str, object]:
    query, bins, rows = planned.queries[0], choice.bins, plan.spec.rows_are
    least, most = (readable_text(end * choice.column.step) for end in (bins[0][0], bins[-1][1]))
    # Where the limit on rows is chosen too, one row of each person enters the other histograms.
    single = "single" if plan.spec.unit_of_choices else "rows"
    return {
        "chosen": choice.noun,
        "rows": rows,
        "counted": note(f"chosen.{choice.counted or single}", rows=rows),
        "bins": len(bins),
        "ladder": choice.ladder.kind.name,
        "least": least,
        "most": most,
        "outermost": choice.text(choice.at_rung(-1)),
        "epsilon": exact_or_up(choice.epsilon),
        "scale": rounded_text(query.scale),
        "threshold": choice.rule(query.calibrated.noise).threshold,
        "cover": rounded_text(choice.cover * 100, 4),
    }
