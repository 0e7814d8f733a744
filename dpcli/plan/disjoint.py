"""Which entries are provably about disjoint rows, by conditions on a column."""

from __future__ import annotations

from collections.abc import Mapping

from dpcli.privacy.relation import PersonUnit
from dpcli.queries import LinearQuery
from dpcli.spec.model import Entry, Spec

Ranges = tuple[tuple[int, int], ...]


def branches(spec: Spec) -> dict[str, tuple[str, int]]:
    """The entries about disjoint rows; those about the same rows share a part.

    Every row has one value in a column, so conditions on it that no value satisfies
    together select disjoint rows. A unit is in one part only if it is a row, or a person
    with a single row in all; what people add up over all of their rows is left out.
    """
    unit = spec.privacy.unit
    if isinstance(unit, PersonUnit) and unit.rows > 1:
        return {}
    columns: dict[str, dict[str, Ranges]] = {}
    for entry in spec.entries:
        if not _adds_up_rows(entry, spec):
            for condition in entry.request.where:
                named = columns.setdefault(condition.column.name, {})
                named[entry.request.name] = condition.ranges
    found: dict[str, tuple[str, int]] = {}
    # Columns that tell more parts apart go first; an entry belongs to one column.
    for column in sorted(columns, key=lambda column: -len(_parts(columns[column]))):
        left = {name: ranges for name, ranges in columns[column].items() if name not in found}
        parts = _parts(left)
        if len(parts) > 1:
            for place, part in enumerate(parts):
                found |= dict.fromkeys(part, (column, place))
    return found


def _adds_up_rows(entry: Entry, spec: Spec) -> bool:
    """Whether a person adds up rows in an entry, whatever the limit on rows."""
    queries = [
        question.query
        for question in entry.statistic.questions(entry.request, spec.privacy.relation)
    ]
    return any(isinstance(query, LinearQuery) and query.totals is not None for query in queries)


def _parts(conditioned: Mapping[str, Ranges]) -> list[list[str]]:
    """The entries in groups that share values with no other group, in spec order."""
    spans = sorted(
        (low, high, name) for name, ranges in conditioned.items() for low, high in ranges
    )
    part_of: dict[str, set[str]] = {name: {name} for name in conditioned}
    reached, holder = None, ""
    for low, high, name in spans:
        if reached is not None and low <= reached and part_of[name] is not part_of[holder]:
            merged = part_of[name] | part_of[holder]
            part_of |= dict.fromkeys(merged, merged)
        if reached is None or high > reached:
            reached, holder = high, name
    distinct = {id(part_of[name]): part_of[name] for name in conditioned}
    return [[name for name in conditioned if name in part] for part in distinct.values()]
