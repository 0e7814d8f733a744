"""Hazards of the numbers: bounds from the data, bias, and small groups."""

from __future__ import annotations

from collections.abc import Iterator

from dpcli.columns import NumericColumn
from dpcli.hazards.base import Hazard, Judged, Situation, Verdict
from dpcli.plan.model import PlannedEntry
from dpcli.privacy.relation import PersonUnit

SEVERAL = 6
"""Names that are listed before the rest is only counted."""


def _clipping(found: Situation) -> Judged:
    """Where bounds come from; that they clamp is public."""
    plan = found.plan
    clamped = [column.name for column in plan.spec.columns if isinstance(column, NumericColumn)]
    what = f"values of {_few(clamped)} beyond their bounds are clamped to them; " if clamped else ""
    return Verdict.OPEN, (
        f"{what}bounds, categories, limits and candidates must be known from elsewhere: chosen "
        "by looking at the data, they tell on somebody outside of the guarantee"
    )


def _limits(found: Situation) -> Judged | None:
    """What the limits on people leave out."""
    plan = found.plan
    unit = plan.spec.privacy.unit
    if not isinstance(unit, PersonUnit):
        return None
    return Verdict.WARNED, (
        f"of a person with more than {unit.rows:,} rows the others are left out: counts and sums "
        "are too low by these, and people with many rows count for less. Intervals tell of the "
        "noise alone"
    )


def _bias(found: Situation) -> Judged:
    """What is done to noisy numbers that moves them on average."""
    plan = found.plan
    if plan.is_local:
        steps = [one.column.name for one in plan.spec.responses if one.steps]
        if steps:
            return Verdict.WARNED, (
                f"estimates of {_few(steps)} are brought into their range, and are biased near "
                "its ends"
            )
        return Verdict.MET, "estimates are without bias, and may lie outside of their range"
    moved = [planned.entry.request.name for planned in plan.entries if any(_moves(planned))]
    if not moved:
        return Verdict.MET, "noise is symmetric around zero, and nothing is done to the answers"
    raw = [one.entry.request.name for one in plan.entries if one.entry.raw]
    beside = f"; of {_few(raw)} the noisy numbers are published beside" if raw else ""
    return Verdict.WARNED, (
        f"{_few(moved)}: what is done after the noise, or choosing, moves numbers in one "
        f"direction on average, most where groups are small{beside}"
    )


def _moves(planned: PlannedEntry) -> Iterator[bool]:
    """Whether the published numbers are others than noise around the answers."""
    entry = planned.entry
    yield bool(entry.post)
    yield bool(entry.statistic.notes(entry.request))
    yield entry.statistic.chooses
    yield entry.keys is not None


def _fairness(found: Situation) -> Judged | None:
    """That noise hides small groups more than large ones."""
    plan = found.plan
    if plan.is_local:
        return Verdict.OPEN, (
            "groups of few records have wide intervals: decisions by these numbers are less sure "
            "for small groups"
        )
    grouped = [one.entry.request.name for one in plan.entries if one.entry.request.by]
    if not grouped:
        return None
    return Verdict.OPEN, (
        f"{_few(grouped)}: every group gets the same noise, which is a larger part of a small "
        "group's numbers; decisions by them are less sure for minorities"
    )


def _few(names: list[str]) -> str:
    """Some names in a sentence."""
    names = list(dict.fromkeys(names))
    if len(names) <= SEVERAL:
        return ", ".join(names)
    return f"{', '.join(names[:SEVERAL])} and {len(names) - SEVERAL} others"


CLIPPING = Hazard(
    "clipping", "Were bounds and categories chosen without the data?", _clipping, asks="bounds"
)
LIMITS = Hazard("limits", "Do limits on people's rows leave much out?", _limits)
BIAS = Hazard("bias", "Does post-processing move the numbers?", _bias)
FAIRNESS = Hazard(
    "small groups", "For whom are the numbers too noisy to decide by?", _fairness, asks="fairness"
)
