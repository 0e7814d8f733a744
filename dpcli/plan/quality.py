"""The rule of the quality check: when noisy counts stop a release, also in words.

A function of the spec and of noisy answers alone.

With noisy rows N and, for a column, noisy readable less unreadable cells D, about
(N + D)/2 cells are readable. A minimum is missed when

    rows:    N < min_rows - m,
    column:  (N + D)/2 - min_readable N < -m,

where noise alone exceeds the margin m with a probability of at most FALSE_STOP divided by the
number of minimums. So a file that meets every minimum is stopped with a probability of at most
FALSE_STOP; and a file that misses a minimum by more than 2 m passes with no more than that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor

from dpcli.plan.model import Plan
from dpcli.plan.numbers import short
from dpcli.privacy.relation import PersonUnit
from dpcli.privacy.tails import blended_margin, one_sided_width
from dpcli.spec.model import Quality
from dpcli.statistics.base import Answer
from dpcli.statistics.quality import HALF, split, split_noises

FALSE_STOP = Fraction(1, 100)
"""Probability with which a file that meets every minimum is stopped all the same, at most."""

ROWS = "rows"
"""What the minimum of rows is about; columns go by their names."""


@dataclass(frozen=True, slots=True)
class Minimum:
    """One minimum of the check, and the `margin` that noise explains, in rows or cells.

    `column` is None for the number of rows, whose `least` is a count; else `least` is a share.
    """

    column: str | None
    least: Fraction
    margin: Fraction

    def missed(self, rows: int, difference: int) -> bool:
        """Whether noisy counts miss it by more than noise explains."""
        return self._excess(rows, difference) < -self.margin

    def _excess(self, rows: int, difference: int) -> Fraction:
        """By how many rows or cells the noisy counts exceed the minimum."""
        if self.column is None:
            return rows - self.least
        return Fraction(rows + difference, 2) - self.least * rows

    @property
    def noticed(self) -> Fraction:
        """Of rows: a file with fewer passes with a probability of at most FALSE_STOP."""
        return self.least - 2 * self.margin

    def noticed_share(self, rows: int) -> Fraction:
        """With `rows` rows, a smaller share passes with a probability of at most FALSE_STOP."""
        return self.least - 2 * self.margin / rows

    @property
    def rows_needed(self) -> int:
        """From this number of rows on, a column without a readable cell is noticed."""
        return floor(2 * self.margin / self.least) + 1


@dataclass(frozen=True, slots=True)
class Missed:
    """A minimum that was missed, and the noisy number that was compared with it."""

    minimum: Minimum
    value: Fraction


def minimums(plan: Plan) -> tuple[Minimum, ...]:
    """Every minimum of the check, with its margin; none without a check."""
    if plan.quality is None or plan.spec.quality is None:
        return ()
    quality = plan.spec.quality
    rows, columns = split_noises([part.noise for part in plan.quality.parts])
    count = len(quality.min_readable) + (quality.min_rows is not None)
    outside = float(FALSE_STOP) / count
    found = []
    if quality.min_rows is not None:
        margin = Fraction(one_sided_width(rows, outside))
        found.append(Minimum(None, Fraction(quality.min_rows), margin))
    margins: dict[Fraction, Fraction] = {}
    for name, least in quality.min_readable.items():
        if least not in margins:
            margins[least] = blended_margin(rows, abs(HALF - least), columns, HALF, outside)
        found.append(Minimum(name, least, margins[least]))
    return tuple(found)


def missed_minimums(plan: Plan, answers: Sequence[Answer]) -> tuple[Missed, ...]:
    """The minimums that noisy answers miss; no other statistic is answered if there are any."""
    quality = plan.spec.quality
    assert quality is not None
    rows, columns = split(answers)
    (count,) = rows.values
    differences = dict(zip(names(quality), columns.values, strict=True))
    return tuple(
        Missed(minimum, _value(minimum, count, differences))
        for minimum in minimums(plan)
        if minimum.missed(count, differences.get(minimum.column or "", 0))
    )


def names(quality: Quality) -> tuple[str, ...]:
    """The checked columns, in the order of the answers."""
    return tuple(column.name for column in quality.entry.request.checked)


def _value(minimum: Minimum, rows: int, differences: dict[str, int]) -> Fraction:
    """The noisy number of rows, or the noisy share of readable cells, brought into [0, 1]."""
    if minimum.column is None:
        return Fraction(max(rows, 0))
    share = Fraction(rows + differences[minimum.column], 2) / max(rows, 1)
    return min(max(share, Fraction(0)), Fraction(1))


ABSENT = (
    "this spec has no `quality:`: if the cells of a column cannot be read as declared, or most of "
    "the file is missing, noise is published without a warning and the budget is spent. Add "
    "`quality: {epsilon: 0.02, min_rows: N, min_readable: 0.8}`"
)
"""The warning of a plan without a check."""


def percent(share: Fraction) -> str:
    """A share in percent, to one decimal."""
    return f"{short(share * 100, 3)}%"


BLIND = (
    "the noise of `quality:` is so large that a minimum notices nothing in a file of `min_rows` "
    "rows; give it a larger epsilon, or check fewer columns: `dpcli plan` states what is noticed"
)
"""The warning of a check that is as good as none."""


def is_blind(plan: Plan) -> bool:
    """Whether the noise of the check hides that a file is empty or no cell can be read."""
    rows = plan.spec.quality.min_rows if plan.spec.quality else None
    return any(
        minimum.noticed <= 0
        if minimum.column is None
        else rows is not None and minimum.noticed_share(rows) <= 0
        for minimum in minimums(plan)
    )


def rule(plan: Plan) -> list[str]:
    """When a release stops before any statistic is answered, and how sure that is."""
    found = minimums(plan)
    if not found or plan.quality is None:
        return []
    if all(part.public for part in plan.quality.parts):
        what = plan.spec.rows_are
        exact = f"the number of {what} is public under change-one, so `min_rows` is checked exactly"
        return [f"quality: {exact}, at no privacy cost"]
    sure = percent(1 - FALSE_STOP)
    which, all_of = "the minimum", "the minimum"
    if len(found) > 1:
        which, all_of = f"one of {len(found):,} minimums", "all minimums"
    first = (
        f"quality: noisy counts of {plan.spec.rows_are} and of readable cells come first; if "
        f"{which} is missed by more than the noise explains, no statistic is answered, only the "
        f"loss of the check is charged, and the exit status is 8. A file that meets {all_of} is "
        f"stopped with a probability of at most {percent(FALSE_STOP)}"
    )
    return [first, *(_noticed(minimum, plan, sure) for minimum in _distinct(found))]


def _distinct(found: tuple[Minimum, ...]) -> Iterator[Minimum]:
    """The minimum of rows, and one column for each different share."""
    seen: set[Fraction] = set()
    for minimum in found:
        if minimum.column is None:
            yield minimum
        elif minimum.least not in seen:
            seen.add(minimum.least)
            yield minimum


def _noticed(minimum: Minimum, plan: Plan, sure: str) -> str:
    """What is noticed for sure, or that the epsilon is too small to notice anything."""
    quality, what = plan.spec.quality, plan.spec.rows_are
    assert quality is not None
    if minimum.column is None:
        least = f"`min_rows: {int(minimum.least)}`"
        if minimum.noticed <= 0:
            return (
                f"quality: {least} is within the noise ({short(2 * minimum.margin)} {what}), so "
                "even an empty file may pass; give `quality` a larger epsilon"
            )
        return (
            f"quality: {least} stops a file with fewer than {short(minimum.noticed)} {what} "
            f"in {sure} of runs"
        )
    least = f"`min_readable: {short(minimum.least, 3)}`"
    rows = quality.min_rows
    if rows is None or minimum.noticed_share(rows) <= 0:
        return (
            f"quality: {least} notices that no cell of a column can be read in files of "
            f"{minimum.rows_needed:,} {what} or more, in {sure} of runs"
            + ("" if rows is None else "; give `quality` a larger epsilon for smaller files")
        )
    return (
        f"quality: {least} stops a file of {rows:,} {what} when less than "
        f"{percent(minimum.noticed_share(rows))} of the cells of a column can be read, "
        f"in {sure} of runs"
    )


def counted_note(plan: Plan) -> str:
    """Which rows are counted, where people have limits; else empty."""
    unit = plan.spec.privacy.unit
    if not isinstance(unit, PersonUnit):
        return ""
    return f"Counted are the {plan.spec.rows_are} that the limits on people let in" + (
        ", and none without an id." if not unit.each else "."
    )


def missed_sentence(missed: Missed, what: str) -> str:
    """Why the check failed: one minimum that was missed."""
    minimum, value = missed.minimum, missed.value
    if minimum.column is None:
        noise = f", give or take {short(minimum.margin)}," if minimum.margin else ""
        return (
            f"the number of {what} is about {floor(value):,}{noise} and `min_rows` is "
            f"{int(minimum.least):,}"
        )
    return (
        f"about {percent(value)} of the cells of `{minimum.column}` can be read as declared, and "
        f"`min_readable` is {percent(minimum.least)}"
    )
