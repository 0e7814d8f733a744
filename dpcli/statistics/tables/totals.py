"""Totals next to the cells of a table, or known ones: labels, and sums of cells.

Privacy: a function of the noisy cells, of known totals, and of the number of rows where that is
public.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations
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
from dpcli.statistics.counts.known_sum import ROWS, sum_is_public
from dpcli.statistics.design import Design, Inputs, NoiseOfNumbers, NoisyAnswer, WeightedQuery
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.postprocessing import PostProcessingStep
from dpcli.statistics.statistic import NUMERIC_STEPS, Statistic, public_groups
from dpcli.statistics.tables.agreement import (
    DECIMALS,
    Agreement,
    Axes,
    agreed_counts,
    cells,
    summed_counts,
)
from dpcli.statistics.tables.known import MEETS, TableDesign, fit_faults, known_tables

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
class SumsOfCells(TableDesign):
    """The noisy cells of a table, and perhaps their sums over each of its axes.

    If the total is public, it is the last answer, and cells are moved so that they sum to it. They
    are also moved so that they sum to known totals.
    """

    agrees = True

    @classmethod
    def of(cls, design: Design, inputs: Inputs, relation: Relation) -> SumsOfCells:
        """The design with totals, from one in which each cell has noise of its own."""
        (counts, *_) = design.queries
        public = sum_is_public(counts.query, relation) and known_tables(inputs) is None
        rows = (WeightedQuery(ROWS, LinearQuery(), Fraction(0)),) if public else ()
        axes = cell_axes(inputs)
        least = 0 if dict(inputs.options).get("totals") else len(axes)
        each = (combinations(axes, count) for count in range(least, len(axes) + 1))
        return cls(
            inputs, (counts, *rows), design.families, design.measures,
            axes=axes, wanted=tuple(chain(*each)), step=counts.step,
        )  # fmt: skip

    @property
    def block(self) -> tuple[int, ...]:
        return tuple(part.query.cells or 1 for part in self.queries)

    def expected_error(self, errors: Sequence[float]) -> float:
        return errors[0]

    def error(self, noises: Sequence[Noise], confidence: Fraction) -> Fraction:
        """That of a cell."""
        if self.known is None:
            return summed_margin(noises[0], 1, confidence).width * self.step
        nothing = NoisyAnswer(np.zeros(cells(self.axes), np.int64), noises[0])
        margin = Agreement([self.axes], self.measured([nothing])).margin(self.axes, confidence)
        return Fraction(margin.width, 10**DECIMALS) * self.step

    def sentences(self, noises: Sequence[Noise], confidence: Fraction) -> tuple[str, ...]:
        percent = exact_or_up(confidence * 100)
        within = exact_or_up(self.error(noises, confidence))
        near = f"with a probability of {percent}%, a cell is within {within} of the noise-free one"
        if self.known:
            return MEETS.format(self.known), near
        if len(self.queries) > 1:
            what = "the total of all has none, because the number of rows is public"
        else:
            width = summed_margin(noises[0], cells(self.axes), confidence).width
            error = exact_or_up(width * self.step)
            what = f"the total of all {cells(self.axes):,} cells is within {error}"
        costless = "totals are sums of the noisy cells, at no further cost"
        return (f"{costless}: {near}, and {what}",)

    def _published(self, numbers: Array) -> Array:
        """The numbers of all tables in the order in which they are published."""
        order = self._order
        return numbers.reshape(-1, len(order))[:, order].ravel()

    @property
    def _order(self) -> Ints:
        """For each published number, its place among all numbers of the tables."""
        more, first = int(len(self.wanted) > 1), 0
        places = np.empty([len(axis) + more for axis in self.axes], np.int64)
        for table in self.wanted:
            own = tuple(slice(0, len(axis)) if axis in table else -1 for axis in self.axes)
            shape = [len(axis) for axis in table]
            places[own] = np.arange(first, first + cells(table)).reshape(shape)
            first += cells(table)
        return places.ravel()

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        measured, step = self.measured(answers), self.step
        sums = summed_counts if len(measured) == 1 else agreed_counts
        found, square = sums(self.wanted, measured, confidence), float(step) ** 2
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
        return self._published(super().make_additive(answers, units, nonnegative=nonnegative))


def cell_axes(inputs: Inputs) -> Axes:
    """The axes of the cells of a table: the keys, and the bins of a histogram."""
    by = (axis.without_total for axis in inputs.by)
    return (*by, *((inputs.bins,) if inputs.bins else ()))


class WithTotals(Statistic):
    """Numbers by groups, with totals over each key, or that meet known totals.

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
        total = given.get("totals") or ""
        return replace(inputs, by=tuple(replace(axis, total=total) for axis in inputs.by))

    def faults(self, inputs: Inputs, relation: Relation) -> Iterator[FieldFault]:
        """The faults of no keys, of private ones, and of numbers that do not add up."""
        yield from super().faults(inputs, relation)
        yield from public_groups(inputs)
        options = dict(inputs.options)
        stated = "totals" if options.get("totals") else "known"
        if not inputs.by and stated == "totals":
            yield FieldFault("totals-form", "totals")
        for key in ("percent", "rate"):
            if options.get(key):
                yield FieldFault("totals-form.alone", stated, key=key)
        if inputs.has_private_groups:
            return
        axes, known = cell_axes(inputs), known_tables(inputs)
        if stated == "totals":
            yield from label_faults(axes, options["totals"], "totals")
        if known:
            yield from known.faults(axes, (), self.step(inputs), self.limits(inputs)[0][0], [axes])

    def step_faults(
        self, inputs: Inputs, steps: Sequence[PostProcessingStep]
    ) -> Iterable[FieldFault]:
        """The faults of steps that break sums, and of what `whole` cannot fit."""
        for step in steps:
            if step.name in NUMERIC_STEPS and step.name != "suppress_below":
                yield FieldFault("step-breaks", "post", step=step.name)
        axes, is_fitted = cell_axes(inputs), any(step.fits_joint_table for step in steps)
        if is_fitted and any(low is None for low, _ in self.limits(inputs)):
            yield FieldFault("totals-form.negative", "post")
        yield from fit_faults(inputs, steps, axes, [len(axes)])

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        """The designs in which each cell has noise of its own, at the same cost."""
        by = tuple(axis.without_total for axis in inputs.by)
        found = self.of_cells.designs(replace(inputs, by=by, sample=None), relation)
        return tuple(
            SumsOfCells.of(design, inputs, relation)
            for design in found
            if design.noise_of_numbers is NoiseOfNumbers.OWN
        )
