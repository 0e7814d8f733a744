"""Marginal tables of several columns, made consistent in their totals.

The designs measure tables or effects, which `agreement` makes consistent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from math import prod, sqrt
from typing import Any, ClassVar

from dpcli.data.column import Column
from dpcli.fields.section import field_types
from dpcli.fields.statistic_fields import (
    AxesPerTable,
    FieldFault,
    KnownForm,
    TableColumns,
    check_max,
)
from dpcli.noise.distribution import ADDITIVE, Family, Noise
from dpcli.numeric.exact import rounded_text
from dpcli.privacy.sensitivity import MAX_AXES, effect_sensitivity, sensitivity
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery, Query
from dpcli.statistics.counts.known_sum import ROWS, sum_is_public
from dpcli.statistics.design import Design, Inputs, Measure, NoisyAnswer, WeightedQuery
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.postprocessing import PostProcessingStep
from dpcli.statistics.statistic import NUMERIC_STEPS, KeyColumn, NumbersMeasure, Statistic
from dpcli.statistics.tables.agreement import (
    NEAR_ZERO,
    Axes,
    MeasuredTable,
    agreed_part_noises,
    best_source,
    cells,
    summed_counts,
)
from dpcli.statistics.tables.effects import EffectQuery
from dpcli.statistics.tables.known import MEETS, TableDesign, fit_faults, known_tables
from dpcli.statistics.tables.one_way import OneWayTables
from dpcli.statistics.tables.percent import PartNoise, Percent, Percents, parts_of, shares
from dpcli.statistics.tables.shares import (
    EPSILON,
    RHO,
    Shares,
    Table,
    count_cells,
    effects_design,
    epsilon_design,
    expected_square,
    separate_design,
    wanted_tables,
)
from dpcli.statistics.tables.totals import ALL, TotalsLabel, label_faults


def sizes_of(inputs: Inputs) -> tuple[int, ...]:
    """The number of labels of each column of the tables."""
    return tuple(map(len, inputs.margins))


def _columns(inputs: Inputs) -> tuple[Column, ...]:
    return tuple(axis.column for axis in inputs.margins)


def _unknown(inputs: Inputs, shares: Shares, *, is_public: bool = False) -> Shares:
    """The shares without those of known tables or effects, which need none."""
    known, left = known_tables(inputs), shares
    if known:
        tables = [tuple(inputs.margins[at] for at in table) for table, _ in shares]
        left = tuple(
            part for table, part in zip(tables, shares, strict=True) if not known.covers(table)
        )
    elif is_public and len(shares) > 1:
        left = tuple(part for part in shares if part[0])
    total = sum(share for _, share in left)
    return tuple((table, share / total) for table, share in left)


def _names(axes: Axes) -> str:
    return ", ".join(axis.column.name for axis in axes)


def published_tables(inputs: Inputs) -> list[Axes]:
    """The axes of each table that is published."""
    indexes = wanted_tables(len(inputs.margins), inputs.ways)
    return [tuple(inputs.margins[index] for index in table) for table in indexes]


def tables_of(inputs: Inputs) -> dict[str, Any]:
    """The axes, groups and published tables of a design."""
    wanted = tuple(published_tables(inputs))
    return {"axes": inputs.margins, "by": inputs.by, "wanted": wanted}


@dataclass(frozen=True, kw_only=True)
class MeasuredTables(TableDesign):
    """A design that measures tables, from which the published tables are computed.

    Or it measures `effects` and the number of rows, of which the published tables are sums.
    """

    effects: bool = False

    @classmethod
    def of(
        cls,
        inputs: Inputs,
        shares: Shares,
        families: tuple[Family, ...],
        measure: Measure,
        relation: Relation,
    ) -> MeasuredTables:
        """The design that measures tables with these shares of the loss, in this measure.

        If the number of rows is public, it is a table without an axis. Known tables have no share.
        """
        queries, present, summed = [], _columns(inputs), 1
        rows = LinearQuery(by=inputs.by, where=inputs.where, present=present)
        known = known_tables(inputs)
        is_public = known is None and not inputs.by and sum_is_public(rows, relation)
        shares = _unknown(inputs, shares, is_public=is_public)
        if len(shares) == 1:
            # A published count sums at most as many cells as the columns have that the smallest
            # tables leave out.
            left_out = combinations(inputs.margins, len(shares[0][0]) - inputs.ways[0])
            summed = max(map(cells, left_out))
        for indexes, share in shares:
            table = tuple(inputs.margins[index] for index in indexes)
            query = LinearQuery(by=inputs.by, items=table, where=inputs.where, present=present)
            role = f"table of {_names(table)}" if table else ROWS
            queries.append(WeightedQuery(role, query, share, summed=summed))
        if is_public and shares[0][0]:
            queries.append(WeightedQuery(ROWS, LinearQuery(), Fraction(0)))
        return cls(inputs, tuple(queries), families, (measure,), **tables_of(inputs))

    @property
    def agrees(self) -> bool:
        return self.effects or self.known is not None or super().agrees

    def measures_effect(self, query: Query) -> bool:
        return self.effects and bool(query.items)

    def expected_error(self, errors: Sequence[float]) -> float:
        inputs = self.inputs
        indexes = {axis: index for index, axis in enumerate(inputs.margins)}
        tables: list[tuple[Table, float]] = []
        effects: list[tuple[Table, float]] = []
        for weighted, error in zip(self.queries, errors, strict=True):
            measured = effects if self.measures_effect(weighted.query) else tables
            table = tuple(indexes[axis] for axis in weighted.query.items)
            measured.append((table, error**2))
        known = self.known.measured(self.axes, self.by) if self.known else ()
        tables += [(tuple(indexes[axis] for axis in table.axes), 0.0) for table in known]
        sizes = sizes_of(inputs)
        square = expected_square(sizes, inputs.ways, tables, effects)
        return sqrt(square / count_cells(sizes, inputs.ways))

    def reason_for(self, wanted: int) -> str:
        """Why these tables are measured for this number of published tables."""
        if self.effects:
            return (
                "the number of rows is measured, and how counts deviate from it by each column and "
                f"each combination of columns: {len(self.queries):,} answers, from which the "
                f"{wanted:,} published tables follow. With the part of the loss that each has, all "
                "counts together are expected to be closest to the exact ones"
            )
        columns = len(self.inputs.margins)
        measured = sum(bool(part.query.items) for part in self.queries)
        if measured == 1:
            return (
                f"one table of all {columns:,} columns is measured, and the {wanted:,} "
                "published tables are sums of its cells; so their totals agree. With all of "
                "epsilon for one table, they are expected to be closer to the exact counts "
                "than tables with a part of epsilon each"
            )
        if any(len(part.query.items) > self.inputs.ways[-1] for part in self.queries):
            return (
                f"{measured:,} tables of more columns are measured than the {wanted:,} "
                "published tables have, which are sums of their cells. With larger parts of "
                "epsilon, they are expected to be closer to the exact counts than tables that "
                "are measured one by one"
            )
        if measured < wanted:
            return (
                f"of the {wanted:,} published tables, the {measured:,} with the most columns "
                "are measured, and the others are sums of their cells. With larger parts of "
                "the loss, all counts together are expected to be closer to the exact ones "
                "than if each table had a part"
            )
        if len({part.weight for part in self.queries}) > 1:
            return (
                "each published table is measured, with a part of the loss that depends on "
                "the numbers of cells. With these parts, all counts together are expected to "
                "be closest to the exact ones if `post: [consistent]` makes totals agree"
            )
        return (
            "each published table is measured, with an equal part of the loss. With "
            "`post: [consistent]`, totals that several tables contain agree, which makes all "
            "counts more accurate"
        )

    def sentences(self, noises: Sequence[Noise], confidence: Fraction) -> tuple[str, ...]:
        pairs = zip(self.queries, noises, strict=True)
        errors = [sqrt(noise.discrete_variance) * float(part.step) for part, noise in pairs]
        error = rounded_text(Fraction(self.expected_error(errors)), 3)
        agreed = f"the expected error of a count is {error} (root mean square over all cells)"
        if self.known:
            return MEETS.format(self.known), agreed
        total = rounded_text(self._total_error(errors), 3)
        if len(self.wanted) == 1:
            return (f"the expected error of the total of all cells is {total}",)
        more = f"and that of the total of all cells {total}"
        return self.reason_for(len(self.wanted)), f"once totals agree, {agreed}, {more}"

    def _total_error(self, errors: Sequence[float]) -> Fraction:
        """The standard deviation of the noise in the total of a table that agrees."""
        precision = 0.0
        for weighted, error in zip(self.queries, errors, strict=True):
            axes = weighted.query.items
            if not (axes and self.measures_effect(weighted.query)):
                precision += 1 / max(error**2 * cells(axes), NEAR_ZERO)
        return Fraction(sqrt(1 / precision))

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        if self.effects or self.known:
            return self.agreed(answers, confidence)
        return summed_counts(self.wanted, self.measured(answers), confidence)

    def part_noises(
        self, percent: str, answers: Sequence[NoisyAnswer], consistent: bool
    ) -> list[PartNoise]:
        """The noise of the numbers of each published table next to their totals."""
        wanted, measured = self.wanted, self.measured(answers)
        if self.effects or (consistent and not self.agrees):
            return agreed_part_noises(wanted, measured, percent)
        tables = [part for part in measured if isinstance(part, MeasuredTable)]
        sources = [best_source(axes, tables) for axes in wanted]
        return [
            PartNoise.of_cells(
                source.noise, cells(source.axes, axes), parts_of(shape(axes), percent)
            )
            for axes, source in zip(wanted, sources, strict=True)
        ]

    def make_consistent(
        self, answers: Sequence[NoisyAnswer], estimates: Estimates, confidence: Fraction
    ) -> Estimates:
        if not len(estimates):  # No group was selected.
            return estimates
        return (self.estimate if self.agrees else self.agreed)(answers, confidence)


def measured_effects(inputs: Inputs, relation: Relation) -> tuple[MeasuredTables, ...]:
    """The design that measures effects, with the best shares of rho.

    Empty if the published tables are as good, if they have too many axes, or if a limit on groups
    applies: then each effect would be about different rows.
    """
    sizes, unit, neighbors = sizes_of(inputs), relation.unit, relation.neighbors
    if inputs.ways[-1] > MAX_AXES or relation.limits_groups:
        return ()
    counts = LinearQuery(by=inputs.by, where=inputs.where, present=_columns(inputs))
    groups = counts.groups

    def of_table(table: Table) -> int:
        declared = None if groups is None else groups * prod(sizes[index] for index in table)
        return sensitivity(counts.row_contribution, neighbors, unit, declared).l2_squared

    def of_effect(effect: Table) -> float:
        if not effect:
            return of_table(effect)
        axes = tuple(sizes[index] for index in effect)
        square = effect_sensitivity(axes, neighbors, unit, groups).l2_squared
        return square / prod(axes) ** 2

    # The squares differ only if a table has a single cell.
    largest = max(map(of_table, wanted_tables(len(sizes), inputs.ways)))
    queries = []
    shares = effects_design(sizes, inputs.ways, largest, of_effect)
    for indexes, share in _unknown(inputs, shares or ()):
        axes = tuple(inputs.margins[index] for index in indexes)
        if not axes:
            queries.append(WeightedQuery(ROWS, counts, share))
            continue
        query = EffectQuery(by=inputs.by, items=axes, where=inputs.where, present=counts.present)
        queries.append(
            WeightedQuery(f"effect of {_names(axes)}", query, share, Fraction(1, cells(axes)))
        )
    more = tables_of(inputs)
    return (MeasuredTables(inputs, tuple(queries), ("l2",), effects=True, **more),) * bool(queries)


class Marginals(Statistic):
    """The number of rows in each cell of every table of `ways` of the `columns`.

    With several numbers of `ways`, the tables with the fewest columns come first. All tables are
    answered together, overall or for each group of `by`. Each column is a key of the numbers, with
    the label `all` (or `totals`) in tables that lack it; `ways: 0` is the total of all. With
    `percent`, numbers are percent of the total of their table, or of a row or column of it. The
    tables that are measured need not be those that are published (as in Li, Hay, Rastogi, Miklau
    and McGregor 2010). With shares of epsilon, one table of all columns can be measured, of which
    the published tables are sums; or the columns are divided into blocks, and a table is measured
    for every `ways` blocks; or each published table is measured, but for small ones that are
    better summed from larger ones. Tables of single columns can have K-norm noise together. With
    Gaussian noise, the effects of the columns can be measured: the number of rows, how the counts
    of each column deviate from equal ones, how those of two columns deviate from what the single
    ones say, and so on (Xiao, He, Zhang and Kifer 2023). The plan takes what has the least
    expected error, which depends on public facts alone, with the best shares of epsilon or rho;
    and never a table of too many cells. `dpcli plan` says what it took.

    Measured tables that share columns contain the same totals, with different noise. The step
    `consistent`, which is the default of `post`, makes all totals agree: each becomes the mean
    of its values in all tables, weighted by the inverse of their variances, and cells are
    adjusted to their totals. That is the best linear unbiased estimate (generalized least
    squares; Gauss and Markov). Without it, each table is the sum of the measured one in which
    it has the least noise: these counts are published too, as NAME.raw, if several tables are
    measured.

    Privacy: each measured table is a `histogram` of the same rows: a row that is added or
    removed changes one cell of each table by 1, and a row that is changed, two cells. The
    tables share epsilon, and if the noise is Gaussian, they are protected as one answer. Sums
    of noisy counts reveal nothing more. The effect of columns with n labels is measured as
    whole numbers, to which a row adds products of n - 1 and -1: their squares sum to the
    product of all n(n - 1). A person changes as many rows as the limits allow; the
    cells of a table count as groups. Rows count if all columns are present, so all tables are
    about the same rows. The exception is `max_groups` or `max_rows_per_group`, which can leave
    out different rows in each table: then the published tables are measured, their exact totals
    differ, and the consistent ones are a mean of them.

    >>> flag = "{type: boolean}"
    >>> l1("statistic: marginals, columns: [a, b, c], ways: 2", a=flag, b=flag, c=flag)
    {'add-remove': [1], 'change-one': [2]}
    """

    name = "marginals"
    noun = "tables"
    takes = field_types(
        columns=TableColumns,
        ways=AxesPerTable,
        percent=Percent | None,
        totals=TotalsLabel | None,
        known=KnownForm | None,
    )
    measure: ClassVar[NumbersMeasure] = "counts"
    steps: ClassVar[tuple[str, ...]] = ("consistent", "whole", *NUMERIC_STEPS)
    adds_up = True
    default_steps = ("consistent",)
    item = "cell"

    def complete_inputs(self, bare: Inputs, given: Mapping[str, Any]) -> Inputs:
        own = {key: given[key] for key in ("percent", "totals", "known") if given[key]}
        inputs = super().complete_inputs(bare, own)
        return replace(inputs, margins=given["columns"], ways=given["ways"])

    def variant(
        self, column: Column | None, method: str = "", stated: Collection[str] = ()
    ) -> Statistic:
        return MARGINAL_PERCENTS if "percent" in stated else self

    def faults(self, inputs: Inputs, relation: Relation) -> Iterable[FieldFault]:
        """Faults for too many `ways`, and for several `ways` under a limit on groups.

        If a limit on groups applies, tables of one column have other rows than tables of two, so
        that totals of one are not sums of the other.
        """
        columns = len(inputs.margins)
        if len(inputs.ways) > 1 and relation.limits_groups:
            yield FieldFault("several-ways", "ways")
        what = "of the columns each table has"
        yield from check_max(inputs.ways[-1], "ways", columns, what, "not-in-range.to")
        if known := known_tables(inputs):
            if dict(inputs.options).get("percent"):
                yield FieldFault("totals-form.alone", "known", key="percent")
            tables = published_tables(inputs)
            yield from known.faults(inputs.margins, inputs.by, Fraction(1), Fraction(0), tables)
        if label := self.total_label(inputs):
            key = "totals" if dict(inputs.options).get("totals") else "columns"
            yield from label_faults(inputs.margins, label, key)

    def step_faults(
        self, inputs: Inputs, steps: Sequence[PostProcessingStep]
    ) -> Iterable[FieldFault]:
        """Faults of a joint table that is too large to fit, and of known totals."""
        return fit_faults(inputs, steps, inputs.margins, inputs.ways)

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        designs = self.of_tables(inputs, relation)
        if known_tables(inputs):
            return designs
        return (*OneWayTables.of(inputs, designs[-1], relation), *designs)

    def of_tables(self, inputs: Inputs, relation: Relation) -> tuple[MeasuredTables, ...]:
        """Designs of effects and of tables for rho, and a design of tables for epsilon.

        If a limit on groups applies, each wanted table is measured by itself: a finer table would
        lose rows of people with rows in several of its cells.
        """
        sizes, ways = sizes_of(inputs), inputs.ways
        limited = relation.limits_groups
        by_rho = separate_design(sizes, ways, RHO)
        by_epsilon = (
            separate_design(sizes, ways, EPSILON)
            if limited
            else epsilon_design(sizes, ways, inputs.groups)
        )
        effects = measured_effects(inputs, relation)
        tables = MeasuredTables.of(inputs, by_epsilon, ("l1",), "epsilon", relation)
        return (
            *effects,
            MeasuredTables.of(inputs, by_rho, ("l1",) if effects else ADDITIVE, "rho", relation),
            tables,
        )

    def key_columns(self, inputs: Inputs) -> tuple[KeyColumn, ...]:
        """The columns of the tables; those that a table lacks have the label of totals."""
        total, columns = self.total_label(inputs), range(len(inputs.margins))
        labels = [axis.labels for axis in inputs.margins]
        cells = [
            cell
            for table in wanted_tables(len(columns), inputs.ways)
            for cell in product(*(labels[at] if at in table else (total,) for at in columns))
        ]
        names = (axis.column.name for axis in inputs.margins)
        return tuple(zip(names, zip(*cells, strict=True), strict=True))

    def names(self, inputs: Inputs) -> tuple[str, ...]:
        return tuple(
            "; ".join(f"{key.column.name}={label}" for key, label in zip(table, cell, strict=True))
            or self.total_label(inputs)
            for table in published_tables(inputs)
            for cell in product(*(key.labels for key in table))
        )

    def total_label(self, inputs: Inputs) -> str:
        named = dict(inputs.options).get("totals") or ALL
        return named if inputs.ways[0] < len(inputs.margins) else ""

    def item_count(self, inputs: Inputs) -> int:
        return count_cells(sizes_of(inputs), inputs.ways)


class MarginalPercents(Percents, Marginals):
    """Marginal tables in percent of all of a table, of its rows or of its columns.

    The last column of a table is that of its columns; a table is about a group.
    """

    counts = Marginals()
    steps = ("consistent", *NUMERIC_STEPS)
    adds_up = False

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        percent, tables = inputs.option("percent"), map(shape, published_tables(inputs))
        of_counts, shapes = self.of_tables(inputs, relation), tuple(tables)
        return tuple(
            shares(design, design.queries, percent, shapes, partial(design.part_noises, percent))
            for design in of_counts
        )


def shape(axes: Axes) -> tuple[int, int]:
    """The rows and columns of a table: the last axis, and all others."""
    return cells(axes[:-1]), cells(axes[-1:])


MARGINAL_PERCENTS = MarginalPercents()
