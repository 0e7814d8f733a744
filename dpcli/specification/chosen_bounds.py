"""Bounds, or a limit on rows, that noisy counts choose: `{choose: ...}`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import Any

from dpcli.data.candidate_bounds import GRID_KINDS, LIMIT_NAME, ChoiceModel
from dpcli.data.column import Column
from dpcli.data.grid_columns import NumericColumn
from dpcli.fields.tree import Span
from dpcli.specification.context import SpecContext
from dpcli.specification.model import CentralSpec, Spec
from dpcli.statistics.bounds.chosen_bounds import MAX_ROWS, BoundsChoice, ChosenBounds, bounds_name
from dpcli.statistics.bounds.rule import BoundsGrid


def add_choice(
    model: ChoiceModel,
    kind: type[BoundsChoice],
    column: NumericColumn,
    span: Span,
    context: SpecContext,
    **more: Any,
) -> None:
    """Adds to the context how noisy counts choose among candidate bounds of a column."""
    grid = BoundsGrid(column, next(known for known in GRID_KINDS if known.name == model.choose))
    if len(grid.bins) == 1:
        arguments = dict(zip(("low", "high"), map(column.text, column.limits), strict=True))
        raise span.report("bounds-unused.single", ladder=model.choose, **arguments)
    choice = kind(grid, model.cover, model.epsilon, **more)
    context.choices[choice.name] = choice, span
    if choice.name == bounds_name(column.name):
        context.chosen.add(column.name)


def require_choices_fit(context: SpecContext, spec: Spec) -> None:
    """Reports choices that no query uses, and statistics that a choice could break.

    An unused choice would be charged; a spec of the local model uses none. If a statistic became
    invalid only after the choice, its problem would reveal the choice, which would already be
    charged. It is enough to check the narrowest and the widest bounds.
    """
    entries = spec.entries if isinstance(spec, CentralSpec) else ()
    for choice, span in context.choices.values():
        decides = choice.decides
        if not any(decides(query, entry.limits) for entry in entries for query in entry.queries):
            span.report(choice.code, column=choice.column_name)
    if context.findings or not isinstance(spec, CentralSpec) or not spec.choices:
        return
    _refuse_series(context, spec)
    extremes = narrowest_and_widest(spec)
    for entries in zip(*(bounded.entries for bounded in extremes), strict=True):
        if len({entry.statistic.items(entry.inputs) for entry in entries}) > 1:
            name = entries[0].inputs.name
            context.names[name].report_and_suppress("bounds-chosen.items", statistic=name)
    for bounded in extremes:
        for entry in bounded.entries:
            for fault in entry.statistic.faults(entry.inputs, bounded.relation_of(entry)):
                span = context.names[entry.inputs.name]
                span.report_and_suppress(fault.code, **fault.arguments)


def _refuse_series(context: SpecContext, spec: CentralSpec) -> None:
    """Reports series: their periods would have other bounds or limits."""
    for entry in spec.entries:
        if dict(entry.inputs.options).get("series"):
            name = entry.inputs.name
            context.names[name].report_and_suppress("series-form.choices", statistic=name)


ByHistogram = Mapping[str, ChosenBounds]
"""The chosen bounds, by the name of the histogram that chose them."""


def with_chosen_bounds(spec: CentralSpec, chosen: ByHistogram) -> CentralSpec:
    """A copy of the spec with the bounds and the limit on rows that were chosen.

    Mechanisms and budgets stay as they are. The outermost bounds of the original spec contain the
    chosen ones, so what was checked for it still holds. The digest stays that of the text: the
    chosen bounds are stored under the id of the release. Raises KeyError unless all bounds are
    chosen, and ValueError for bounds that cannot be chosen.
    """
    choices = tuple(choice.with_chosen(chosen[choice.name]) for choice in spec.choices)

    def bounded(column: Column) -> Column:
        return reduce(lambda result, choice: choice.bounded(result), choices, column)

    of_unit = spec.privacy.limits
    limits = reduce(lambda limited, choice: choice.limited(limited), choices, of_unit)
    privacy = replace(spec.privacy, unit=limits.of(spec.privacy.unit), limits=limits)
    entries = tuple(
        entry.answered_for(privacy.relation_for(entry.limits), bounded) for entry in spec.entries
    )
    columns = tuple(map(bounded, spec.columns))
    return replace(spec, privacy=privacy, columns=columns, entries=entries, choices=choices)


def narrowest_and_widest(spec: CentralSpec) -> list[CentralSpec]:
    """At most three copies of the spec with the extreme choices of bounds and limits.

    The first two have the narrowest bounds, the last has the widest. Where bounds may lie on both
    sides of zero, the narrowest ones begin at zero in the first copy and end at zero in the second.
    Every possible choice contains narrowest bounds, and lies within the widest ones.
    """
    names = [choice.name for choice in spec.choices]
    tried = dict.fromkeys(zip(*(choice.extremes for choice in spec.choices), strict=True))
    return [with_chosen_bounds(spec, dict(zip(names, ends, strict=True))) for ends in tried]


def to_json(chosen: ByHistogram) -> bytes:
    """The chosen bounds as JSON for the ledger; numbers are exact fractions as text."""
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
    """The chosen bounds that `to_json` wrote, by the name of the histogram."""
    fields: dict[str, Any] = json.loads(stored)
    found = {bounds_name(chosen["column"]): chosen for chosen in fields["bounds"]}
    if MAX_ROWS in fields:
        limit = fields[MAX_ROWS]
        found[LIMIT_NAME] = {"lower": "0", "upper": limit["limit"], **limit}
    return {
        name: ChosenBounds(
            Fraction(chosen["lower"]),
            Fraction(chosen["upper"]),
            tuple(map(int, chosen["counts"])),
            decided=bool(chosen["decided"]),
        )
        for name, chosen in found.items()
    }
