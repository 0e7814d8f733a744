"""Sentences about a plan: what is counted, limited, selected or exact.

The templates of the sentences are in `reference/notes.toml`.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpcli import reference
from dpcli.data.axis import Axis
from dpcli.data.filters import joint_texts, negates
from dpcli.data.ids import IdColumn
from dpcli.data.numeric import require_numeric
from dpcli.messages import note
from dpcli.numeric.exact import short_up
from dpcli.numeric.number_text import exact_or_up, rounded_text
from dpcli.planning.plan import CentralPlan, LocalPlan, Plan, PlannedQuery, PlannedStatistic
from dpcli.privacy.neighboring import Neighbors
from dpcli.privacy.unit import PersonUnit
from dpcli.specification.dataset_names import mixed_scripts_warning
from dpcli.specification.model import Spec


def counted_units(planned: PlannedStatistic, spec: Spec) -> str:
    """The units that a statistic counts or takes values over: rows, visits or people."""
    request, query = planned.entry.request, planned.queries[0].weighted.query
    column, weight = request.column, request.weight
    if not planned.entry.statistic.counts_people:
        return f"{spec.rows_are} weighted by {weight.name}" if weight else spec.rows_are
    if query.counted_values is None or column is None:
        return "people"
    return f"different values of {column.name}"


def query_title(planned_query: PlannedQuery, planned: PlannedStatistic, spec: Spec) -> str:
    """The role of a query, with the units that it counts."""
    weighted = planned_query.weighted
    if planned.entry.statistic.counts_people and len(planned.queries) == 1:
        return f"number of {counted_units(planned, spec)}"
    is_rows = weighted.role == "count"
    return f"{weighted.role} of {spec.rows_are}" if is_rows else weighted.role


def unit_warnings(plan: CentralPlan) -> list[str]:
    """A warning if rows are protected by themselves, although a column says whose they are."""
    ids = [column.name for column in plan.spec.columns if isinstance(column, IdColumn)]
    if not ids or isinstance(plan.spec.privacy.unit, PersonUnit):
        return []
    return [note("bounding.ids_without_unit", column=ids[0])]


def lacks_check(plan: CentralPlan) -> bool:
    """Whether nothing would notice an incomplete file, unless the spec states that as meant."""
    return plan.quality is None and not plan.spec.declines_check


def quality_warnings(plan: CentralPlan) -> list[str]:
    """A warning if nothing would notice a file that is incomplete or not written as declared."""
    return [note("quality.absent")] if lacks_check(plan) else []


def filter_notes(plan: CentralPlan) -> list[str]:
    """The filters in words, with what becomes of missing cells if a filter negates a test."""
    notes = []
    for planned in plan.statistics:
        where = planned.entry.request.where
        if where:
            key = "negated" if any(map(negates, where)) else "rows"
            condition = " and ".join(joint_texts(where))
            notes.append(note(f"filter.{key}", name=planned.name, condition=condition))
    return notes


def limitations(plan: CentralPlan) -> list[str]:
    """What a release does not protect."""
    ids = ["central.ids"] if isinstance(plan.spec.privacy.unit, PersonUnit) else []
    return _limitations(plan, [], ids)


def collection_limitations(plan: LocalPlan, *, shuffled: bool) -> list[str]:
    """What a collection does not protect."""
    order = [] if shuffled else ["local.ordered"]
    return _limitations(plan, ["local.again", *order, "local.exact"], [])


def _limitations(plan: Plan, first: list[str], last: list[str]) -> list[str]:
    keys = [*first, *(f"limits.{key}" for key in reference.sentences("limits")), *last]
    condition = plan.spec.privacy.composition.condition
    return [*map(note, keys), *([condition] if condition else []), *reader_warnings(plan)]


def reader_warnings(plan: Plan) -> list[str]:
    """What readers of the plan, and of some of its numbers, must know."""
    mixed = mixed_scripts_warning(plan.spec.dataset)
    notes = [mixed] if mixed else []
    for planned in plan.all_statistics:
        notes += planned.entry.statistic.warnings(planned.entry.request)
    return notes


def derived_notes(plan: CentralPlan) -> list[str]:
    """How each derived column is computed, and what its values can be."""
    notes = []
    for column in plan.spec.columns:
        if column.derivation is None:
            continue
        facts: dict[str, object] = {"column": column.name, "text": column.derivation.text}
        if column.labels:
            notes.append(note("derived.labels", count=len(column.labels), **facts))
        else:
            number = require_numeric(column)
            low, high = map(number.text, number.limits)
            notes.append(note("derived.number", low=low, high=high, **facts))
    return notes


def binning_notes(plan: CentralPlan) -> list[str]:
    """The bins of numeric columns: how many, the first and the last."""
    names_by_key: dict[Axis, list[str]] = {}
    for planned in plan.statistics:
        for key in planned.entry.request.binned_axes:
            names_by_key.setdefault(key, []).append(planned.name)
    notes = []
    for key, names in names_by_key.items():
        step = require_numeric(key.column).step
        facts = {
            "names": ", ".join(names),
            "bins": len(key),
            "column": key.column.name,
            "first": key.label(0),
            "last": note("binning.last", last=key.label(len(key) - 1)) if len(key) > 1 else "",
            "rounded": "" if step == 1 else note("binning.rounded", step=rounded_text(step)),
        }
        notes.append(note("binning.bins", **facts))
    return notes


def composition_notes(plan: CentralPlan) -> list[str]:
    """How losses are composed, where that is not a plain sum."""
    privacy, notes = plan.spec.privacy, []
    branches: dict[str, dict[int, list[str]]] = {}
    for planned in plan.statistics:
        if planned.branch is not None:
            column, place = planned.branch
            branches.setdefault(column, {}).setdefault(place, []).append(planned.name)
    key = "two_largest" if privacy.neighbors is Neighbors.CHANGE_ONE else "largest"
    for column, names_by_branch in branches.items():
        names = "; ".join(map(", ".join, names_by_branch.values()))
        notes.append(note(f"composing.{key}", names=names, column=column, unit=plan.spec.unit_noun))
    rule = privacy.composition.name
    if rule != "sequential":
        notes.append(note("composing.rule", rule=rule, bound=plan.bound.name))
    return notes


def selection_notes(plan: CentralPlan) -> list[str]:
    """The noisy count that a private group or label needs, and the bias that this causes."""
    notes, unit = [], plan.spec.unit_noun
    for planned in plan.statistics:
        # The first query is the count that selects.
        selection = planned.queries[0].calibrated.partition_selection
        if selection is not None:
            facts = {"threshold": selection.threshold, "delta": exact_or_up(selection.delta)}
            key = "shown" if planned.entry.has_private_groups else "labels"
            notes.append(note(f"selections.{key}", name=planned.name, unit=unit, **facts))
    biased = any(planned.entry.has_private_groups for planned in plan.statistics)
    return [*notes, *([note("selections.too_large")] if biased else [])]


def population_notes(plan: CentralPlan) -> list[str]:
    """What is estimated for the population of a declared sample; empty without one."""
    design = plan.spec.sample
    if design is None:
        return []
    size = note("sample.size", size=f"{design.size:,}") if design.size else ""
    notes = [note("sample.declared", size=size, population=f"{design.population:,}")]
    names: dict[bool, list[str]] = {True: [], False: []}
    for planned in plan.statistics:
        entry = planned.entry
        names[entry.statistic.has_population(entry.request)].append(planned.name)
    for has_population, key in ((True, "estimated"), (False, "only_file")):
        if names[has_population]:
            notes.append(note(f"sample.{key}", names=", ".join(names[has_population])))
    return notes


def bounding_comparisons(plan: CentralPlan) -> list[str]:
    """The noise under the other way to bound contributions, if a statistic allows both."""
    notes, confidence = [], plan.spec.confidence
    for planned in plan.statistics:
        if not planned.alternative_bounding:
            continue
        used, unused = (
            design.known_error([query.calibrated.noise for query in queries], confidence)
            or queries[0].error(confidence)
            for design, queries in ((planned.design, planned.queries), planned.alternative_bounding)
        )
        by_sum = planned.entry.request.user_clamp is not None
        bound, other = ("sum", "rows") if by_sum else ("rows", "sum")
        errors = {"used": rounded_text(used, 6), "unused": rounded_text(unused, 6)}
        facts = errors | {"bound": bound, "other": other}
        notes.append(note("bounds.compared", name=planned.name, **facts))
    return notes


def post_processing_notes(plan: CentralPlan) -> list[str]:
    """What is done to noisy answers before they are published."""
    notes = []
    for planned in plan.statistics:
        entry = planned.entry
        steps = [*entry.statistic.notes(entry.request), *(step.summary for step in entry.post)]
        steps += ["the noisy numbers before that are published too"] if entry.raw else []
        if least := entry.statistic.rows_for_interval(entry.request, planned.noises):
            rows = count_text(int(short_up(Fraction(least), 2)), "row")
            steps.append(note("post.interval", rows=rows))
        notes += [f"{entry.request.name}: {step}" for step in steps]
    return notes


def design_notes(plan: CentralPlan) -> list[str]:
    """Why queries answer each statistic; a sentence that several share has all their names."""
    names: dict[str, list[str]] = {}
    for planned in plan.statistics:
        for sentence in planned.design.sentences(planned.noises, plan.spec.confidence):
            names.setdefault(sentence, []).append(planned.name)
    return [f"{', '.join(sharing)}: {sentence}" for sentence, sharing in names.items()]


def exact_notes(plan: CentralPlan) -> Iterator[str]:
    """What is published without noise, and why the guarantee allows that."""
    if plan.spec.privacy.neighbors is Neighbors.CHANGE_ONE:
        yield note("unprotected.size", units=plan.spec.units_noun)
    for planned in plan.statistics:
        if all(planned_query.is_exact for planned_query in planned.queries):
            yield note("unprotected.exact", name=planned.name)


def unprotected_notes(plan: LocalPlan) -> list[str]:
    """What a collection does not randomize."""
    names = ", ".join(column.name for column in plan.spec.public)
    columns = [note("unprotected.columns", names=names)] if names else []
    return [note("unprotected.records"), *columns]


def shuffle_condition(plan: LocalPlan) -> str:
    """The records among which shuffling hides a response, and from whom."""
    names = ", ".join(column.name for column in plan.spec.public)
    return note(f"shuffled.{'among' if names else 'any'}", names=names)


def capitalized(sentence: str) -> str:
    """A sentence with a capital letter, unless it begins with names from the spec."""
    begins_with_names = sentence.split(" ", maxsplit=1)[0].endswith((":", ","))
    return sentence if begins_with_names else sentence[:1].upper() + sentence[1:]


def count_text(count: int, noun: str) -> str:
    """A number with its noun, in the plural unless it is one."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
