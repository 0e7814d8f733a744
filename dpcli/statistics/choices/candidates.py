"""Choices among public candidates: classes of values, and the noisy size.

How much better the chosen candidate is than others is private, so a choice has no interval. But the
plan states its error, a number of rows that holds for any data, and a noisy count of the rows of a
group says whether there are enough of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from math import ceil
from typing import NamedTuple, Self

from dpcli.data.grid_columns import NumericColumn
from dpcli.data.kinds import Axis
from dpcli.noise.distribution import Noise, one_sided_width
from dpcli.numeric.arrays import Array, Ints, integer_array, multiply_exact, np
from dpcli.numeric.exact import exact_or_up, short_up
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery
from dpcli.queries.scores import Points, SelectionQuery
from dpcli.statistics.design import Design, Inputs, NoisyAnswer, WeightedQuery
from dpcli.statistics.estimates import HAS_INTERVAL, IMPRECISE, NO_INTERVAL, UNBOUNDED, Estimates
from dpcli.statistics.postprocessing import IMPRECISE_SHARE

CACHED = 4
"""The number of cached axes: statistics with the same candidates share one."""


@lru_cache(maxsize=CACHED)
def classes_at_and_between(column: NumericColumn, points: Points) -> tuple[Axis, Points]:
    """The axis of classes at, between, below and above the points.

    Also returns the index of the class of each point.
    """
    if points == range(column.lower, column.upper + 1):
        return Axis(column, points), range(len(points))
    if not isinstance(points, range) or points.step == 1 or points[0] != column.lower:
        starts = {column.lower} | {end for point in points for end in (point, point + 1)}
        return _cut(column, sorted(starts - {column.upper + 1}), points)
    # Regular candidates, possibly a million: a class at each, one after each.
    ends = tuple(chain.from_iterable((point, point + 1) for point in points))
    last = len(ends) - 1 if points[-1] == column.upper else len(ends)
    return Axis(column, ends[:last]), range(0, 2 * len(points), 2)


@lru_cache(maxsize=CACHED)
def classes_from_each(column: NumericColumn, points: Points) -> tuple[Axis, Points]:
    """An axis with a class from each point up to the next one.

    Also returns the index of the class that begins at each point.
    """
    if isinstance(points, range) and points[0] == column.lower:
        return Axis(column, tuple(points)), range(len(points))
    return _cut(column, sorted({column.lower, *points}), points)


def _cut(column: NumericColumn, starts: Sequence[int], points: Points) -> tuple[Axis, Points]:
    """The axis of classes that begin at `starts`, and the class index of each point."""
    indices = {start: index for index, start in enumerate(starts)}
    return Axis(column, tuple(starts)), tuple(indices[point] for point in points)


def candidate_values(points: Points, indices: Ints) -> Ints:
    """The candidates at these indices, in steps of the column."""
    if isinstance(points, range):
        values: Ints = points.start + multiply_exact(indices, points.step)
        return values
    return integer_array(points)[indices]


def candidates_within(known: Ints, lowest: Ints, highest: Ints) -> tuple[Ints, Ints]:
    """The first and last candidate around values in a range of classes, by index.

    `known` has the class of each candidate.
    """
    lower = np.maximum(np.searchsorted(known, lowest, side="right") - 1, 0)
    return lower, np.minimum(np.searchsorted(known, highest), len(known) - 1)


def candidates_with_intervals(
    column: NumericColumn, points: Points, chosen: Ints, lower: Ints, upper: Ints
) -> Estimates:
    """Candidates with intervals between two others, all given by index."""
    estimates = Estimates.chosen(candidate_values(points, chosen), column.step)
    return replace(
        estimates,
        lower=candidate_values(points, lower),
        upper=candidate_values(points, upper),
        limits=((points[0] * column.step, points[-1] * column.step),),
        status=np.full(len(chosen), HAS_INTERVAL, np.int8),
        date_range=column.date_range,
    )


SIZE_SHARE = Fraction(1, 10)
"""The share of a choice's loss for its size: a tenth makes errors a ninth larger."""


FLAG_CONFIDENCE = Fraction(19, 20)
"""At least this share of groups without rows is flagged, at any `confidence`."""


class SizeLimits(NamedTuple):
    """The noisy sizes of a group from which its choice is informative, and precise.

    Let e be the error of the choice in rows, n the noisy size, and w the `width` that the noise of
    n exceeds with a probability of at most 1 - p, for the confidence p. Scores of N rows differ by
    at most N. (For revenues, by N times the highest price; then e counts rows that each pay it.) So
    with fewer than e rows, every candidate is as good as the best, up to the error. If n < e + w,
    that may be so, and noise alone may have decided: the choice is not `informative`. A group
    without rows has such an n with a probability of at least p. From `precise` on, e is at most
    `IMPRECISE_SHARE` of n.
    """

    informative: int
    precise: int
    width: int

    @classmethod
    def of(
        cls, choices: Sequence[SelectionQuery], noises: Sequence[Noise], confidence: Fraction
    ) -> SizeLimits:
        """The limits in rows for choices with these noises; the last is that of the size.

        The choice with the largest error decides.
        """
        *chosen, size = noises
        pairs = zip(choices, chosen, strict=True)
        error = max(query.error_in_rows(noise, confidence) for query, noise in pairs)
        width = one_sided_width(size, float(1 - confidence))
        informative = ceil(error + width)
        return cls(informative, max(informative, ceil(error / IMPRECISE_SHARE)), width)

    @property
    def rows(self) -> int:
        """From about how many rows on a group has no flag; noise may exceed `width`."""
        return self.precise + self.width


@dataclass(frozen=True, kw_only=True)
class Choices(Design):
    """A design of choices; the last query counts the scored rows per group."""

    choices: tuple[SelectionQuery, ...]
    counts_rows: bool = True

    @classmethod
    def of(
        cls,
        inputs: Inputs,
        relation: Relation,
        *choices: tuple[str, SelectionQuery, Fraction],
        reason: str = "",
    ) -> Self:
        """The design for `choices` of equal weight, each with its role, query and step.

        Privacy: the size is one more answer to the entry, about the same rows. Weights divide the
        loss of the entry among all answers. A size that is the same for all neighbors is answered
        exactly, with weight zero: the choices then get the whole loss.
        """
        _, scored, _ = choices[0]
        columns = (*scored.present, *(axis.column for axis in scored.inner_axes))
        rows = LinearQuery(by=scored.by, where=scored.where, present=tuple(dict.fromkeys(columns)))
        share = Fraction(0) if rows.is_public(relation) else SIZE_SHARE
        weight = (1 - share) / len(choices)
        queries = (
            *(WeightedQuery(role, query, weight, step) for role, query, step in choices),
            WeightedQuery("count", rows, share, supports=True),
        )
        scores = tuple(query for _, query, _ in choices)
        return cls(inputs, queries, ("choice",), reason=reason, choices=scores)

    def error(self, noises: Sequence[Noise], confidence: Fraction) -> Fraction:
        return max(
            query.expected_error(noise, confidence) * weighted.step
            for query, noise, weighted in zip(self.choices, noises, self.queries, strict=False)
        )

    def sentences(self, noises: Sequence[Noise], confidence: Fraction) -> tuple[str, ...]:
        size, limits = self.queries[-1], SizeLimits.of(self.choices, noises, confidence)
        how = ""
        if noises[-1].scale:
            percent = exact_or_up(size.weight * 100)
            how = (
                f"; {percent}% of the loss is for a noisy number of rows, which decides on the flag"
            )
        in_group = " in a group" if self.inputs.by else ""
        rows = f"{int(short_up(Fraction(limits.rows), 2)):,}"
        stated = (
            f"with fewer than about {rows} rows{in_group} there may be a flag: there may be "
            f"too few to tell the choice from noise{how}"
        )
        return *super().sentences(noises, confidence), stated

    def flag_sizes(self, estimates: Estimates, answers: Sequence[NoisyAnswer]) -> Estimates:
        """The chosen values, each with a status from the noisy size of its group.

        The last answer is the size. Post-processing of noisy answers and public knowledge.
        """
        noises = [answer.noise for answer in answers]
        limits = SizeLimits.of(self.choices, noises, FLAG_CONFIDENCE)
        size = answers[-1].values
        rows = np.repeat(size, len(estimates) // max(len(size), 1))
        status = np.where(rows < limits.precise, IMPRECISE, NO_INTERVAL)
        status[(rows < limits.informative).astype(np.bool_)] = UNBOUNDED
        return replace(estimates, status=status.astype(np.int8))

    def noisy_rows(self, answers: Sequence[NoisyAnswer]) -> Array:
        """Those of the last answer, which may count them in several ranges."""
        ranges = self.queries[-1].query.cells_per_group
        total: Array = answers[-1].values.reshape(-1, ranges).sum(axis=1)
        return total

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        chosen = np.stack([answer.values for answer in answers[:-1]], axis=1).ravel()
        column = self.inputs.numeric
        values = candidate_values(self.inputs.candidates, chosen)
        estimates = replace(Estimates.chosen(values, column.step), date_range=column.date_range)
        return self.flag_sizes(estimates, answers)

    def make_consistent(
        self, answers: Sequence[NoisyAnswer], estimates: Estimates, confidence: Fraction
    ) -> Estimates:
        return estimates.in_order_of(self.inputs.quantiles)
