"""Public totals that published numbers meet: by the labels of keys, or of all.

A known table is a measured one without noise: least squares (`agreement`) move all others until
they have its numbers, and cost nothing.

Privacy: a function of noisy numbers and public ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product

from dpcli.fields.statistic_fields import FieldFault
from dpcli.noise.distribution import NO_NOISE
from dpcli.numeric.arrays import Array, np
from dpcli.numeric.exact import readable_text, rounded_text
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import Query
from dpcli.statistics.design import Inputs, LinearDesign, NoisyAnswer
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.postprocessing import Consistent, PostProcessingStep
from dpcli.statistics.public_numbers import PublicNumbers
from dpcli.statistics.tables.additive import FIT_BITS, additive_counts, joint_cells
from dpcli.statistics.tables.agreement import (
    DECIMALS,
    Agreement,
    Axes,
    KnownTable,
    Measured,
    MeasuredEffect,
    MeasuredTable,
    agreed_counts,
    cells,
    effects_of,
)
from dpcli.statistics.tables.fitting import MAX_JOINT_CELLS

CONTRADICTION = Fraction(1, 1000)
"""The probability that noise alone contradicts one of all known numbers."""

CONTRADICTED = (
    "the noisy number of {} is {}, and {} is known: noise explains a difference of at most {}, so "
    "what is known is about other rows"
)

MEETS = "numbers meet public totals ({}), by least squares with the known noise and at no cost"


def contradicted(name: str, *numbers: Fraction) -> str:
    """That a noisy and a known number differ by more than noise explains."""
    return CONTRADICTED.format(name, *(rounded_text(number, 6) for number in numbers))


def number_faults(
    numbers: Sequence[Fraction], step: Fraction, low: Fraction | None
) -> Iterator[FieldFault]:
    """The faults of numbers that no exact one can be."""
    if any((number / step).denominator > 1 for number in numbers):
        yield FieldFault("known-number.step", "known", step=readable_text(step))
    if low is not None and min(numbers) < low:
        yield FieldFault("known-number.negative", "known")


def can_meet(step: PostProcessingStep, numbers: Sequence[Fraction], limit: float) -> bool:
    """Whether tables after a step can have these numbers.

    That needs whole multiples of a printed unit. Numbers that are fitted are below a `limit`.
    """
    if not (isinstance(step, Consistent) and step.units):
        return True
    printed = [number * step.units for number in numbers]
    whole = all(number.denominator == 1 for number in printed)
    return whole and not (step.nonnegative and max(printed) >= limit)


@dataclass(frozen=True, slots=True)
class KnownTables:
    """Public tables by the labels of keys; without keys, the number of all rows."""

    tables: tuple[PublicNumbers, ...]

    def __str__(self) -> str:
        return ", ".join(
            f"{len(table.numbers):,} by {' and '.join(table.keys)}" if table.keys else f"{table}"
            for table in self.tables
        )

    def covers(self, axes: Axes) -> bool:
        """Whether all numbers of a table are known."""
        names = {axis.column.name for axis in axes}
        return any(names.issubset(table.keys) for table in self.tables)

    def measured(
        self, axes: Axes, by: Axes = (), step: Fraction = Fraction(1), groups: int = 0
    ) -> list[KnownTable]:
        """The known tables over some of the axes, in steps, in each group of `by`.

        With a number of `groups`, those of `by` are repeated: many releases, or effects of noise.
        """
        found = []
        for table in self.tables:
            inner = tuple(axis for axis in axes if axis.column.name in table.keys)
            own = (*by, *inner)
            order = [[axis.column.name for axis in own].index(key) for key in table.keys]
            numbers, labels = dict(table.numbers), product(*(axis.labels for axis in own))
            each = [int(numbers[tuple(cell[at] for at in order)] / step) for cell in labels]
            shape = tuple(map(len, inner))
            counts = np.resize(np.array(each, object), (groups or cells(by), *shape))
            found.append(KnownTable(inner, counts, NO_NOISE))
        return found

    def faults(
        self, axes: Axes, by: Axes, step: Fraction, low: Fraction | None, published: Iterable[Axes]
    ) -> Iterator[FieldFault]:
        """The faults of known tables over the axes of measured ones, in groups of `by`."""
        names = {axis.column.name for axis in by}
        if not all(names.issubset(table.keys) for table in self.tables):
            yield FieldFault("known-number.by", "known")
            return
        if all(map(self.covers, published)):
            yield FieldFault("known-number.all", "known")
        numbers = [number for table in self.tables for _, number in table.numbers]
        yield from number_faults(numbers, step, low)
        for one, other in combinations(self.measured(axes, by, step), 2):
            common = tuple(axis for axis in one.axes if axis in other.axes)
            if (one.totals(common) != other.totals(common)).any():
                yield FieldFault("known-number.differ", "known")

    def step_faults(self, steps: Sequence[PostProcessingStep], ways: int) -> Iterator[FieldFault]:
        """The fault of steps whose numbers cannot meet what is known."""
        numbers = [number for table in self.tables for _, number in table.numbers]
        several = ways > 2 and sum(bool(table.keys) for table in self.tables) > 1
        for step in steps:
            if not can_meet(step, numbers, 1 << FIT_BITS) or (several and step.fits_joint_table):
                yield FieldFault("known-number.whole", "post")

    def contradiction(
        self, measured: Sequence[Measured], axes: Axes, by: Axes, step: Fraction
    ) -> str:
        """That a known number is none that the noise of measured tables explains."""
        known, units = self.measured(axes, by, step), 10**DECIMALS
        confidence = 1 - CONTRADICTION / sum(table.counts.size for table in known)
        noise = [table for table in measured if not isinstance(table, KnownTable)]
        for table in known:
            parts = effects_of(table.axes)
            if not all(any(part.precision(inner) for part in noise) for inner in parts):
                # What is known in full was not measured: no noisy number can differ from it.
                continue
            agreement = Agreement([table.axes], noise)
            noisy = agreement.rounded(table.axes, units).ravel()
            away = np.abs(noisy - units * table.counts.ravel())
            width, at = agreement.margin(table.axes, confidence).width, int(away.argmax())
            if away[at] > width + units:
                own = [axis.labels for axis in (*by, *table.axes)]
                shown = (Fraction(int(noisy[at]), units), Fraction(int(table.counts.ravel()[at])))
                each = (number * step for number in (*shown, Fraction(width, units)))
                return contradicted(", ".join([*product(*own)][at]) or "all", *each)
        return ""


@dataclass(frozen=True, kw_only=True)
class TableDesign(LinearDesign):
    """A design of tables over `axes`, which follow from measured and known ones."""

    axes: Axes
    wanted: tuple[Axes, ...]
    by: Axes = ()
    step: Fraction = Fraction(1)

    @property
    def known(self) -> KnownTables | None:
        """The public tables."""
        return known_tables(self.inputs)

    def measures_effect(self, query: Query) -> bool:
        """Whether a query of the design is that of an effect."""
        return False

    def measured(self, answers: Sequence[NoisyAnswer]) -> list[Measured]:
        """The measured tables and effects with their noisy numbers, and the known tables."""
        found, groups = list[Measured](), 0
        for weighted, answer in zip(self.queries, answers, strict=True):
            query = weighted.query
            own = tuple(axis for axis in (*query.by, *query.items) if axis in self.axes)
            counts = answer.values.astype(object).reshape(-1, *map(len, own))
            kind = MeasuredEffect if self.measures_effect(query) else MeasuredTable
            found.append(kind(own, counts, answer.noise))
            groups = len(counts)
        known = self.known and self.known.measured(self.axes, self.by, self.step, groups)
        return [*found, *(known or ())]

    def shown_incomplete(self, answers: Sequence[NoisyAnswer]) -> str:
        shown = self.known and self.known.contradiction(
            self.measured(answers), self.axes, self.by, self.step
        )
        return shown or ""

    def agreed(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        """The published tables with totals that agree."""
        return agreed_counts(self.wanted, self.measured(answers), confidence)

    def make_additive(
        self, answers: Sequence[NoisyAnswer], units: int, *, nonnegative: bool
    ) -> Array:
        scale, measured = units * self.step, self.measured(answers)
        return additive_counts(self.axes, self.wanted, measured, scale, nonnegative=nonnegative)


def fit_faults(
    inputs: Inputs, steps: Sequence[PostProcessingStep], axes: Axes, ways: Sequence[int]
) -> Iterator[FieldFault]:
    """The faults of steps for large tables, and for known totals."""
    if known := known_tables(inputs):
        yield from known.step_faults(steps, ways[-1])
    if not any(step.fits_joint_table for step in steps):
        return
    if (count := joint_cells([*map(len, axes)], ways)) > MAX_JOINT_CELLS:
        yield FieldFault("joint-table", "post", count=count, most=MAX_JOINT_CELLS)


def known_tables(inputs: Inputs) -> KnownTables | None:
    """The public tables of an entry, if it states some."""
    known: KnownTables | None = dict(inputs.options).get("known")
    return known
