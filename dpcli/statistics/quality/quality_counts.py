"""What the quality check counts: rows, readable cells, and people by their rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from math import ceil, floor

from dpcli.data.column import Column
from dpcli.noise.distribution import Noise, one_sided_width
from dpcli.noise.sums import blended_half_width, blended_margin
from dpcli.numeric.arrays import np
from dpcli.privacy.sensitivity import RowContribution, Sensitivity, readability_sensitivity
from dpcli.privacy.unit import PersonUnit, Relation, Unit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery, Query, RowsPerUserQuery
from dpcli.queries.sums import ALL_ROWS, PlainSum, RowSums, Shape
from dpcli.statistics.design import Design, Inputs, NoisyAnswer, Queries, WeightedQuery
from dpcli.statistics.estimates import NONNEGATIVE, Estimates, Limits
from dpcli.statistics.statistic import Statistic

HALF = Fraction(1, 2)

BY_ROWS_WEIGHT = Fraction(1, 4)
"""The share of the loss for people by their number of rows, if there are limits."""

PEOPLE_WEIGHT = Fraction(1, 8)
"""The share of the loss for the number of people, if a minimum is required.

A person changes the number of people by one, but the numbers of rows and cells by much more.
"""

LIMITS = "limits"
"""The option with the limits on rows per person that statistics depend on."""

PEOPLE = "people"
"""The option of inputs for a check that also counts people."""


@dataclass(frozen=True, kw_only=True)
class ReadabilityQuery(Query):
    """The number of rows, and each column's readable minus its unreadable cells.

    A cell is readable if it can be read as the column declares. The columns in `checked` have no
    constants that replace unreadable cells. Every row adds one to the number of rows, and one or
    minus one to each column. Without `with_rows` the answer has no number of rows.
    """

    checked: tuple[Column, ...]
    with_rows: bool = True

    @property
    def operands(self) -> tuple[Column, ...]:
        return self.checked

    @property
    def shape(self) -> Shape:
        readable = (PlainSum(not_missing=frozenset({column})) for column in self.checked)
        signed = tuple(((2, counted), (-1, ALL_ROWS)) for counted in readable)
        return RowSums((((1, ALL_ROWS),), *signed) if self.with_rows else signed)

    def bounded_unit(self, unit: Unit) -> Unit:
        """The given unit: limits on groups do not affect this query, which has no groups."""
        return unit

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """The sensitivity of a vector in which every row changes every element."""
        unit, count = self.bounded_unit(relation.unit), len(self.checked)
        return readability_sensitivity(count, relation.neighbors, unit, with_rows=self.with_rows)

    @cached_property
    def cells(self) -> int:
        return len(self.checked) + int(self.with_rows)

    @cached_property
    def row_contribution(self) -> RowContribution:
        """A row adds from minus one to one; exactly one if no column is checked."""
        return RowContribution(-1 if self.checked else 1, 1)


class QualityDesign(Design):
    """The number of rows, perhaps of people, and of readable cells by column."""

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        counts = QualityAnswers.of(self.inputs, answers)
        rows, columns = counts.rows, counts.columns
        outside = float(1 - confidence) / 2
        margin = blended_margin(rows.noise, HALF, columns.noise, HALF, outside)
        (count,), differences = rows.values.tolist(), columns.values.tolist()
        width = Fraction(rows.noise.half_width(confidence))
        readable = [(Fraction(count + difference, 2), margin) for difference in differences]
        people = [] if counts.people is None else [counts.number_of_people(confidence)]
        decimals = (0, *[0] * len(people), *[1] * len(readable))
        return Estimates.single([(Fraction(count), width), *people, *readable], decimals)


class QualityCounts(Statistic):
    """Numbers of rows, of readable cells by checked column, of people by their rows.

    A cell is readable if it can be read as its column declares, before any constant replaces
    it. The answer is one vector: the number of rows, and for each column its readable minus
    its unreadable cells. Half of the sum of both is the number of readable cells. Where limits
    on the rows of a person leave out rows of some statistic, a quarter of the loss is for a second
    answer: the people in bins of the number of all their rows, which shows how many rows that are.
    If a minimum of people is required, an eighth of the loss is for their number: each person with
    a row counts once, whatever limits keep.

    Privacy: a row adds 1 to the number of rows and 1 or -1 to each of k columns, so adding or
    removing it changes the vector by k + 1 in L1 and by sqrt(k + 1) in L2. Changing a row
    keeps the number of rows, which is then public, and changes each column by at most 2. A
    person with r rows changes r times as much. A person is in one bin, whatever limits keep:
    adding or removing a person changes the second answer by 1, exchanging one by 2 in L1. The
    number of people changes by 1 at most: exchanging changes it if one of both has no rows.
    """

    name = "quality"
    steps = ()
    has_raw = False

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        """A design for epsilon and one for rho: the vector and the counts of people.

        A public number of rows is a query with weight zero. The weights that divide rho are the
        squares of those that divide epsilon: then the epsilons sum to that of a single answer.
        """
        further = []
        if counts_people(inputs):
            people = LinearQuery(user_clamp=(0, 1))
            further.append(WeightedQuery("people", people, PEOPLE_WEIGHT))
        if limits := counted_limits(inputs):
            by_rows = RowsPerUserQuery(starts=bin_starts(limits))
            further.append(WeightedQuery("people by their rows", by_rows, BY_ROWS_WEIGHT))
        left = 1 - sum(part.weight for part in further)
        vector = self._vector(inputs, relation)
        queries = (*(replace(part, weight=part.weight * left) for part in vector), *further)
        squares = tuple(replace(part, weight=part.weight**2) for part in queries)
        return (
            QualityDesign(inputs, queries, measures=("epsilon",)),
            QualityDesign(inputs, squares, families=("l1",), measures=("rho",)),
        )

    def _vector(self, inputs: Inputs, relation: Relation) -> Queries:
        if not relation.size_is_public:
            return (WeightedQuery("rows and cells", ReadabilityQuery(checked=inputs.checked)),)
        if not inputs.checked:
            return (WeightedQuery("rows", LinearQuery()),)
        query = ReadabilityQuery(checked=inputs.checked, with_rows=False)
        return (
            WeightedQuery("cells", query),
            WeightedQuery("rows", LinearQuery(), weight=Fraction(0)),
        )

    def limits(self, inputs: Inputs) -> tuple[Limits, ...]:
        return (NONNEGATIVE,)

    def items(self, inputs: Inputs) -> tuple[str, ...]:
        people = [PEOPLE] * counts_people(inputs)
        return ("rows", *people, *(column.name for column in inputs.checked))


QUALITY_COUNTS = QualityCounts()


def counted_limits(inputs: Inputs) -> tuple[int, ...]:
    """The limits on rows for which the check counts people by their rows."""
    limits: tuple[int, ...] = dict(inputs.options).get(LIMITS, ())
    return limits


def counts_people(inputs: Inputs) -> bool:
    """Whether the check counts people, because it requires a minimum of them."""
    return PEOPLE in dict(inputs.options)


def with_people(inputs: Inputs) -> Inputs:
    """The inputs of a check that also counts people."""
    return replace(inputs, options=(*inputs.options, (PEOPLE, True)))


def with_limits(inputs: Inputs, of: Iterable[Sequence[Design]], relation: Relation) -> Inputs:
    """The inputs of a check that also counts people by their numbers of rows.

    The limits to check are those on rows per person that affect a query of the designs in `of`. The
    inputs are unchanged if rows are the unit.
    """
    unit = relation.unit
    if not isinstance(unit, PersonUnit):
        return inputs
    differ = unit.max_grouped_rows < unit.max_rows
    limits = {
        limit
        for designs in of
        # Designs differ in groups, so in limits only where those on groups are stricter.
        for design in (designs if differ else designs[:1])
        for part in design.queries
        if (limit := part.query.row_limit(unit)) is not None
    }
    counted = ((LIMITS, tuple(sorted(limits))),) if limits else ()
    options = (option for option in inputs.options if option[0] != LIMITS)
    return replace(inputs, options=(*options, *counted))


@dataclass(frozen=True, slots=True)
class QualityAnswers:
    """The noisy answers of the check, each with its noise.

    `rows` has the number of rows, and `columns` the readable minus the unreadable cells of each
    column. `people` has the number of people, and `by_rows` the number of people in each bin of
    their numbers of rows, for the `limits` on rows per person. Both are None if they are not
    counted.
    """

    rows: NoisyAnswer
    columns: NoisyAnswer
    people: NoisyAnswer | None
    by_rows: NoisyAnswer | None
    limits: tuple[int, ...]

    @classmethod
    def of(cls, inputs: Inputs, answers: Sequence[NoisyAnswer]) -> QualityAnswers:
        """The answers to the queries of the check, in their order."""
        limits, left = counted_limits(inputs), list(answers)
        by_rows = left.pop() if limits else None
        people = left.pop() if counts_people(inputs) else None
        if len(left) == 2:
            columns, rows = left
        else:
            ((values, noise),) = [(answer.values, answer.noise) for answer in left]
            rows, columns = NoisyAnswer(values[:1], noise), NoisyAnswer(values[1:], noise)
        return cls(rows, columns, people, by_rows, limits)

    def number_of_people(self, confidence: Fraction) -> tuple[Fraction, Fraction]:
        """The noisy number of people, and the half-width of its interval."""
        assert self.people is not None
        (count,) = self.people.values.tolist()
        return Fraction(count), Fraction(self.people.noise.half_width(confidence))

    def left_out(self, outside: float) -> dict[int, Fraction]:
        """For each limit, a lower bound on the share of left-out rows: `min_share`.

        Each bound is above the true share with a probability of at most `outside`.
        """
        if self.by_rows is None:
            return {}
        starts = bin_starts(self.limits)
        return {
            limit: min_share(self.by_rows, starts, self.rows, limit, outside)
            for limit in self.limits
        }


MULTIPLES = tuple(map(Fraction, ("1.25", "1.5", "2", "3", "4", "6", "8", "16", "32", "64", "128")))
"""The bins above a limit begin at the limit plus one, and at these multiples."""

ROWS_PART = 0.2
"""The part of the error probability for used rows; left-out rows get the rest."""

ERROR_PROBABILITY = 0.05
"""The greatest probability of stating more rows than a limit leaves out."""


def bin_starts(limits: Iterable[int]) -> tuple[int, ...]:
    """Starts of bins of people by their rows; the first is within all limits.

    >>> bin_starts([4])
    (1, 5, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512)
    """
    above = {limit + 1 for limit in limits}
    above |= {ceil(limit * times) for limit in limits for times in MULTIPLES}
    return tuple(sorted({1, *(start for start in above if start > min(limits, default=0))}))


def min_share(
    people: NoisyAnswer, starts: tuple[int, ...], rows: NoisyAnswer, limit: int, outside: float
) -> Fraction:
    """A lower bound on the share of left-out rows; zero if noise explains them.

    `people` has the number of people in each bin of `starts`, `rows` the number of used rows. The
    bound is above the true share with a probability of at most `outside`.

    Privacy: a function of noisy answers.
    """
    min_above = _min_rows(people, starts, limit, outside * (1 - ROWS_PART))
    (noisy,) = rows.values.tolist()
    max_within = max(noisy + one_sided_width(rows.noise, outside * ROWS_PART), 0)
    return Fraction(min_above, max_within + min_above) if min_above > 0 else Fraction(0)


def _min_rows(people: NoisyAnswer, starts: tuple[int, ...], limit: int, outside: float) -> int:
    """A lower bound on the number of rows that a limit leaves out; may be negative.

    The bound is above the true number with a probability of at most `outside`.
    """
    left_out = np.maximum(np.array(starts, object) - limit, 0)
    lasts = [last for last, rows in enumerate(left_out, 1) if rows]
    if not lasts:
        return 0
    # An interval of this confidence leaves out the part of each test on one side.
    confidence = 1 - Fraction(2 * outside / len(lasts))
    totals = np.cumsum(people.values.astype(object) * left_out)
    return max(
        floor(int(totals[last - 1]) - _margin(people.noise, left_out[:last].tolist(), confidence))
        for last in lasts
    )


def noticed_rows(noise: Noise, limit: int) -> int:
    """About how many left-out rows noise alone may explain.

    It assumes that people have up to twice the limit. If more than twice this number is left out,
    most releases show it. If few people have very many rows, more left-out rows are needed.
    """
    starts = [start for start in bin_starts([limit]) if limit < start <= 2 * limit]
    weights = [start - limit for start in starts]
    confidence = 1 - Fraction(2 * ERROR_PROBABILITY * (1 - ROWS_PART) / len(bin_starts([limit])))
    return ceil(_margin(noise, weights, confidence))


def _margin(noise: Noise, weights: list[int], confidence: Fraction) -> float:
    """The half-width, at this confidence, of the noise of a weighted sum of counts."""
    variance = noise.discrete_variance * sum(weight**2 for weight in weights)
    if not variance:
        return 0.0
    fourth = sum(noise.fourth_cumulant(float(weight)) for weight in weights)
    return blended_half_width(fourth, variance, confidence)
