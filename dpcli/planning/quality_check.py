"""The quality check: when its noisy counts stop a release, and its sentences.

The outcome depends on the spec and on noisy answers only.

Let N be the noisy number of rows and, for a column, D the noisy difference of readable and
unreadable cells. Then about (N + D)/2 cells are readable. A minimum is missed if

    rows:    N < min_rows - m,
    people:  P < min_people - m, for the noisy number P of people,
    column:  (N + D)/2 - min_readable N < -m,

where noise alone exceeds the margin m with a probability of at most FALSE_STOP divided by the
number of minimums and of limits that are compared with `max_limited`. So a file that meets every
minimum is stopped with a probability of at most FALSE_STOP. A file that misses a minimum by more
than 2 m passes with a probability of at most FALSE_STOP.

Where limits on the rows of a person leave out rows, noisy counts of people by their rows give a
lower bound of the share that each limit leaves out (`dpcli.statistics.quality.quality_counts`). The
release stops if the bound with the error probability of a minimum is above `max_limited`. The
bound with `ERROR_PROBABILITY` decides the flag `limited`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import floor
from typing import Literal

from dpcli.noise.distribution import one_sided_width
from dpcli.noise.sums import blended_margin
from dpcli.numeric.exact import rounded_text, short_down
from dpcli.planning.plan import CentralPlan
from dpcli.privacy.unit import PersonUnit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.postprocessing import LIMITED_SHARE
from dpcli.statistics.quality.quality_counts import (
    ERROR_PROBABILITY,
    HALF,
    QualityAnswers,
    counted_limits,
    counts_people,
)

FALSE_STOP = Fraction(1, 100)
"""The greatest probability that a file which meets every minimum is stopped."""


Counted = Literal["rows", "people", "cells"]
"""What a minimum of the check counts."""

MinimumKey = tuple[Counted, str]
"""What a minimum counts, and the name of its column; empty for rows and people."""


@dataclass(frozen=True, slots=True)
class RequiredMinimum:
    """A minimum of the check, and its `margin` for noise, in rows, people or cells.

    `required` is a number of rows or people; for cells, the share of a column that must be
    readable. `rows` is the number of rows that the check requires of the file, if `key` is about
    cells.
    """

    key: MinimumKey
    required: Fraction
    margin: Fraction
    rows: int | None = None

    @property
    def kind(self) -> Counted:
        """What the minimum counts: rows, people or cells."""
        return self.key[0]

    def is_missed(self, rows: int, count: Fraction) -> bool:
        """Whether a count, of `rows` noisy rows, misses it by more than the margin."""
        required = self.required * rows if self.kind == "cells" else self.required
        return count - required < -self.margin

    def counted(self, plan: CentralPlan) -> str:
        """What a minimum of rows or people counts, as a noun with the limits that apply."""
        if self.kind == "people":
            return "people"
        is_person = isinstance(plan.spec.privacy.unit, PersonUnit)
        return f"{plan.spec.rows_are}{' that the limits on people keep' * is_person}"

    @property
    def detectable(self) -> Fraction | None:
        """The number or share below which files pass with probability FALSE_STOP at most.

        None for a share of cells if the check requires no number of rows, on which it depends.
        """
        if self.kind != "cells":
            return self.required - 2 * self.margin
        return None if self.rows is None else self.required - 2 * self.margin / self.rows

    @property
    def rows_needed(self) -> int:
        """The least number of rows at which a column without readable cells is detected."""
        return floor(2 * self.margin / self.required) + 1


ROWS: MinimumKey = ("rows", "")
PEOPLE: MinimumKey = ("people", "")


def cells_of(column: str) -> MinimumKey:
    """The key of the minimum of readable cells of a column."""
    return "cells", column


def _error_probability(plan: CentralPlan) -> float:
    """FALSE_STOP divided by the number of minimums and of limits that are compared."""
    quality = plan.spec.quality
    assert quality is not None
    assert plan.quality is not None
    count = len(quality.min_readable) + (quality.min_rows is not None)
    count += quality.min_people is not None
    if quality.max_limited is not None:
        count += len(counted_limits(plan.quality.entry.inputs))
    return float(FALSE_STOP) / count


def required_minimums(plan: CentralPlan) -> Iterator[RequiredMinimum]:
    """Every minimum of the check with its margin; none if the spec has no check."""
    if plan.quality is None or plan.spec.quality is None:
        return
    quality, outside = plan.spec.quality, _error_probability(plan)
    inputs, queries = plan.quality.entry.inputs, plan.quality.queries
    noises = [query.calibrated.noise for query in queries]
    if counted_limits(inputs):
        noises.pop()
    people = noises.pop() if counts_people(inputs) else None
    rows, columns = noises[-1], noises[0]
    for key, required, noise in (
        (ROWS, quality.min_rows, rows),
        (PEOPLE, quality.min_people, people),
    ):
        if required is not None and noise is not None:
            margin = Fraction(one_sided_width(noise, outside))
            yield RequiredMinimum(key, Fraction(required), margin)
    for name, share in quality.min_readable.items():
        margin = blended_margin(rows, abs(HALF - share), columns, HALF, outside)
        yield RequiredMinimum(cells_of(name), share, margin, quality.min_rows)


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
        return "flagged" if self.least > LIMITED_SHARE else "not shown to be more"


@dataclass(frozen=True, slots=True)
class QualityResult:
    """What the noisy numbers of the check show.

    `missed` has a sentence for each missed minimum, by its key. `over` are sentences about limits
    that leave out more rows than the spec allows.
    """

    estimates: Estimates
    missed: Mapping[MinimumKey, str]
    left_out: tuple[LeftOut, ...]
    over: tuple[str, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why no other statistic is answered; empty if the file passed."""
        return (*self.missed.values(), *self.over)

    def least_share(self, limit: int | None) -> Fraction:
        """A lower bound of the share of rows that a limit leaves out; zero if unknown."""
        return max(
            (part.least for part in self.left_out if part.limit == limit), default=Fraction(0)
        )


def quality_result(plan: CentralPlan, answers: Sequence[NoisyAnswer]) -> QualityResult:
    """The result of the check, from its noisy answers."""
    assert plan.quality is not None
    assert plan.spec.quality is not None
    inputs, allowed = plan.quality.entry.inputs, plan.spec.quality.max_limited
    statistic, design = plan.quality.entry.statistic, plan.quality.design
    estimates = statistic.possible_estimate(design, answers, plan.spec.confidence)
    counts = QualityAnswers.of(inputs, answers)
    stopping = counts.left_out(_error_probability(plan)) if allowed is not None else {}
    left_out = tuple(
        LeftOut(limit, least, allowed, allowed is not None and stopping[limit] > allowed)
        for limit, least in counts.left_out(ERROR_PROBABILITY).items()
    )
    rows = plan.spec.rows_are
    over = tuple(
        f"a limit of {limited.limit:,} {rows} per person leaves out at least "
        f"{percent_text(short_down(limited.least, 3))} of the {rows}, and `max_limited` is "
        f"{percent_text(limited.allowed)}"
        for limited in left_out
        if limited.over and limited.allowed is not None
    )
    return QualityResult(estimates, _missed_minimums(plan, counts), left_out, over)


def _missed_minimums(plan: CentralPlan, counts: QualityAnswers) -> dict[MinimumKey, str]:
    """The sentence about each missed minimum, by its key."""
    quality, sentences = plan.spec.quality, dict[MinimumKey, str]()
    assert quality is not None
    (count,) = counts.rows.values.tolist()
    noisy: dict[MinimumKey, Fraction] = {ROWS: Fraction(count)}
    if counts.people is not None:
        noisy[PEOPLE] = Fraction(*counts.people.values.tolist())
    for name, difference in zip(quality.min_readable, counts.columns.values.tolist(), strict=True):
        noisy[cells_of(name)] = Fraction(count + difference, 2)
    for minimum in required_minimums(plan):
        value = noisy[minimum.key]
        if minimum.is_missed(count, value):
            if minimum.kind == "cells":
                value = min(max(value / max(count, 1), Fraction(0)), Fraction(1))
            sentences[minimum.key] = missed_sentence(minimum, max(value, Fraction(0)), plan)
    return sentences


def percent_text(share: Fraction) -> str:
    """A share in percent, with three significant digits."""
    return f"{rounded_text(share * 100, 3)}%"


def noise_excess(plan: CentralPlan) -> Fraction | None:
    """By how much noise must be divided for all minimums to detect something.

    None if each minimum already detects a file without rows, or a column without readable cells.
    """
    excess = [
        1 - minimum.detectable / minimum.required
        for minimum in required_minimums(plan)
        if minimum.detectable is not None and minimum.detectable <= 0
    ]
    return max(excess, default=None)


def missed_sentence(minimum: RequiredMinimum, value: Fraction, plan: CentralPlan) -> str:
    """The sentence about a missed minimum; `value` is the noisy number or share."""
    if minimum.kind != "cells":
        noise = f", give or take {rounded_text(minimum.margin)}," if minimum.margin else ""
        return (
            f"the number of {minimum.counted(plan)} is about {floor(value):,}{noise} and "
            f"`min_{minimum.kind}` is {int(minimum.required):,}"
        )
    return (
        f"about {percent_text(value)} of the cells of `{minimum.key[1]}` can be read as declared, "
        f"and `min_readable` is {percent_text(minimum.required)}"
    )
