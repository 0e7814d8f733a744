"""How many rows, people or values there are: in all, in groups, in bins."""

from __future__ import annotations

from dpcli.fields import (
    BinForms,
    BoundName,
    CountedColumnName,
    PrivateKeys,
    UnitBounds,
    ValuedColumnName,
)
from dpcli.privacy.relation import PersonUnit, Relation
from dpcli.queries import DistinctQuery, Key, LinearQuery, Query
from dpcli.statistics.base import Question, Request, Statistic
from dpcli.values import Shape


class CountFields(Shape):
    """A column whose cells must be present; totals, and private keys."""

    column: ValuedColumnName | None = None
    bound: BoundName | None = None
    unit_bounds: UnitBounds | None = None
    keys: PrivateKeys | None = None


class Count(Statistic):
    """The number of rows, overall or in each group of `by`.

    With `column`, only rows whose cell in that column is present are counted. The published
    count is the noisy one: whole, unbiased, and possibly negative. With `bound: sum`, all
    rows of a person in a group are counted, up to `unit_bounds`.

    Privacy: a row adds one to one cell, so adding or removing a row changes the counts by 1
    in L1 and L2. Changing a row moves it from one cell to another: 2 in L1, sqrt(2) in L2;
    a single count without conditions then does not change at all, because the number of
    rows is public (Dwork and Roth 2014, section 3.3). A person with several rows changes
    the counts by as many rows as the limits allow.
    """

    name = "count"
    fields = CountFields
    measure = "counts"

    def questions(self, request: Request, relation: Relation) -> tuple[Question, ...]:
        """One question: the rows in each cell."""
        present = (request.column,) if request.column else ()
        query = LinearQuery(
            by=request.by, where=request.where, present=present, totals=request.totals
        )
        return (Question("count", query),)


class DistinctFields(Shape):
    """A column whose different values are counted, in place of people."""

    column: CountedColumnName | None = None
    keys: PrivateKeys | None = None


class CountDistinct(Statistic):
    """The number of different people, or of different values of `column`.

    Without `column`, people with a row that counts, overall or in each group of `by`; all
    rows of a person are considered. With `column`, the values that the kept rows have
    there; numbers are compared on their grid, and ids as texts.

    Privacy: a person adds one to each group they are in, at most `max_groups` of them: that
    number in L1, its square root in L2. A row adds at most one value, and a value that was
    there already adds none, so the values in a group change by no more than the number of
    rows that the limits allow. Under change-one, a row or person may remove as much and add
    as much elsewhere.
    """

    name = "count_distinct"
    fields = DistinctFields
    measure = "counts"
    counts_people = True

    def questions(self, request: Request, relation: Relation) -> tuple[Question, ...]:
        """One question: the people, or the values, in each cell."""
        column = request.column
        query: Query
        unit = relation.unit
        person = unit.column if isinstance(unit, PersonUnit) else None
        if column is None or column.name == person:
            query = LinearQuery(by=request.by, where=request.where, totals=(0, 1))
        else:
            query = DistinctQuery(
                by=request.by, where=request.where, present=(column,), column=column
            )
        return (Question("distinct", query),)


class HistogramFields(Shape):
    """The column that is counted, and how it is cut."""

    column: ValuedColumnName
    bins: BinForms | None = None


class Histogram(Statistic):
    """The number of rows in each bin of a numeric column, or in each category.

    Numbers are divided by `bins: {width: 10}` from the lower bound on, or by `bins: {edges:
    [18, 30, 65, 100]}`; a category column needs no bins. Bins of whole numbers and days are
    closed ranges such as `18-29`, `30-64`, `65-100`. Every declared bin is published,
    including empty ones. Rows without a value are in no bin.

    Privacy: the bins are disjoint, so adding or removing a row changes one of them by one:
    1 in L1 and in L2. Changing a row moves it from one bin to another: 2 in L1 and sqrt(2)
    in L2 (Dwork, McSherry, Nissim and Smith 2006, example 3). A person moves as many rows
    as the limits allow; each bin of each group counts as a group.
    """

    name = "histogram"
    fields = HistogramFields
    measure = "counts"

    def questions(self, request: Request, relation: Relation) -> tuple[Question, ...]:
        """One question: the rows in each cell of groups and bins."""
        query = LinearQuery(by=request.by, items=(axis(request),), where=request.where)
        return (Question("count", query),)

    def items(self, request: Request) -> tuple[str, ...]:
        """The bins or labels."""
        return axis(request).labels

    def size(self, request: Request) -> int:
        """How many bins or labels there are."""
        return len(axis(request))

    def item_name(self, request: Request) -> str:
        """The column that is counted."""
        return axis(request).column.name


def axis(request: Request) -> Key:
    """The axis along which a request counts; the spec has checked that there is one."""
    if request.bins is None:
        raise TypeError("this statistic needs bins")
    return request.bins
