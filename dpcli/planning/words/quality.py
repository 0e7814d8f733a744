"""The quality check in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpcli.data.column import UNREADABLE
from dpcli.numeric.exact import plain_text, readable_text, rounded_text, short_up
from dpcli.planning.plan import CentralPlan
from dpcli.planning.quality_check import (
    FALSE_STOP,
    UNNOTICED,
    RequiredMinimum,
    check_noises,
    losses_of,
    noise_excess,
    percent_text,
    required_minimums,
)
from dpcli.privacy.unit import PersonUnit
from dpcli.problems.messages import quote
from dpcli.statistics.quality.completeness import MISSING, units_to_show_complete
from dpcli.statistics.quality.quality_counts import fault_order


def check_rule(plan: CentralPlan) -> Iterator[str]:
    """When the check stops a release and what it detects, with error probabilities."""
    quality, rows = plan.spec.quality, plan.spec.rows_are
    if quality is None or plan.quality is None:
        return
    if all(query.is_exact for query in plan.quality.queries):
        yield (
            f"quality: the number of {rows} is public under change-one, so `min_rows` is "
            "checked exactly, at no privacy cost"
        )
        return
    yield (
        f"quality: noisy counts of {plan.spec.units_are} by their first fault come first; if a "
        "minimum is missed by more than the noise explains, no statistic is answered, only the "
        "loss of the check is charged, and the exit status is 8. A file that meets all minimums is "
        f"stopped with a probability of at most {percent_text(FALSE_STOP)}"
    )
    if plan.spec.checks_first:
        entry = f", which is entry {quality.charged.entry}" if quality.charged else ""
        yield (
            "quality: bounds and limits are chosen after that, and only if the check passes; it "
            f"is then charged in the entry of the choice{entry}"
        )
    # Columns that require the same share have the same margin.
    minimums = tuple(required_minimums(plan))
    yield from dict.fromkeys(_detection_sentence(minimum, plan) for minimum in minimums)
    yield from completeness_sentences(plan)
    if quality.max_limited is not None:
        yield (
            f"quality: `max_limited: {readable_text(quality.max_limited)}` stops a file where "
            "these counts show, by more than noise explains, that these limits leave out more "
            f"{rows}"
        )


def check_warnings(plan: CentralPlan) -> Iterator[str]:
    """What a check would not notice, with the epsilon that would."""
    quality, units = plan.spec.quality, plan.spec.units_are
    if quality is None or plan.quality is None:
        return
    fifth, factor = percent_text(UNNOTICED), noise_excess(plan)
    if factor is not None:
        epsilon, more = plan.quality.entry.budget_amount.epsilon, "a larger loss"
        if epsilon is not None:
            more = f"epsilon {plain_text(short_up(epsilon * factor, 2))}"
        yield (
            f"the noise of `quality:` hides that {fifth} of a file with as many {units} as its "
            f"minimum are missing, or that a column cannot be read in any of them; {more} would "
            "show it. `dpcli plan` states what is noticed; until then `complete` is not `yes`"
        )
    units_needed = completeness_units(plan).items()
    unknown = [
        name for (needed, part), names in units_needed if not (needed or part) for name in names
    ]
    if unknown and isinstance(plan.spec.privacy.unit, PersonUnit):
        yield (
            f"{', '.join(unknown)}: `complete` will not be `yes`; `possible_rows` or "
            "`possible_groups` of the unit may help"
        )
    if quality.min_rows is None and quality.min_people is None:
        key = "min_people" if units == "people" else "min_rows"
        yield f"`quality:` has no `{key}`: nothing notices that a part of the file is missing"
    unchecked = [
        fault.name
        for fault in fault_order(plan.quality.entry.inputs).cells
        if fault.state == UNREADABLE and fault.name not in quality.min_readable
    ]
    if unchecked:
        names = ", ".join(map(quote, unchecked))
        yield (
            f"{names}: used, and `min_readable` has no minimum for it: if no cell can be read, "
            "the release is not stopped"
        )


def completeness_units(plan: CentralPlan) -> dict[tuple[int | None, bool], list[str]]:
    """The entries by how many units it takes to show that they are complete.

    That is None if the check cannot show it. With it stands whether an entry uses only some rows.
    """
    assert plan.quality is not None
    order, noises = fault_order(plan.quality.entry.inputs), check_noises(plan)
    by_units: dict[tuple[int | None, bool], list[str]] = {}
    for planned in plan.statistics:
        lost = losses_of(planned, plan.spec)
        open_choices = [choice for choice, _ in plan.choices if choice.chosen is None]
        if not lost.is_empty and not any(map(planned.depends_on, open_choices)):
            needed = units_to_show_complete(lost, order, noises)
            if lost.some_rows and not any(
                part.weighted.query.sum_of_row for part in planned.queries
            ):
                needed = None
            by_units.setdefault((needed, lost.some_rows), []).append(planned.name)
    return by_units


def completeness_sentences(plan: CentralPlan) -> Iterator[str]:
    """From how many units on the check can show that numbers are complete."""
    share, units = percent_text(MISSING), plan.spec.units_are
    for (needed, some_rows), entries in completeness_units(plan).items():
        names = ", ".join(entries)
        if needed is None and some_rows:
            yield (
                f"quality: {names}: the faults of the {units} that it uses are not counted "
                "apart, so `complete` is `unknown` or `no`"
            )
        elif needed is None:
            yield (
                f"quality: {names}: no count can show that at most {share} is missing, so "
                "`complete` is `unknown` or `no`"
            )
        else:
            yield (
                f"quality: {names}: `complete: yes` can be shown from about "
                f"{rounded_text(Fraction(needed), 2)} {units} on, if nothing is missing"
                f"{' of those that it uses' * some_rows}"
            )


def _detection_sentence(minimum: RequiredMinimum, plan: CentralPlan) -> str:
    """What the check detects, or that its epsilon is too small to detect anything."""
    sure, units = percent_text(1 - FALSE_STOP), plan.spec.units_are
    detectable = minimum.detectable if minimum.detectable and minimum.detectable > 0 else None
    if minimum.kind != "cells":
        key, counted = f"min_{minimum.kind}: {minimum.required}", minimum.counted(plan)
        if detectable is None:
            noise = rounded_text(Fraction(2 * minimum.margin))
            return (
                f"quality: `{key}` is within the noise ({noise} {counted}), so even an empty file "
                "may pass"
            )
        noticed = rounded_text(detectable)
        return (
            f"quality: `{key}` stops a file with fewer than {noticed} {counted} in {sure} of runs"
        )
    share = rounded_text(minimum.share, 3)
    if detectable is None:
        return (
            f"quality: `min_readable: {share}` notices that no cell of a column can be read "
            f"in files of {minimum.units_needed:,} {units} or more, in {sure} of runs"
        )
    return (
        f"quality: `min_readable: {share}` stops a file of {minimum.units:,} {units} when a column "
        f"can be read in less than {percent_text(detectable)} of them, in {sure} of runs"
    )


def counted_rows_note(plan: CentralPlan) -> str:
    """What the check counts; empty if the privacy unit is a row."""
    unit = plan.spec.privacy.unit
    if not isinstance(unit, PersonUnit):
        return ""
    without_id = "" if unit.singletons_without_id else "; rows without an id are not counted"
    return f"Counted are people, each once, by all their rows{without_id}."
