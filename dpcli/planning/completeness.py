"""What the numbers of an entry count, by the spec and charged counts alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcli.numeric.exact import rounded_text, short_down
from dpcli.planning.plan import CentralPlan, PlannedStatistic
from dpcli.planning.quality_check import at_least, losses_of, notices_missing_rows, percent_text
from dpcli.privacy.unit import PersonUnit
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.quality.completeness import (
    ERROR_PROBABILITY,
    MISSING,
    RISK_OF_LIMIT,
    Complete,
    Completeness,
    Losses,
    is_complete,
    min_left_out,
    min_rows,
    shown_faults,
    units_to_show_complete,
)
from dpcli.statistics.weights import AS_DECLARED

if TYPE_CHECKING:
    from dpcli.planning.quality_check import QualityResult
    from dpcli.statistics.quality.quality_counts import FaultCounts

MOST = percent_text(MISSING)


def completeness_of(
    planned: PlannedStatistic,
    plan: CentralPlan,
    result: QualityResult | None,
    answers: Sequence[NoisyAnswer] = (),
) -> Completeness:
    """What the numbers of a statistic count, by charged counts and its `answers`."""
    lost, found = losses_of(planned, plan.spec), None
    if answers and (shown := planned.design.shown_incomplete(answers)):
        found = Completeness(Complete.NO, shown)
    if found is None and result is not None:
        found = _shown(lost, plan, result.counts)
    if found is None:
        found = _lost_by_choice(planned, plan)
    if found is None:
        rows = _min_rows(planned, answers)
        found = _not_shown(lost, plan, result, _clamped(planned, plan), rows)
    if planned.entry.inputs.sizes:
        return replace(found, reason=f"{found.reason}; {AS_DECLARED}")
    return found


def _not_shown(
    lost: Losses, plan: CentralPlan, result: QualityResult | None, clamped: str, least: int | None
) -> Completeness:
    """That numbers are complete, or that this is not known; it uses `least` rows."""
    rows = _known(lost, plan)
    if lost.is_empty and not clamped:
        return Completeness(Complete.YES, f"none of the {rows} can be left out")
    may = "; ".join(filter(None, (_may_lack(lost, plan), clamped)))
    if result is None:
        return _unknown(f"{may}, and no charged count shows how many")
    if clamped:
        return _unknown(may)
    if not notices_missing_rows(plan):
        return _unknown("the check is too weak to notice that a fifth of the file is missing")
    if is_complete(lost, result.counts, least or 0):
        shown = f"charged counts show that at most {MOST} of the {rows}"
        used = " that it uses" * lost.some_rows
        more = "; of amounts that may be more" * lost.adds_amounts
        return Completeness(Complete.YES, f"{shown}{used} are missing{more}")
    needed = units_to_show_complete(lost, result.counts.order, result.counts.noises)
    if needed is None:
        return _unknown(f"{may}, and no count can show that this is at most {MOST}")
    if lost.some_rows and least is None:
        return _unknown(
            f"{may}, and counts of all {plan.spec.units_are} do not show how many of those that it "
            "uses are missing"
        )
    size = f"{rounded_text(Fraction(max(needed, 1)), 2)} {plan.spec.units_are} without a fault"
    return _unknown(
        f"{may}, and the check did not show that this is at most {MOST}; it can from "
        f"about {size} on"
    )


def _unknown(reason: str) -> Completeness:
    return Completeness(Complete.UNKNOWN, reason)


def _min_rows(planned: PlannedStatistic, answers: Sequence[NoisyAnswer]) -> int | None:
    """A lower bound on the rows that a statistic uses, if its noisy answers show one."""
    queries = [part.weighted.query for part in planned.queries]
    return min_rows(queries, answers) if answers else None


def _known(lost: Losses, plan: CentralPlan) -> str:
    """The rows or people that the check can know of, as a noun."""
    unit = plan.spec.privacy.unit
    if not isinstance(unit, PersonUnit):
        return plan.spec.rows_are
    counted = "people" if lost.counts_people else plan.spec.rows_are
    return f"{counted} that can be read" if unit.singletons_without_id else f"{counted} with an id"


def _shown(lost: Losses, plan: CentralPlan, counts: FaultCounts) -> Completeness | None:
    """That numbers are not complete, if charged counts show it."""
    spec, risk, found = plan.spec, ERROR_PROBABILITY, list[tuple[str, Fraction]]()
    place = "numbers like these" if lost.some_rows else "these numbers"
    of = "all" if lost.some_rows else "the"
    if lost.limits_rows and lost.max_rows is not None:
        # Two statements are tried, and share the probability of an error.
        risk -= RISK_OF_LIMIT
        least = min_left_out(lost.max_rows, counts, RISK_OF_LIMIT)
        if least > MISSING:
            limit = f"at most {lost.max_rows:,} of each person are used"
            share = at_least(least)
            found.append((f"{share} of {of} {spec.rows_are} are not in {place}: {limit}", least))
    faults = shown_faults(lost, counts, risk)
    if faults is not None:
        positions, least = faults
        share = at_least(least) if least > MISSING else f"more than {MOST}"
        names = ", ".join(counts.order.labels[at] for at in positions)
        what = f"{share} of {of} {spec.units_are} are not, or not fully, in {place} ({names})"
        found.append((what, max(least, MISSING)))
    if not found:
        return None
    # What limits leave out is a share of rows, and the rest perhaps one of people.
    reason, least = "; ".join(reason for reason, _ in found), found[0][1]
    return Completeness(
        Complete.NO, reason, Fraction(0) if lost.some_rows else short_down(least, 3)
    )


def _lost_by_choice(planned: PlannedStatistic, plan: CentralPlan) -> Completeness | None:
    """That chosen bounds or limits leave out much, if their counts show it."""
    queries = [part.weighted.query for part in planned.queries]
    for choice, histogram in plan.choices:
        if not planned.depends_on(choice) or not any(map(choice.changes, queries)):
            continue
        least = choice.min_lost(histogram.noises[0], ERROR_PROBABILITY)
        if least > MISSING:
            lost = choice.counted_as_lost(plan.spec.rows_are)
            return Completeness(
                Complete.NO,
                f"{at_least(least)} of {lost}, as the counts show that chose them",
                short_down(least, 3),
            )
    return None


def _may_lack(lost: Losses, plan: CentralPlan) -> str:
    """What may leave out rows, in words."""
    rows, parts = plan.spec.rows_are, list(lost.uncounted)
    if lost.limits_rows:
        parts.append(f"at most {lost.max_rows:,} of the {rows} of each person are used")
    if lost.groups:
        parts.append("the groups of a person are limited")
    if lost.cells:
        names = ", ".join(f"`{name}`" for name in dict.fromkeys(one.name for one in lost.cells))
        parts.append(f"{names} may have cells that are blank, unreadable or outside bounds")
    return ", and ".join(parts)


def _clamped(planned: PlannedStatistic, plan: CentralPlan) -> str:
    """That values beyond chosen bounds are clamped; empty if none can be."""
    queries = [part.weighted.query for part in planned.queries]
    lost = [
        choice.counted_as_lost(plan.spec.rows_are)
        for choice in plan.spec.choices
        if planned.depends_on(choice) and any(map(choice.changes, queries))
    ]
    return f"noise may hide some of {' and of '.join(lost)}" if lost else ""
