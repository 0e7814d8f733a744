"""Quantiles of numbers or dates, from counts of a tree or by choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import ClassVar

from dpcli.fields.section import field_types
from dpcli.fields.statistic_fields import Candidates, OrderedColumnName, Quantiles
from dpcli.noise.distribution import ADDITIVE, Family, Noise
from dpcli.numeric.arrays import Array, Floats, np
from dpcli.numeric.exact import plain_text, rounded_text
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery
from dpcli.queries.scores import Rank, ScoreQuery
from dpcli.statistics.choices.candidates import (
    SIZE_SHARE,
    Choices,
    candidates_with_intervals,
    candidates_within,
    classes_at_and_between,
)
from dpcli.statistics.design import Design, Inputs, Measure, NoisyAnswer, WeightedQuery
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.quantiles.quantile_classes import classes_of_quantiles
from dpcli.statistics.quantiles.ranges import (
    INTERVAL_SHARE,
    MAX_PICKS,
    RangedChoices,
    has_population,
)
from dpcli.statistics.quantiles.rank_errors import RankErrors, confidence_of_ends
from dpcli.statistics.quantiles.recursion import (
    MIN_QUANTILES_FOR_RECURSION,
    QuantilesQuery,
    nearest_candidates,
    substeps_for,
)
from dpcli.statistics.quantiles.tree import STATED, CountTree, few_rows_sentence
from dpcli.statistics.samples.population import remaining, sample_of
from dpcli.statistics.statistic import Statistic

POWERS: dict[Measure, int] = {"epsilon": 1, "rho": 2}
"""The power p by unit of the budget: noise to the power p is inverse to shares."""

USUAL_PART = 0.5
"""The part of `usual_error` with which choices are compared.

Counts that are not negative have smaller errors, for incomes and for even values about half on
average. Where rows share values, counts are better than that by far, and choices in rounds can be
worse than single choices. Public facts do not show whether rows share values (`docs/statistics.md`
has both errors for the same facts)."""


def may_count(inputs: Inputs, relation: Relation) -> bool:
    """Whether tree counts may answer: groups are public and not limited per person.

    A limit on the groups of a person would leave out different rows in each level of the tree.
    """
    return not (relation.limits_groups or inputs.has_private_groups)


def is_middle(quantiles: Sequence[Fraction]) -> bool:
    """Whether one quantile is asked for, the median or one near it.

    Nearer to an end, and for several, choices in groups of 100 to 1,000 rows are better than counts
    for incomes, and worse where values are even or rows share them.
    """
    return len(quantiles) == 1 and 2 <= 5 * quantiles[0] <= 3


@dataclass(frozen=True, kw_only=True)
class TreeOfCounts(Design):
    """A design of counts in the nodes of a tree of classes, one query for each level."""

    quantiles: tuple[Fraction, ...]
    counts_rows: bool = True

    @classmethod
    def of(
        cls,
        inputs: Inputs,
        quantiles: tuple[Fraction, ...],
        families: tuple[Family, ...],
        measure: Measure,
    ) -> TreeOfCounts:
        """The design for some quantiles; its levels share the loss in this measure."""
        classes, _ = classes_at_and_between(inputs.numeric, inputs.candidates)
        tree = CountTree(len(classes))
        queries = tuple(
            WeightedQuery(
                f"rows in {len(axis):,} ranges",
                LinearQuery(by=inputs.by, items=(axis,), where=inputs.where),
                share,
            )
            for axis, share in zip(tree.axes(classes), tree.shares(POWERS[measure]), strict=True)
        )
        return cls(inputs, queries, families, (measure,), quantiles=quantiles)

    @property
    def tree(self) -> CountTree:
        """The tree, with a node for each class on its last level."""
        return CountTree(self.queries[-1].query.cells_per_group)

    def expected_error(self, errors: Sequence[float]) -> float:
        return USUAL_PART * self.usual_error(errors)

    def usual_error(self, errors: Sequence[Fraction | float]) -> float:
        """About how many rows lie between the worst quantile and its estimate.

        Values are taken to lie densely and evenly. `errors` has the error of a count in each level;
        the result has the same confidence.
        """
        middle = min(map(float, self.quantiles), key=lambda quantile: abs(quantile - 0.5))
        return self.tree.usual_error(middle, list(map(float, errors)))

    def sentences(self, noises: Sequence[Noise], confidence: Fraction) -> tuple[str, ...]:
        error = Fraction(self.usual_error([noise.half_width(STATED) for noise in noises]))
        *ranges, last = (f"{part.query.cells_per_group:,}" for part in self.queries)
        listed = f"{', '.join(ranges)} and {last}" if ranges else last
        counted = (
            f"the rows are counted in {listed} ranges of values with noise, and quantiles are "
            "read from counts that agree and are not negative. Where values lie densely and "
            f"evenly, a quantile misses by at most {rounded_text(error, 2)} rows with 95% "
            "confidence; where rows share values, by fewer"
        )
        if not self.inputs.by:
            return (counted,)
        return counted, few_rows_sentence(self.rows_to_show(noises))

    def rows_to_show(self, noises: Sequence[Noise]) -> int:
        """About how many rows a group needs so that noise hides none of the quantiles.

        With fewer rows, a quantile lies nearer to the first or last row than the margin of the
        noise, and its interval may reach the first or last candidate.
        """
        errors, needed = RankErrors(self.tree, tuple(noises)), 0
        for quantile in self.quantiles:
            margin = float(errors.margins(float(quantile), STATED).max())
            needed = max(needed, ceil(margin / min(quantile, 1 - quantile)))
        return needed

    def noisy_rows(self, answers: Sequence[NoisyAnswer]) -> Array:
        """The sums of the first level, which has the fewest ranges."""
        total: Array = answers[0].values.reshape(self.inputs.groups, -1).sum(axis=1)
        return total

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        return self._read(answers, confidence)

    @property
    def has_population(self) -> bool:
        return has_population(self.inputs, self.quantiles)

    def population(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        rows = np.maximum(self.noisy_rows(answers).astype(np.float64), 0.0)
        sampled = rows * remaining(sample_of(self.inputs), rows)
        return self._read(answers, confidence_of_ends(float(1 - confidence) / 2), sampled)

    def _read(
        self, answers: Sequence[NoisyAnswer], confidence: Fraction, sampled: Floats | None = None
    ) -> Estimates:
        inputs, column = self.inputs, self.inputs.numeric
        points = inputs.candidates
        _, known = classes_at_and_between(column, points)
        counts = [answer.values.reshape(inputs.groups, -1) for answer in answers]
        noises = [answer.noise for answer in answers]
        positions, items = np.asarray(known), []
        for found in classes_of_quantiles(
            self.tree, counts, noises, self.quantiles, confidence, sampled
        ):
            value = nearest_candidates(known, found.index, found.in_first_half)
            ends = candidates_within(positions, found.lowest, found.highest)
            items.append(candidates_with_intervals(column, points, value, *ends))
        return replace(Estimates.interleaved(items), date_range=column.date_range)

    def make_consistent(
        self, answers: Sequence[NoisyAnswer], estimates: Estimates, confidence: Fraction
    ) -> Estimates:
        return estimates.in_order_of(self.quantiles)


class Quantile(Statistic):
    """Values or dates below which given shares of a column lie, overall or in each group.

    Each of the `quantiles` is one of the public `candidates`: a list, or `{step: ...}` from
    bound to bound (for dates in days), or all steps of the column if absent. The expected error
    in `plan` is how many ranks may lie between the published value and the quantile, if values
    lie densely and evenly around it. Equal values miss by no rank; sparse candidates miss at
    least by the rows between them.

    Quantiles are read from noisy counts, or chosen. The way with the smaller expected error
    answers: counts if there are many quantiles or few candidates, else choices. In groups,
    counts answer, but for a median or a quantile near it. `mechanism: laplace` asks for counts,
    `permute_and_flip` for choices, as does `error`. Private keys and limits on the groups of a
    person leave choices alone.

    If a `sample` is declared, quantiles from 0.1 to 0.9 with an interval have one for the
    population, too: ranks then differ by noise and by the error of the sample (Woodruff 1952).

    Of 95% of groups without rows, the interval is all candidates, and the flag `no-information`.
    Where up to five quantiles are chosen, the rows in ranges around the chosen candidates are
    counted with a part of the loss, from which the intervals follow: a tenth, or 47% for a
    median by groups. More than five that are chosen have no interval.

    Counts are the rows in ranges of values, in several levels, each about ten times as fine
    as the one above (Hay, Rastogi, Miklau and Suciu 2010). From counts that agree with each
    other and are not negative, any number of quantiles follow, in order. Where rows share
    values, errors are small. The interval of a quantile has every value that the noise does
    not exclude; plans state how many rows a group needs for that to be less than all values.
    Gaussian noise can be used, with a delta.

    For choices, a candidate is better if its rank misses the quantile by fewer rows. Of three or
    more quantiles, one near the middle is chosen first, from all rows. Then the ones below it
    are chosen among the rows below the chosen value, those above it among the rows above, and so
    on: three need two such rounds, nine four, and 99 seven. Each round gets an equal part of
    epsilon, and results are in order. The expected error is that of the worst of them. Two
    quantiles share epsilon evenly, and `post: [consistent]` sorts them if noise has swapped them.

    Privacy: each level of counts is a `histogram`: adding or removing a row changes one count by
    1, changing it two. Levels share epsilon.

    >>> x = "{type: integer, bounds: [0, 99]}"
    >>> two = "statistic: quantile, column: x, quantiles: [0.25, 0.9], mechanism: "
    >>> l1(two + "laplace", x=x)
    {'add-remove': [1, 1], 'change-one': [2, 2]}

    For choices of the quantile p/d in lowest terms, the score of a candidate is minus the
    number of rows by which its rank misses it, in units of 1/d. Adding or removing a row
    changes the difference of two scores by at most 2 max(p, d - p). Changing a row changes
    it by at most 2 d, or by twice the former if the row moves to another group. The scale
    of the mechanism is that over epsilon. Candidates are public; values are counted and
    never shown (Smith 2011). Ranges have no value in common, whatever was chosen before: adding
    or removing a row changes one of their counts by 1, changing it two.

    >>> l1(two + "permute_and_flip", x=x)
    {'add-remove': [1.5, 1.8, 1], 'change-one': [2, 2, 2]}

    Of three or more that are chosen, a round is one choice in each of several parts without
    common rows, for the quantile p/d of its part, and rows with equal values are divided at
    random between parts (Kaplan, Schnapp and Stemmer 2022). A row lies in at most one part
    of a round, which the rounds before decide. In units of 2 max(p, d - p), it changes the
    difference of two scores by at most 1 if it is added or removed, and by 2 in all parts
    together if it is changed. Rounds add up.

    >>> three = "statistic: quantile, column: x, quantiles: [0.1, 0.5, 0.9], mechanism: "
    >>> l1(three + "permute_and_flip", x=x)
    {'add-remove': [2, 1], 'change-one': [4, 2]}

    A range ends at a chosen candidate, and 1, 2, 4, 8, ... candidates from it. The interval
    reaches from the last end with clearly too few rows below it to the first with clearly too
    many. It holds at least as often as stated, by about two points where values are spread.

    No interval is given without these counts (more than five choices, private keys, limits on
    groups): a choice says nothing of how far apart neighboring ranks are in value. There a noisy
    number of rows, with a tenth of the loss, decides on flags.
    Let e be the expected error in rows, n the noisy number, and w what its noise exceeds in 5% of
    cases. If n - w is below e, noise alone may have decided, and the flag is `no-information`:
    95% of the groups without rows have it. Else, if e is more than a quarter of n, the flag is
    `unreliable`. Plans state from about how many rows on there is no flag. If rows are changed
    and none can be skipped, the number is public and costs nothing.
    """

    name = "quantile"
    noun = "quantiles"
    has_raw = False
    item = "quantile"
    takes = field_types(column=OrderedColumnName, quantiles=Quantiles, candidates=Candidates | None)
    families = ("choice", *ADDITIVE)
    gives_dates = True
    in_column_unit = True
    steps: ClassVar[tuple[str, ...]] = ("consistent", "suppress_below")
    quantile: ClassVar[Fraction | None] = None
    """The one that a statistic with another name stands for."""

    def quantiles(self, inputs: Inputs) -> tuple[Fraction, ...]:
        """The quantiles to choose."""
        return inputs.quantiles if self.quantile is None else (self.quantile,)

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        """Designs of tree counts for rho and for epsilon, then the design of choices.

        There are no tree counts unless `may_count` is true.
        """
        quantiles = self.quantiles(inputs)
        counts = (
            (
                TreeOfCounts.of(inputs, quantiles, ADDITIVE, "rho"),
                TreeOfCounts.of(inputs, quantiles, ("l1",), "epsilon"),
            )
            if may_count(inputs, relation)
            else ()
        )
        choices = self._choices(inputs, relation)
        if not may_count(inputs, relation) or len(quantiles) > MAX_PICKS:
            return (*counts, choices)
        ranged = RangedChoices.around(choices, quantiles, SIZE_SHARE)
        if not inputs.by or not is_middle(quantiles):
            return (*counts, ranged)
        balanced = RangedChoices.around(choices, quantiles, INTERVAL_SHARE, replaces_counts=True)
        return (*counts, balanced, ranged)

    def _choices(self, inputs: Inputs, relation: Relation) -> Choices:
        """The design that chooses each quantile by the scores of the candidates."""
        column, quantiles = inputs.numeric, self.quantiles(inputs)
        classes, indices = classes_at_and_between(column, inputs.candidates)
        no_interval = "no interval can be given for what is chosen"
        if may_count(inputs, relation):
            no_interval += "; `mechanism: laplace` asks for counts, which have intervals"
        if len(quantiles) >= MIN_QUANTILES_FOR_RECURSION:
            whole = QuantilesQuery(
                by=inputs.by,
                where=inputs.where,
                classes=(classes,),
                candidate_classes=indices,
                quantiles=quantiles,
                substeps=substeps_for(len(classes), inputs.groups),
            )
            choice = (f"ranks of {len(quantiles)} quantiles", whole, Fraction(1))
            reason = (
                "each quantile is chosen among the rows between those chosen before, the "
                f"middle first. So results are in order, but {no_interval}"
            )
            return Choices.of(inputs, relation, choice, reason=reason)
        choices = (
            (
                f"rank of {plain_text(quantile)}",
                ScoreQuery(
                    by=inputs.by,
                    where=inputs.where,
                    classes=(classes,),
                    score_function=Rank(indices, quantile, len(classes)),
                ),
                Fraction(1, quantile.denominator),
            )
            for quantile in quantiles
        )
        return Choices.of(inputs, relation, *choices, reason=no_interval)

    def names(self, inputs: Inputs) -> tuple[str, ...]:
        return tuple(plain_text(quantile) for quantile in inputs.quantiles)


class Median(Quantile):
    """The middle value or date of a column, overall or in each group of `by`.

    Half of the rows lie on either side of it. It is the `quantile` 0.5, one of the public
    `candidates`, chosen or read from noisy counts in the same way. In groups, a choice gets 53% of
    the loss, and counts of rows in ranges around it get the rest. If a `sample` is declared, the
    median of the population is published too.

    Privacy: as for `quantile`. Levels of counts are histograms that share epsilon. For a choice,
    the score is minus the number of rows by which the rank of a candidate misses the median, in
    halves. Adding or removing a row changes the difference of two scores by at most 2 halves,
    changing a row by at most 4. The rows in ranges around the choice are a histogram.

    >>> x = "{type: integer, bounds: [0, 99]}"
    >>> l1("statistic: median, column: x, mechanism: laplace", x=x)
    {'add-remove': [1, 1], 'change-one': [2, 2]}
    >>> l1("statistic: median, column: x, mechanism: permute_and_flip", x=x)
    {'add-remove': [1, 1], 'change-one': [2, 2]}

    No interval is given where groups are private or limited for each person. A noisy number of
    rows flags what noise may have chosen there, as for `quantile`.
    """

    name = "median"
    noun = "median"
    item = ""
    takes = field_types(column=OrderedColumnName, candidates=Candidates | None)
    steps = ("suppress_below",)
    quantile = Fraction(1, 2)


TAIL = Fraction(1, 100)
"""The share of the rows that lies beyond a minimum or maximum."""


class Minimum(Median):
    """The low end of a column: the value or date below which 1% of the rows lie.

    The smallest value of all belongs to one person, so no private answer can reveal it. So
    this is the `quantile` 0.01, one of the public `candidates`, read from noisy counts or chosen
    in the same way: in groups, from counts. In groups of few rows noise moves it towards the
    lower bound.

    Privacy: as for `quantile`. Levels of counts are histograms that share epsilon. For a choice,
    in hundredths: adding or removing a row changes the difference of two scores by at most 198
    hundredths of a row, changing a row by at most 200.

    >>> x = "{type: integer, bounds: [0, 99]}"
    >>> l1("statistic: min, column: x, mechanism: permute_and_flip", x=x)
    {'add-remove': [1.98, 1], 'change-one': [2, 2]}

    No interval is given where groups are private or limited for each person. A noisy number of
    rows flags what noise may have chosen there, as for `quantile`.
    """

    name = "min"
    noun = "minimum"
    quantile = TAIL
    warning = "not the least value, but the one below which 1% of rows lie"


class Maximum(Median):
    """The high end of a column: the value or date above which 1% of the rows lie.

    The greatest value of all belongs to one person, so no private answer can reveal it. So
    this is the `quantile` 0.99, one of the public `candidates`, read from noisy counts or chosen
    in the same way: in groups, from counts. In groups of few rows noise moves it towards the
    upper bound.

    Privacy: as for `quantile`. Levels of counts are histograms that share epsilon. For a choice,
    in hundredths: adding or removing a row changes the difference of two scores by at most 198
    hundredths of a row, changing a row by at most 200.

    >>> x = "{type: integer, bounds: [0, 99]}"
    >>> l1("statistic: max, column: x, mechanism: permute_and_flip", x=x)
    {'add-remove': [1.98, 1], 'change-one': [2, 2]}

    No interval is given where groups are private or limited for each person. A noisy number of
    rows flags what noise may have chosen there, as for `quantile`.
    """

    name = "max"
    noun = "maximum"
    quantile = 1 - TAIL
    warning = "not the greatest value, but the one above which 1% of rows lie"
