"""Sentences about a plan: what is counted, limited, selected, chosen or exact."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpcli.data.filters import joint_texts, negates
from dpcli.data.kinds import Axis
from dpcli.data.labels import IdColumn
from dpcli.data.numeric import require_numeric
from dpcli.numeric.exact import exact_or_up, readable_text, rounded_text, short_up
from dpcli.planning.plan import CentralPlan, LocalPlan, Plan, PlannedQuery, PlannedStatistic
from dpcli.privacy.unit import Neighbors, PersonUnit
from dpcli.queries.query import Query
from dpcli.specification.declarations import mixed_scripts_warning
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
    return [
        (
            f"the unit is `row`, and `{ids[0]}` says whose row it is: if a person may have several "
            "rows, name that column as the unit, with `max_rows`, so that the person is protected "
            "(`dpcli explain unit`)"
        )
    ]


def lacks_check(plan: CentralPlan) -> bool:
    """Whether nothing would notice an incomplete file, unless the spec states that as meant."""
    return plan.quality is None and not plan.spec.declines_check


def quality_warnings(plan: CentralPlan) -> list[str]:
    """A warning if nothing would notice a file that is incomplete or not written as declared."""
    warning = (
        "this spec has no `quality:`: if the cells of a column cannot be read as declared, or most "
        "of the file is missing, nothing notices it, noise is published and the budget is spent. "
        "Add `quality: {epsilon: 0.1, min_rows: N, min_readable: 0.8}`, or `quality: none` if that "
        "is meant"
    )
    return [warning] if lacks_check(plan) else []


def filter_notes(plan: CentralPlan) -> list[str]:
    """The filters in words, with what becomes of missing cells if a filter negates a test."""
    notes = []
    for planned in plan.statistics:
        where = planned.entry.request.where
        if where:
            sentence = f"{planned.name} is about rows where {' and '.join(joint_texts(where))}"
            if any(map(negates, where)):
                sentence += (
                    "; rows for which that is unknown, because a cell is missing, are left out"
                )
            notes.append(sentence)
    return notes


def limitations(plan: CentralPlan) -> list[str]:
    """What a release does not protect."""
    several_ids = (
        "A person with several ids counts as several people: ids are compared as texts, without "
        "the spaces around them."
    )
    persons = isinstance(plan.spec.privacy.unit, PersonUnit)
    return [*COMMON_LIMITATIONS, *([several_ids] if persons else []), *_conditions(plan)]


def collection_limitations(plan: LocalPlan, *, shuffled: bool) -> list[str]:
    """What a collection does not protect."""
    again = (
        "A person with several records reveals that many times as much, and a record that is "
        "randomized again pays again: the mean of many responses reveals the true value."
    )
    ordered = (
        "Responses stand in the order of the file: where the order reveals whose response is "
        "whose, each is protected by its own noise alone, and an order by something private "
        "reveals that. `--shuffle` hides the order."
    )
    exact = (
        "Rounding, clamping and constants for missing cells come before the noise and are public."
    )
    first = [again, exact] if shuffled else [again, ordered, exact]
    return [*first, *COMMON_LIMITATIONS, *_conditions(plan)]


COMMON_LIMITATIONS = (
    "Timing and memory use are not protected.",
    "People who also appear in other datasets or releases lose privacy there too.",
    (
        "Rows are read by the rules of CSV: a writer that does not escape quotes can merge rows, "
        "and merged rows count as one."
    ),
    (
        "A privacy unit that is too small, or bounds chosen by looking at the data, void the "
        "guarantee."
    ),
)
"""What neither a release nor a collection protects."""


def _conditions(plan: Plan) -> list[str]:
    condition = plan.spec.privacy.composition.condition
    return [*([condition] if condition else []), *reader_warnings(plan)]


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
        if column.labels:
            values = count_text(len(column.labels), "label")
        else:
            number = require_numeric(column)
            low, high = map(number.text, number.limits)
            values = f"from {low} to {high}"
        notes.append(f"{column.name}: {column.derivation.text}, {values}")
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
        bins, first = count_text(len(key), "bin"), key.label(0)
        last = f", the last {key.label(len(key) - 1)}" if len(key) > 1 else ""
        multiples = f"multiples of {rounded_text(step)}"
        rounded = "" if step == 1 else f"; values are rounded to {multiples} first"
        of_column = f"{bins} of {key.column.name}"
        notes.append(f"{', '.join(names)}: {of_column}, the first {first}{last}{rounded}")
    return notes


def composition_notes(plan: CentralPlan) -> list[str]:
    """How losses are composed, where that is not a plain sum."""
    privacy, notes = plan.spec.privacy, []
    branches: dict[str, dict[int, list[str]]] = {}
    for planned in plan.statistics:
        if planned.branch is not None:
            column, index = planned.branch
            branches.setdefault(column, {}).setdefault(index, []).append(planned.name)
    unit = plan.spec.unit_noun
    counted = "so only the largest loss among them counts"
    if privacy.neighbors is Neighbors.CHANGE_ONE:
        counted = (
            "so the largest loss among them counts, "
            f"or the two largest for one {unit} that is removed and one that is added"
        )
    for column, names_by_branch in branches.items():
        names = "; ".join(map(", ".join, names_by_branch.values()))
        notes.append(
            f"{names}: about disjoint values of {column}, of which a {unit} has one, {counted}"
        )
    if privacy.composition.name != "sequential":
        notes.append(composition_rule(plan))
    return notes


def composition_rule(plan: Plan) -> str:
    """The rule of composition, and the bound that it gives."""
    return f"losses are added up by {plan.spec.privacy.composition.name}: {plan.bound.name}"


def selection_notes(plan: CentralPlan) -> list[str]:
    """The noisy count that a private group or label needs, and the bias that this causes."""
    notes, unit = [], plan.spec.unit_noun
    for planned in plan.statistics:
        # The first query is the count that selects.
        selection = planned.queries[0].calibrated.partition_selection
        if selection is not None:
            rule, shown = "a group is shown when its noisy value", "group"
            if not planned.entry.has_private_groups:
                rule, shown = "a label can be chosen when its noisy count", "label"
            notes.append(
                f"{planned.name}: {rule} reaches {selection.threshold:,}; a {shown} that is in the "
                f"data because of one {unit} alone is shown with a probability of at most "
                f"{exact_or_up(selection.delta)}"
            )
    biased = any(planned.entry.has_private_groups for planned in plan.statistics)
    return [*notes, *([SELECTION_BIAS] if biased else [])]


SELECTION_BIAS = (
    "groups near a threshold are shown when their noise is high: the values that select them "
    "tend to be too large there, and their intervals contain the noise-free value less often "
    "than stated"
)
"""Why numbers of groups that their own noise selects are biased."""


def population_notes(plan: CentralPlan) -> list[str]:
    """What is estimated for the population of a declared sample; empty without one."""
    design = plan.spec.sample
    if design is None:
        return []
    size = f", {design.size:,} of them," if design.size else ""
    notes = [
        (
            f"the rows are declared to be a simple random sample without replacement{size} from a "
            f"population of {design.population:,}; the loss is not smaller for that, because it "
            "may be known who is in the sample"
        )
    ]
    names: dict[bool, list[str]] = {True: [], False: []}
    for planned in plan.statistics:
        entry = planned.entry
        names[entry.statistic.has_population(entry.request)].append(planned.name)
    if names[True]:
        estimated = (
            "the lines NAME.population are estimates for the whole population, and "
            "their intervals contain the error of the sample as well as the noise; the other "
            "intervals contain the noise alone"
        )
        notes.append(f"{', '.join(names[True])}: {estimated}")
    if names[False]:
        only_file = (
            "only the number of the file is published, with an interval for the noise "
            "alone; see `dpcli explain sample`"
        )
        notes.append(f"{', '.join(names[False])}: {only_file}")
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
        notes.append(
            f"{planned.name}: the error of the noise is {rounded_text(used, 6)} with "
            f"`bound: {bound}`, and {rounded_text(unused, 6)} with `bound: {other}`"
        )
    return notes


def post_processing_notes(plan: CentralPlan) -> list[str]:
    """What is done to noisy answers before they are published."""
    notes = []
    for planned in plan.statistics:
        entry = planned.entry
        steps = [*entry.statistic.sentences(entry.request), *(step.summary for step in entry.post)]
        steps += ["the noisy numbers before that are published too"] if entry.raw else []
        if min_rows := entry.statistic.rows_for_interval(entry.request, planned.noises):
            rows = count_text(int(short_up(Fraction(min_rows), 2)), "row")
            steps.append(
                f"expect intervals from about {rows} on, for inputs that vary by a third of the "
                "way from the middle to a bound and do not depend on each other; with fewer rows "
                "the noise may leave no interval, and `ridge:` gives one for the coefficients of a "
                "ridge regression"
            )
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
        yield f"the number of {plan.spec.units_noun} (public when neighbors are change-one)"
    for planned in plan.statistics:
        if all(planned_query.is_exact for planned_query in planned.queries):
            yield f"{planned.name}: exact, no neighbor can change it"


def unprotected_notes(plan: LocalPlan) -> list[str]:
    """What a collection does not randomize."""
    names = ", ".join(column.name for column in plan.spec.public)
    columns = [f"{names}: declared public, and published as they are"] if names else []
    return ["the number of records", *columns]


def shuffle_condition(plan: LocalPlan) -> str:
    """The records among which shuffling hides a response, and from whom."""
    names = ", ".join(column.name for column in plan.spec.public)
    among = f" that agree in {names}, by which others can be distinguished" if names else ""
    return f"this number of records{among}; against those who see the shuffled responses alone"


def capitalized(sentence: str) -> str:
    """A sentence with a capital letter, unless it begins with names from the spec."""
    begins_with_names = sentence.split(" ", maxsplit=1)[0].endswith((":", ","))
    return sentence if begins_with_names else sentence[:1].upper() + sentence[1:]


def count_text(count: int, noun: str) -> str:
    """A number with its noun, in the plural unless it is one."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def bounding_notes(plan: CentralPlan) -> list[str]:
    """How the contribution of one person is bounded; empty if the privacy unit is a row."""
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
    """What limits on people leave out, and which values chosen bounds clamp; empty if nothing."""
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
    """What intervals are about, if not all rows of the file as they are; empty without them."""
    queries, person = _queries(planned), isinstance(spec.privacy.unit, PersonUnit)
    if queries[0].chooses:
        return ""
    used = "what is used" if person and not _counts_each_person(planned) else ""
    if not _clamped(queries, spec):
        return used
    return f"the clamped values of {used}" if used else "the clamped values"


def _counts_each_person(planned: PlannedStatistic) -> bool:
    """Whether each person counts in the one number of a statistic, so that none is left out."""
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
    """What a simulation uses in place of the bounds and the limit that a release would choose."""
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
    """What was chosen, and from which counts at which epsilon."""
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
