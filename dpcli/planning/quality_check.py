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

from dpcli.messages import note
from dpcli.noise.tails import blended_margin, one_sided_width
from dpcli.numeric.number_text import rounded_text
from dpcli.planning.plan import Plan
from dpcli.privacy.unit import PersonUnit
from dpcli.statistics.quality import HALF, split_answers
from dpcli.statistics.statistic import NoisyAnswer

FALSE_STOP = Fraction(1, 100)
"""Probability with which a file that meets every minimum is stopped all the same, at most."""


@dataclass(frozen=True, slots=True)
class RequiredMinimum:
    """One minimum of the check, and the `margin` that noise explains, in rows or cells.

    `column` is None for the number of rows, whose `least` is a count; else `least` is a share of
    the cells, in files of `rows` rows if the check demands that number.
    """

    column: str | None
    required: Fraction
    margin: Fraction
    rows: int | None

    def is_missed(self, rows: int, found: Fraction) -> bool:
        """Whether noisy rows, or `found` readable cells, miss it by more than noise explains."""
        least = self.required if self.column is None else self.required * rows
        return found - least < -self.margin

    @property
    def detectable(self) -> Fraction | None:
        """A file with less passes with a probability of at most FALSE_STOP.

        None where that depends on a number of rows that is not demanded.
        """
        if self.column is None:
            return self.required - 2 * self.margin
        return None if self.rows is None else self.required - 2 * self.margin / self.rows

    @property
    def rows_needed(self) -> int:
        """From this number of rows on, a column without a readable cell is noticed."""
        return floor(2 * self.margin / self.required) + 1


def required_minimums(plan: Plan) -> Iterator[RequiredMinimum]:
    """Every minimum of the check, with its margin; none without a check."""
    if plan.quality is None or plan.spec.quality is None:
        return
    quality = plan.spec.quality
    rows, columns = plan.quality.queries[-1].noise, plan.quality.queries[0].noise
    count = len(quality.min_readable) + (quality.min_rows is not None)
    outside = float(FALSE_STOP) / count
    if quality.min_rows is not None:
        margin = Fraction(one_sided_width(rows, outside))
        yield RequiredMinimum(None, Fraction(quality.min_rows), margin, quality.min_rows)
    for name, least in quality.min_readable.items():
        margin = blended_margin(rows, abs(HALF - least), columns, HALF, outside)
        yield RequiredMinimum(name, least, margin, quality.min_rows)


def missed_minimums(plan: Plan, answers: Sequence[NoisyAnswer]) -> dict[str | None, str]:
    """Why noisy answers fail the check: a sentence for each minimum, by its column.

    No other statistic is answered if there are any.
    """
    quality, sentences = plan.spec.quality, dict[str | None, str]()
    assert quality is not None
    rows, columns = split_answers(answers)
    (count,) = rows.values.tolist()
    readable = (Fraction(count + difference, 2) for difference in columns.values.tolist())
    found = dict(zip(quality.min_readable, readable, strict=True))
    for minimum in required_minimums(plan):
        number = found.get(minimum.column or "", Fraction(count))
        if minimum.is_missed(count, number):
            share = min(max(number / max(count, 1), Fraction(0)), Fraction(1))
            value = Fraction(max(count, 0)) if minimum.column is None else share
            sentences[minimum.column] = missed_sentence(minimum, value, plan.spec.rows_are)
    return sentences


def percent_text(share: Fraction) -> str:
    """A share in percent, to one decimal."""
    return f"{rounded_text(share * 100, 3)}%"


def has_no_power(plan: Plan) -> bool:
    """Whether the noise of the check covers that a file is empty or no cell can be read."""
    return any(
        one.detectable is not None and one.detectable <= 0 for one in required_minimums(plan)
    )


def check_rule(plan: Plan) -> Iterator[str]:
    """When a release stops before any statistic is answered, and how sure that is."""
    found, rows = tuple(required_minimums(plan)), plan.spec.rows_are
    if not found or plan.quality is None:
        return
    if all(part.is_exact for part in plan.quality.queries):
        yield note("quality.public", rows=rows)
        return
    key = "rule_of_several" if len(found) > 1 else "rule"
    yield note(f"quality.{key}", rows=rows, count=len(found), stopped=percent_text(FALSE_STOP))
    # Columns that demand the same share have the same margin.
    yield from dict.fromkeys(_noticed(minimum, rows) for minimum in found)


def _noticed(minimum: RequiredMinimum, rows: str) -> str:
    """What is noticed for sure, or that the epsilon is too small to notice anything."""
    facts: dict[str, object] = {"rows": rows, "sure": percent_text(1 - FALSE_STOP)}
    noticed = minimum.detectable if minimum.detectable and minimum.detectable > 0 else None
    if minimum.column is None:
        facts["least"] = str(minimum.required)
        if noticed is None:
            return note("quality.no_rows_noticed", noise=rounded_text(2 * minimum.margin), **facts)
        return note("quality.rows", noticed=rounded_text(noticed), **facts)
    facts["least"] = rounded_text(minimum.required, 3)
    if noticed is None:
        key = "column" if minimum.rows is None else "column_of_large_files"
        return note(f"quality.{key}", needed=minimum.rows_needed, **facts)
    return note("quality.cells", count=minimum.rows, noticed=percent_text(noticed), **facts)


def counted_rows_note(plan: Plan) -> str:
    """Which rows are counted, where people have limits; else empty."""
    unit = plan.spec.privacy.unit
    if not isinstance(unit, PersonUnit):
        return ""
    return note(
        f"quality.{'counted' if unit.singletons_without_id else 'counted_with_id'}",
        rows=plan.spec.rows_are,
    )


def missed_sentence(minimum: RequiredMinimum, value: Fraction, rows: str) -> str:
    """Why the check failed: one minimum that was missed, by a noisy number or share."""
    if minimum.column is None:
        noise = f", give or take {rounded_text(minimum.margin)}," if minimum.margin else ""
        least = int(minimum.required)
        return note("quality.too_few", rows=rows, count=floor(value), noise=noise, least=least)
    share, least_share = percent_text(value), percent_text(minimum.required)
    return note("quality.unreadable", share=share, column=minimum.column, least=least_share)
