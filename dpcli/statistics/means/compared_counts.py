"""Counts and totals of compared groups: cells, differences and ratios."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import ClassVar

from dpcli.data.column import Column
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.kinds import Axis
from dpcli.fields.statistic_fields import FieldFault
from dpcli.noise.distribution import Margin, Noise
from dpcli.noise.sums import blended_margin, summed_margin
from dpcli.numeric.arrays import Array, Floats, np
from dpcli.numeric.exact import decimal_places
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery, Query
from dpcli.queries.sums import Factor
from dpcli.statistics.design import Design, Inputs, NoisyAnswer, WeightedQuery, typical_value
from dpcli.statistics.estimates import NONNEGATIVE, Estimates, Limits
from dpcli.statistics.intervals import FiducialInterval, Printed, wider
from dpcli.statistics.means.compared import (
    RATIO_DECIMALS,
    ComparedNumbers,
    differences,
    is_number,
    items_of,
    pairs_of,
    refined,
    rows_of_items,
    with_pairs,
    with_value,
)
from dpcli.statistics.means.quotient import Quotient, QuotientDesign
from dpcli.statistics.samples.population import compared_counts_of_population, counts_of_population

INDEX_DECIMALS = 2

ONE = Fraction(1)


class Counts(ComparedNumbers):
    """Numbers of rows; with a column, of those with a value in it."""

    has_index = True

    role: ClassVar[str] = "compared counts"

    def added(self, inputs: Inputs) -> NumericColumn | None:
        """The column whose values are added up; None for numbers of rows."""
        return None

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        between: Axis = inputs.option("between")
        summed = self.added(inputs)
        query = LinearQuery(
            factors=(Factor(summed),) if summed else (),
            by=inputs.by,
            items=(between,),
            where=inputs.where,
            present=(inputs.column,) if inputs.column else (),
        )
        # The second cell over the first, which is at least one step; of two, in percent.
        is_pair = len(between) == 2
        unit, decimals = (100, INDEX_DECIMALS) if is_pair else (1, RATIO_DECIMALS)
        index = Quotient((0, 1), (1, 0), Printed(Fraction(unit), decimals, NONNEGATIVE))
        # Typical rows are in each group equally often.
        part = typical_value((summed.lower, summed.upper) if summed else (1, 1)) / len(between)
        cells = (WeightedQuery(self.role, query, step=summed.step if summed else ONE),)
        has_size = inputs.sample and inputs.sample.size and query.row_contribution.high > 0
        population = _population if has_size else None
        apart = ComparedCells(
            inputs, cells, quotient=index, typical_row=(part, part), population_of=population,
            counts_rows=not summed,
        )  # fmt: skip
        pairs, together = apart.in_pairs(relation) if is_pair else (), apart.together(relation)
        # Under change-one, both have the same noise, and intervals of pairs are exact.
        is_added = relation.neighbors is Neighbors.ADD_REMOVE
        return (*(together or pairs if is_added else pairs or together), apart)

    def limits(self, inputs: Inputs) -> Limits:
        return NONNEGATIVE

    def unit(self, inputs: Inputs, counted: str, unit_of: Callable[[Column], str]) -> str:
        column = self.added(inputs)
        return counted if column is None else unit_of(column)

    def sentences(self, inputs: Inputs) -> tuple[str, ...]:
        return ("the divisor is at least one step",)


class Totals(Counts):
    """Totals of a numeric column without negative values."""

    fault = "comparison-form"
    role = "compared totals"

    def has_numbers(self, column: Column | None) -> bool:
        return is_number(column)

    def added(self, inputs: Inputs) -> NumericColumn | None:
        return inputs.numeric

    def faults(self, inputs: Inputs, relation: Relation) -> Iterable[FieldFault]:
        if inputs.numeric.lower < 0:
            yield FieldFault("comparison-form.negative", "column", column=inputs.numeric.name)


@dataclass(frozen=True, kw_only=True)
class ComparedCells(QuotientDesign):
    """The cells, the differences of pairs, and their ratios: a `quotient`."""

    @property
    def labels(self) -> int:
        """How many groups are compared."""
        return len(self.inputs.option("between"))

    def typical_sums(self, rows: Fraction) -> Floats:
        first, second = super().typical_sums(rows)
        return np.array([first, *[second] * (self.labels - 1)])

    def together(self, relation: Relation) -> tuple[ComparedCells, ...]:
        """The design with the noise of a `count` by groups that share noise."""
        if self.inputs.sample or not isinstance(relation.unit, PersonUnit):
            return ()
        from dpcli.statistics.counts.vectors import in_vectors, vectors_instead

        found = vectors_instead(self.queries[0], relation)
        if found is None:
            return ()
        return (replace(self, queries=(found[0],), **in_vectors(found[1])),)

    def noisy_rows(self, answers: Sequence[NoisyAnswer]) -> Array:
        query = self.queries[0].query
        cells = query.cells_from(answers[0].values) // query.numbers_of_cell
        return rows_of_items(self.inputs, cells, NONNEGATIVE)

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        (answer,), query = answers, self.queries[0].query
        if answer.noise.norm == "vector":
            return self._with_shared_noise(answer, confidence)
        of_cell, of_difference = _margins(query, answer.noise, confidence)
        unit = self.queries[0].step / query.numbers_of_cell
        cells = [*query.cells_from(answer.values).reshape(-1, self.labels).T]
        items = [with_value(Estimates.around(one, of_cell, unit), one, one) for one in cells]
        for change, sizes in differences(self.inputs, cells):
            around = Estimates.around(change, of_difference, unit)
            items.append(with_value(around, change, sizes))
        # The numbers of two cells may be their difference and their sum.
        numbers = self.divided(answers)
        for base, other in pairs_of(self.inputs):
            ratio = self.quotient.estimates([numbers[base], numbers[other]], confidence)
            items.append(replace(ratio, sizes=abs(ratio.value)))
        return refined(items, items[-1].refined(unit).step)

    def _with_shared_noise(self, answer: NoisyAnswer, confidence: Fraction) -> Estimates:
        """The items where cells share noise, with intervals of plausible cells."""
        cells, unit = answer.divided(self.labels), self.queries[0].step
        margin, printed = answer.noise.margin(confidence), self.quotient.printed
        numbers = [Estimates.around(one.values, margin, unit) for one in cells]
        items = Printed(unit, decimal_places(unit)), printed
        compared = []
        for base, other in pairs_of(self.inputs):
            interval = FiducialInterval([cells[base], cells[other]], _pair, wider(confidence))
            compared.append(items_of(interval.estimates(*items), len(items)))
        return with_pairs(self.inputs, numbers, compared, unit, int(printed.unit))


def _pair(cells: Floats) -> Floats:
    """The difference and the ratio of plausible cells, if the base is one or more."""
    base, other = cells
    return np.array([other - base, other / np.where(base >= 1, base, np.nan)])


def _population(
    design: ComparedCells, answers: Sequence[NoisyAnswer], confidence: Fraction
) -> Estimates:
    """The numbers of the population in all groups, and pairs of them."""
    numbers = items_of(counts_of_population(design, answers, confidence), design.labels)
    parts, printed = answers[0].divided(design.labels), design.quotient.printed
    (cells,) = design.queries
    most = cells.query.row_contribution.high
    items = Printed(most * cells.step, decimal_places(cells.step)), printed
    compared = [
        items_of(
            compared_counts_of_population(
                design.inputs, [parts[base], parts[other]], most, confidence
            ).estimates(*items),
            len(items),
        )
        for base, other in pairs_of(design.inputs)
    ]
    return with_pairs(design.inputs, numbers, compared, cells.step, int(printed.unit))


def _margins(query: Query, noise: Noise, confidence: Fraction) -> tuple[Margin, Margin]:
    """The margins of a cell and of a difference, in the steps of `Query.cells_from`."""
    if query.numbers_of_cell == 2:
        # The difference of the cells of a pair is answered by itself.
        of_difference = Margin(2 * noise.half_width(confidence), 4 * noise.discrete_variance)
        return summed_margin(noise, 2, confidence), of_difference
    width = blended_margin(noise, ONE, noise, ONE, float(1 - confidence) / 2)
    return noise.margin(confidence), Margin(ceil(width), 2 * noise.discrete_variance)
