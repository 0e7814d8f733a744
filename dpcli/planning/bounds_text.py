"""Sentences about chosen bounds and limits: how, and from which counts."""

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
    """How bounds and limits will be chosen, before that is done."""
    for choice, planned in choices(plan) if plan.chooses_bounds else ():
        yield from rule_sentences(choice, planned, plan)


def rule_sentences(
    choice: BoundsChoice, planned: PlannedStatistic, plan: CentralPlan
) -> Iterator[str]:
    """How the bounds of one column, or the limit, are chosen."""
    facts = _facts(choice, planned, plan)
    yield _note("rule", choice, **facts)
    if choice.cover < 1:
        yield _note("cover", choice, **facts)


def kept_texts(plan: CentralPlan) -> list[str]:
    """A sentence on the bounds of each column, and on the limit, that an earlier release chose."""
    return [
        note(
            "chosen.limit_kept" if kept.is_limit else "chosen.kept",
            column=kept.column,
            name=kept.release_id,
            low=readable_text(kept.bounds.lower),
            high=readable_text(kept.bounds.upper),
        )
        for kept in plan.spec.kept
    ]


def simulated_bounds(plan: CentralPlan) -> Iterator[str]:
    """What a simulation uses in place of the bounds and the limit that a release would choose."""
    limit = plan.spec.limit_choice
    names = ", ".join(one.column.name for one in plan.spec.choices if not one.is_limit)
    if names:
        yield note("chosen.simulated", columns=names)
    if limit is not None:
        yield note("chosen.limit_simulated", most=limit.column.upper)


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
    key = "result" if chosen.decided else "fallback"
    key = "covering" if chosen.decided and choice.cover < 1 else key
    ends = {"low": readable_text(chosen.lower), "high": readable_text(chosen.upper)}
    return _note(key, choice, **ends, **facts), _note("counts", choice, **facts)


def _note(key: str, choice: BoundsChoice, **facts: object) -> str:
    kind = "limit_" if choice.is_limit else ""
    return note(f"chosen.{kind}{key}", **facts)


def _facts(choice: BoundsChoice, planned: PlannedStatistic, plan: CentralPlan) -> dict[str, object]:
    column, query, rows = choice.column, planned.queries[0], plan.spec.rows_are
    low, high = (readable_text(bound * column.step) for bound in column.limits)
    # Where the limit on rows is chosen too, one row of each person enters the other histograms.
    single = plan.spec.limit_choice is not None
    return {
        "column": column.name,
        "rows": rows,
        "counted": note("chosen.single", rows=rows) if single else rows,
        "bins": len(choice.ladder.axis),
        "ladder": choice.ladder.kind.name,
        "least": low,
        "most": high,
        "epsilon": exact_or_up(choice.epsilon),
        "scale": rounded_text(query.scale),
        "threshold": choice.rule(query.noise).threshold,
        "cover": rounded_text(choice.cover * 100, 4),
    }
