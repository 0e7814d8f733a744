"""The errors to expect of published numbers, and keys that make them smaller.

Where an error depends on the answers, it is that of typical values (`Design.typical_estimates`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from math import ceil
from operator import itemgetter

from dpcli.numeric.exact import readable_text, short_down, short_up
from dpcli.planning.plan import CentralPlan, PlannedStatistic
from dpcli.planning.planner import StatisticPlanner
from dpcli.privacy.unit import Limits, PersonUnit
from dpcli.problems.errors import SpecError
from dpcli.problems.light_dataclasses import dataclass
from dpcli.statistics.design import TYPICAL_MEAN, TYPICAL_VARIANCE
from dpcli.statistics.intervals import MAX_CONFIDENCE

TYPICAL = (
    f"errors at a number of rows are for typical values: a mean {(1 + TYPICAL_MEAN) / 2:.0%} of "
    "the way from the lower to the upper bound (a share from 0 to 1), a standard deviation of "
    f"{TYPICAL_VARIANCE**0.5 / 2:.0%} of it, and columns that do not depend on each other"
)
"""What `Design.typical_sums` are about, in words."""

MIN_GAIN = 2
"""Advice makes an error at least this many times smaller."""

LIMITS = {
    "max_groups: 1": (Limits(max_groups=1), "people with rows in one group"),
    "max_rows: 1": (Limits(max_rows=1), "people with one row"),
    "max_rows_per_group: 1": (Limits(max_rows_per_group=1), "people with one row in a group"),
}
"""Limits of one row or group of a person, and for whom each is right."""

OF_PEOPLE = {
    "max_groups: 1": (Limits(max_groups=1, of_people=True), "people with rows in one group")
}
"""The limit that an entry about people may have, whose keys are of rows."""

FEWER_SELECTED = 4
"""A limit on the answers of a row is advised to be this part of what it is."""


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """How far each number of a group may be off, at the confidence of the spec.

    `widths` are the half-widths of the intervals of each item, or one for all items; None for an
    interval of all that is possible. `values` are the typical numbers that they are around, empty
    if the error is the same for all numbers.
    """

    widths: tuple[Fraction | None, ...]
    values: tuple[Fraction, ...] = ()


def depends_on_rows(planned: PlannedStatistic, confidence: Fraction) -> bool:
    """Whether the error follows from the number of rows, for typical values."""
    is_known = confidence <= MAX_CONFIDENCE and not planned.entry.has_private_groups
    return planned.design.has_typical and is_known


def known_rows(planned: PlannedStatistic, plan: CentralPlan, rows: int | None) -> int | None:
    """How many rows or people an entry is about: `rows`, or what the spec states."""
    check, sample, inputs = plan.spec.quality, plan.spec.sample, planned.entry.inputs
    if inputs.sizes:
        return ceil(sum(size for _, size in inputs.sizes.numbers))
    if number := rows or inputs.rows or (sample.size if sample else None):
        return number
    if check is None:
        return None
    return check.min_people if planned.is_of_people else check.min_rows


def expected_error(
    planned: PlannedStatistic, plan: CentralPlan, rows: int | None
) -> ExpectedError | None:
    """The error of an entry, with the rows divided equally among its groups.

    None if it is not known without data, or without the number of rows.
    """
    confidence, number = plan.spec.confidence, known_rows(planned, plan, rows)
    known = planned.error(confidence)
    if known is not None:
        return ExpectedError((known,))
    if number is None or not depends_on_rows(planned, confidence):
        return None
    of_group = Fraction(number, planned.entry.inputs.groups)
    found = planned.design.typical_estimates(planned.noises, confidence, of_group)
    hides = found.covers_all | (of_group < planned.design.rows_for_interval(planned.noises))
    widths = tuple(
        None if none or one.lower is None or one.upper is None else (one.upper - one.lower) / 2
        for one, none in zip(found, hides, strict=True)
    )
    return ExpectedError(widths, tuple(one.value or Fraction(0) for one in found))


def error_text(error: Fraction) -> str:
    """An error for people: three digits, rounded up."""
    error = short_up(error, 3)
    return f"{int(error):,}" if error.denominator == 1 else readable_text(error)


def typical_notes(plan: CentralPlan, rows: int | None) -> Iterator[str]:
    """What typical values are, if an error is stated for them."""
    errors = (expected_error(planned, plan, rows) for planned in plan.statistics)
    if any(error is not None and error.values for error in errors):
        yield TYPICAL


def advice(plan: CentralPlan, rows: int | None) -> Iterator[str]:
    """For each entry, the key that makes its error much smaller, at the same loss.

    What is guaranteed stays the same: keys leave out rows or answers, or clamp totals.
    """
    for planned in plan.statistics:
        now, choices = expected_error(planned, plan, rows), plan.spec.choices
        is_open = plan.chooses_bounds and any(map(planned.depends_on, choices))
        if now is None or is_open or planned.entry.budget_amount.error:
            continue
        found = [
            (_gain(now, then), then, key, right)
            for changed, key, right in _changes(planned, plan)
            if (then := expected_error(changed, plan, rows)) is not None
        ]
        gain, then, key, right = max(found, key=itemgetter(0), default=(0, now, "", ""))
        if gain >= MIN_GAIN:
            gives = f"errors {readable_text(short_down(Fraction(gain), 2))} times smaller"
            if len(now.widths) == 1:
                after, before = (error_text(one.widths[0] or Fraction(0)) for one in (then, now))
                gives = f"an error of about {after} instead of {before}"
            yield f"{planned.name}: `{key}` in this entry would give {gives}; it is right {right}"


def _gain(now: ExpectedError, then: ExpectedError) -> Fraction:
    """How many times smaller each error is at least; zero if that is not known."""
    pairs = zip(now.widths, then.widths, strict=True)
    return min(before / after if before and after else Fraction(0) for before, after in pairs)


def _changes(
    planned: PlannedStatistic, plan: CentralPlan
) -> Iterator[tuple[PlannedStatistic, str, str]]:
    """The entry with another value of a key, the key, and for whom that is right."""
    entry, unit, inputs = planned.entry, planned.unit, planned.entry.designs[0].inputs
    if planned.alternative_bounding:
        design, queries = planned.alternative_bounding
        key, right = "bound: sum", "where totals of people are within `unit_bounds`"
        if inputs.user_clamp is not None:
            key, right = "bound: rows", "where people have no more rows than the limits"
        yield replace(planned, design=design, queries=queries), key, right
    choices = LIMITS if isinstance(unit, PersonUnit) else {}
    if isinstance(unit, PersonUnit) and unit.of_people:
        choices = OF_PEOPLE if unit.max_groups > 1 else {}
    tried = [
        (key, replace(entry, limits=limits.or_else(entry.limits)), inputs, those)
        for key, (limits, those) in choices.items()
    ]
    if most := dict(inputs.options).get("max_selected"):
        fewer = max(most // FEWER_SELECTED, 1)
        own = replace(inputs, options=(("max_selected", fewer),))
        tried.append((f"max_selected: {fewer}", entry, own, "rows with no more answers"))
    for key, limited, own, those in tried:
        designs = entry.designs_for(own, plan.spec.relation_of(limited))
        changed = replace(limited, designs=designs, alternative_bounding=())
        # The mechanism may serve no design of the changed entry.
        with suppress(SpecError, StopIteration):
            replanned = StatisticPlanner(plan.spec, {}).most_accurate(changed, planned.target)
            yield replanned, key, f"for {those}, and leaves out the rest of others"
