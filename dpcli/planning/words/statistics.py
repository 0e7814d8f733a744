"""What statistics are computed from, choose, derive and publish, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpcli.data.column import Column
from dpcli.data.grid_columns import require_numeric
from dpcli.numeric.exact import exact_or_up, short_up
from dpcli.planning.plan import CentralPlan, PlannedQuery, PlannedStatistic
from dpcli.privacy.unit import Neighbors, PersonUnit
from dpcli.problems.messages import count_text
from dpcli.specification.model import CentralSpec, Spec


def counted_units(planned: PlannedStatistic, spec: Spec) -> str:
    """The units that a statistic counts or takes values over: rows, visits or people."""
    inputs, query = planned.entry.inputs, planned.queries[0].weighted.query
    column, weight = inputs.column, inputs.weight
    if not planned.entry.statistic.counts_people:
        lines = "people" if planned.is_of_people else spec.rows_are
        return f"{lines} weighted by {weight.name}" if weight else lines
    if query.counted_values is None or column is None:
        return "people"
    return f"different values of {column.name}"


def counted_phrase(planned: PlannedStatistic, spec: CentralSpec) -> str:
    """What numbers are named after: `visits (at most 3 of each person)`."""
    counted, unit = counted_units(planned, spec), planned.unit
    if not isinstance(unit, PersonUnit):
        return counted
    query, bounds = planned.queries[0].weighted.query, list[str]()
    rows, in_group, groups = (
        limit(unit) for limit in (query.row_limit, query.limit_in_group, query.group_limit)
    )
    if rows is not None:
        bounds.append(f"at most {rows:,} of each person")
    if in_group is not None:
        bounds.append(f"{in_group:,} of them in a group")
    if groups is not None:
        each = "" if bounds else "each person "
        bounds.append(f"{each}in at most {count_text(groups, 'group')}")
    return f"{counted} ({', '.join(bounds)})" if bounds else counted


def number_units(planned: PlannedStatistic, spec: CentralSpec) -> tuple[str, ...]:
    """The unit of the numbers, for all or for each item; empty where none is stated."""
    entry, captions = planned.entry, spec.column_captions
    stated = entry.caption.unit
    if stated and not entry.statistic.mixed_units:
        return (stated,)

    def unit_of(column: Column) -> str:
        declared = captions[column.name].unit if column.name in captions else ""
        derived = column.derivation.unit if column.derivation else ""
        return stated or declared or derived or ("days" if column.is_date else "")

    return entry.statistic.units(entry.inputs, counted_units(planned, spec), unit_of)


def query_title(planned_query: PlannedQuery, planned: PlannedStatistic, spec: Spec) -> str:
    """The role of a query, with the units that it counts."""
    weighted = planned_query.weighted
    if planned.entry.statistic.counts_people and len(planned.queries) == 1:
        return f"number of {counted_units(planned, spec)}"
    lines = "people" if planned.is_of_people else spec.rows_are
    return f"{weighted.role} of {lines}" if weighted.role == "count" else weighted.role


def design_notes(plan: CentralPlan) -> list[str]:
    """Why each statistic has its queries; statistics with the same sentence share it."""
    names: dict[str, list[str]] = {}
    for planned in plan.statistics:
        for sentence in planned.design.sentences(planned.noises, plan.spec.confidence):
            names.setdefault(sentence, []).append(planned.name)
    return [f"{', '.join(sharing)}: {sentence}" for sentence, sharing in names.items()]


def filter_notes(plan: CentralPlan) -> Iterator[str]:
    """That a negated test leaves out unknown rows."""
    for planned in plan.statistics:
        if any(test.negates for test in planned.entry.inputs.where):
            yield (
                f"{planned.name}: rows for which `where` is unknown, because a cell is missing, "
                "are left out"
            )


def derived_notes(plan: CentralPlan) -> Iterator[str]:
    """How each derived column is computed, and what its values can be."""
    for column in plan.spec.columns:
        if column.derivation is None:
            continue
        if column.is_private:
            values = "a label that is not declared"
        elif column.labels:
            values = count_text(len(column.labels), "label")
        else:
            number = require_numeric(column)
            low, high = map(number.text, number.limits)
            values = f"from {low} to {high}"
        yield f"{column.name}: {column.derivation.text}, {values}"


def selection_notes(plan: CentralPlan) -> Iterator[str]:
    """The noisy count that a private group or label needs, and the bias it causes."""
    unit, selects = plan.spec.unit_noun, False
    for planned in plan.statistics:
        # The first query is the count that selects.
        selection = planned.queries[0].calibrated.partition_selection
        if selection is not None:
            selects = True
            rule, shown = "a group is shown when its noisy value", "group"
            if not planned.entry.has_private_groups:
                rule, shown = "a label can be chosen when its noisy count", "label"
            yield (
                f"{planned.name}: {rule} reaches {selection.threshold:,}; a {shown} that is in the "
                f"data because of one {unit} alone is shown with a probability of at most "
                f"{exact_or_up(selection.delta)}"
            )
    if selects:
        yield SELECTION_BIAS


def unreachable_thresholds(plan: CentralPlan, rows: int | None) -> Iterator[str]:
    """The private groups or labels that so few rows select by noise alone."""
    limit = "" if plan.spec.unit_noun == plan.spec.row_noun else "lower `max_groups`, or "
    for planned in plan.statistics:
        selection = planned.queries[0].calibrated.partition_selection
        if rows is not None and selection is not None and rows < selection.threshold:
            what = "group" if planned.entry.has_private_groups else "label"
            yield (
                f"{planned.name}: no {what} can reach the threshold of {selection.threshold:,} "
                f"with {rows:,} {plan.spec.rows_are}, except by noise: {limit}use more epsilon"
            )


SELECTION_BIAS = (
    "groups or labels near a threshold are shown when their noise is high: the values that select "
    "them tend to be too large there, and their intervals contain the noise-free value less often "
    "than stated"
)
"""Why numbers of groups that their own noise selects are biased."""


def population_notes(plan: CentralPlan) -> Iterator[str]:
    """What is estimated for the population; empty without a declared sample."""
    design = plan.spec.sample
    if design is None:
        return
    size = f", {design.size:,} of them," if design.size else ""
    yield (
        f"the rows are declared to be a simple random sample without replacement{size} from a "
        f"population of {design.population:,}; the loss is not smaller for that, because it "
        "may be known who is in the sample"
    )
    names: dict[bool, list[str]] = {True: [], False: []}
    for planned in plan.statistics:
        names[planned.design.has_population].append(planned.name)
    if names[True]:
        yield (
            f"{', '.join(names[True])}: the lines NAME.population are estimates for the whole "
            "population, and their intervals contain the error of the sample as well as the noise; "
            "the other intervals contain the noise alone"
        )
    if names[False]:
        yield (
            f"{', '.join(names[False])}: only the number of the file is published, with an "
            "interval for the noise alone; see `dpcli explain sample`"
        )


def post_processing_notes(plan: CentralPlan) -> Iterator[str]:
    """What is done to noisy answers before they are published."""
    for planned in plan.statistics:
        entry = planned.entry
        steps = [*entry.statistic.sentences(entry.inputs), *(step.summary for step in entry.post)]
        steps += [planned.design.derivation] if planned.design.derivation else []
        steps += ["the noisy numbers before that are published too"] if entry.raw else []
        if min_rows := planned.design.rows_for_interval(planned.noises):
            rows = count_text(int(short_up(Fraction(min_rows), 2)), "row")
            steps.append(
                f"expect intervals from about {rows} on, for inputs that vary by a third of the "
                "way from the middle to a bound and do not depend on each other; with fewer rows "
                "the noise may leave no interval, and `ridge:` gives one for the coefficients of a "
                "ridge regression"
            )
        yield from (f"{entry.inputs.name}: {step}" for step in steps)


def exact_notes(plan: CentralPlan) -> Iterator[str]:
    """What is published without noise, and why the guarantee allows that."""
    if plan.spec.privacy.neighbors is Neighbors.CHANGE_ONE:
        yield f"the number of {plan.spec.units_noun} (public when neighbors are change-one)"
    for planned in plan.statistics:
        if all(planned_query.is_exact for planned_query in planned.queries):
            yield f"{planned.name}: exact, no neighbor can change it"
