"""Counts of rows, people and values; sums and histograms."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from fractions import Fraction
from typing import Any, ClassVar

from dpcli.data.column import Column
from dpcli.data.kinds import Axis
from dpcli.fields.section import field_types
from dpcli.fields.statistic_fields import (
    BinForms,
    BoundName,
    FieldFault,
    HierarchyNames,
    KnownForm,
    LevelShares,
    NumericColumnName,
    PrivateKeys,
    RateForm,
    SeriesForm,
    UnitBounds,
    ValuedColumnName,
    WeightColumnName,
)
from dpcli.privacy.unit import Relation
from dpcli.queries.query import LinearQuery
from dpcli.queries.sums import Factor
from dpcli.statistics.counts.person_counts import PersonCounts
from dpcli.statistics.counts.rates import PublicRates
from dpcli.statistics.counts.vectors import NumbersTogether
from dpcli.statistics.design import Design, Inputs, PublishedAnswer, WeightedQuery
from dpcli.statistics.estimates import Limits
from dpcli.statistics.samples.population import sampled_counts, sampled_sum
from dpcli.statistics.statistic import NumbersMeasure, Statistic
from dpcli.statistics.tables.hierarchy import Levels
from dpcli.statistics.tables.percent import Percent, Percents
from dpcli.statistics.tables.totals import TotalsLabel, WithTotals
from dpcli.statistics.weights import WeightedStatistic, weight_factors, weight_step


class Count(PersonCounts, WeightedStatistic):
    """The number of rows, overall or in each group of `by`.

    With `column`, only rows with a value in that column are counted. The published count is
    the noisy one: unbiased, possibly negative, and whole unless groups share noise. With
    `bound: sum`, all rows of a person in a group are counted, up to `unit_bounds`. With
    `weight`, each row counts by its value in that column, and the answer is the sum of the
    weights. If a `sample` of public size is declared, a count of a part of the rows is also
    estimated for the population. With `percent`, counts by groups are published as percent of the
    noisy total of all, of their row or of their column; with `totals`, sums of the noisy counts
    over each key stand next to them. With `rate`, they are per a number of
    people of public populations. With the `strata` and the `standard` of a rate, the rates of the
    strata are weighted by public weights: each row counts by the weight of its stratum over the
    population of it, in one weighted count.

    Privacy: a row adds one to one cell, so adding or removing a row changes the counts by 1
    in L1 and L2. Changing a row moves it from one cell to another: 2 in L1, sqrt(2) in L2;
    a single count without conditions then does not change at all, because the number of
    rows is public (Dwork and Roth 2014, section 3.3). A person with several rows changes
    the counts by as many rows as the limits allow; with many groups of a person, the groups
    share noise (see `count_distinct`). If a row is changed and there are no conditions, a count
    loses what another one gains: that is 1 in the norm of K-norm noise (`explain mechanism
    k_norm`), which is 1.06 times smaller for twenty groups, 1.6 for two, and 2.1 for two if each
    row counts. With Gaussian noise, counts of which the public number of rows is the sum are moved
    until they have it. A `sum` by groups and a `histogram` have the same noise. A weighted row
    adds its weight, clamped to [0, W], so the sensitivities are W times as large. Of a standardized
    rate, the greatest public weight in each group is one, and the noisy sum is multiplied by what
    it stands for. Percent and rates are functions of noisy counts.

    >>> l1("statistic: count")
    {'add-remove': [1], 'change-one': [0]}
    >>> l1("statistic: count, by: [sex]", sex="{type: category, values: [f, m]}")
    {'add-remove': [1], 'change-one': [1]}
    >>> l1("statistic: count, weight: w", w="{type: number, bounds: [0, 12.5], step: 0.5}")
    {'add-remove': [12.5], 'change-one': [12.5]}
    >>> rate = "{per: 10, strata: s, population: {a: 5, b: 2}, standard: {a: 1, b: 1}}"
    >>> l1(f"statistic: count, rate: {rate}", s="{type: category, values: [a, b]}")
    {'add-remove': [1], 'change-one': [1]}
    """

    name = "count"
    noun = "number of {}"
    takes = field_types(
        column=ValuedColumnName | None,
        weight=WeightColumnName | None,
        bound=BoundName | None,
        unit_bounds=UnitBounds | None,
        keys=PrivateKeys | None,
        percent=Percent | None,
        rate=RateForm | None,
        hierarchy=HierarchyNames | None,
        level_shares=LevelShares | None,
        totals=TotalsLabel | None,
        known=KnownForm | None,
        series=SeriesForm | None,
    )
    measure: ClassVar[NumbersMeasure] = "counts"

    def variant(
        self, column: Column | None, method: str = "", stated: Collection[str] = ()
    ) -> Statistic:
        variants: dict[str, Statistic] = {
            "hierarchy": COUNT_LEVELS, "totals": COUNT_TOTALS, "known": COUNT_TOTALS,
            "percent": COUNT_PERCENTS, "rate": COUNT_RATES,
        }  # fmt: skip
        return next((one for key, one in variants.items() if key in stated), self)

    def query(self, inputs: Inputs) -> LinearQuery:
        """The counts of all groups."""
        return LinearQuery(
            factors=weight_factors(inputs),
            by=inputs.by,
            where=inputs.where,
            present=(inputs.column,) if inputs.column else (),
            user_clamp=inputs.user_clamp,
        )

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        query = self.query(inputs)
        if inputs.sample and not inputs.weight:
            is_part = bool(inputs.by or inputs.where or inputs.column)
            return (sampled_counts(inputs, query, is_part=is_part),)
        role = "sum of weights" if inputs.weight else "count"
        return self.by_people(inputs, query, role, relation, self.step(inputs))

    def step(self, inputs: Inputs) -> Fraction:
        return weight_step(inputs)


class Sum(WeightedStatistic):
    """The total of a numeric column, overall or in each group of `by`.

    Every value is rounded to the grid of the column and clamped to its bounds before it is
    added, so the total is that of the clamped values. With `bound: sum`, the rows of a
    person in a group are summed first, and their total is clamped to `unit_bounds`. That
    needs less noise than clamping each row if people have many rows. With `totals`, sums of the
    noisy totals over each key of `by` stand next to them. With `post: [{suppress_below: 10}]`,
    sums of distances from both bounds are answered, which count the rows too (see `mean`): with the
    same noise where a bound is zero and rows are added or removed. With `weight`, each
    value is multiplied by the weight of its row. If a `sample` of public size is declared, a
    fifth of epsilon goes to the sum of squares, which shows the error of the sample.

    Privacy: for values in [L, U], adding or removing a row changes one total by at most
    max(|L|, |U|). Changing a row changes a single total by at most U - L (of values that
    cannot be skipped). Among several groups the row can also move, and the change is at
    most max(2 max(|L|, |U|), U - L) in L1; the totals of few groups share noise as in `count`.
    A person changes the totals by as much for every row that the limits allow, or by
    `unit_bounds` in every group. With weights up to W, the changes are W times as large. Whole
    steps are summed exactly, so these are the true sensitivities (Casacuberta, Shoemate, Vadhan
    and Wagaman 2022).

    >>> l1("statistic: sum, column: x", x="{type: integer, bounds: [-20, 110]}")
    {'add-remove': [110], 'change-one': [130]}
    >>> l1("statistic: sum, column: x", x="{type: integer, bounds: [10, 110], missing: 10}")
    {'add-remove': [110], 'change-one': [100]}
    """

    name = "sum"
    takes = field_types(
        column=NumericColumnName,
        weight=WeightColumnName | None,
        bound=BoundName | None,
        unit_bounds=UnitBounds | None,
        hierarchy=HierarchyNames | None,
        level_shares=LevelShares | None,
        totals=TotalsLabel | None,
        known=KnownForm | None,
        series=SeriesForm | None,
    )
    measure = "amounts"
    in_column_unit = True

    def complete_inputs(self, bare: Inputs, given: Mapping[str, Any]) -> Inputs:
        """The inputs without an option that is not stated."""
        return super().complete_inputs(
            bare, {key: value for key, value in given.items() if value is not None}
        )

    def variant(
        self, column: Column | None, method: str = "", stated: Collection[str] = ()
    ) -> Statistic:
        variants: dict[str, Statistic] = {
            "hierarchy": SUM_LEVELS, "totals": SUM_TOTALS, "known": SUM_TOTALS,
        }  # fmt: skip
        return next((one for key, one in variants.items() if key in stated), self)

    def query(self, inputs: Inputs) -> LinearQuery:
        """The sums of all groups."""
        return LinearQuery(
            factors=(Factor(inputs.numeric), *weight_factors(inputs)),
            by=inputs.by,
            where=inputs.where,
            user_clamp=inputs.user_clamp,
        )

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        role = "weighted sum" if inputs.weight else "sum"
        total = WeightedQuery(role, self.query(inputs), step=self.step(inputs))
        size = inputs.sample and inputs.sample.size
        if size and not inputs.weight and inputs.user_clamp is None:
            return (sampled_sum(inputs, total),)
        return (*NumbersTogether.of(inputs, total, relation), PublishedAnswer(inputs, (total,)))

    def designs_with_rows(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        """Distances from both bounds; none of totals, weights, samples and users."""
        is_plain = inputs.weight is None and inputs.sample is None and inputs.user_clamp is None
        if not is_plain or "totals" in dict(inputs.options):
            return ()
        from dpcli.statistics.counts.sum_with_rows import SumWithRows

        return SumWithRows.of(inputs, relation)

    def limits(self, inputs: Inputs) -> tuple[Limits, ...]:
        low, high = inputs.user_clamp or inputs.numeric.limits
        return ((Fraction(0) if low >= 0 else None, Fraction(0) if high <= 0 else None),)

    def step(self, inputs: Inputs) -> Fraction:
        return inputs.numeric.step * weight_step(inputs)


class Histogram(PersonCounts):
    """The number of rows in each bin of a numeric column, or in each category.

    Numbers are divided into equal `bins: 10`, by `bins: {width: 10}` from the lower bound on, or
    by `bins: {edges: [18, 30, 65, 100]}`; a category or a column of at most 200 numbers needs no
    bins. Bins of whole numbers, of days and of few numbers are closed ranges such as `18-29`,
    `30-64`, `65-100`. Every bin that rows can be in is published, even if it is empty. Rows without
    a value are in no bin. If a `sample` of public size is declared, the bins are also estimated
    for the population. With `percent`, they are percent of the noisy total, or of that of a row or
    column of the table of groups and bins.

    Privacy: the bins are disjoint, so adding or removing a row changes one of them by one:
    1 in L1 and in L2. Changing a row moves it from one bin to another: 2 in L1 and sqrt(2)
    in L2 (Dwork, McSherry, Nissim and Smith 2006, example 3). A person moves as many rows
    as the limits allow; each bin of each group counts as a group. If that is most of them,
    they share noise (see `count_distinct`); so do few bins if a row is changed (see `count`).

    >>> l1("statistic: histogram, column: sex", sex="{type: category, values: [f, m]}")
    {'add-remove': [1], 'change-one': [1]}
    """

    name = "histogram"
    takes = field_types(
        column=ValuedColumnName,
        bins=BinForms | None,
        percent=Percent | None,
        known=KnownForm | None,
        series=SeriesForm | None,
    )
    measure: ClassVar[NumbersMeasure] = "counts"
    item = "bin"

    def variant(
        self, column: Column | None, method: str = "", stated: Collection[str] = ()
    ) -> Statistic:
        if "known" in stated:
            return HISTOGRAM_KNOWN
        return HISTOGRAM_PERCENTS if "percent" in stated else self

    def query(self, inputs: Inputs) -> LinearQuery:
        """The counts of all bins."""
        return LinearQuery(by=inputs.by, items=(histogram_axis(inputs),), where=inputs.where)

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        query = self.query(inputs)
        if inputs.sample:
            return (sampled_counts(inputs, query, is_part=True),)
        return self.by_people(inputs, query, "count", relation)

    def names(self, inputs: Inputs) -> tuple[str, ...]:
        return histogram_axis(inputs).labels

    def item_count(self, inputs: Inputs) -> int:
        return len(histogram_axis(inputs))

    def item_heading(self, inputs: Inputs) -> str:
        return histogram_axis(inputs).column.name


class CountPercents(Percents, Count):
    """Counts by groups as percent of their total."""

    counts = Count()

    def faults(self, inputs: Inputs, relation: Relation) -> Iterator[FieldFault]:
        """The fault of a rate besides the percent, and those of percent."""
        yield from super().faults(inputs, relation)
        if dict(inputs.options).get("rate"):
            yield FieldFault("rate-form.percent", "rate")


class CountRates(PublicRates, Count):
    """Counts per a number of people of public populations."""

    counts = Count()


class CountLevels(Levels, Count):
    """Counts at every level of a hierarchy."""

    steps = ("consistent", "whole", "suppress_below")

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        return (self.level_totals(inputs, self.query(inputs), relation),)


class SumLevels(Levels, Sum):
    """Sums at every level of a hierarchy."""

    steps = ("consistent", "whole")

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        return (self.level_totals(inputs, self.query(inputs), relation),)


class CountTotals(WithTotals, Count):
    """Counts by groups, with totals over each key."""

    of_cells = Count()


class SumTotals(WithTotals, Sum):
    """Sums by groups, with totals over each key."""

    of_cells = Sum()


class HistogramKnown(WithTotals, Histogram):
    """The counts of bins, which meet known totals."""

    of_cells = Histogram()


class HistogramPercents(Percents, Histogram):
    """The counts of bins as percent of their total."""

    counts = Histogram()


COUNT_PERCENTS, HISTOGRAM_PERCENTS = CountPercents(), HistogramPercents()
HISTOGRAM_KNOWN = HistogramKnown()
COUNT_RATES, COUNT_TOTALS, SUM_TOTALS = CountRates(), CountTotals(), SumTotals()
COUNT_LEVELS, SUM_LEVELS = CountLevels(), SumLevels()


def histogram_axis(inputs: Inputs) -> Axis:
    """The axis along which a histogram counts, which the spec has checked.

    Raises TypeError if there is none.
    """
    if inputs.bins is None:
        raise TypeError("this statistic needs bins")
    return inputs.bins
