"""How many rows fall in each bin of a number, or in each category."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpcli.fields import BinForms, ValuedColumnName
from dpcli.privacy.relation import Relation
from dpcli.queries import Key, LinearQuery
from dpcli.statistics.base import Answer, Estimate, Question, Request, Statistic, shifted
from dpcli.values import Shape


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

    def questions(self, request: Request, relation: Relation) -> tuple[Question, ...]:
        """One question: the rows in each cell of groups and bins."""
        query = LinearQuery(by=request.by, items=(axis(request),), where=request.where)
        return (Question("count", query),)

    def estimate(
        self, request: Request, answers: Sequence[Answer], confidence: Fraction
    ) -> tuple[Estimate, ...]:
        """The noisy counts as they are."""
        return shifted(answers[0], confidence, unit=Fraction(1), places=0)

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
