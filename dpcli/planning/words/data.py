"""Which rows and values are used, left out or not checked, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from dpcli.numeric.exact import exact_or_up
from dpcli.planning.plan import CentralPlan, PlannedStatistic
from dpcli.privacy.unit import PersonUnit
from dpcli.problems.messages import count_text
from dpcli.queries.query import Query
from dpcli.specification.model import CentralSpec


def bounding_notes(plan: CentralPlan) -> Iterator[str]:
    """How one person's contribution is bounded; empty if the privacy unit is a row."""
    unit, rows = plan.spec.privacy.unit, plan.spec.rows_are
    if not isinstance(unit, PersonUnit):
        return
    used = f"{unit.max_rows:,} {rows} of a person are"
    if unit.max_rows == 1:
        used = f"one of the {rows} of a person is"
    yield f"at most {used} used, chosen at random from those of that person alone"
    groups = count_text(unit.max_groups, "group")
    if unit.max_groups < unit.max_rows:
        yield f"in each grouped statistic, these {rows} enter at most {groups}"
    if unit.max_rows_per_group < unit.max_rows:
        yield f"at most {unit.max_rows_per_group:,} of them in each group"
    become = "count as one person each" if unit.singletons_without_id else "are left out"
    yield f"{rows} without an id {become}"
    for planned in plan.statistics:
        weighted = planned.queries[0].weighted
        clamp = weighted.query.total_clamp
        if clamp is None:
            continue
        in_group, in_groups = "", ""
        if weighted.query.cells != 1:
            in_group, in_groups = " in a group", f", in at most {groups}"
        if planned.entry.statistic.counts_people:
            counted = f"a person counts once, by any of their {rows}"
        else:
            low, high = (exact_or_up(bound * weighted.step) for bound in clamp)
            total = f"their total{in_group} is clamped to [{low}, {high}]"
            counted = f"all {rows} of a person are used, and {total}"
        yield f"{planned.name}: {counted}{in_groups}"
    if names := uncounted_names(plan):
        yield (
            f"{names}: no check counts the {rows} that limits on the groups of a person, or on "
            f"{rows} in a group, leave out"
        )


def left_out_note(planned: PlannedStatistic, spec: CentralSpec) -> str:
    """What limits on people leave out and what chosen bounds clamp; empty if neither."""
    queries, unit, notes = _queries(planned), spec.privacy.unit, list[str]()
    published = "choice" if queries[0].chooses else "interval"
    if isinstance(unit, PersonUnit):
        notes.append(_used_rows(planned, unit, spec.rows_are))
        if not _counts_each_person(planned):
            notes.append(f"the {published} is about what is used")
        if any(_uncounted(queries, unit)):
            notes.append("no check counts what limits on groups leave out")
    if clamped := _clamped(queries, spec):
        notes.append(
            f"values of {', '.join(clamped)} are clamped to bounds that noisy counts chose, "
            f"and the {published} is about the clamped values"
        )
    return "; ".join(notes)


def _used_rows(planned: PlannedStatistic, unit: PersonUnit, rows: str) -> str:
    """Which rows of a person a statistic uses, and what is left out."""
    query, groups = planned.queries[0].weighted.query, count_text(unit.max_groups, "group")
    if query.total_clamp is not None:
        used = f"all {rows} of a person are used, up to a total that is declared"
        if planned.entry.statistic.counts_people:
            once = " in a group" if query.cells != 1 else f", by any of their {rows}"
            used = f"each person counts once{once}"
        if query.cells == 1:
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


def interval_about(planned: PlannedStatistic, spec: CentralSpec) -> str:
    """The rows or values that intervals are about; empty for all rows or no interval."""
    queries, person = _queries(planned), isinstance(spec.privacy.unit, PersonUnit)
    if queries[0].chooses:
        return ""
    used = "what is used" if person and not _counts_each_person(planned) else ""
    if not _clamped(queries, spec):
        return used
    return f"the clamped values of {used}" if used else "the clamped values"


def _counts_each_person(planned: PlannedStatistic) -> bool:
    """Whether each person counts once in the one number, so that none is left out."""
    query = planned.queries[0].weighted.query
    is_clamped = query.total_clamp is not None
    return is_clamped and query.cells == 1 and planned.entry.statistic.counts_people


def _queries(planned: PlannedStatistic) -> list[Query]:
    return [part.weighted.query for part in planned.queries]


def _clamped(queries: list[Query], spec: CentralSpec) -> list[str]:
    """The columns whose values are clamped to bounds that noisy counts chose."""
    valued = (column.name for query in queries for column in query.valued_columns)
    return [name for name in dict.fromkeys(valued) if name in spec.clamped_by_choice]


def limit_warnings(plan: CentralPlan) -> list[str]:
    """Warnings where limits on a person make numbers too small, or biased.

    Noisy counts can show what a limit on all rows of a person leaves out, but not what limits on
    groups, or on rows in a group, leave out.
    """
    unit, spec = plan.spec.privacy.unit, plan.spec
    if not isinstance(unit, PersonUnit):
        return []
    by_limit: dict[int, list[str]] = {}
    by_groups: dict[tuple[int | None, int | None], list[str]] = {}
    for planned in plan.statistics:
        if planned.entry.statistic.adds_rows:
            queries = _queries(planned)
            limits = {query.row_limit(unit) for query in queries} - {None}
            if limits:
                by_limit.setdefault(min(filter(None, limits)), []).append(planned.name)
            if any(on_groups := _uncounted(queries, unit)):
                by_groups.setdefault(on_groups, []).append(planned.name)
    return [
        *(_row_limit_warning(names, limit, plan) for limit, names in by_limit.items()),
        *(_group_limit_warning(names, *on, spec.rows_are) for on, names in by_groups.items()),
    ]


def _row_limit_warning(names: list[str], max_rows: int, plan: CentralPlan) -> str:
    rows, limit = plan.spec.rows_are, f"a limit of {max_rows:,}"
    if plan.chooses_bounds and plan.spec.unit_of_choices is not None:
        limit = f"the limit that noisy counts choose, of at most {max_rows:,},"
    shown = "numbers have the flag `limited` if the quality check finds that"
    if not counts_left_out(plan):
        shown = "without `quality:` nothing counts them, and every interval is about "
        shown += f"the {rows} that are kept"
    return (
        f"{', '.join(names)}: {rows} of a person beyond {limit} are left out, so totals are "
        f"too small, and comparisons and ratios biased, where people have more; {shown}"
    )


def _group_limit_warning(
    names: list[str], max_groups: int | None, max_in_group: int | None, rows: str
) -> str:
    others = ""
    if max_groups is not None:
        groups = count_text(max_groups, "group")
        others = f"of a person in more than {groups}, the {rows} in others are left out"
    if max_in_group is None:
        left_out, kept = f"{others}, so totals are", "the groups that are kept"
    elif others:
        left_out = f"{others}, and so are those beyond {max_in_group:,} in a group; totals are then"
        kept = "what is kept"
    else:
        beyond = f"beyond {max_in_group:,} in a group"
        left_out = f"{rows} of a person {beyond} are left out, so totals are"
        kept = f"the {rows} that are kept"
    return (
        f"{', '.join(names)}: {left_out} too small, and comparisons and ratios biased; "
        f"no check counts them, no flag shows it, and every interval is about {kept}"
    )


def counts_left_out(plan: CentralPlan) -> bool:
    """Whether noisy counts show how much a limit on all rows of a person leaves out."""
    if plan.quality is None:
        return False
    from dpcli.statistics.quality.quality_counts import counted_limits

    return bool(counted_limits(plan.quality.entry.inputs))


def uncounted_names(plan: CentralPlan) -> str:
    """The statistics where limits on groups may leave out rows that no check counts."""
    unit = plan.spec.privacy.unit
    if not isinstance(unit, PersonUnit):
        return ""
    return ", ".join(
        planned.name for planned in plan.statistics if any(_uncounted(_queries(planned), unit))
    )


def _uncounted(queries: list[Query], unit: PersonUnit) -> tuple[int | None, int | None]:
    """The limits on groups, and on rows in a group, whose effect no check counts.

    Each is None if no query has the limit. Queries that use one row of a person are skipped: for
    them, a count of people by their rows shows all that is left out.
    """
    open_queries = [query for query in queries if query.row_limit(unit) != 1]
    groups = [query.group_limit(unit) for query in open_queries]
    in_group = [query.limit_in_group(unit) for query in open_queries]
    return min(filter(None, groups), default=None), min(filter(None, in_group), default=None)


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
    """A warning if a plan has no quality check, and its spec does not decline one."""
    if lacks_check(plan):
        yield (
            "this spec has no `quality:`: if the cells of a column cannot be read as declared, or "
            "most of the file is missing, nothing notices it, noise is published and the budget is "
            "spent. Add `quality: {epsilon: 0.1, min_rows: N, min_readable: 0.8}`, or `quality: "
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
