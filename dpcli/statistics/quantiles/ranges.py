"""Rows in ranges around chosen candidates, and the intervals that follow.

A choice says nothing of its own error. So the rows are counted once more, in ranges around it that
have no rows in common: the noise of these counts does not grow with their number, and the share of
the rows that lie below the end of a range follows from all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any, Self

from dpcli.data.kinds import Axis
from dpcli.noise.distribution import Noise
from dpcli.noise.sums import blended_half_width
from dpcli.numeric.arrays import Array, Floats, Ints, np
from dpcli.numeric.exact import exact_or_up, rounded_text
from dpcli.privacy.sensitivity import RowContribution, Sensitivity, indicator_sensitivity
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery, Query
from dpcli.queries.scores import Points
from dpcli.queries.sums import Shape
from dpcli.queries.terms import QueryTerms
from dpcli.statistics.choices.candidates import (
    FLAG_CONFIDENCE,
    Choices,
    candidates_with_intervals,
    candidates_within,
    classes_at_and_between,
)
from dpcli.statistics.design import Inputs, NoisyAnswer, SampleDesign, WeightedQuery
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.quantiles.quantile_classes import count_below_zero
from dpcli.statistics.quantiles.rank_errors import confidence_of_ends, end_risk
from dpcli.statistics.quantiles.tree import MIN_VARIANCE, STATED, few_rows_sentence
from dpcli.statistics.samples.population import remaining


@dataclass(frozen=True, kw_only=True)
class RangesQuery(Query):
    """For each group, the rows in ranges of `classes` around chosen candidates.

    The ranges end at each of the `picks` chosen candidates, and 1, 2, 4, 8, ... candidates below
    and above it. The engine counts the rows of each class; `narrowed` adds up those of a range.

    Privacy: whatever was chosen before, the ranges have no class in common, and a row lies in one
    class. So a row that is added or removed changes one number by one, and one that is replaced
    changes two. The choices are noisy answers, and this answer follows them: losses add up.
    """

    classes: Axis
    candidate_classes: Points
    picks: int = 1
    block = None

    @cached_property
    def distances(self) -> tuple[int, ...]:
        """How many candidates the ends of ranges lie from a chosen one."""
        return (0, *(1 << power for power in range((len(self.candidate_classes) - 1).bit_length())))

    @property
    def inner_axes(self) -> tuple[Axis, ...]:
        return (self.classes,)

    @cached_property
    def cells_per_group(self) -> int:
        return 2 * self.picks * len(self.distances) + 1

    @cached_property
    def row_contribution(self) -> RowContribution:
        """A row adds one to one range."""
        return RowContribution(0, 1)

    def terms(self, relation: Relation) -> QueryTerms:
        return replace(super().terms(relation), rule="indicators", counted=1)

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """That of counts in each group, of which a row adds one to one."""
        unit, numbers = self.bounded_unit(relation.unit), self.cells_per_group
        return indicator_sensitivity(numbers, 1, relation.neighbors, unit, self.groups)

    @property
    def shape(self) -> Shape:
        rows = LinearQuery(items=self.grouping_axes, where=self.where, present=self.present)
        return rows.shape

    def narrowed(self, exact: Array, earlier: Sequence[Array]) -> Array:
        """The rows in each range, from those of each class and the chosen candidates."""
        counts = exact.reshape(-1, len(self.classes))
        up_to = np.pad(np.cumsum(counts, axis=1), ((0, 0), (1, 0)))
        at_ends = np.take_along_axis(up_to, self.ends(earlier), axis=1)
        return np.diff(at_ends, axis=1).ravel()

    def changes(self, differences: Array) -> Array:
        """The changes of the numbers of rows in ranges around evenly spread candidates."""
        last, groups = len(self.candidate_classes) - 1, self.groups or 1
        spread = [last * (at + 1) // (self.picks + 1) for at in range(self.picks)]
        chosen = [np.array(spread * groups)]
        return np.stack([np.abs(self.narrowed(one, chosen)) for one in differences])

    def ends(self, chosen: Sequence[Array]) -> Ints:
        """The first class of each range, and the class after the last, by groups.

        `chosen` has the indices of the chosen candidates, group by group, in one or more answers.
        Ranges without a class have two equal ends.
        """
        picks = np.concatenate([answer.reshape(self.groups or 1, -1) for answer in chosen], axis=1)
        known, last = np.asarray(self.candidate_classes), len(self.candidate_classes) - 1
        steps = np.array(self.distances)
        below, above = picks[:, :, None] - steps, picks[:, :, None] + steps
        first = np.where(below >= 0, known[np.maximum(below, 0)], 0)
        after = np.where(above <= last, known[np.minimum(above, last)] + 1, len(self.classes))
        inner = np.sort(np.concatenate([first, after], axis=2).reshape(len(picks), -1), axis=1)
        return np.pad(inner, ((0, 0), (1, 1)), constant_values=((0, 0), (0, len(self.classes))))


@dataclass(frozen=True, slots=True, eq=False)
class NoisyRanges:
    """Noisy numbers of rows in the ranges of a `RangesQuery`, by groups.

    `ends` are those of the ranges. A range without a class has no rows, and its noise is left out.
    """

    ends: Ints
    rows: Floats
    noise: Noise

    @classmethod
    def of(
        cls, query: RangesQuery, chosen: Sequence[Array], rows: Array, noise: Noise
    ) -> NoisyRanges:
        """The ranges around chosen candidates, with noisy rows."""
        ends = query.ends(chosen)
        by_group = rows.reshape(len(ends), -1).astype(np.float64)
        return cls(ends, np.where(np.diff(ends, axis=1) > 0, by_group, 0.0), noise)

    def plausible(
        self, quantile: Fraction, confidence: Fraction, sample: SampleDesign | None = None
    ) -> tuple[Ints, Ints]:
        """The first and the last class in which the quantile of a group may lie.

        For each end of a range, D is the noisy number of rows below it minus the part of all rows
        that should lie there. D rises from end to end but for its noise. So D plus its margin is
        made isotonic, and the quantile lies above the ends where that is below zero. Without this
        step, one of many ends where D is near zero would often be taken for one where it is not:
        where half of the values are small and half are large, 12 of 100 intervals of 95% would
        miss the median. Ends above are found in the same way. If noise hides whether a group has
        rows, with a confidence of `FLAG_CONFIDENCE` at least, all classes are possible.

        An interval misses by one of its ends, and only where D is near zero there. So margins are
        those of more misses than the confidence allows (`end_risk`). With a `sample`, the quantile
        is that of its population, and the variance of D is larger (`RankErrors`).
        """
        part, rows, hidden = float(quantile), self.rows, max(confidence, FLAG_CONFIDENCE)
        confidence = 1 - 2 * end_risk(END_SHARE, confidence)
        below, counted = np.cumsum(rows, axis=1), np.cumsum(np.diff(self.ends) > 0, axis=1)
        total, number, left = below[:, -1:], counted[:, -1:], counted[:, :-1]
        used = np.maximum(total, 0.0)
        sampled = part * (1 - part) * used * remaining(sample, used) if sample else 0.0
        terms = (1 - part, left), (part, number - left)
        margins = half_widths(self.noise, confidence, *terms, sampled=sampled)
        distance, weights = below[:, :-1] - part * total, np.ones_like(margins)
        groups, inner, classes = np.arange(len(rows)), self.ends[:, 1:-1], self.ends[0, -1]
        passed = count_below_zero(distance + margins, weights)
        lowest = np.pad(inner, ((0, 0), (1, 0)))[groups, passed]
        passed = count_below_zero((margins - distance)[:, ::-1], weights)
        after = np.pad(inner[:, ::-1], ((0, 0), (1, 0)), constant_values=classes)[groups, passed]
        is_hidden = total <= half_widths(self.noise, 2 * hidden - 1, (1, number))
        lowest = np.where(is_hidden[:, 0], 0, lowest)
        return lowest, np.where(is_hidden[:, 0], classes, after) - 1


def half_widths(
    noise: Noise, confidence: Fraction, *terms: tuple[float, Any], sampled: Any = 0.0
) -> Any:
    """Half-widths of sums of noises: by weight, how many noises have it.

    The numbers of noises are arrays of one shape, or single numbers; so is the result.
    """
    squares, fourths = (sum(weight**power * number for weight, number in terms) for power in (2, 4))
    variance = squares * noise.discrete_variance + MIN_VARIANCE + sampled
    return blended_half_width(fourths * noise.fourth_cumulant(1), variance, confidence)


END_SHARE = Fraction(4, 5)
"""The most of an error probability that each end of an interval has (`end_risk`)."""

INTERVAL_SHARE = Fraction(47, 100)
"""The share of the loss for ranges where intervals matter as much as values.

Errors of values are 1.7 times those of choices alone; intervals are as wide as those of counts in a
tree, whose values have three to four times these errors.
"""

MAX_PICKS = 5
"""The most quantiles: intervals grow with the root of their number."""


SAMPLED_FROM = Fraction(1, 10)
"""For quantiles nearer to an end, errors of small samples are not normal."""


def has_population(inputs: Inputs, quantiles: Sequence[Fraction]) -> bool:
    """Whether a sample is declared that shows these quantiles of its population."""
    far = all(SAMPLED_FROM <= quantile <= 1 - SAMPLED_FROM for quantile in quantiles)
    return inputs.sample is not None and far


@dataclass(frozen=True, kw_only=True)
class RangedChoices(Choices):
    """A design of chosen quantiles, with rows in ranges around them for intervals."""

    quantiles: tuple[Fraction, ...]

    @classmethod
    def around(
        cls, chosen: Choices, quantiles: tuple[Fraction, ...], share: Fraction, **more: Any
    ) -> Self:
        """The design that makes choices and gives this share of the loss to ranges."""
        inputs = chosen.inputs
        classes, indices = classes_at_and_between(inputs.numeric, inputs.candidates)
        *choices, _ = chosen.queries
        ranges = RangesQuery(
            by=inputs.by,
            where=inputs.where,
            classes=classes,
            candidate_classes=indices,
            picks=len(quantiles),
        )
        weight = (1 - share) / len(choices)
        role = f"rows in {ranges.cells_per_group:,} ranges"
        queries = (
            *(replace(part, weight=weight) for part in choices),
            WeightedQuery(role, ranges, share, supports=True),
        )
        how = "each quantile" if len(quantiles) > 1 else "the value"
        reason = f"{how} is chosen among candidates, and the rows in ranges around it are counted"
        return cls(
            inputs, queries, ("choice",), reason=reason, choices=chosen.choices,
            quantiles=quantiles, **more,
        )  # fmt: skip

    @property
    def ranges(self) -> RangesQuery:
        """The query of the rows in ranges."""
        query = self.queries[-1].query
        assert isinstance(query, RangesQuery)
        return query

    def sentences(self, noises: Sequence[Noise], confidence: Fraction) -> tuple[str, ...]:
        percent, part = exact_or_up(confidence * 100), exact_or_up(self.queries[-1].weight * 100)
        rows = max(self._margin(quantile, noises[-1], STATED) for quantile in self.quantiles)
        stated = (
            f"{self.reason}, with {part}% of the loss. An interval of {percent}% reaches from the "
            f"last end of a range with clearly too few rows below it to the first with clearly too "
            f"many, about {rounded_text(Fraction(rows), 2)} rows and one range to each side"
        )
        if not self.inputs.by:
            return (stated,)
        return stated, few_rows_sentence(self.rows_to_show(noises))

    def rows_to_show(self, noises: Sequence[Noise]) -> int:
        """About how many rows a group needs so that noise hides none of the quantiles."""
        return max(
            ceil(self._margin(quantile, noises[-1], STATED) / min(quantile, 1 - quantile))
            for quantile in self.quantiles
        )

    def _margin(self, quantile: Fraction, noise: Noise, confidence: Fraction) -> float:
        """About how many rows noise moves a rank by, with as many ranges on both sides."""
        half, part = self.ranges.cells_per_group / 2, float(quantile)
        return float(half_widths(noise, confidence, (1 - part, half), (part, half)))

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        return self._around(answers, confidence)

    @property
    def has_population(self) -> bool:
        return has_population(self.inputs, self.quantiles)

    def population(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        both = confidence_of_ends(float(1 - confidence) / 2, END_SHARE)
        return self._around(answers, both, self.inputs.sample)

    def _around(
        self,
        answers: Sequence[NoisyAnswer],
        confidence: Fraction,
        sample: SampleDesign | None = None,
    ) -> Estimates:
        *choices, counted = answers
        inputs, query, points = self.inputs, self.ranges, self.inputs.candidates
        picks = [answer.values for answer in choices]
        ranges = NoisyRanges.of(query, picks, counted.values, counted.noise)
        chosen = np.concatenate([pick.reshape(inputs.groups, -1) for pick in picks], axis=1)
        known, ends = np.asarray(query.candidate_classes), []
        for index, quantile in zip(chosen.T, self.quantiles, strict=True):
            lower, upper = candidates_within(known, *ranges.plausible(quantile, confidence, sample))
            ends.append((np.minimum(lower, index), np.maximum(upper, index)))
        lower, upper = (np.stack(side, axis=1).ravel() for side in zip(*ends, strict=True))
        return candidates_with_intervals(inputs.numeric, points, chosen.ravel(), lower, upper)

    def make_consistent(
        self, answers: Sequence[NoisyAnswer], estimates: Estimates, confidence: Fraction
    ) -> Estimates:
        return estimates.in_order_of(self.quantiles).around_values()
