"""A spec with what was chosen in place of what was open; and that as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import Any

from dpcli.data.column import Column
from dpcli.specification.context import SpecContext
from dpcli.specification.model import CentralSpec
from dpcli.statistics.bounds_choice import LIMIT_NAME, MAX_ROWS, ChosenBounds, bounds_name
from dpcli.statistics.quality import QUALITY_COUNTS, with_limits

ByHistogram = Mapping[str, ChosenBounds]
"""What was chosen, by the name of the histogram."""


def with_chosen_bounds(spec: CentralSpec, chosen: ByHistogram) -> CentralSpec:
    """The same spec with the bounds and the limit that were chosen.

    Nothing else changes: mechanisms and budgets are those of the open spec, whose outermost bounds
    contain all others, so that what was checked for it holds. Its digest is that of its text: the
    bounds are stored under the id of the release. Raises KeyError unless all are chosen, and
    ValueError for what cannot be.
    """
    choices = tuple(choice.with_chosen(chosen[choice.name]) for choice in spec.choices)

    def bounded(column: Column) -> Column:
        return reduce(lambda one, choice: choice.bounded(one), choices, column)

    unit = reduce(lambda one, choice: choice.limited(one), choices, spec.privacy.unit)
    privacy = replace(spec.privacy, unit=unit)
    relation, quality = privacy.relation, spec.quality
    entries = tuple(entry.answered_for(relation, bounded) for entry in spec.entries)
    if quality is not None:
        designs = (entry.designs for entry in entries)
        request = with_limits(quality.entry.request.with_columns(bounded), designs, relation)
        counts = QUALITY_COUNTS.designs(request, relation)
        quality = replace(quality, entry=replace(quality.entry, request=request, designs=counts))
    columns = tuple(map(bounded, spec.columns))
    return replace(
        spec, privacy=privacy, columns=columns, entries=entries, quality=quality, choices=choices
    )


def narrowest_and_widest(spec: CentralSpec) -> list[CentralSpec]:
    """The spec with the narrowest bounds and limits that can be chosen, and with the widest.

    Narrowest bounds of numbers on both sides of zero end there: first all begin at zero, then all
    end at it. Each other choice contains narrowest bounds, and lies within the widest ones.
    """
    names = [choice.name for choice in spec.choices]
    tried = dict.fromkeys(zip(*(choice.extremes for choice in spec.choices), strict=True))
    return [with_chosen_bounds(spec, dict(zip(names, ends, strict=True))) for ends in tried]


def require_answers_after_choices(context: SpecContext, spec: CentralSpec) -> None:
    """Reports statistics that some choice would leave without an answer.

    Such a problem after the choice would reveal it, and come after it is paid for. Those with the
    narrowest bounds and with the widest ones are all.
    """
    for bounded in narrowest_and_widest(spec) if spec.choices else ():
        for entry in bounded.entries:
            for fault in entry.statistic.faults(entry.request, bounded.privacy.relation):
                span = context.names[entry.request.name]
                span.report_and_suppress(fault.code, **fault.facts)


def to_json(chosen: ByHistogram) -> bytes:
    """What was chosen as the ledger stores it; numbers are exact fractions as text."""
    counted = {
        name: {"counts": list(bounds.counts), "decided": bounds.decided}
        for name, bounds in chosen.items()
    }
    columns = [
        {
            "column": name.removeprefix(bounds_name("")),
            "lower": str(bounds.lower),
            "upper": str(bounds.upper),
            **counted[name],
        }
        for name, bounds in chosen.items()
        if name != LIMIT_NAME
    ]
    limit = chosen.get(LIMIT_NAME)
    rows = {MAX_ROWS: {"limit": str(limit.upper), **counted[LIMIT_NAME]}} if limit else {}
    return json.dumps({"bounds": columns, **rows}, ensure_ascii=False, indent=1).encode()


def from_json(stored: bytes) -> dict[str, ChosenBounds]:
    """What `to_json` wrote, by the name of the histogram."""
    facts: dict[str, Any] = json.loads(stored)
    found = {bounds_name(one["column"]): one for one in facts["bounds"]}
    if MAX_ROWS in facts:
        limit = facts[MAX_ROWS]
        found[LIMIT_NAME] = {"lower": "0", "upper": limit["limit"], **limit}
    return {
        name: ChosenBounds(
            Fraction(one["lower"]),
            Fraction(one["upper"]),
            tuple(map(int, one["counts"])),
            decided=bool(one["decided"]),
        )
        for name, one in found.items()
    }
