"""Comparisons of two groups: their numbers, the difference and an index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import Annotated

from pydantic import Field

from dpcli.data.column import Column
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.kinds import Axis
from dpcli.data.number_columns import NumberColumn
from dpcli.fields.section import field_types
from dpcli.fields.statistic_fields import ComparedLabels, FieldFault, ValuedColumnName
from dpcli.fields.values import Choice
from dpcli.noise.distribution import Margin, Noise
from dpcli.noise.sums import blended_margin, summed_margin
from dpcli.numeric.arrays import add_exact, multiply_exact, np
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery, Query
from dpcli.queries.sums import Factor
from dpcli.statistics.design import Design, Inputs, NoisyAnswer, WeightedQuery, typical_value
from dpcli.statistics.estimates import ANY, NONNEGATIVE, SIGNED_PART, Estimates, Limits
from dpcli.statistics.intervals import Printed
from dpcli.statistics.means.quotient import Quotient, QuotientDesign
from dpcli.statistics.statistic import Statistic

DIFFERENCE, INDEX = "difference", "index"

INDEX_DECIMALS = 2

ONE = Fraction(1)

Compared = Annotated[
    str, Choice("unknown-compared", ("count", "sum", "people")), Field(examples=["count"])
]


class Comparison(Statistic):
    """The numbers of two groups, their difference, and the second in percent of the first.

    `between: {year: [2023, 2024]}` names a column and two of its labels or values. Items are
    these two, `difference` (the second minus the first) and `index` (100 times the second over
    the first, which is at least one step). `of: count` compares numbers of rows, `of: sum` the
    totals of a numeric `column` without negative values; overall or in each group of `by`. All
    four come from two noisy answers, at the cost of a histogram: the two numbers, or their
    difference and their sum. The interval of the difference allows for its noise, and that of
    the index covers all indexes of plausible numbers.

    Privacy: the two groups are disjoint, as the bins of a `histogram`. Adding or removing a row
    changes one of the two counts by 1, or one of the two totals by at most U for values in
    [0, U]. Changing a row can move it from one to the other: 2, or 2 U, in L1. A person changes
    as many rows as the limits allow; each of the two counts as a group. If a row is changed,
    and there are no groups and no conditions, the difference and the sum of both change by 2,
    or 2 U, as well. With Laplace noise they are answered instead: both numbers and the
    difference have errors that are the root of two times smaller (`PairedQuery`).

    >>> sex = "{type: category, values: [f, m, x]}"
    >>> l1("statistic: comparison, between: {sex: [f, m]}", sex=sex)
    {'add-remove': [1], 'change-one': [2]}
    >>> hours = "{type: integer, bounds: [0, 60]}"
    >>> l1("statistic: comparison, of: sum, column: h, between: {sex: [f, m]}", sex=sex, h=hours)
    {'add-remove': [60], 'change-one': [120]}

    No interval is given for an index if the noise is so large that the first number may be
    below one step. Where most runs would give none, an interval that is given is rarely right: it
    needs noise that makes the first number larger.
    """

    name = "comparison"
    has_raw = False
    takes = field_types(of=Compared | None, column=ValuedColumnName | None, between=ComparedLabels)
    measure = "values"
    mixed_units = True
    steps = ()
    item = "compared"
    derivation = "difference and index of two noisy numbers (the divisor is at least one step)"

    @property
    def adds_rows(self) -> bool:
        """True: it compares counts or totals."""
        return True

    def faults(self, inputs: Inputs, relation: Relation) -> Iterable[FieldFault]:
        """Faults for a sum of negative numbers or no numbers, and for equal item names."""
        column = inputs.column
        if inputs.option("of") == "sum":
            if not isinstance(column, NumberColumn):
                yield FieldFault("comparison-form", "of")
            elif column.lower < 0:
                yield FieldFault("comparison-form.negative", "column", column=column.name)
        names = self.names(inputs)
        if len(set(names)) < len(names):
            yield FieldFault("ambiguous-items", "between", subject=inputs.name)

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        column, summed = inputs.column, _added_column(inputs)
        query = LinearQuery(
            factors=(Factor(summed),) if summed else (),
            by=inputs.by,
            items=(inputs.option("between"),),
            where=inputs.where,
            present=(column,) if column else (),
        )
        role = "compared totals" if summed else "compared counts"
        step = summed.step if summed else Fraction(1)
        # A hundred times the second cell over the first, which is at least one step.
        index = Quotient((0, 1), (1, 0), Printed(Fraction(100), INDEX_DECIMALS, NONNEGATIVE))
        # Typical rows are in either group equally often.
        half = typical_value((summed.lower, summed.upper) if summed else (1, 1)) / 2
        cells = (WeightedQuery(role, query, step=step),)
        apart = ComparedCells(inputs, cells, quotient=index, typical_row=(half, half))
        return (*apart.in_pairs(relation), apart)

    def limits(self, inputs: Inputs) -> tuple[Limits, ...]:
        return NONNEGATIVE, NONNEGATIVE, ANY, NONNEGATIVE

    def units(
        self, inputs: Inputs, counted: str, unit_of: Callable[[Column], str]
    ) -> tuple[str, ...]:
        column = inputs.column
        unit = unit_of(column) if column and inputs.option("of") == "sum" else counted
        return unit, unit, unit, "%"

    def names(self, inputs: Inputs) -> tuple[str, ...]:
        between: Axis = inputs.option("between")
        return (*between.labels, DIFFERENCE, INDEX)


@dataclass(frozen=True, kw_only=True)
class ComparedCells(QuotientDesign):
    """The two cells, their difference, and the index of the second: a `quotient`."""

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        (answer,), query = answers, self.queries[0].query
        of_cell, of_difference = _margins(query, answer.noise, confidence)
        unit = self.queries[0].step / query.numbers_of_cell
        first, second = query.cells_from(answer.values).reshape(-1, 2).T
        change = add_exact(second, -first)
        index = super().estimate(answers, confidence)
        # A difference is near zero where two large numbers are alike, and then no less precise.
        both_sizes = add_exact(abs(first), abs(second))
        part = multiply_exact(both_sizes, SIGNED_PART.numerator) // SIGNED_PART.denominator
        items = [
            replace(Estimates.around(values, margin, unit), sizes=sizes).refined(index.step)
            for values, margin, sizes in (
                (first, of_cell, abs(first)),
                (second, of_cell, abs(second)),
                (change, of_difference, np.maximum(abs(change), part)),
            )
        ]
        items.append(replace(index, sizes=abs(index.value)).refined(unit))
        return Estimates.interleaved(items)


def _margins(query: Query, noise: Noise, confidence: Fraction) -> tuple[Margin, Margin]:
    """The margins of a cell and of a difference, in the steps of `Query.cells_from`."""
    if query.numbers_of_cell == 2:
        # The difference of the cells of a pair is answered by itself.
        of_difference = Margin(2 * noise.half_width(confidence), 4 * noise.discrete_variance)
        return summed_margin(noise, 2, confidence), of_difference
    width = blended_margin(noise, ONE, noise, ONE, float(1 - confidence) / 2)
    return noise.margin(confidence), Margin(ceil(width), 2 * noise.discrete_variance)


def _added_column(inputs: Inputs) -> NumericColumn | None:
    """The column whose totals are compared; None if numbers of rows are compared."""
    column = inputs.column if inputs.option("of") == "sum" else None
    return column if isinstance(column, NumericColumn) else None
