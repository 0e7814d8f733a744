"""What the numbers of an entry count, of the rows that a reader thinks of.

Faults of cells and limits on people leave rows out, or change them. Noisy counts of units by their
first fault show whether that is much. Each statement is about a weighted sum of these counts: it
holds if the sum exceeds what noise alone explains with a probability of `ERROR_PROBABILITY`.

With the counts b, a weight w of each fault, and T the number of all units: the numbers are complete
if sum(w b) <= MISSING T, and not if the faults of the entry alone exceed MISSING T. A row with an
earlier fault may have the faults of the entry, too, so it counts against completeness, but not for
a statement of what is missing. All faults may be in the rows that a condition keeps, so an entry
with one is complete if sum(w b) <= MISSING R, with the number R of rows in its own noisy answers.

Privacy: functions of noisy answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from fractions import Fraction
from math import ceil, floor
from typing import Final

from dpcli.noise.sums import summed_margin
from dpcli.privacy.unit import PersonUnit, Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import Query
from dpcli.queries.sums import GroupLimits
from dpcli.statistics.design import Design, Inputs, NoisyAnswer
from dpcli.statistics.quality.faults import (
    CellFault,
    Columns,
    FaultOrder,
    cell_faults,
    uses_some_rows,
)
from dpcli.statistics.quality.quality_counts import (
    FaultCounts,
    FaultNoises,
    Weights,
    fewer_terms,
    summed,
)

MISSING: Final = Fraction(1, 100)
"""Numbers are complete if at most this share of what they count is missing."""

ERROR_PROBABILITY: Final = 0.05
"""The greatest probability of each wrong statement about what is missing."""

RISK_OF_ROWS: Final = ERROR_PROBABILITY / 10
"""The part of it for the number of rows that an entry uses."""

RISK_OF_LIMIT: Final = ERROR_PROBABILITY / 2
"""The part of it for what a limit leaves out; the rest is for other faults."""

POWER: Final = 0.9
"""The probability of a statement from the stated number of units on."""


class Complete(StrEnum):
    """Whether the numbers of an entry count all that they are named after."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Completeness:
    """Whether the numbers of an entry count all rows, and why that is known or not.

    `reason` is a sentence without its final point. At least the share `min_missing` is not in the
    numbers; it is zero unless charged counts show more.
    """

    complete: Complete
    reason: str
    min_missing: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Losses:
    """What may leave out or change rows of an entry.

    `cells` are its faults of cells, `groups` its limits on the groups of a person, and `max_rows`
    its limit on the rows of a person; None without. `possible_rows` is the declared most number of
    rows of a person. An entry that `counts_people` counts each person once. It uses `some_rows` if
    conditions or blank cells that are no faults exclude others. If it `adds_amounts`, those of the
    missing rows may be large. `uncounted` are reasons for which rows may be missing that no check
    counts.
    """

    cells: tuple[CellFault, ...] = ()
    groups: tuple[GroupLimits, ...] = ()
    max_rows: int | None = None
    possible_rows: int | None = None
    counts_people: bool = True
    some_rows: bool = False
    adds_amounts: bool = False
    uncounted: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing can be left out."""
        return not (self.cells or self.groups or self.limits_rows or self.uncounted)

    @property
    def limits_rows(self) -> bool:
        """Whether the limit on rows can leave out rows."""
        if self.max_rows is None:
            return False
        return self.possible_rows is None or self.possible_rows > self.max_rows

    def positions(self, order: FaultOrder) -> list[int] | None:
        """The positions of the counts of these faults; None if one is not counted."""
        faults: list[CellFault | GroupLimits] = [*self.cells, *self.groups]
        found = [order.at(fault) for fault in faults]
        if self.limits_rows and self.max_rows is not None:
            if self.max_rows + 1 not in order.starts:
                return None
            rows = [at for at, start in enumerate(order.starts) if start > self.max_rows]
            found += [order.starts_at + at for at in rows]
        return None if None in found else sorted(at for at in found if at is not None)

    def weights(self, order: FaultOrder) -> dict[int, int] | None:
        """How many rows a unit with each first fault may lack; None if there is no bound.

        Faults after the last one of the entry have no weight: a unit with such a first fault has
        no fault of the entry. Of the rows that are kept, any may have a fault, or be in a group
        that is left out.
        """
        positions = self.positions(order)
        if positions is None or self.uncounted:
            return None
        kept, most = 1, 1
        if not self.counts_people and self.max_rows is not None:
            kept = min(self.max_rows, self.possible_rows or self.max_rows)
            most = kept if self.possible_rows is None else self.possible_rows
            if self.limits_rows and self.possible_rows is None:
                return None
        weights = dict.fromkeys(range(max(positions, default=-1) + 1), most)
        if self.limits_rows and not self.counts_people and self.max_rows is not None:
            ends = [start - 1 for start in order.starts[1:]] + [most]
            for at, end in enumerate(ends, order.starts_at):
                beyond = max(min(end, most) - self.max_rows, 0)
                weights[at] = beyond + kept * bool(self.cells or self.groups)
        return {at: weight for at, weight in weights.items() if at <= max(positions, default=-1)}


def is_complete(losses: Losses, counts: FaultCounts, min_rows: int = 0) -> bool:
    """Whether noisy counts show that at most `MISSING` is missing.

    An entry that uses `some_rows` uses at least `min_rows`, except with a probability of at most
    `RISK_OF_ROWS`.
    """
    weights = complete_weights(losses, counts.order, counts.noises)
    if weights is None:
        return False
    most = MISSING.numerator * min_rows if losses.some_rows else 0
    return counts.value(weights) + counts.noises.margin(weights, _risk(losses)) <= most


def _risk(losses: Losses) -> float:
    """The part of the error probability for the counts of faults."""
    return ERROR_PROBABILITY - RISK_OF_ROWS * losses.some_rows


def complete_weights(losses: Losses, order: FaultOrder, noises: FaultNoises) -> Weights | None:
    """The weights of a sum that is small if numbers are complete, or None.

    At most zero, or for an entry that uses `some_rows` at most `MISSING.numerator` times their
    number.
    """
    lacking = losses.weights(order)
    if lacking is None:
        return None
    missing = {at: MISSING.denominator * weight for at, weight in lacking.items()}
    if losses.some_rows:
        return missing
    return fewer_terms(summed(missing, noises.total(-MISSING.numerator)), noises)


def min_rows(
    queries: Sequence[Query], answers: Sequence[NoisyAnswer], risk: float = RISK_OF_ROWS
) -> int | None:
    """A lower bound on the rows that noisy answers count; None if none counts rows.

    It is above the number with a probability of at most `risk`.
    """
    counting = [
        (added, answer)
        for query, answer in zip(queries, answers, strict=True)
        if (added := query.sum_of_row or 0) > 0
    ]
    found = list[int]()
    for added, answer in counting:
        values: list[int] = answer.values.tolist()
        confidence = 1 - 2 * Fraction(risk) / len(counting)
        width = summed_margin(answer.noise, len(values), confidence).width
        found.append(floor(Fraction(sum(values) - width, added)))
    return max(found, default=None)


def incomplete_weights(positions: Sequence[int], noises: FaultNoises) -> Weights:
    """The weights of a sum that is positive if these faults exceed `MISSING`."""
    missing = dict.fromkeys(positions, MISSING.denominator)
    return summed(missing, noises.total(-MISSING.numerator))


def shown_faults(
    losses: Losses, counts: FaultCounts, risk: float = ERROR_PROBABILITY
) -> tuple[list[int], Fraction] | None:
    """Positions of faults of an entry that exceed `MISSING` together; None without.

    The second part is a lower bound on the share of units with them. Each fault alone, all numbers
    of rows above the limit, and all of them together are tried, and share the `risk`
    of an error: noise decides which are shown. All of them are shown only if no fault alone is.
    """
    order, noises = counts.order, counts.noises
    faults: list[CellFault | GroupLimits] = [*losses.cells, *losses.groups]
    tried = [[at] for at in map(order.at, faults) if at is not None]
    if losses.limits_rows:
        starts = enumerate(order.starts, order.starts_at)
        tried.append([at for at, start in starts if start > (losses.max_rows or 0)])
    tried = list(filter(None, tried))
    alone = len(tried)
    if alone > 1:
        tried.append(sorted({at for some in tried for at in some}))
    outside = risk / max(len(tried), 1)
    shown: list[tuple[bool, int, list[int]]] = []
    for number, some in enumerate(tried):
        weights = incomplete_weights(some, noises)
        excess = counts.value(weights) - noises.margin(weights, outside)
        if excess > 0:
            shown.append((number < alone, excess, some))
    if not shown:
        return None
    *_, found = max(shown)
    return found, min_share(found, counts, outside)


def min_share(positions: Sequence[int], counts: FaultCounts, outside: float) -> Fraction:
    """A lower bound on the share of units with these first faults.

    It is above the true share with a probability of at most `outside`.
    """
    noises = counts.noises
    faulty, total = dict.fromkeys(positions, 1), noises.total()
    least = counts.value(faulty) - noises.margin(faulty, outside * 0.8)
    most = counts.value(total) + noises.margin(total, outside * 0.2)
    return Fraction(least, most) if 0 < least < most else Fraction(0)


def min_left_out(limit: int, counts: FaultCounts, outside: float) -> Fraction:
    """A lower bound on the share of rows that a limit on rows leaves out.

    It is above the true share with a probability of at most `outside`. Of each person, at most
    `limit` rows are kept.
    """
    order, noises = counts.order, counts.noises
    rows = [at for at, start in enumerate(order.starts) if start > limit]
    if not rows:
        return Fraction(0)
    weights = {order.starts_at + at: order.starts[at] - limit for at in rows}
    # Few people with very many rows may have less noise than all with a few.
    tried = [dict(list(weights.items())[:count]) for count in range(1, len(weights) + 1)]
    part = 0.8 * outside / len(tried)
    least = max(counts.value(each) - noises.margin(each, part) for each in tried)
    kept = noises.total(limit)
    most = counts.value(kept) + noises.margin(kept, 0.2 * outside)
    return Fraction(least, max(most, 0) + least) if least > 0 else Fraction(0)


def units_to_show_complete(losses: Losses, order: FaultOrder, noises: FaultNoises) -> int | None:
    """About how many units without a fault show that numbers are complete, or None.

    For an entry that uses `some_rows`, they are those, and a few more if its answers do not show
    their number well.
    """
    weights = complete_weights(losses, order, noises)
    if weights is None:
        return None
    noise = noises.margin(weights, _risk(losses)) + noises.margin(weights, 1 - POWER)
    return ceil(Fraction(noise, MISSING.numerator))


def losses(
    inputs: Inputs,
    designs: Sequence[Design],
    relation: Relation,
    columns: Columns,
    possible_rows: int | None = None,
    possible_groups: int | None = None,
) -> Losses:
    """What may leave out or change rows of an entry with these designs."""
    cells = tuple(cell_faults(inputs, designs, columns))
    unit = relation.unit
    queries = [part.query for design in designs for part in design.queries]
    some_rows = uses_some_rows(inputs, queries, columns)
    uncounted = list[str]()
    if any(query.has_private_groups for query in queries):
        uncounted.append("groups below the threshold are not in these numbers")
    adds = any(query.operands for query in queries)
    if not isinstance(unit, PersonUnit):
        return Losses(cells, some_rows=some_rows, adds_amounts=adds, uncounted=tuple(uncounted))
    limits = [limit for query in queries if (limit := query.row_limit(unit)) is not None]
    if any(query.total_clamp not in (None, (0, 1)) for query in queries):
        uncounted.append("the total of a person is clamped")
    used = [column for query in queries for column in query.columns]
    if any(column.uses_people and not column.is_of_people for column in used):
        uncounted.append("what is computed from rows and people may be clamped")
    groups, every = [], unit.max_rows
    for query in queries:
        most, inside = query.group_limit(unit), query.limit_in_group(unit)
        if possible_groups is not None and most is not None and possible_groups <= most:
            most = None
        axes = query.row_axes
        is_total = query.total_clamp is not None or unit.of_people
        if most is not None and (is_total or any(axis.column.uses_people for axis in axes)):
            uncounted.append("the groups of a person are limited")
        elif most is not None or inside is not None:
            groups.append(GroupLimits(axes, most or every, inside or every))
    return Losses(
        cells,
        tuple(dict.fromkeys(groups)),
        min(limits, default=None),
        possible_rows,
        counts_people=not limits,
        some_rows=some_rows,
        adds_amounts=adds,
        uncounted=tuple(dict.fromkeys(uncounted)),
    )
