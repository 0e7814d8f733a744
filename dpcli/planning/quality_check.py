"""The quality check: when its noisy counts stop a release, and what they show.

The outcome depends on the spec and on noisy answers only.

Each minimum is about a sum with whole weights of the counts of `FaultCounts`, which is at least
`required` in a file that meets it. The minimum is missed if the noisy sum is below that by more
than a margin m, which noise alone exceeds with a probability of at most FALSE_STOP divided by the
number of minimums and of limits that are compared with `max_limited`. So a file that meets every
minimum is stopped with a probability of at most FALSE_STOP. A file that misses a minimum by more
than 2 m passes with a probability of at most FALSE_STOP.

    rows:    rows without a fault; of people, the rows that limits keep; or the public number,
    people:  people without a fault of cells, whatever limits leave out,
    column:  q times (1 - s) T - U, with T units, U of them with an unreadable cell, and the
             denominator q of the share s that must be readable: required is zero.

Where limits leave out rows of people, noisy counts of people by their rows give a lower bound of
the share that each limit leaves out. The release stops if the bound with the error probability of a
minimum is above `max_limited`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING, Literal

from dpcli.data.column import BLANK, UNREADABLE
from dpcli.numeric.exact import rounded_text, short_down
from dpcli.planning.plan import CentralPlan, PlannedStatistic
from dpcli.privacy.unit import PersonUnit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.quality.completeness import RISK_OF_LIMIT, Losses, losses, min_left_out
from dpcli.statistics.quality.faults import CellFault, Columns
from dpcli.statistics.quality.quality_counts import (
    FaultCounts,
    FaultNoises,
    Weights,
    counts_rows,
    fault_order,
    summed,
)

if TYPE_CHECKING:
    from dpcli.specification.model import CentralSpec

FALSE_STOP = Fraction(1, 100)
"""The greatest probability that a file which meets every minimum is stopped."""

UNNOTICED = Fraction(1, 5)
"""The largest share of a complete file whose absence a check may fail to notice."""

Counted = Literal["rows", "people", "cells"]
"""What a minimum of the check counts."""

MinimumKey = tuple[Counted, str]
"""What a minimum counts, and the name of its column; empty for rows and people."""


@dataclass(frozen=True, slots=True)
class RequiredMinimum:
    """A minimum of the check: a sum of counts, and its `margin` for noise.

    `share` is the share of units that must be readable, for a column. `units` is the number of
    units that the check requires of the file, if any.
    """

    key: MinimumKey
    weights: Weights
    required: int
    margin: int
    share: Fraction = Fraction(1)
    units: int | None = None

    @property
    def kind(self) -> Counted:
        """What the minimum counts: rows, people or cells."""
        return self.key[0]

    def is_missed(self, counts: FaultCounts) -> bool:
        """Whether noisy counts miss it by more than the margin."""
        return counts.value(self.weights) - self.required < -self.margin

    def counted(self, plan: CentralPlan) -> str:
        """What a minimum of rows or people counts, as a noun."""
        if self.kind == "people":
            return "people without a fault"
        if isinstance(plan.spec.privacy.unit, PersonUnit):
            return f"{plan.spec.rows_are} that the limits on people keep"
        public = plan.spec.privacy.relation.size_is_public
        return plan.spec.rows_are if public else f"{plan.spec.rows_are} without a fault"

    @property
    def detectable(self) -> Fraction | None:
        """The number or share below which files pass with probability FALSE_STOP at most.

        None for a column if the check requires no number of units, on which it depends.
        """
        if self.kind != "cells":
            return Fraction(self.required - 2 * self.margin)
        if self.units is None:
            return None
        return self.share - Fraction(2 * self.margin, self.share.denominator * self.units)

    @property
    def units_needed(self) -> int:
        """The least number of units at which a column without readable cells is detected."""
        return floor(Fraction(2 * self.margin, self.share.numerator)) + 1


ROWS: MinimumKey = ("rows", "")
PEOPLE: MinimumKey = ("people", "")


def cells_of(column: str) -> MinimumKey:
    """The key of the minimum of readable cells of a column."""
    return "cells", column


def _error_probability(plan: CentralPlan) -> float:
    """FALSE_STOP divided by the number of minimums and of limits that are compared."""
    quality = plan.spec.quality
    assert quality is not None
    count = len(quality.min_readable) + (quality.min_rows is not None)
    count += quality.min_people is not None
    if quality.max_limited is not None:
        count += len(row_limits(plan))
    return float(FALSE_STOP) / count


def check_noises(plan: CentralPlan) -> FaultNoises:
    """The noise of the counts of a plan that has a check."""
    assert plan.quality is not None
    inputs, noises = plan.quality.entry.inputs, plan.quality.noises
    length = len(fault_order(inputs).labels)
    counts, *rows = noises
    return FaultNoises(length, counts, rows[0] if rows else counts if length == 1 else None)


def required_minimums(plan: CentralPlan) -> Iterator[RequiredMinimum]:
    """Every minimum of the check with its margin; none if the spec has no check."""
    quality = plan.spec.quality
    if plan.quality is None or quality is None:
        return
    outside, noises = _error_probability(plan), check_noises(plan)
    order = fault_order(plan.quality.entry.inputs)
    units = quality.min_people or quality.min_rows
    last, inner = noises.length - 1, len(order.starts) + len(order.groups)
    if quality.min_rows is not None:
        is_counted = noises.knows_total or counts_rows(plan.quality.entry.inputs)
        weights = {noises.length if is_counted else last: 1}
        yield RequiredMinimum(ROWS, weights, quality.min_rows, noises.margin(weights, outside))
    if quality.min_people is not None:
        limited = range(order.starts_at, order.starts_at + inner)
        weights = dict.fromkeys((*limited, last), 1)
        margin = noises.margin(weights, outside)
        yield RequiredMinimum(PEOPLE, weights, quality.min_people, margin)
    columns = {column.name: column for column in plan.spec.columns}
    for name, share in quality.min_readable.items():
        state = BLANK if columns[name].derivation else UNREADABLE
        at = order.at(CellFault(columns[name], state))
        assert at is not None
        weights = summed(
            noises.total(share.denominator - share.numerator), {at: -share.denominator}
        )
        margin = noises.margin(weights, outside)
        yield RequiredMinimum(cells_of(name), weights, 0, margin, share, units)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What a limit on rows per person leaves out, as noisy counts show.

    At least the share `least` of the rows is left out, with a probability of error of at most
    `ERROR_PROBABILITY`. `allowed` is the share that the spec allows, or None for any. `over` says
    that a lower bound with the probability of a false stop exceeds `allowed`.
    """

    limit: int
    least: Fraction
    allowed: Fraction | None
    over: bool

    @property
    def verdict(self) -> str:
        """The verdict on `least` in reports; a lower bound never shows a small share."""
        if self.over:
            return "missed"
        if self.allowed is not None and self.least > self.allowed:
            return "above, within the noise"
        return "shown" if self.least else "not shown"


@dataclass(frozen=True, slots=True)
class QualityResult:
    """What the noisy numbers of the check show.

    `missed` has a sentence for each missed minimum, by its key. `over` are sentences about limits
    that leave out more rows than the spec allows.
    """

    estimates: Estimates
    counts: FaultCounts
    missed: Mapping[MinimumKey, str]
    left_out: tuple[LeftOut, ...]
    over: tuple[str, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why no other statistic is answered; empty if the file passed."""
        return (*self.missed.values(), *self.over)


def quality_result(plan: CentralPlan, answers: Sequence[NoisyAnswer]) -> QualityResult:
    """The result of the check, from its noisy answers."""
    assert plan.quality is not None
    assert plan.spec.quality is not None
    inputs, allowed = plan.quality.entry.inputs, plan.spec.quality.max_limited
    statistic, design = plan.quality.entry.statistic, plan.quality.design
    estimates = statistic.possible_estimate(design, answers, plan.spec.confidence)
    counts, outside = FaultCounts.of(inputs, answers), _error_probability(plan)
    left_out = tuple(
        LeftOut(
            limit,
            min_left_out(limit, counts, RISK_OF_LIMIT),
            allowed,
            allowed is not None and min_left_out(limit, counts, outside) > allowed,
        )
        for limit in row_limits(plan)
    )
    rows = plan.spec.rows_are
    over = tuple(
        f"a limit of {limited.limit:,} {rows} per person leaves out {at_least(limited.least)} "
        f"of the {rows}, and `max_limited` is {percent_text(limited.allowed)}"
        for limited in left_out
        if limited.over and limited.allowed is not None
    )
    missed = {
        minimum.key: missed_sentence(minimum, counts, plan)
        for minimum in required_minimums(plan)
        if minimum.is_missed(counts)
    }
    return QualityResult(estimates, counts, missed, left_out, over)


def row_limits(plan: CentralPlan) -> list[int]:
    """The limits on rows of people whose effect the check counts."""
    if plan.quality is None or not fault_order(plan.quality.entry.inputs).starts:
        return []
    limits = (losses_of(planned, plan.spec) for planned in plan.statistics)
    known = {one.max_rows for one in limits if one.limits_rows and one.max_rows is not None}
    return sorted(known)


def losses_of(planned: PlannedStatistic, spec: CentralSpec) -> Losses:
    """What may leave out or change rows of an entry."""
    unit, possible = spec.privacy.unit, spec.possible
    columns = Columns(
        {column.name: column for column in spec.columns},
        unit.column if isinstance(unit, PersonUnit) else "",
        spec.may_be_blank,
        frozenset(choice.column.name for choice in spec.choices),
    )
    entry, relation = planned.entry, spec.privacy.relation_for(planned.entry.limits)
    return losses(entry.inputs, entry.designs, relation, columns, possible.rows, possible.groups)


def percent_text(share: Fraction) -> str:
    """A share in percent, with three significant digits."""
    return f"{rounded_text(share * 100, 3)}%"


def at_least(share: Fraction) -> str:
    """A lower bound of a share, in words."""
    return f"at least {percent_text(short_down(share, 3))}"


def noise_excess(plan: CentralPlan) -> Fraction | None:
    """By how much noise must be divided for all minimums to detect what they should.

    Each must detect a file without `UNNOTICED` of its rows or people, or a column without readable
    cells. None if each minimum does.
    """
    excess = [_excess(minimum) for minimum in required_minimums(plan)]
    return max((factor for factor in excess if factor > 1), default=None)


def _excess(minimum: RequiredMinimum) -> Fraction:
    """By how much the noise of a minimum must be divided."""
    if minimum.kind != "cells":
        return Fraction(2 * minimum.margin) / (UNNOTICED * minimum.required)
    if minimum.units is None:
        return Fraction(0)
    return Fraction(2 * minimum.margin, minimum.share.numerator * minimum.units)


def notices_missing_rows(plan: CentralPlan) -> bool:
    """Whether minimums of rows and people notice that `UNNOTICED` is missing."""
    return all(
        _excess(minimum) <= 1 for minimum in required_minimums(plan) if minimum.kind != "cells"
    )


def missed_sentence(minimum: RequiredMinimum, counts: FaultCounts, plan: CentralPlan) -> str:
    """The sentence about a missed minimum."""
    value = max(counts.value(minimum.weights), 0)
    if minimum.kind != "cells":
        noise = (
            f", give or take {rounded_text(Fraction(minimum.margin))}," if minimum.margin else ""
        )
        return (
            f"the number of {minimum.counted(plan)} is about {value:,}{noise} and "
            f"`min_{minimum.kind}` is {minimum.required:,}"
        )
    name, total = minimum.key[1], max(counts.value(counts.noises.total()), 1)
    (at,) = (
        at for at, weight in minimum.weights.items() if weight == min(minimum.weights.values())
    )
    readable = 1 - Fraction(max(counts.value({at: 1}), 0), total)
    return (
        f"in about {percent_text(max(readable, Fraction(0)))} of the {plan.spec.units_are}, "
        f"`{name}` can be read as declared, and `min_readable` is {percent_text(minimum.share)}"
    )
