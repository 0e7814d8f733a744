"""Sentences about limits on the rows of people, and about what they leave out.

The templates of the sentences are in `reference/notes.toml`.
"""

from __future__ import annotations

from collections.abc import Iterator

from dpcli.messages import note
from dpcli.numeric.number_text import exact_or_up
from dpcli.planning.plan import CentralPlan, PlannedStatistic
from dpcli.privacy.unit import PersonUnit
from dpcli.queries.query import Query
from dpcli.specification.model import CentralSpec
from dpcli.statistics.quality import counted_limits


def bounding_notes(plan: CentralPlan) -> list[str]:
    """How the contribution of one person is bounded; empty if the privacy unit is a row."""
    unit = plan.spec.privacy.unit
    if not isinstance(unit, PersonUnit):
        return []
    keys = [_rows_key(unit), *_limited(unit), "each" if unit.singletons_without_id else "no_id"]
    limits = _limits(unit, plan.spec)
    notes = [note(f"bounding.{key}", **limits) for key in keys]
    for planned in plan.statistics:
        weighted, key = planned.queries[0].weighted, _totals_key(planned)
        clamp = weighted.query.total_clamp
        if key and clamp is not None:
            low, high = (exact_or_up(bound * weighted.step) for bound in clamp)
            notes.append(note(f"bounding.{key}", name=planned.name, low=low, high=high, **limits))
    if names := uncounted_names(plan):
        notes.append(note("bounding.uncounted", names=names, **limits))
    return notes


def left_out_note(planned: PlannedStatistic, spec: CentralSpec) -> str:
    """What limits on people leave out, and which values chosen bounds clamp; empty if nothing."""
    return "; ".join(_left_out(planned, spec))


def _left_out(planned: PlannedStatistic, spec: CentralSpec) -> Iterator[str]:
    queries, unit = _queries(planned), spec.privacy.unit
    chosen = "choice" if queries[0].chooses else "interval"
    if isinstance(unit, PersonUnit):
        totals, grouped = _totals_key(planned), bool(queries[0].axes)
        key = totals or (grouped and "_and_".join(_limited(unit))) or _rows_key(unit)
        yield note(f"left_out.{key}", **_limits(unit, spec))
        if key != "distinct":
            yield note(f"left_out.{chosen}")
        if any(_uncounted(queries, unit)):
            yield note("left_out.uncounted")
    if clamped := _clamped(queries, spec):
        yield note(f"left_out.clamped_{chosen}", columns=", ".join(clamped))


def interval_about(planned: PlannedStatistic, spec: CentralSpec) -> str:
    """What intervals are about, if not all rows of the file as they are; empty without them."""
    queries, person = _queries(planned), isinstance(spec.privacy.unit, PersonUnit)
    used = person and _totals_key(planned) != "distinct"
    clamped = bool(_clamped(queries, spec))
    if queries[0].chooses or not (used or clamped):
        return ""
    keys = ["used"] * used + ["clamped"] * clamped
    return note(f"about.{'_and_'.join(keys)}")


def _queries(planned: PlannedStatistic) -> list[Query]:
    return [part.weighted.query for part in planned.queries]


def _clamped(queries: list[Query], spec: CentralSpec) -> list[str]:
    """The columns whose values are clamped to bounds that noisy counts chose."""
    valued = (column.name for query in queries for column in query.valued_columns)
    return [name for name in dict.fromkeys(valued) if name in spec.clamped_by_choice]


def limit_warnings(plan: CentralPlan) -> list[str]:
    """Warnings where limits on a person make numbers too small, or biased.

    What a limit on all rows of a person leaves out can be counted, and what limits on groups, or
    on rows in a group, leave out is not.
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
    counted = "counted" if counts_left_out(plan) else "uncounted"
    open_limit = plan.chooses_bounds and spec.unit_of_choices is not None
    warnings = []
    for most, names in by_limit.items():
        limit = note("limited.chosen" if open_limit else "limited.declared", most=most)
        facts = {"names": ", ".join(names), "limit": limit}
        warnings.append(note(f"limited.{counted}", rows=spec.rows_are, **facts))
    for (groups, in_group), names in by_groups.items():
        keys = ["groups"] * (groups is not None) + ["in_group"] * (in_group is not None)
        most_of: dict[str, object] = {"groups": groups, "in_group": in_group}
        key, named = f"limited.{'_and_'.join(keys)}", ", ".join(names)
        warnings.append(note(key, names=named, rows=spec.rows_are, **most_of))
    return warnings


def counts_left_out(plan: CentralPlan) -> bool:
    """Whether noisy counts show how much a limit on all rows of a person leaves out."""
    return plan.quality is not None and bool(counted_limits(plan.quality.entry.request))


def uncounted_names(plan: CentralPlan) -> str:
    """The statistics of which limits on groups may leave out what no check counts."""
    unit = plan.spec.privacy.unit
    if not isinstance(unit, PersonUnit):
        return ""
    return ", ".join(
        planned.name for planned in plan.statistics if any(_uncounted(_queries(planned), unit))
    )


def _uncounted(queries: list[Query], unit: PersonUnit) -> tuple[int | None, int | None]:
    """The limits on groups, and on rows in a group, that leave out what is not counted.

    Where one row of a person is used, a count of people by their rows shows all that is left out.
    """
    open_queries = [query for query in queries if query.row_limit(unit) != 1]
    groups = [query.group_limit(unit) for query in open_queries]
    in_group = [query.limit_in_group(unit) for query in open_queries]
    return min(filter(None, groups), default=None), min(filter(None, in_group), default=None)


def _totals_key(planned: PlannedStatistic) -> str:
    """The template for a statistic that clamps the totals of a person; empty for others."""
    query = planned.queries[0].weighted.query
    if query.total_clamp is None:
        return ""
    key = "distinct" if planned.entry.statistic.counts_people else "total"
    return key if query.cells == 1 else f"{key}_groups"


def _rows_key(unit: PersonUnit) -> str:
    return "one" if unit.max_rows == 1 else "several"


def _limited(unit: PersonUnit) -> list[str]:
    tighter = {"groups": unit.max_groups, "in_group": unit.max_rows_per_group}
    return [key for key, most in tighter.items() if most < unit.max_rows]


def _limits(unit: PersonUnit, spec: CentralSpec) -> dict[str, object]:
    return {
        "rows": spec.rows_are,
        "most": unit.max_rows,
        "groups": unit.max_groups,
        "in_group": unit.max_rows_per_group,
    }
