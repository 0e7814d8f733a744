"""Hazards of the unit: events instead of people, and one person as two."""

from __future__ import annotations

from dpcli.hazards.base import Hazard, Judged, Situation, Verdict
from dpcli.privacy.relation import RowUnit


def _unit(found: Situation) -> Judged:
    """Whether people are protected, or single rows."""
    unit = found.plan.spec.privacy.unit
    if not isinstance(unit, RowUnit):
        return Verdict.MET, (
            f"all rows of a person are protected together, known by the column {unit.column}"
        )
    one = found.one
    return Verdict.OPEN, (
        f"each {one} is protected by itself; that protects people only if nobody has two. "
        f"For somebody with k {one}s epsilon counts k times, and delta more than that"
    )


def _identity(found: Situation) -> Judged | None:
    """Whether the id means a person."""
    unit = found.plan.spec.privacy.unit
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
