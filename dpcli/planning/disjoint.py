"""Statistics about disjoint rows, to which parallel composition applies."""

from __future__ import annotations

from collections.abc import Mapping

from dpcli.privacy.accounting.parallel import Branch
from dpcli.privacy.unit import PersonUnit
from dpcli.queries import LinearQuery
from dpcli.specification.axes import Ranges
from dpcli.specification.model import Spec


def disjoint_branches(spec: Spec) -> dict[str, Branch]:
    """The branch of each statistic that is about rows which another branch does not have.

    Every row has one value in a column. So two statistics are about disjoint rows if no value
    satisfies the conditions of both on that column; statistics whose conditions overlap share a
    branch.

    Privacy: a unit is in one branch only if it is a row, or a person with a single row in all.
    Queries that clamp the totals of a person over all of their rows are left out.
    """
    unit = spec.privacy.unit
    if isinstance(unit, PersonUnit) and unit.max_rows > 1:
        return {}
    columns: dict[str, dict[str, Ranges]] = {}
    for entry in spec.entries:
        weighted_queries = entry.statistic.queries(entry.request, spec.privacy.relation)
        queries = [weighted.query for weighted in weighted_queries]
        if all(not isinstance(query, LinearQuery) or query.user_clamp is None for query in queries):
            for condition in entry.request.where:
                ranges_by_name = columns.setdefault(condition.column.name, {})
                ranges_by_name[entry.request.name] = condition.ranges
    branches: dict[str, Branch] = {}
    # Columns that separate more branches go first; a statistic belongs to one column.
    for column in sorted(columns, key=lambda column: -len(_overlapping(columns[column]))):
        left = {name: ranges for name, ranges in columns[column].items() if name not in branches}
        groups = _overlapping(left)
        if len(groups) > 1:
            for place, names in enumerate(groups):
                branches |= dict.fromkeys(names, (column, place))
    return branches


def _overlapping(ranges_by_name: Mapping[str, Ranges]) -> list[list[str]]:
    """The names in groups that share values with no other group, in the given order."""
    spans = sorted(
        (low, high, name) for name, ranges in ranges_by_name.items() for low, high in ranges
    )
    group_of: dict[str, set[str]] = {name: {name} for name in ranges_by_name}
    reached, holder = None, ""
    for low, high, name in spans:
        if reached is not None and low <= reached and group_of[name] is not group_of[holder]:
            merged = group_of[name] | group_of[holder]
            group_of |= dict.fromkeys(merged, merged)
        if reached is None or high > reached:
            reached, holder = high, name
    distinct = {id(group): group for group in map(group_of.__getitem__, ranges_by_name)}
    return [[name for name in ranges_by_name if name in group] for group in distinct.values()]
