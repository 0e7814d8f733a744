"""Totals next to the cells of a table: their label, and sums of noisy cells.

Privacy: a function of the noisy cells, and of the number of rows where that is public.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Annotated, Any, ClassVar

from pydantic import Field

from dpcli.data.declared_texts import MAX_TITLE, text_fault
from dpcli.data.kinds import Axis
from dpcli.fields.statistic_fields import FieldFault
from dpcli.fields.values import TEXT_SCHEMA, ParsedText, invalid_value
from dpcli.noise.distribution import Noise
from dpcli.noise.sums import summed_margin
from dpcli.numeric.arrays import Array, Ints, np
from dpcli.numeric.exact import decimal_places, exact_or_up
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery
from dpcli.statistics.counts.known_sum import sum_is_public
from dpcli.statistics.design import (
    Design,
    Inputs,
    LinearDesign,
    NoiseOfNumbers,
    NoisyAnswer,
    WeightedQuery,
)
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.postprocessing import PostProcessingStep
from dpcli.statistics.statistic import NUMERIC_STEPS, Statistic, public_groups
from dpcli.statistics.tables.additive import additive_counts, joint_cells
from dpcli.statistics.tables.agreement import (
    Axes,
    MeasuredTable,
    agreed_counts,
    cells,
    summed_counts,
)
from dpcli.statistics.tables.fitting import MAX_JOINT_CELLS

ALL = "all"
"""The label of a key over which a number is a total, unless a spec names another."""


def _parse_label(text: str) -> str:
    if text == "false" or text_fault(text, published=True) or len(text) > MAX_TITLE:
        raise invalid_value("bad-totals", most=MAX_TITLE)
    return ALL if text == "true" else text


TotalsLabel = Annotated[
    str,
    ParsedText(_parse_label, {**TEXT_SCHEMA, "minLength": 1, "maxLength": MAX_TITLE}),
    Field(examples=[ALL, "Total"]),
]


def label_faults(axes: Iterable[Axis], label: str, key: str) -> Iterator[FieldFault]:
    """The fault of a column that has the label of totals."""
    for axis in axes:
        if label in axis.labels:
            yield FieldFault("totals-label", key, label=label, column=axis.column.name)


@dataclass(frozen=True, kw_only=True)
class SumsOfCells(LinearDesign):
    """The noisy cells of a table, and their sums over each of its axes.

    If the total is public, it is the last answer, and cells are moved so that they sum to it.
    """

    axes: Axes

    agrees = True

    @classmethod
    def of(cls, design: Design, inputs: Inputs, relation: Relation) -> SumsOfCells:
        """The design with totals, from one in which each cell has noise of its own."""
        (counts, *_) = design.queries
        public = sum_is_public(counts.query, relation)
        rows = (WeightedQuery("rows", LinearQuery(), Fraction(0)),) if public else ()
        axes, measures = design.inputs.by, design.measures
        return cls(inputs, (counts, *rows), design.families, measures, axes=axes)

    @property
    def block(self) -> tuple[int, ...]:
        return tuple(part.query.cells or 1 for part in self.queries)

    def expected_error(self, errors: Sequence[float]) -> float:
        return errors[0]

    def error(self, noises: Sequence[Noise], confidence: Fraction) -> Fraction:
        """That of a cell."""
        return summed_margin(noises[0], 1, confidence).width * self.queries[0].step

    def sentences(self, noises: Sequence[Noise], confidence: Fraction) -> tuple[str, ...]:
        if len(self.queries) > 1:
            what = "the total of all has none, because the number of rows is public"
        else:
            width = summed_margin(noises[0], cells(self.axes), confidence).width
            error = exact_or_up(width * self.queries[0].step)
            what = f"the total of all {cells(self.axes):,} cells is within {error}"
        percent = exact_or_up(confidence * 100)
        within = exact_or_up(self.error(noises, confidence))
        costless = "totals are sums of the noisy cells, at no further cost"
        near = f"with a probability of {percent}%, a cell is within {within} of the noise-free one"
        return (f"{costless}: {near}, and {what}",)

    @property
    def _tables(self) -> list[Axes]:
        counts = range(len(self.axes) + 1)
        return [table for count in counts for table in combinations(self.axes, count)]

    def _published(self, numbers: Array) -> Array:
        """The numbers of all tables in the order in which they are published."""
        order = self._order
        return numbers.reshape(-1, len(order))[:, order].ravel()

    @property
    def _order(self) -> Ints:
        """For each published number, its place among all numbers of the tables."""
        places, first = np.empty([len(axis) + 1 for axis in self.axes], np.int64), 0
        for table in self._tables:
            own = tuple(slice(0, -1) if axis in table else -1 for axis in self.axes)
            shape = [len(axis) for axis in table]
            places[own] = np.arange(first, first + cells(table)).reshape(shape)
            first += cells(table)
        return places.ravel()

    def _measured(self, answers: Sequence[NoisyAnswer]) -> list[MeasuredTable]:
        found = []
        for answer, axes in zip(answers, (self.axes, ()), strict=False):
            numbers = answer.values.astype(object).reshape(-1, *map(len, axes))
            found.append(MeasuredTable(axes, numbers, answer.noise))
        return found

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        measured, step = self._measured(answers), self.queries[0].step
        sums = summed_counts if len(measured) == 1 else agreed_counts
        found, square = sums(self._tables, measured, confidence), float(step) ** 2
        variances = (found.variances[at] for at in self._order)
        return replace(
            found.map_numbers(self._published),
            step=found.step * step,
            decimals=(max(decimal_places(step), *found.decimals),),
            variances=tuple(part and part * square for part in variances),
        )

    def make_additive(
        self, answers: Sequence[NoisyAnswer], units: int, *, nonnegative: bool
    ) -> Array:
        scale, measured = units * self.queries[0].step, self._measured(answers)
        found = additive_counts(self.axes, self._tables, measured, scale, nonnegative=nonnegative)
        return self._published(found)


class WithTotals(Statistic):
    """Numbers by groups, with totals over each key of `by`.

    Attributes:
        of_cells: The statistic that publishes the numbers alone.
    """

    of_cells: ClassVar[Statistic]
    steps: ClassVar[tuple[str, ...]] = ("consistent", "whole", *NUMERIC_STEPS)
    default_steps = ("consistent",)
    adds_up = True

    def complete_inputs(self, bare: Inputs, given: Mapping[str, Any]) -> Inputs:
        """The inputs, in which each key has the label of totals."""
        inputs = super().complete_inputs(bare, given)
        total = given["totals"]
        return replace(inputs, by=tuple(replace(axis, total=total) for axis in inputs.by))

    def faults(self, inputs: Inputs, relation: Relation) -> Iterator[FieldFault]:
        """The faults of no keys, of private ones, and of numbers that do not add up."""
        yield from super().faults(inputs, relation)
        yield from public_groups(inputs)
        options = dict(inputs.options)
        if not inputs.by:
            yield FieldFault("totals-form", "totals")
        for key in ("percent", "rate"):
            if options.get(key):
                yield FieldFault("totals-form.alone", "totals", key=key)
        if not inputs.has_private_groups:
            axes = [axis.without_total for axis in inputs.by]
            yield from label_faults(axes, options["totals"], "totals")

    def step_faults(
        self, inputs: Inputs, steps: Sequence[PostProcessingStep]
    ) -> Iterable[FieldFault]:
        """The faults of steps that break sums, and of what `whole` cannot fit."""
        for step in steps:
            if step.name in NUMERIC_STEPS and step.name != "suppress_below":
                yield FieldFault("step-breaks", "post", step=step.name)
        if not any(step.fits_joint_table for step in steps):
            return
        if any(low is None for low, _ in self.limits(inputs)):
            yield FieldFault("totals-form.negative", "post")
        count = joint_cells([len(axis) for axis in inputs.by], [len(inputs.by)])
        if count > MAX_JOINT_CELLS:
            yield FieldFault("joint-table", "post", count=count, most=MAX_JOINT_CELLS)

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        """The designs in which each cell has noise of its own, at the same cost."""
        by = tuple(axis.without_total for axis in inputs.by)
        found = self.of_cells.designs(replace(inputs, by=by, sample=None), relation)
        return tuple(
            SumsOfCells.of(design, inputs, relation)
            for design in found
            if design.noise_of_numbers is NoiseOfNumbers.OWN
        )
