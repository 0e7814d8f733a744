"""Sentences about a plan: what is counted, limited, selected, chosen or exact.

The templates of the sentences are in `problems/notes.toml`.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpcli.data.axis import Axis
from dpcli.data.filters import joint_texts, negates
from dpcli.data.ids import IdColumn
from dpcli.data.numeric import require_numeric
from dpcli.numeric.exact import exact_or_up, readable_text, rounded_text, short_up
from dpcli.planning.plan import CentralPlan, LocalPlan, Plan, PlannedQuery, PlannedStatistic
from dpcli.privacy.neighboring import Neighbors
from dpcli.privacy.unit import PersonUnit
from dpcli.problems import reference
from dpcli.problems.messages import note
from dpcli.queries.query import Query
from dpcli.specification.dataset_names import mixed_scripts_warning
from dpcli.specification.model import CentralSpec, Spec
from dpcli.statistics.bounds.choice import BoundsChoice
from dpcli.statistics.quality import counted_limits


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
        steps = [*entry.statistic.sentences(entry.request), *(step.summary for step in entry.post)]
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
    queries, unit, notes = _queries(planned), spec.privacy.unit, list[str]()
    chosen = "choice" if queries[0].chooses else "interval"
    if isinstance(unit, PersonUnit):
        totals, grouped = _totals_key(planned), bool(queries[0].axes)
        key = totals or (grouped and "_and_".join(_limited(unit))) or _rows_key(unit)
        notes.append(note(f"left_out.{key}", **_limits(unit, spec)))
        if key != "distinct":
            notes.append(note(f"left_out.{chosen}"))
        if any(_uncounted(queries, unit)):
            notes.append(note("left_out.uncounted"))
    if clamped := _clamped(queries, spec):
        notes.append(note(f"left_out.clamped_{chosen}", columns=", ".join(clamped)))
    return "; ".join(notes)


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


def choices(plan: CentralPlan) -> Iterator[tuple[BoundsChoice, PlannedStatistic]]:
    """Each choice and the histogram from which it is made."""
    return zip(plan.spec.choices, plan.bounds, strict=True)


def choice_rules(plan: CentralPlan) -> Iterator[str]:
    """What will be chosen and how, before that is done."""
    for choice, planned in choices(plan) if plan.chooses_bounds else ():
        yield from rule_sentences(choice, planned, plan)


def rule_sentences(
    choice: BoundsChoice, planned: PlannedStatistic, plan: CentralPlan
) -> Iterator[str]:
    """How something is chosen."""
    facts = _choice_facts(choice, planned, plan)
    yield note("chosen.rule", **facts)
    if choice.coverage < 1:
        yield note("chosen.cover", **facts)


def simulated_bounds(plan: CentralPlan) -> Iterator[str]:
    """What a simulation uses in place of the bounds and the limit that a release would choose."""
    if plan.spec.choices:
        nouns = " and ".join(choice.noun for choice in plan.spec.choices)
        yield note("chosen.simulated", chosen=nouns)


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
    """What was chosen, and from which counts at which epsilon."""
    chosen, facts = choice.chosen, _choice_facts(choice, planned, plan)
    assert chosen is not None
    key = ("covering" if choice.coverage < 1 else "result") if chosen.decided else "fallback"
    beyond = note(f"chosen.{choice.beyond}", **facts)
    result = note(f"chosen.{key}", value=choice.text(chosen), beyond=beyond, **facts)
    return result, note("chosen.counts", **facts)


def _choice_facts(
    choice: BoundsChoice, planned: PlannedStatistic, plan: CentralPlan
) -> dict[str, object]:
    query, bins, rows = planned.queries[0], choice.bins, plan.spec.rows_are
    least, most = (readable_text(end * choice.column.step) for end in (bins[0][0], bins[-1][1]))
    # Where the limit on rows is chosen too, one row of each person enters the other histograms.
    single = "single" if plan.spec.unit_of_choices else "rows"
    return {
        "chosen": choice.noun,
        "rows": rows,
        "counted": note(f"chosen.{choice.counted or single}", rows=rows),
        "bins": len(bins),
        "ladder": choice.grid.kind.name,
        "least": least,
        "most": most,
        "outermost": choice.text(choice.at_candidate(-1)),
        "epsilon": exact_or_up(choice.epsilon),
        "scale": rounded_text(query.scale),
        "threshold": choice.rule(query.calibrated.noise).threshold,
        "cover": rounded_text(choice.coverage * 100, 4),
    }
