"""Sentences of plans and reports: what is counted, limited, exact or shown.

Facts are filled into the templates of `reference/notes.toml`.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpcli.columns import Key, NumericColumn
from dpcli.messages import note
from dpcli.numeric.number_text import exact_or_up, rounded_text
from dpcli.planning.plan import Plan, PlannedQuery, PlannedStatistic
from dpcli.privacy.neighboring import Neighbors
from dpcli.privacy.unit import PersonUnit
from dpcli.queries import LinearQuery
from dpcli.reference import texts
from dpcli.specification.dataset_names import mixed_scripts_warning
from dpcli.specification.model import Spec


def counted_units(planned: PlannedStatistic, spec: Spec) -> str:
    """What is counted, or what values are taken over, as a plural: rows, visits or people."""
    column, weighted = planned.entry.request.column, planned.queries[0].weighted
    if weighted.role != "distinct":
        return spec.rows_are
    if isinstance(weighted.query, LinearQuery) or column is None:
        return "people"
    return f"different values of {column.name}"


def query_title(part: PlannedQuery, planned: PlannedStatistic, spec: Spec) -> str:
    """The role of a query; where it counts, what it counts."""
    role = part.weighted.role
    if role == "distinct":
        return f"number of {counted_units(planned, spec)}"
    return f"{role} of {spec.rows_are}" if role == "count" else role


def left_out_note(planned: PlannedStatistic, spec: Spec) -> str:
    """What the limits on people leave out, in a sentence; empty where rows are protected."""
    unit, part = spec.privacy.unit, planned.queries[0]
    if not isinstance(unit, PersonUnit):
        return ""
    key, grouped = _totals_key(part), part.weighted.query.cells != 1
    key = key or (grouped and "_and_".join(_limited(unit))) or _rows_key(unit)
    return note(f"left_out.{key}", **_limits(unit, spec))


def bounding_notes(plan: Plan) -> list[str]:
    """How what one person adds was limited; empty where every row stands alone."""
    unit = plan.spec.privacy.unit
    if not isinstance(unit, PersonUnit):
        return []
    keys = [_rows_key(unit), *_limited(unit), "each" if unit.singletons_without_id else "no_id"]
    limits = _limits(unit, plan.spec)
    notes = [note(f"bounding.{key}", **limits) for key in keys]
    for planned in plan.statistics:
        for part in planned.queries:
            query, key = part.weighted.query, _totals_key(part)
            if key and isinstance(query, LinearQuery) and query.user_clamp is not None:
                low, high = (exact_or_up(bound * part.weighted.step) for bound in query.user_clamp)
                name = planned.name
                notes.append(note(f"bounding.{key}", name=name, low=low, high=high, **limits))
    return notes


def _totals_key(part: PlannedQuery) -> str:
    """Which sentence is about a query that bounds a person's totals; empty for any other."""
    query = part.weighted.query
    if not isinstance(query, LinearQuery) or query.user_clamp is None:
        return ""
    key = "distinct" if part.weighted.role == "distinct" else "total"
    return key if query.cells == 1 else f"{key}_groups"


def _rows_key(unit: PersonUnit) -> str:
    return "one" if unit.max_rows == 1 else "several"


def _limited(unit: PersonUnit) -> list[str]:
    tighter = {"groups": unit.max_groups, "in_group": unit.max_rows_per_group}
    return [key for key, most in tighter.items() if most < unit.max_rows]


def _limits(unit: PersonUnit, spec: Spec) -> dict[str, object]:
    in_group = unit.max_rows_per_group
    return {
        "rows": spec.rows_are,
        "most": unit.max_rows,
        "groups": unit.max_groups,
        "in_group": in_group,
    }


def limitations(plan: Plan, *, shuffled: bool = False) -> list[str]:
    """What this release or collection does not protect."""
    privacy, keys = plan.spec.privacy, [f"limits.{key}" for key in texts("notes")["limits"]]
    if plan.is_local:
        keys = ["local.again", *([] if shuffled else ["local.ordered"]), "local.exact", *keys]
    elif isinstance(privacy.unit, PersonUnit):
        keys.append("central.ids")
    condition = privacy.composition.condition
    return [*map(note, keys), *([condition] if condition else []), *reader_warnings(plan)]


def reader_warnings(plan: Plan) -> list[str]:
    """What readers of the plan, and of some numbers, must know."""
    mixed = mixed_scripts_warning(plan.spec.dataset)
    notes = [mixed] if mixed else []
    for planned in plan.statistics:
        notes += planned.entry.statistic.warnings(planned.entry.request)
    return notes


def binning_notes(plan: Plan) -> list[str]:
    """Which bins numbers are cut into: how many, the first and the last."""
    users: dict[Key, list[str]] = {}
    for planned in plan.statistics:
        for key in planned.entry.request.binned_axes:
            users.setdefault(key, []).append(planned.name)
    notes = []
    for key, names in users.items():
        step = key.column.step if isinstance(key.column, NumericColumn) else Fraction(1)
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


def composition_notes(plan: Plan) -> list[str]:
    """How losses were added up, where not all of them were."""
    privacy, notes = plan.spec.privacy, []
    groups: dict[str, dict[int, list[str]]] = {}
    for planned in plan.statistics:
        if planned.branch is not None:
            column, place = planned.branch
            groups.setdefault(column, {}).setdefault(place, []).append(planned.name)
    key = "two_largest" if privacy.neighbors is Neighbors.CHANGE_ONE else "largest"
    for column, parts in groups.items():
        names = "; ".join(", ".join(part) for part in parts.values())
        notes.append(note(f"composing.{key}", names=names, column=column, unit=plan.spec.unit_noun))
    rule = privacy.composition.name
    if rule != "sequential":
        notes.append(note("composing.rule", rule=rule, bound=plan.bound.name))
    return notes


def selection_notes(plan: Plan) -> list[str]:
    """From which noisy count on a private group is shown, and what that does to values."""
    rules = []
    for planned in plan.statistics:
        for rule in (
            part.partition_selection
            for part in planned.queries
            if part.partition_selection is not None
        ):
            facts = {"threshold": rule.threshold, "delta": exact_or_up(rule.delta)}
            rules.append(
                note("selections.shown", name=planned.name, unit=plan.spec.unit_noun, **facts)
            )
    return [*rules, *([note("selections.too_large")] if rules else [])]


def bounding_comparisons(plan: Plan) -> list[str]:
    """What the noise would be if people were bounded in the other way, where both fit."""
    notes = []
    for planned in (one for one in plan.statistics if one.alternative_bounding):
        both = (planned.queries[0], planned.alternative_bounding[0])
        used, unused = (rounded_text(part.error(plan.spec.confidence), 6) for part in both)
        by_sum = planned.entry.request.user_clamp is not None
        bound, other = ("sum", "rows") if by_sum else ("rows", "sum")
        facts = {"used": used, "unused": unused, "bound": bound, "other": other}
        notes.append(note("bounds.compared", name=planned.name, **facts))
    return notes


def post_processing_notes(plan: Plan) -> list[str]:
    """What is done to noisy answers before they are published."""
    notes = [
        f"{one.column.name}: {', '.join(one.steps)}" for one in plan.spec.responses if one.steps
    ]
    for planned in plan.statistics:
        entry = planned.entry
        done = [*entry.statistic.notes(entry.request), *(step.summary for step in entry.post)]
        done += ["the noisy numbers before that are published too"] if entry.raw else []
        notes += [f"{entry.request.name}: {words}" for words in done]
    return notes


def exact_notes(plan: Plan) -> Iterator[str]:
    """What is published exactly, and why that is within the guarantee."""
    if plan.is_local:
        yield note("unprotected.records")
        if plan.spec.public:
            names = ", ".join(column.name for column in plan.spec.public)
            yield note("unprotected.columns", names=names)
    elif plan.spec.privacy.neighbors is Neighbors.CHANGE_ONE:
        person = isinstance(plan.spec.privacy.unit, PersonUnit)
        yield note("unprotected.size", units="people" if person else "rows")
    for planned in plan.statistics:
        if all(part.is_exact for part in planned.queries):
            yield note("unprotected.exact", name=planned.name)


def shuffle_condition(plan: Plan) -> str:
    """Which records protect each other when they are shuffled, and from whom."""
    names = ", ".join(column.name for column in plan.spec.public)
    return note(f"shuffled.{'among' if names else 'any'}", names=names)


def capitalized(sentence: str) -> str:
    """A sentence with a capital, unless it begins with the names of what it is about."""
    named = sentence.split(" ", maxsplit=1)[0].endswith((":", ","))
    return sentence if named else sentence[:1].upper() + sentence[1:]


def count_text(count: int, what: str) -> str:
    """A number of things."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
