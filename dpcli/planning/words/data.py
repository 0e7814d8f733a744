"""Which rows and values are used, left out or not checked, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from dpcli.numeric.exact import exact_or_up
from dpcli.planning.plan import CentralPlan, PlannedStatistic
from dpcli.privacy.unit import NO_LIMITS, PersonUnit
from dpcli.problems.messages import count_text
from dpcli.queries.query import Query


def period_notes(plan: CentralPlan) -> Iterator[str]:
    """Which rows exist for the release, if that depends on their day."""
    spec = plan.spec
    if spec.period_column is not None:
        name = spec.period_column.name
        period = f"the period {spec.period}" if spec.period else "the period that `--period` names"
        yield (
            f"only {spec.rows_are} with `{name}` in {period} are used: others, and those whose "
            f"`{name}` cannot be read, are removed before limits, checks and statistics, and "
            "nothing counts them"
        )


def bounding_notes(plan: CentralPlan) -> Iterator[str]:
    """How one person's contribution is bounded; empty if the privacy unit is a row."""
    unit, rows = plan.spec.privacy.unit, plan.spec.rows_are
    if not isinstance(unit, PersonUnit):
        return
    of_rows = [planned for planned in plan.statistics if not planned.is_of_people]
    if len(of_rows) < len(plan.statistics):
        yield (
            f"statistics about people use all {rows} of each person, with one value of each column "
            "of people; no limit leaves any out"
        )
    if any(planned.entry.limits == NO_LIMITS for planned in of_rows):
        used = f"{unit.max_rows:,} {rows} of a person are"
        if unit.max_rows == 1:
            used = f"one of the {rows} of a person is"
        others = any(planned.entry.limits.are_stated for planned in of_rows)
        unless = ", unless a statistic has limits of its own" if others else ""
        yield f"at most {used} used, chosen at random from those of that person alone{unless}"
        if unit.max_groups < unit.max_rows:
            groups = count_text(unit.max_groups, "group")
            yield f"in each grouped statistic, these {rows} enter at most {groups}"
        if unit.max_rows_per_group < unit.max_rows:
            yield f"at most {unit.max_rows_per_group:,} of them in each group"
    become = "count as one person each" if unit.singletons_without_id else "are left out"
    yield f"{rows} without an id {become}"
    for planned in of_rows:
        if planned.entry.limits.are_stated or _clamps_totals(planned):
            yield f"{planned.name}: {_used_rows(planned, rows)}"


def _clamps_totals(planned: PlannedStatistic) -> bool:
    """Whether a statistic uses all rows of a person, and clamps their total."""
    return planned.queries[0].weighted.query.total_clamp is not None


def _used_rows(planned: PlannedStatistic, rows: str) -> str:
    """Which rows of a person a statistic uses, and what is left out."""
    weighted, unit = planned.queries[0].weighted, planned.unit
    assert isinstance(unit, PersonUnit)
    query, groups = weighted.query, count_text(unit.max_groups, "group")
    if query.total_clamp is not None:
        in_group = " in a group" if query.cells != 1 else ""
        low, high = (exact_or_up(bound * weighted.step) for bound in query.total_clamp)
        kept = " that pass its conditions" if planned.entry.inputs.where else ""
        used = f"all {rows} of a person{kept} are used, and their total{in_group} is clamped to "
        used += f"[{low}, {high}]"
        if planned.entry.statistic.counts_people:
            used = f"each person counts once{in_group}, by any of their {rows}"
        if not in_group:
            return used
        return f"{used}, in at most {groups}; more groups are left out at random"
    if unit.max_rows == 1:
        return f"at most one of the {rows} of a person is used; others are left out at random"
    used = f"at most {unit.max_rows:,} {rows} per person are used"
    if query.axes and unit.max_groups < unit.max_rows:
        used += f", in at most {groups}"
    if query.axes and unit.max_rows_per_group < unit.max_rows:
        used += f", at most {unit.max_rows_per_group:,} in each group"
    return f"{used}; more are left out at random"


def limit_warnings(plan: CentralPlan) -> list[str]:
    """Warnings where limits on a person make numbers too small, or biased.

    Where a check counts what a limit on rows leaves out, the column `complete` says it instead.
    """
    by_limit: dict[tuple[int, bool], list[str]] = {}
    on_groups: list[str] = []
    for planned in plan.statistics:
        unit, own = planned.unit, planned.entry.limits
        if not isinstance(unit, PersonUnit):
            continue
        statistic = planned.entry.statistic
        adds_rows = statistic.adds_rows(planned.entry.inputs)
        if adds_rows or statistic.chooses_labels:
            on_groups += _group_limit_warnings(planned, unit, plan.spec.rows_are)
        limits = {part.weighted.query.row_limit(unit) for part in planned.queries} - {None}
        if adds_rows and limits and plan.quality is None:
            is_open = plan.spec.unit_of_choices is not None and own.max_rows is None
            key = min(filter(None, limits)), plan.chooses_bounds and is_open
            by_limit.setdefault(key, []).append(planned.name)
    rows = plan.spec.rows_are
    warnings = (_row_limit_warning(names, *key, rows) for key, names in by_limit.items())
    return [*warnings, *on_groups]


def _row_limit_warning(names: list[str], max_rows: int, is_open: bool, rows: str) -> str:
    limit = f"a limit of {max_rows:,}"
    if is_open:
        limit = f"the limit that noisy counts choose, of at most {max_rows:,},"
    return (
        f"{', '.join(names)}: {rows} of a person beyond {limit} are left out, so totals are "
        "too small, and comparisons and ratios biased, where people have more; without `quality:` "
        "nothing counts them, and `complete` is `unknown`"
    )


def _group_limit_warnings(planned: PlannedStatistic, unit: PersonUnit, rows: str) -> Iterator[str]:
    """What limits of the unit on groups may do to an entry without own ones."""
    own, queries = planned.entry.limits, _open_queries(planned, unit)
    limited = [query for query in queries if query.group_limit(unit)]
    if limited and own.max_groups is None:
        counts, used = [query.groups_of_user for query in limited], unit.max_groups
        most = None if None in counts else max(filter(None, counts))
        several = f"several of its {most:,} groups" if most else "several groups"
        if not _clamps_totals(planned):
            # The rows that are used lie in no more groups than they are.
            most = min(most or unit.max_rows, unit.max_rows)
        may = f"{rows} in {several}, and those in {count_text(used, 'group')}"
        yield _limit_warning(planned.name, may, "max_groups", used, most)
    if own.max_rows_per_group is None and any(query.limit_in_group(unit) for query in queries):
        used = unit.max_rows_per_group
        may = f"more than {used:,} {rows} in a group, and {used:,}"
        yield _limit_warning(planned.name, may, "max_rows_per_group", used, unit.max_rows)


def _limit_warning(name: str, may: str, key: str, used: int, most: int | None) -> str:
    larger = f"`{key}: {most}` leaves none out" if most else f"a larger `{key}` leaves out fewer"
    return (
        f"{name}: a person may have {may} at most are used: right if no person has more; otherwise "
        f"rows are left out. In this entry, {larger}, at the noise that the plan shows, and "
        f"`{key}: {used}` states that it is right"
    )


def limits_groups(planned: PlannedStatistic) -> bool:
    """Whether limits on groups, or on rows in a group, may leave out rows."""
    unit = planned.unit
    return isinstance(unit, PersonUnit) and any(
        query.group_limit(unit) or query.limit_in_group(unit)
        for query in _open_queries(planned, unit)
    )


def _open_queries(planned: PlannedStatistic, unit: PersonUnit) -> list[Query]:
    """The queries that do not use a single row of each person.

    For those, a count of people by their rows shows all that is left out.
    """
    queries = (part.weighted.query for part in planned.queries)
    return [query for query in queries if query.row_limit(unit) != 1]


def unit_warnings(plan: CentralPlan) -> Iterator[str]:
    """A warning if the privacy unit is a row, although a column has ids of people."""
    ids = [column.name for column in plan.spec.columns if column.is_id]
    if ids and not isinstance(plan.spec.privacy.unit, PersonUnit):
        yield (
            f"the unit is `row`, and `{ids[0]}` says whose row it is: if a person may have several "
            "rows, name that column as the unit, with `max_rows`, so that the person is protected "
            "(`dpcli explain unit`)"
        )


def column_warnings(plan: CentralPlan) -> list[str]:
    """Warnings that follow from the declarations of columns alone."""
    spec = plan.spec
    columns = (column for column in spec.columns if column.derivation is None)
    return [text for column in columns for text in column.cautions(spec.dialect.decimal)]


def plan_warnings(plan: CentralPlan) -> list[str]:
    """What people must know of a plan before they release it."""
    return [
        *unit_warnings(plan),
        *column_warnings(plan),
        *limit_warnings(plan),
        *quality_warnings(plan),
        *kept_rows_warnings(plan),
    ]


def lacks_check(plan: CentralPlan) -> bool:
    """Whether a plan has no quality check, and its spec does not decline one."""
    return plan.quality is None and not plan.spec.declines_check


def quality_warnings(plan: CentralPlan) -> Iterator[str]:
    """A warning of what the check does not notice, or that there is none.

    There is no warning if the spec declines a check.
    """
    if plan.quality is not None:
        from dpcli.planning.words.quality import check_warnings

        yield from check_warnings(plan)
    if lacks_check(plan):
        yield (
            "this spec has no `quality:`: if the cells of a column cannot be read as declared, or "
            "most of the file is missing, nothing notices it, noise is published and the budget is "
            "spent. Add `quality: {epsilon: 0.1, min_rows: N, min_readable: 0.98}`, or `quality: "
            "none` if that is meant"
        )


def kept_rows_warnings(plan: CentralPlan) -> Iterator[str]:
    """A warning where `min_rows` may be taken for a minimum of all rows of the file.

    Only rows that the limits on a person keep are counted, so a complete file can miss `min_rows`.
    """
    quality, unit = plan.spec.quality, plan.spec.privacy.unit
    if not isinstance(unit, PersonUnit) or quality is None or quality.min_people is not None:
        return
    rows = plan.spec.rows_are
    if quality.min_rows is not None:
        yield (
            f"`min_rows: {quality.min_rows:,}` is compared with the {rows} that a limit of "
            f"{unit.max_rows:,} per person keeps, not with all {rows} of the file: require no "
            "more than a complete file has after that limit, or add `min_people: N`, the least "
            "number of people in it"
        )
