"""The rule of the quality check: when noisy counts stop a release.

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

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor

from dpcli.plan.model import Plan
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
