"""Sentences about limits on people and chosen bounds, and what both leave out."""

from __future__ import annotations

from collections.abc import Iterator

from dpcli.numeric.exact import exact_or_up, readable_text, rounded_text
from dpcli.planning.notes import capitalized, count_text
from dpcli.planning.plan import CentralPlan, PlannedStatistic
from dpcli.privacy.unit import PersonUnit
from dpcli.queries.query import Query
from dpcli.specification.model import CentralSpec
from dpcli.statistics.bounds.chosen_bounds import BoundsChoice


def bounding_notes(plan: CentralPlan) -> list[str]:
    """How one person's contribution is bounded; empty if the privacy unit is a row."""
    unit, rows = plan.spec.privacy.unit, plan.spec.rows_are
    if not isinstance(unit, PersonUnit):
        return []
    used = f"{unit.max_rows:,} {rows} of a person are"
    if unit.max_rows == 1:
        used = f"one of the {rows} of a person is"
    notes = [f"at most {used} used, chosen at random from those of that person alone"]
    groups = count_text(unit.max_groups, "group")
    if unit.max_groups < unit.max_rows:
        notes.append(f"in each grouped statistic, these {rows} enter at most {groups}")
    if unit.max_rows_per_group < unit.max_rows:
        notes.append(f"at most {unit.max_rows_per_group:,} of them in each group")
    become = "count as one person each" if unit.singletons_without_id else "are left out"
    notes.append(f"{rows} without an id {become}")
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
        notes.append(f"{planned.name}: {counted}{in_groups}")
    if names := uncounted_names(plan):
        notes.append(
            f"{names}: no check counts the {rows} that limits on the groups of a person, or on "
            f"{rows} in a group, leave out"
        )
    return notes


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


def choices(plan: CentralPlan) -> Iterator[tuple[BoundsChoice, PlannedStatistic]]:
    """Each choice of bounds or a limit, with the planned histogram that decides it."""
    return zip(plan.spec.choices, plan.bounds, strict=True)


def choice_rules(plan: CentralPlan) -> Iterator[str]:
    """How the bounds and the limit will be chosen; empty once they are."""
    for choice, planned in choices(plan) if plan.chooses_bounds else ():
        yield from rule_sentences(choice, planned, plan)


def rule_sentences(
    choice: BoundsChoice, planned: PlannedStatistic, plan: CentralPlan
) -> Iterator[str]:
    """How the bounds of a column, or the limit on rows per person, are chosen."""
    threshold = choice.rule(planned.queries[0].calibrated.noise).threshold
    yield (
        f"{choice.noun}: {_noisy_counts(choice, plan)} come first, in an entry of their own with "
        f"epsilon {exact_or_up(choice.epsilon)}; what they choose holds all bins whose counts rise "
        f"above the noise, and is {choice.text(choice.at_candidate(-1))} if none is clear: one "
        f"count above {threshold:,}, or some neighboring ones together"
    )
    if choice.coverage < 1:
        cover = rounded_text(choice.coverage * 100, 4)
        yield f"{choice.noun}: {cover}% of these counts lie within what is chosen"


def simulated_bounds(plan: CentralPlan) -> Iterator[str]:
    """What a simulation has in place of the bounds and limit that a release chooses."""
    if plan.spec.choices:
        chosen = " and ".join(choice.noun for choice in plan.spec.choices)
        yield (
            f"no choice is simulated: rows and noise are those of the outermost {chosen}; a "
            "release within narrower ones has less noise, as `dpcli plan` shows, and clamps or "
            "leaves out more"
        )


def chosen_texts(plan: CentralPlan) -> list[str]:
    """Two sentences on each choice: what was chosen, and from which counts."""
    return [
        " ".join(chosen_sentences(choice, planned, plan))
        for choice, planned in choices(plan)
        if choice.chosen is not None
    ]


def chosen_sentences(
    choice: BoundsChoice, planned: PlannedStatistic, plan: CentralPlan
) -> tuple[str, str]:
    """The chosen bounds or limit, and the counts and the epsilon of the choice."""
    chosen = choice.chosen
    assert chosen is not None
    value, beyond = choice.text(chosen), choice.beyond(plan.spec.rows_are)
    if not chosen.decided:
        result = f"the outermost, {value}, as no bin held clearly more than noise explains."
    elif choice.coverage < 1:
        cover = rounded_text(choice.coverage * 100, 4)
        result = f"{value}. About {cover}% of what was counted lies within; {beyond}."
    else:
        result = f"{value}. The bins beyond held no more than noise explains; {beyond}."
    counts = capitalized(_noisy_counts(choice, plan))
    return f"Chosen {choice.noun}: {result}", (
        f"{counts} chose this, with Laplace noise of scale "
        f"{rounded_text(planned.queries[0].scale)}, at epsilon {exact_or_up(choice.epsilon)}, "
        "charged in an entry of its own."
    )


def _noisy_counts(choice: BoundsChoice, plan: CentralPlan) -> str:
    rows, bins = plan.spec.rows_are, choice.bins
    low, high = (readable_text(end * choice.column.step) for end in (bins[0][0], bins[-1][1]))
    # Where the limit on rows is chosen too, one row of each person enters the other histograms.
    cells = f"one of the {rows} of each person" if plan.spec.unit_of_choices else rows
    return (
        f"noisy counts of {choice.counted(rows, cells)} in {len(bins):,} bins of the ladder "
        f"{choice.grid.kind.name} from {low} to {high}"
    )
