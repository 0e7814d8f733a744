"""Histograms: rows by bins or labels."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpcli.data.kinds import Axis
from dpcli.fields.columns import BinForms, ValuedColumnName
from dpcli.fields.section import field_types
from dpcli.privacy.neighboring import Relation
from dpcli.queries.query import LinearQuery
from dpcli.statistics.counts.person_counts import PersonCounts
from dpcli.statistics.design import Design, NoisyAnswer, Request, WeightedQuery
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.population import population_counts


class Histogram(PersonCounts):
    """The number of rows in each bin of a numeric column, or in each category.

    Numbers are divided by `bins: {width: 10}` from the lower bound on, or by `bins: {edges:
    [18, 30, 65, 100]}`; a category column needs no bins. Bins of whole numbers and days are
    closed ranges such as `18-29`, `30-64`, `65-100`. Every declared bin is published, even
    if it is empty. Rows without a value are in no bin. If a `sample` of public size is
    declared, the bins are also estimated for the population.

    Privacy: the bins are disjoint, so adding or removing a row changes one of them by one:
    1 in L1 and in L2. Changing a row moves it from one bin to another: 2 in L1 and sqrt(2)
    in L2 (Dwork, McSherry, Nissim and Smith 2006, example 3). A person moves as many rows
    as the limits allow; each bin of each group counts as a group. If that is most of them,
    they share Gaussian noise (see `count_distinct`).

    >>> l1("statistic: histogram, column: sex", sex="{type: category, values: [f, m]}")
    {'add-remove': [1], 'change-one': [2]}
    """

    name = "histogram"
    takes = field_types(column=ValuedColumnName, bins=BinForms | None)
    measure = "counts"
    item = "bin"

    def designs(self, request: Request, relation: Relation) -> tuple[Design, ...]:
        """The rows in each bin of each group."""
        query = LinearQuery(by=request.by, items=(histogram_axis(request),), where=request.where)
        if request.sample:
            return (Design(request, (WeightedQuery("count", query),)),)
        return self.by_people(request, query, "count", relation)

    def has_population(self, request: Request) -> bool:
        """Each bin is a share of a sample of public size."""
        return request.sample is not None and request.sample.size is not None

    def population(
        self, request: Request, answers: Sequence[NoisyAnswer], confidence: Fraction
    ) -> Estimates:
        """The number of the population in each bin."""
        return population_counts(request, answers[0], confidence)

    def names(self, request: Request) -> tuple[str, ...]:
        """The labels of the bins, or of the category."""
        return histogram_axis(request).labels

    def item_count(self, request: Request) -> int:
        """How many bins or labels there are."""
        return len(histogram_axis(request))

    def item_heading(self, request: Request) -> str:
        return histogram_axis(request).column.name


def histogram_axis(request: Request) -> Axis:
    """The axis along which a histogram counts, which the spec has checked.

    Raises TypeError if there is none.
    """
    if request.bins is None:
        raise TypeError("this statistic needs bins")
    return request.bins
