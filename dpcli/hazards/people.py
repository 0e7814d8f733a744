"""Hazards of the unit: events instead of people, and one person as two."""

from __future__ import annotations

from dpcli.hazards.base import Hazard, Judged, Verdict
from dpcli.plan.local import AnyPlan, LocalPlan
from dpcli.privacy.relation import RowUnit


def _unit(plan: AnyPlan) -> Judged:
    """Whether people are protected, or single rows."""
    unit = plan.spec.privacy.unit
    if not isinstance(unit, RowUnit):
        return Verdict.MET, (
            f"all rows of a person are protected together, known by the column {unit.column}"
        )
    row = "record" if isinstance(plan, LocalPlan) else "row"
    return Verdict.OPEN, (
        f"each {row} is protected by itself; that protects people only if nobody has two. "
        f"Somebody with k {row}s can lose k times as much"
    )


def _identity(plan: AnyPlan) -> Judged | None:
    """Whether the id means a person."""
    unit = plan.spec.privacy.unit
    if isinstance(unit, RowUnit):
        return None
    each = "; rows without an id count as people of their own" if unit.each else ""
    return Verdict.OPEN, (
        f"somebody with several values of {unit.column} counts as several people, and is "
        f"protected less{each}"
    )


UNIT = Hazard(
    "unit", "Are people protected, and not only rows or events?", _unit, asks="privacy_unit"
)
IDENTITY = Hazard(
    "identity", "Does each person have one id, and only one?", _identity, asks="privacy_unit"
)
