"""The quality check: when its noisy counts stop a release, and its sentences.

The outcome depends on the spec and on noisy answers only.

Let N be the noisy number of rows and, for a column, D the noisy difference of readable and
unreadable cells. Then about (N + D)/2 cells are readable. A minimum is missed if

    rows:    N < min_rows - m,
    column:  (N + D)/2 - min_readable N < -m,

where noise alone exceeds the margin m with a probability of at most FALSE_STOP divided by the
number of minimums. So a file that meets every minimum is stopped with a probability of at most
FALSE_STOP. A file that misses a minimum by more than 2 m passes with at most the same probability.
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
"""The greatest probability that a file which meets every minimum is stopped."""


@dataclass(frozen=True, slots=True)
class RequiredMinimum:
    """A minimum of the check, and its `margin` for noise, in rows or cells.

    Without a `column`, `required` is a number of rows. With one, it is the share of readable cells,
    in files of `rows` rows if the check requires that number.
    """

    column: str | None
    required: Fraction
    margin: Fraction
    rows: int | None

    def is_missed(self, rows: int, count: Fraction) -> bool:
        """Whether a noisy count misses it by more than the margin; `rows` is the noisy number."""
        required = self.required if self.column is None else self.required * rows
        return count - required < -self.margin

    @property
    def detectable(self) -> Fraction | None:
        """A file with less than this passes with a probability of at most FALSE_STOP.

        None if that depends on a number of rows which the check does not require.
        """
        if self.column is None:
            return self.required - 2 * self.margin
        return None if self.rows is None else self.required - 2 * self.margin / self.rows

    @property
    def rows_needed(self) -> int:
        """The least number of rows at which a column without readable cells is detected."""
        return floor(2 * self.margin / self.required) + 1


def required_minimums(plan: Plan) -> Iterator[RequiredMinimum]:
    """Every minimum of the check with its margin; none if the spec has no check."""
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
    """The sentence about each missed minimum, by its column; None is the number of rows.

    If there are any, no other statistic is answered.
    """
    quality, sentences = plan.spec.quality, dict[str | None, str]()
    assert quality is not None
    rows, columns = split_answers(answers)
    (count,) = rows.values.tolist()
    readable = (Fraction(count + difference, 2) for difference in columns.values.tolist())
    readable_counts = dict(zip(quality.min_readable, readable, strict=True))
    for minimum in required_minimums(plan):
        noisy = readable_counts.get(minimum.column or "", Fraction(count))
        if minimum.is_missed(count, noisy):
            share = min(max(noisy / max(count, 1), Fraction(0)), Fraction(1))
            value = Fraction(max(count, 0)) if minimum.column is None else share
            sentences[minimum.column] = missed_sentence(minimum, value, plan.spec.rows_are)
    return sentences


def percent_text(share: Fraction) -> str:
    """A share in percent, with three significant digits."""
    return f"{rounded_text(share * 100, 3)}%"


def noise_excess(plan: Plan) -> Fraction | None:
    """By what the noise must be divided, at least, so that each minimum notices something.

    None if each would notice a file without rows, or a column without readable cells.
    """
    excess = [
        1 - minimum.detectable / minimum.required
        for minimum in required_minimums(plan)
        if minimum.detectable is not None and minimum.detectable <= 0
    ]
    return max(excess, default=None)


def check_rule(plan: Plan) -> Iterator[str]:
    """When the check stops a release, and with which probability."""
    minimums, rows = tuple(required_minimums(plan)), plan.spec.rows_are
    if not minimums or plan.quality is None:
        return
    if all(query.is_exact for query in plan.quality.queries):
        yield note("quality.public", rows=rows)
        return
    key = "rule_of_several" if len(minimums) > 1 else "rule"
    charged = note("quality.check_and_choice" if plan.spec.choices else "quality.check")
    facts = {"count": len(minimums), "stopped": percent_text(FALSE_STOP), "charged": charged}
    yield note(f"quality.{key}", rows=rows, **facts)
    # Columns that require the same share have the same margin.
    yield from dict.fromkeys(_detection_sentence(minimum, rows) for minimum in minimums)


def _detection_sentence(minimum: RequiredMinimum, rows: str) -> str:
    """What the check detects, or that its epsilon is too small to detect anything."""
    facts: dict[str, object] = {"rows": rows, "sure": percent_text(1 - FALSE_STOP)}
    detectable = minimum.detectable if minimum.detectable and minimum.detectable > 0 else None
    if minimum.column is None:
        facts["least"] = str(minimum.required)
        if detectable is None:
            return note("quality.no_rows_noticed", noise=rounded_text(2 * minimum.margin), **facts)
        return note("quality.rows", noticed=rounded_text(detectable), **facts)
    facts["least"] = rounded_text(minimum.required, 3)
    if detectable is None:
        key = "column" if minimum.rows is None else "column_of_large_files"
        return note(f"quality.{key}", needed=minimum.rows_needed, **facts)
    return note("quality.cells", count=minimum.rows, noticed=percent_text(detectable), **facts)


def counted_rows_note(plan: Plan) -> str:
    """Which rows the check counts; empty if the privacy unit is a row."""
    unit = plan.spec.privacy.unit
    if not isinstance(unit, PersonUnit):
        return ""
    return note(
        f"quality.{'counted' if unit.singletons_without_id else 'counted_with_id'}",
        rows=plan.spec.rows_are,
    )


def missed_sentence(minimum: RequiredMinimum, value: Fraction, rows: str) -> str:
    """The sentence about a missed minimum; `value` is the noisy number or share."""
    if minimum.column is None:
        noise = f", give or take {rounded_text(minimum.margin)}," if minimum.margin else ""
        least = int(minimum.required)
        return note("quality.too_few", rows=rows, count=floor(value), noise=noise, least=least)
    share, least_share = percent_text(value), percent_text(minimum.required)
    return note("quality.unreadable", share=share, column=minimum.column, least=least_share)
