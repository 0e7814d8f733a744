"""Counts for several columns as one vector: chosen answers, missing cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

from dpcli.data.column import Column
from dpcli.data.filters import Filter, InRanges, IsMissing, PassesAmongFirst
from dpcli.data.labels import require_labeled
from dpcli.fields.section import field_types
from dpcli.fields.statistic_fields import (
    CheckedColumns,
    FieldFault,
    SelectedColumns,
    SelectionLimit,
    check_max,
)
from dpcli.noise.distribution import Family
from dpcli.numeric.interval_arithmetic import sqrt_down
from dpcli.privacy.sensitivity import (
    RowContribution,
    Sensitivity,
    indicator_sensitivity,
    signed_sensitivity,
)
from dpcli.privacy.unit import Neighbors, Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery, Query
from dpcli.queries.sums import PlainSum, RowSums, Shape
from dpcli.queries.terms import QueryTerms
from dpcli.statistics.counts.person_counts import SharedNoise
from dpcli.statistics.counts.vectors import MAX_RELATIVE_DEVIATION, NumbersTogether
from dpcli.statistics.design import MEASURES, Design, Inputs, PublishedAnswer, WeightedQuery
from dpcli.statistics.statistic import Statistic, public_groups


@dataclass(frozen=True, kw_only=True)
class IndicatorQuery(Query):
    """For each group, the number of rows for which each of several tests is true.

    A row adds one for at most `max_counted` tests: the first tests that are true for the row. With
    `signed`, the row also adds minus one for each other test. Raises ValueError if groups are
    private or there are items, unless `max_counted` is between one and the number of tests, and for
    signed counts unless it is the number of tests.
    """

    tests: tuple[Filter, ...]
    max_counted: int
    signed: bool = False

    def __post_init__(self) -> None:
        if self.has_private_groups or self.items:
            raise ValueError("only public groups have counts of tests")
        if type(self.max_counted) is not int or not 1 <= self.max_counted <= len(self.tests):
            raise ValueError("a row is counted for at least one test, and at most for all")
        if self.signed and self.max_counted < len(self.tests):
            raise ValueError("signed counts are of all tests")

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Every column that the query reads; those of the tests may be missing."""
        tested = (column for test in (*self.where, *self.tests) for column in test.columns)
        return tuple(dict.fromkeys((*self.required_columns, *tested)))

    @cached_property
    def groups(self) -> int:
        """The number of groups."""
        return prod(map(len, self.by))

    @property
    def indicators(self) -> tuple[PassesAmongFirst, ...]:
        """For each test, the filter for the rows that it counts."""
        indexes = range(len(self.tests))
        return tuple(PassesAmongFirst(self.tests, index, self.max_counted) for index in indexes)

    @cached_property
    def cells_per_group(self) -> int:
        return len(self.tests)

    @cached_property
    def row_contribution(self) -> RowContribution:
        """A row adds from zero, or if signed from minus one, to one in each cell.

        `max_counted` bounds the number of cells in which a row adds one.
        """
        return RowContribution(-1 if self.signed else 0, 1)

    def terms(self, relation: Relation) -> QueryTerms:
        rule = "signed" if self.signed else "indicators"
        return replace(super().terms(relation), rule=rule, counted=self.max_counted)

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """The sensitivity of the vector of all counts.

        A row adds one to at most `max_counted` counts, or if signed one or minus one to each count.
        """
        tests, neighbors = len(self.tests), relation.neighbors
        unit = self.bounded_unit(relation.unit)
        if self.signed:
            return signed_sensitivity(tests, neighbors, unit, self.groups)
        return indicator_sensitivity(tests, self.max_counted, neighbors, unit, self.groups)

    def changes_of_groups(self, relation: Relation) -> int:
        """A row adds at most one to the largest number of its group."""
        unit = self.bounded_unit(relation.unit)
        return indicator_sensitivity(1, 1, relation.neighbors, unit, self.groups).l1

    @property
    def shape(self) -> Shape:
        """For each test, the number of rows that pass; if signed, twice it minus all."""
        axes = {axis.column for axis in self.axes}
        not_missing = frozenset(c for c in self.present if c.missing is None) - axes
        passing = (PlainSum((), (*self.where, test), not_missing) for test in self.indicators)
        if not self.signed:
            return RowSums(tuple(((1, counted),) for counted in passing))
        every = PlainSum((), self.where, not_missing)
        return RowSums(tuple(((2, counted), (-1, every)) for counted in passing))


class Selections(Statistic):
    """How many rows chose each answer of a question that allows several answers.

    Each of the `columns` is one answer: a boolean, true if it was chosen, or a category with
    a single declared value, chosen if the cell has it; free text is one with `other`. All
    counts are one vector, overall or in each group of `by`. If no one may choose more than a
    few answers, `max_selected` makes the noise smaller: of a row with more, only the first
    ones in the order of `columns` are counted.

    One row can change all counts, by one each. With Laplace noise, each count would need noise
    for a change of k; K-norm noise covers the largest change (`explain mechanism k_norm`). The
    deviation is 1.55 times smaller than that of separate counts for two columns, 2.45 for six,
    and 3.33 for 64. With Gaussian noise, if rows are added or removed, the rows with an answer less
    those without are counted for each column, and the rows once for all columns (Lebeda 2025).
    Half the sum of both is the published count. Its noise has the deviation (sqrt(k) + 1)/2 instead
    of sqrt(k). Under `zcdp` and `pld`, these numbers have the Laplace noise of an entry, too, from
    three columns on: the factor is (k^(2/3) + 1)^(3/2)/2 instead of k. In all of these, the counts
    of a group share a part of the noise. Where separate counts have less noise, they are taken.

    Privacy: with k columns and m = `max_selected` (k without it), a row adds one to at most
    m counts, so adding or removing it changes the vector by at most m in L1 and sqrt(m) in
    L2. Changing a row changes at most min(2 m, k) counts, or 2 m with several groups. In the norm
    of K-norm noise, a row changes the vector by one; if it moves to another group, by two.
    A row adds one or minus one to each of k signed counts: sqrt(k) in L2, and one to the number
    of rows; both are protected as one answer. A person with r rows changes r times as much.

    >>> flag = "{type: boolean}"
    >>> l1("statistic: selections, columns: [x, y, z]", x=flag, y=flag, z=flag)
    {'add-remove': [1], 'change-one': [1]}
    >>> l1("statistic: selections, columns: [x, y, z], max_selected: 1", x=flag, y=flag, z=flag)
    {'add-remove': [1], 'change-one': [1]}
    """

    name = "selections"
    noun = "number of selections"
    counts_blanks = True
    takes = field_types(columns=SelectedColumns, max_selected=SelectionLimit | None)
    measure = "counts"
    item = "column"

    def complete_inputs(self, bare: Inputs, given: Mapping[str, Any]) -> Inputs:
        """The inputs with its columns and `max_selected`, by default their number."""
        columns: tuple[Column, ...] = given["columns"]
        max_selected = given.get("max_selected") or len(columns)
        return replace(bare, checked=columns, options=(("max_selected", max_selected),))

    def faults(self, inputs: Inputs, relation: Relation) -> Iterable[FieldFault]:
        """Faults unless each column has one counted label, and groups are public.

        Also a fault if `max_selected` exceeds the number of columns.
        """
        for column in inputs.checked:
            if not column.is_truth and len(column.labels) != 1:
                count = len(column.labels)
                yield FieldFault("not-one-answer", "columns", column=column.name, count=count)
        max_selected = inputs.option("max_selected")
        yield from check_max(
            max_selected, "max_selected", len(inputs.checked), "of the columns are counted in a row"
        )
        yield from public_groups(inputs)

    def tests(self, inputs: Inputs) -> tuple[Filter, ...]:
        """For each column, the filter for the rows in which it is chosen."""
        return tuple(_is_chosen(column) for column in inputs.checked)

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        columns = len(inputs.checked)
        query = IndicatorQuery(
            by=inputs.by,
            where=inputs.where,
            tests=self.tests(inputs),
            max_counted=inputs.option("max_selected"),
        )
        if columns == 1:
            return (PublishedAnswer(inputs, (WeightedQuery(self.name, query),)),)
        separate = WeightedQuery(self.name, query)
        together = NumbersTogether.of(inputs, separate, relation)
        plain = PublishedAnswer(inputs, (separate,))
        if relation.neighbors is not Neighbors.ADD_REMOVE or query.max_counted < columns:
            return (*together, plain)
        # The least Gaussian noise is at weights of sqrt(k) to one, Laplace noise at k^(2/3) to one.
        root = sqrt_down(Fraction(columns), bits=16)
        gaussian = _less_others(self.name, inputs, query, root, "l2")
        ratio = Fraction(round(columns ** (2 / 3) * 2**16), 2**16)
        if float(ratio + 1) ** 1.5 / 2 > MAX_RELATIVE_DEVIATION * columns:
            return (gaussian, *together, plain)
        laplace = _less_others(self.name, inputs, query, ratio, "l1")
        return (gaussian, *together, laplace, plain)

    def names(self, inputs: Inputs) -> tuple[str, ...]:
        return tuple(column.name for column in inputs.checked)


class CountMissing(Selections):
    """How many cells are missing in each of several columns.

    A cell is missing if it is blank, a declared mark of missing cells, or cannot be read as
    its column declares; a constant that replaces missing cells changes nothing here. In free
    text, a category with `other`, blank cells are missing. All counts are one vector,
    overall or in each group of `by`. Designs with less noise are those of `selections`.

    Privacy: with k columns, a row adds one to at most k counts, so adding or removing it
    changes the vector by at most k in L1 and sqrt(k) in L2, and so does changing a row; with
    several groups, that changes it by at most 2 k. In the norm of K-norm noise, these are one
    and two. A person with r rows changes r times as much.

    >>> age = "{type: integer, bounds: [0, 100]}"
    >>> l1("statistic: count_missing, columns: [age, sex]", age=age, sex="{type: boolean}")
    {'add-remove': [1], 'change-one': [1]}
    """

    name = "count_missing"
    noun = "number of missing cells"
    counts_blanks = False
    takes = field_types(columns=CheckedColumns)

    def faults(self, inputs: Inputs, relation: Relation) -> Iterable[FieldFault]:
        """The fault of private groups, if there are any."""
        return public_groups(inputs)

    def tests(self, inputs: Inputs) -> tuple[Filter, ...]:
        return tuple(IsMissing(column.without_missing_constant()) for column in inputs.checked)


def _less_others(
    role: str, inputs: Inputs, query: IndicatorQuery, ratio: Fraction, family: Family
) -> SharedNoise:
    """The rows of each column less all others, and all rows."""
    weight = ratio / (ratio + 1)
    rows = LinearQuery(by=inputs.by, where=inputs.where)
    queries = (
        WeightedQuery(f"{role} less others", replace(query, signed=True), weight),
        WeightedQuery("count", rows, 1 - weight),
    )
    reason = (
        "for each column, the rows that it counts less all others are counted, and all "
        "rows once; half the sum of both is published. One row can change all counts, so "
        "this needs less noise than separate counts; the counts of a group share a part "
        "of it"
    )
    measures = MEASURES if family == "l2" else ("epsilon",)
    return SharedNoise(inputs, queries, (family,), measures, reason, times=2)


def _is_chosen(column: Column) -> Filter:
    labeled = require_labeled(column)
    # The last label: true of a boolean, and the only one of a category.
    chosen = len(labeled.labels) - 1
    return InRanges(labeled, ((chosen, chosen),))
