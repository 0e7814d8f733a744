"""Comparisons of groups: numbers, differences from one of them, ratios to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import Annotated, Any, TypeVar

from pydantic import Field

from dpcli.data.column import Column
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.kinds import Axis
from dpcli.data.number_columns import NumberColumn
from dpcli.fields.section import field_types
from dpcli.fields.statistic_fields import (
    ComparedLabels,
    FieldFault,
    LabelsOfColumn,
    RatioBase,
    RatioPart,
    ReferenceLabel,
    ValuedColumnName,
)
from dpcli.fields.values import Choice
from dpcli.noise.distribution import Margin, Noise
from dpcli.noise.sums import blended_margin, summed_margin
from dpcli.numeric.arrays import Array, Floats, add_exact, multiply_exact, np
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery, Query
from dpcli.queries.sums import Factor
from dpcli.statistics.design import Design, Inputs, NoisyAnswer, WeightedQuery, typical_value
from dpcli.statistics.estimates import ANY, NONNEGATIVE, SIGNED_PART, Estimates, Limits
from dpcli.statistics.intervals import Printed
from dpcli.statistics.means.differences import (
    COMPARED,
    RATIO_DECIMALS,
    compared_designs,
    limits_of_comparison,
    of_groups,
)
from dpcli.statistics.means.quotient import Quotient, QuotientDesign
from dpcli.statistics.means.ratio import Per
from dpcli.statistics.statistic import Statistic, public_groups

DIFFERENCE, INDEX = "difference", "index"

INDEX_DECIMALS = 2

ONE = Fraction(1)

KINDS = {
    "sum": "comparison-form",
    "mean": "comparison-form.mean",
    "proportion": "comparison-form.proportion",
}
"""What needs a column of a kind, and the code of its fault."""

OWN_FIELDS = ("values", "per", "numerator", "denominator")
TAKEN = {"proportion": ("values", "per"), "ratio": ("numerator", "denominator", "per")}
"""Fields that only some compared statistics take, and those that take them."""

Compared = Annotated[
    str,
    Choice("unknown-compared", ("count", "sum", "people", *COMPARED)),
    Field(examples=["count"]),
]

Value = TypeVar("Value")


class Comparison(Statistic):
    """The numbers of several groups, and the difference and ratio of each to the first.

    `between: {sex: [f, m, x]}` names a column and two or more of its labels or values. The first is
    the reference, unless `reference` names another one. `of: count` compares numbers of rows,
    `of: sum` the totals of a numeric `column` without negative values, `of: mean` its means,
    `of: proportion` the shares of a boolean, or of `values` of a category, and `of: ratio` a
    `numerator` over a `denominator`; overall or in each group of `by`. Items are the number of each
    label, differences such as `m - f` and ratios such as `m / f`. For two counts or totals they
    are called `difference` and `index`, which is 100 times the ratio. Numbers that may be negative
    have no ratios.

    All items come from noisy answers about groups that have no row in common, at the cost of the
    numbers alone: of a histogram, or of a `mean` with `by`. The interval of a difference allows for
    the noise of both groups, and that of a ratio covers all ratios of plausible numbers. A
    difference is more than noise if its interval excludes zero; reports say whether it does. If
    many groups are compared, some of their intervals miss.

    Privacy: the groups are disjoint, as the bins of a `histogram`. Adding or removing a row
    changes one of the counts by 1, or one of the totals by at most U for values in
    [0, U]. Changing a row can move it from one to the other: 2, or 2 U, in L1. A person changes
    as many rows as the limits allow; each label counts as a group. If a row is changed,
    and there are two labels, no groups and no conditions, the difference and the sum of both change
    by 2, or 2 U, as well. With Laplace noise they are answered instead: both numbers and the
    difference have errors that are the root of two times smaller (`PairedQuery`). Means, shares and
    ratios have the queries of these statistics with the labels as one more key of `by`. What is
    computed from noisy answers costs nothing more.

    >>> sex = "{type: category, values: [f, m, x]}"
    >>> l1("statistic: comparison, between: {sex: [f, m]}", sex=sex)
    {'add-remove': [1], 'change-one': [2]}
    >>> hours = "{type: integer, bounds: [0, 60]}"
    >>> l1("statistic: comparison, of: sum, column: h, between: {sex: [f, m]}", sex=sex, h=hours)
    {'add-remove': [60], 'change-one': [120]}
    >>> l1("statistic: comparison, of: mean, column: h, between: {sex: [f, m]}", sex=sex, h=hours)
    {'add-remove': [60], 'change-one': [120]}
    >>> flag = "{type: boolean}"
    >>> l1("statistic: comparison, of: mean, column: b, between: {sex: [f, m, x]}", sex=sex, b=flag)
    {'add-remove': [1], 'change-one': [2]}

    No interval is given for an index or a ratio if the noise is so large that the number of the
    reference may be below one step. Where most runs would give none, an interval that is given is
    rarely right: it needs noise that makes that number larger.
    """

    name = "comparison"
    has_raw = False
    takes = field_types(
        of=Compared | None,
        column=ValuedColumnName | None,
        values=LabelsOfColumn | None,
        numerator=RatioPart | None,
        denominator=RatioBase | None,
        per=Per | None,
        between=ComparedLabels,
        reference=ReferenceLabel | None,
    )
    measure = "values"
    mixed_units = True
    steps = ()
    item = "compared"

    def adds_rows(self, inputs: Inputs) -> bool:
        """Whether it compares counts or totals; shares and ratios depend on them, too."""
        return bool(inputs.option("of") != "mean")

    def sentences(self, inputs: Inputs) -> tuple[str, ...]:
        labels = inputs.option("between").labels
        divisor = "the divisor is at least one step"
        if _is_of_quotients(inputs):
            numbers = COMPARED[inputs.option("of")].derivation
            divisor = "the divisor is at least one unit of the last decimal"
            ratios = f", and ratios to it ({divisor})" if _has_ratios(inputs) else ""
            return (numbers, f"differences from {labels[0]}{ratios}")
        if len(labels) > 2:
            return (f"differences from {labels[0]}, and ratios to it ({divisor})",)
        return (f"difference and index of two noisy numbers ({divisor})",)

    def complete_inputs(self, bare: Inputs, given: Mapping[str, Any]) -> Inputs:
        taken = {"of", "column", "between", *TAKEN.get(given["of"], ())}
        own = {key: value for key, value in given.items() if key in taken}
        return super().complete_inputs(bare, own)

    def faults(self, inputs: Inputs, relation: Relation) -> Iterator[FieldFault]:
        """Faults for fields that do not fit what is compared, and for equal item names."""
        column, of = inputs.column, inputs.option("of")
        names = self.names(inputs) if self._has_numbers(inputs) else ()
        if len(set(names)) < len(names):
            yield FieldFault("ambiguous-items", "between", subject=inputs.name)
        if of in KINDS and (column is None or not self._has_numbers(inputs)):
            yield FieldFault(KINDS[of], "of")
        elif of == "sum" and inputs.numeric.lower < 0:
            yield FieldFault("comparison-form.negative", "column", column=inputs.numeric.name)
        elif _is_of_quotients(inputs):
            yield from COMPARED[of].faults(of_groups(inputs), relation)
            yield from public_groups(inputs)

    def unused(self, inputs: Inputs) -> Iterator[FieldFault]:
        """Faults of fields of another compared statistic."""
        of = inputs.option("of") or "count"
        own = (*TAKEN.get(of, ()), *([] if of == "ratio" else ["column"]))
        for key in (*OWN_FIELDS, "column"):
            if key not in own:
                yield FieldFault("comparison-form.key", key, word=key, of=of)

    def _has_numbers(self, inputs: Inputs) -> bool:
        """Whether the column has the numbers that are compared."""
        column, of = inputs.column, inputs.option("of")
        if of == "proportion":
            return column is not None and bool(column.labels)
        is_boolean = of == "mean" and column is not None and column.is_truth
        return of not in KINDS or is_boolean or isinstance(column, NumberColumn)

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        if _is_of_quotients(inputs):
            return compared_designs(inputs, relation)
        column, summed = inputs.column, _added_column(inputs)
        between: Axis = inputs.option("between")
        query = LinearQuery(
            factors=(Factor(summed),) if summed else (),
            by=inputs.by,
            items=(between,),
            where=inputs.where,
            present=(column,) if column else (),
        )
        role = "compared totals" if summed else "compared counts"
        step = summed.step if summed else Fraction(1)
        # The second cell over the first, which is at least one step; of two, in percent.
        is_pair = len(between) == 2
        unit, decimals = (100, INDEX_DECIMALS) if is_pair else (1, RATIO_DECIMALS)
        index = Quotient((0, 1), (1, 0), Printed(Fraction(unit), decimals, NONNEGATIVE))
        # Typical rows are in each group equally often.
        part = typical_value((summed.lower, summed.upper) if summed else (1, 1)) / len(between)
        cells = (WeightedQuery(role, query, step=step),)
        apart = ComparedCells(inputs, cells, quotient=index, typical_row=(part, part))
        return (*(apart.in_pairs(relation) if is_pair else ()), apart)

    def limits(self, inputs: Inputs) -> tuple[Limits, ...]:
        number, difference, ratio = _limits(inputs)
        return _by_item(inputs, number, difference, ratio or ANY)

    def units(
        self, inputs: Inputs, counted: str, unit_of: Callable[[Column], str]
    ) -> tuple[str, ...]:
        column, of, labels = inputs.column, inputs.option("of"), inputs.option("between").labels
        unit = unit_of(column) if column and of == "sum" else counted
        if _is_of_quotients(inputs):
            (unit,) = COMPARED[of].units(inputs, counted, unit_of)
            difference = "percentage points" if unit == "%" else unit
            return _by_item(inputs, unit, difference, "")
        return _by_item(inputs, unit, unit, "%" if len(labels) == 2 else "")

    def names(self, inputs: Inputs) -> tuple[str, ...]:
        between: Axis = inputs.option("between")
        first, *others = labels = between.labels
        if len(labels) == 2 and not _is_of_quotients(inputs):
            return (*labels, DIFFERENCE, INDEX)
        names = [f"{other} - {first}" for other in others]
        if _has_ratios(inputs):
            names += [f"{other} / {first}" for other in others]
        return (*labels, *names)


def _is_of_quotients(inputs: Inputs) -> bool:
    """Whether means, shares or ratios are compared, not counts or totals."""
    return inputs.option("of") in COMPARED


def _limits(inputs: Inputs) -> tuple[Limits, Limits, Limits | None]:
    """The limits of numbers, differences and ratios; None if there are no ratios."""
    return (
        limits_of_comparison(inputs)
        if _is_of_quotients(inputs)
        else (NONNEGATIVE, ANY, NONNEGATIVE)
    )


def _has_ratios(inputs: Inputs) -> bool:
    """Whether the numbers have ratios: none of them can be negative."""
    return _limits(inputs)[-1] is not None


def _by_item(inputs: Inputs, number: Value, difference: Value, ratio: Value) -> tuple[Value, ...]:
    """For each item, what all numbers, all differences or all ratios have."""
    count = len(inputs.option("between"))
    others = count - 1
    ratios = (ratio,) * others if _has_ratios(inputs) else ()
    return (*(number,) * count, *(difference,) * others, *ratios)


@dataclass(frozen=True, kw_only=True)
class ComparedCells(QuotientDesign):
    """The cells, their differences from the first, and ratios: a `quotient`."""

    @property
    def labels(self) -> int:
        """How many groups are compared."""
        return len(self.inputs.option("between"))

    def typical_sums(self, rows: Fraction) -> Floats:
        first, second = super().typical_sums(rows)
        return np.array([first, *[second] * (self.labels - 1)])

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        (answer,), query = answers, self.queries[0].query
        of_cell, of_difference = _margins(query, answer.noise, confidence)
        unit = self.queries[0].step / query.numbers_of_cell
        first, *others = query.cells_from(answer.values).reshape(-1, self.labels).T
        # The numbers of two cells may be their difference and their sum.
        of_first, *of_others = self.divided(answers)
        ratios = [self.quotient.estimates([of_first, other], confidence) for other in of_others]
        items = [_with_sizes(cell, cell, of_cell, unit) for cell in (first, *others)]
        for other in others:
            # A difference is near zero where two large numbers are alike, and no less precise.
            both_sizes = add_exact(abs(first), abs(other))
            part = multiply_exact(both_sizes, SIGNED_PART.numerator) // SIGNED_PART.denominator
            change = add_exact(other, -first)
            items.append(_with_sizes(change, np.maximum(abs(change), part), of_difference, unit))
        step = ratios[0].step
        return Estimates.interleaved(
            [
                *(item.refined(step) for item in items),
                *(replace(one, sizes=abs(one.value)).refined(unit) for one in ratios),
            ]
        )


def _with_sizes(values: Array, sizes: Array, margin: Margin, unit: Fraction) -> Estimates:
    return replace(Estimates.around(values, margin, unit), sizes=abs(sizes))


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
