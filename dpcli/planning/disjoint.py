"""Statistics about disjoint rows, to which parallel composition applies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dpcli.data.column import Ranges, ValuedColumn
from dpcli.data.filters import AllOf, implied_ranges
from dpcli.planning.plan import PlannedStatistic
from dpcli.privacy.accounting.parallel import Branch
from dpcli.privacy.unit import PersonUnit, Unit
from dpcli.specification.model import CentralSpec


def disjoint_branches(spec: CentralSpec) -> dict[str, Branch]:
    """The branch of each statistic whose rows belong to no other branch.

    Every row has one value in a column. So two statistics are about disjoint rows if no value
    lies in the ranges of both on that column; statistics whose ranges overlap share a branch.
    Only ranges that all rows of a statistic lie in are considered (`implied_ranges`): one within
    `any` says nothing about the others. A row without a value in the column passes no such filter.

    Privacy: a unit is in a single branch if it is a row, or a person with at most one row.
    Queries that clamp the totals of a person over all of their rows are left out.
    """
    unit = spec.privacy.unit
    if isinstance(unit, PersonUnit) and unit.max_rows > 1:
        return {}
    declared = frozenset(spec.columns)
    columns: dict[str, dict[str, Ranges]] = {}
    for entry in spec.entries:
        if all(query.total_clamp is None for query in entry.queries):
            implied = implied_ranges(AllOf(entry.request.where)) or {}
            for column, ranges in implied.items():
                # A branch is named by its column, so only declared columns have branches.
                if column in declared:
                    columns.setdefault(column.name, {})[entry.request.name] = ranges
    branches: dict[str, Branch] = {}
    # Columns that separate more branches go first; a statistic belongs to one column.
    for name_of_column in sorted(columns, key=lambda name: -len(_overlapping(columns[name]))):
        ranges_by_name = columns[name_of_column]
        left = {name: ranges for name, ranges in ranges_by_name.items() if name not in branches}
        groups = _overlapping(left)
        if len(groups) > 1:
            for place, names in enumerate(groups):
                branches |= dict.fromkeys(names, (name_of_column, place))
    return branches


def require_disjoint(statistics: Iterable[PlannedStatistic], unit: Unit) -> None:
    """Raise ValueError unless the queries of different branches are about disjoint rows.

    A plan can be copied with other branches. So the branches are not believed: the conditions of
    the queries that will be answered must show them, as in `disjoint_branches`.
    """
    columns: dict[str, ValuedColumn] = {}
    ranges_by_branch: dict[str, dict[str, Ranges]] = {}
    for planned in statistics:
        if planned.branch is None:
            continue
        name, place = planned.branch
        branches = ranges_by_branch.setdefault(name, {})
        for planned_query in planned.queries:
            query = planned_query.weighted.query
            implied = implied_ranges(AllOf(query.where)) or {}
            column = next((column for column in implied if column.name == name), None)
            if (
                column is None
                or columns.setdefault(name, column) != column
                or query.total_clamp is not None
                or (isinstance(unit, PersonUnit) and unit.max_rows > 1)
            ):
                raise ValueError("a statistic is not about the rows of its branch")
            branches[str(place)] = branches.get(str(place), ()) + implied[column]
    for branches in ranges_by_branch.values():
        if len(_overlapping(branches)) != len(branches):
            raise ValueError("two branches have rows in common")


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
