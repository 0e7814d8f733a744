"""Sentences of plans and reports: limits, bounds on people, what is exact."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpcli.columns import NumericColumn
from dpcli.plan.meaning import one_of
from dpcli.plan.model import Plan, PlannedEntry
from dpcli.plan.numbers import exact_or_up, short
from dpcli.privacy.relation import Neighbors, PersonUnit
from dpcli.queries import Key, LinearQuery
from dpcli.spec.model import Spec
from dpcli.spec.names import mixed_scripts

LIMITS = (
    "Timing and memory use are not protected.",
    "People who also appear in other datasets or releases lose privacy there too.",
    (
        "Rows are read by the rules of CSV: a writer that does not escape quotes can merge rows, "
        "and merged rows count as one."
    ),
    (
        "A privacy unit that is too small, or bounds chosen by looking at the data, "
        "void the guarantee."
    ),
)
"""What no release of this tool protects."""

SELECTED = (
    "groups near a threshold are shown when their noise is high: the values that select them tend "
    "to be too large there, and their intervals contain the noise-free value less often than "
    "stated"
)

DIFFERENT_IDS = (
    "A person with several ids counts as several people: ids are compared as texts, without "
    "the spaces around them."
)

REPEATED = (
    "A person with several records reveals that many times as much, and a record that is "
    "randomized again pays again: the mean of many responses reveals the true value."
)
ORDERED = (
    "Responses stand in the order of the file: where the order reveals whose response is whose, "
    "each is protected by its own noise alone, and an order by something private reveals that. "
    "`--shuffle` hides the order."
)
BARE = "Rounding, clamping and constants for missing cells come before the noise and are public."


def limits(plan: Plan, *, shuffled: bool = False) -> list[str]:
    """What this release or collection does not protect."""
    condition = plan.spec.privacy.composition.condition
    conditions = [condition] if condition else []
    if plan.is_local:
        mixed = mixed_scripts(plan.spec.dataset)
        order = [] if shuffled else [ORDERED]
        return [REPEATED, *order, BARE, *LIMITS, *conditions, *([mixed] if mixed else [])]
    ids = [DIFFERENT_IDS] if isinstance(plan.spec.privacy.unit, PersonUnit) else []
    return [*LIMITS, *ids, *conditions, *warnings(plan)]


def bounding(plan: Plan) -> list[str]:
    """How what one person adds was limited; empty where every row stands alone."""
    unit = plan.spec.privacy.unit
    if not isinstance(unit, PersonUnit):
        return []
    rows = plan.spec.rows_are
    used = f"at most {unit.rows:,} {rows} of a person are used"
    if unit.rows == 1:
        used = f"at most one of the {rows} of a person is used"
    notes = [f"{used}, chosen at random from those of that person alone"]
    if unit.cells < unit.rows:
        notes.append(
            f"in each grouped statistic, these {rows} enter at most {many(unit.cells, 'group')}"
        )
    if unit.rows_per_cell < unit.rows:
        notes.append(f"at most {unit.rows_per_cell:,} of them in each group")
    notes.append(
        f"{rows} without an id count as one person each"
        if unit.each
        else f"{rows} without an id are left out"
    )
    return [*notes, *(note for planned in plan.entries for note in _totals(planned, plan.spec))]


def binning(plan: Plan) -> list[str]:
    """Which bins numbers are cut into: how many, the first and the last."""
    users: dict[Key, list[str]] = {}
    for planned in plan.entries:
        for key in planned.entry.request.cuts:
            users.setdefault(key, []).append(planned.entry.request.name)
    notes = []
    for key, names in users.items():
        last = f", the last {key.label(len(key) - 1)}" if len(key) > 1 else ""
        bins = f"{many(len(key), 'bin')} of {key.column.name}"
        step = key.column.step if isinstance(key.column, NumericColumn) else Fraction(1)
        rounded = "" if step == 1 else f"; values are rounded to multiples of {short(step)} first"
        notes.append(f"{', '.join(names)}: {bins}, the first {key.label(0)}{last}{rounded}")
    return notes


def many(count: int, what: str) -> str:
    """A number of things."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _totals(planned: PlannedEntry, spec: Spec) -> Iterator[str]:
    """How a person's total was limited."""
    unit, rows = spec.privacy.unit, spec.rows_are
    assert isinstance(unit, PersonUnit)
    for part in planned.parts:
        query = part.question.query
        if not isinstance(query, LinearQuery) or query.totals is None:
            continue
        grouped = bool(planned.entry.request.by)
        groups = f", in at most {many(unit.cells, 'group')}" if grouped else ""
        low, high = (exact_or_up(bound * part.question.unit) for bound in query.totals)
        name = planned.entry.request.name
        if part.question.role == "distinct":
            yield f"{name}: a person counts once, by any of their {rows}{groups}"
        else:
            yield (
                f"{name}: all {rows} of a person are used, and their total"
                f"{' in a group' if grouped else ''} is clamped to [{low}, {high}]{groups}"
            )


def composing(plan: Plan) -> list[str]:
    """How losses were added up, where not all of them were."""
    notes = []
    privacy = plan.spec.privacy
    groups: dict[str, dict[int, list[str]]] = {}
    for planned in plan.entries:
        if planned.branch is not None:
            column, place = planned.branch
            groups.setdefault(column, {}).setdefault(place, []).append(planned.entry.request.name)
    unit = one_of(privacy).removeprefix("one ")
    for column, parts in groups.items():
        names = "; ".join(", ".join(part) for part in parts.values())
        counted = "only the largest loss among them counts"
        if privacy.neighbors is Neighbors.CHANGE_ONE:
            counted = f"the two largest losses among them count: a {unit} can change between two"
        notes.append(
            f"{names}: about disjoint values of {column}, of which a {unit} has one, so {counted}"
        )
    if privacy.composition.name != "sequential":
        notes.append(f"losses are added up by {privacy.composition.name}: {plan.bound.name}")
    return notes


def selections(plan: Plan) -> list[str]:
    """From which noisy count on a private group is shown, and what that does to values."""
    rules = [
        f"{planned.entry.request.name}: a group is shown when its noisy value reaches "
        f"{part.selection.threshold:,}; a group that is in the data because of "
        f"{one_of(plan.spec.privacy)} alone is shown with a probability of at most "
        f"{exact_or_up(part.selection.delta)}"
        for planned in plan.entries
        for part in planned.parts
        if part.selection is not None
    ]
    return [*rules, *([SELECTED] if rules else [])]


def rivals(plan: Plan) -> list[str]:
    """What the noise would be if people were bounded in the other way, where both fit."""
    notes = []
    for planned in plan.entries:
        if planned.rival:
            used, other = (
                parts[0].error(plan.spec.confidence) for parts in (planned.parts, planned.rival)
            )
            totals = planned.entry.request.totals is not None
            first, second = ("sum", "rows") if totals else ("rows", "sum")
            notes.append(
                f"{planned.entry.request.name}: the error of the noise is {short(used, 6)} with "
                f"`bound: {first}`, and {short(other, 6)} with `bound: {second}`"
            )
    return notes


def post_processing(plan: Plan) -> list[str]:
    """What is done to noisy answers before they are published."""
    notes = [
        f"{one.column.name}: {', '.join(one.steps)}" for one in plan.spec.responses if one.steps
    ]
    for planned in plan.entries:
        entry = planned.entry
        done = [*entry.statistic.notes(entry.request), *(step.summary for step in entry.post)]
        notes += [f"{entry.request.name}: {words}" for words in done]
        if entry.raw:
            notes.append(f"{entry.request.name}: the noisy numbers before that are published too")
    return notes


def warnings(plan: Plan) -> list[str]:
    """What readers of the plan, and of some numbers, must know."""
    notes = [
        words
        for planned in plan.entries
        for words in planned.entry.statistic.warnings(planned.entry.request)
    ]
    mixed = mixed_scripts(plan.spec.dataset)
    return [*([mixed] if mixed else []), *notes]


def unprotected(plan: Plan) -> list[str]:
    """What is published exactly, and why that is within the guarantee."""
    if plan.is_local:
        names = ", ".join(column.name for column in plan.spec.public)
        public = [f"{names}: declared public, and published as they are"] if names else []
        return ["the number of records", *public]
    notes = []
    if plan.spec.privacy.neighbors is Neighbors.CHANGE_ONE:
        units = "people" if isinstance(plan.spec.privacy.unit, PersonUnit) else "rows"
        notes.append(f"the number of {units} (public when neighbors are change-one)")
    return notes + [
        f"{planned.entry.request.name}: exact, no neighbor can change it"
        for planned in plan.entries
        if all(part.public for part in planned.parts)
    ]


def hiding(plan: Plan) -> str:
    """Which records hide each other, and from whom."""
    names = ", ".join(column.name for column in plan.spec.public)
    among = f" that agree in {names}, by which others can be distinguished" if names else ""
    return f"this number of records{among}; against those who see the shuffled responses alone"


def capital(sentence: str) -> str:
    """A sentence with a capital, unless it begins with the names of what it is about."""
    named = sentence.split(" ", maxsplit=1)[0].endswith((":", ","))
    return sentence if named else sentence[:1].upper() + sentence[1:]
