"""Marginal tables of several columns, made consistent in their totals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod, sqrt
from typing import Any

from dpcli.messages import note
from dpcli.noise.distribution import Noise
from dpcli.numeric.number_text import rounded_text
from dpcli.privacy.neighboring import Relation
from dpcli.queries.effects import EffectQuery
from dpcli.spec_fields import AxesPerTable, FieldFault, TableColumns, check_at_most
from dpcli.spec_values import field_types
from dpcli.statistics.agreement import Axes, agreed_counts, summed_counts
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.marginal_queries import (
    limits_groups,
    measured_effects,
    measured_tables,
    read_measured,
    sizes_of,
)
from dpcli.statistics.statistic import NUMERIC_STEPS, NoisyAnswer, Request, Statistic, WeightedQuery
from dpcli.statistics.table_designs import (
    EPSILON,
    RHO,
    Table,
    count_cells,
    epsilon_design,
    expected_square,
    separate_design,
    wanted_tables,
)


class Marginals(Statistic):
    """The number of rows in each cell of every table of `ways` of the `columns`.

    With several numbers of `ways`, the tables with the fewest columns come first. All tables are
    answered together, overall or for each group of `by`. Items are called `sex=f; ward=A`. The
    tables that are measured need not be those that are published (as in Li, Hay, Rastogi, Miklau
    and McGregor 2010). With shares of epsilon, one table of all columns can be measured, of which
    the published tables are sums; or the columns are divided into blocks, and a table is measured
    for every `ways` blocks; or each published table is measured, but for small ones that are better
    summed from larger ones. With Gaussian noise, the effects of the columns can be measured: the
    number of rows, how the counts of each column deviate from equal ones, how those of two columns
    deviate from what the single ones say, and so on (Xiao, He, Zhang and Kifer 2023). The plan
    takes what has the least expected error, which depends on public facts alone, with the best
    shares of epsilon or rho; and never a table of too many cells. `dpcli plan` says what it took.

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
    takes = field_types(columns=TableColumns, ways=AxesPerTable)
    measure = "counts"
    steps = ("consistent", *NUMERIC_STEPS)
    default_steps = ("consistent",)
    item = "cell"

    def complete_request(self, bare: Request, given: Mapping[str, Any]) -> Request:
        """The axes, and the number of axes of each table."""
        return replace(bare, margins=given["columns"], ways=given["ways"])

    def faults(self, request: Request, relation: Relation) -> Iterable[FieldFault]:
        """A table has at most as many axes as there are columns.

        If the rows of a person are limited by cells, tables of one column have other rows than
        those of two, so that a cell is not the sum of others.
        """
        most = len(request.margins)
        if len(request.ways) > 1 and limits_groups(relation):
            yield FieldFault("several-ways", "ways")
        yield from check_at_most(request.ways[-1], "ways", most, "of the columns each table has")

    def queries(self, request: Request, relation: Relation) -> tuple[WeightedQuery, ...]:
        """The effects of the columns or the published tables, with the best shares of rho.

        Gaussian noise measures the same tables as other noise whose loss is in rho.
        """
        return measured_effects(request, relation) or self.queries_for_pure_noise_in_rho(
            request, relation
        )

    def queries_for_pure_noise(
        self, request: Request, relation: Relation
    ) -> tuple[WeightedQuery, ...]:
        """The tables that are best with shares of epsilon.

        If the rows of a person are limited by cells, each wanted table is measured by itself: a
        finer table would lose rows of people who have some in several of its cells.
        """
        sizes = sizes_of(request)
        if limits_groups(relation):
            return measured_tables(request, separate_design(sizes, request.ways, EPSILON))
        groups = prod(len(axis) for axis in request.by if not axis.is_private)
        return measured_tables(request, epsilon_design(sizes, request.ways, groups))

    def queries_for_pure_noise_in_rho(
        self, request: Request, relation: Relation
    ) -> tuple[WeightedQuery, ...]:
        """The published tables, or those of them from which the others follow."""
        return measured_tables(request, separate_design(sizes_of(request), request.ways, RHO))

    def expected_error(
        self, request: Request, queries: Sequence[WeightedQuery], errors: Sequence[float]
    ) -> float:
        """The root mean square of the errors of all cells after agreement."""
        places = {axis: place for place, axis in enumerate(request.margins)}
        tables: list[tuple[Table, float]] = []
        effects: list[tuple[Table, float]] = []
        for weighted, error in zip(queries, errors, strict=True):
            measured = effects if isinstance(weighted.query, EffectQuery) else tables
            table = tuple(places[axis] for axis in weighted.query.items)
            measured.append((table, error**2))
        square = expected_square(sizes_of(request), request.ways, tables, effects)
        return sqrt(square / self.item_count(request))

    def design_notes(
        self, request: Request, queries: Sequence[WeightedQuery], noises: Sequence[Noise]
    ) -> tuple[str, ...]:
        """Which tables are measured, how the published ones follow, and their expected error."""
        wanted, columns = len(_tables(request)), len(request.margins)
        if wanted == 1:
            return ()
        facts = {"columns": columns, "measured": len(queries), "wanted": wanted}
        key = "equal"
        if any(isinstance(weighted.query, EffectQuery) for weighted in queries):
            key = "effects"
        elif len(queries) == 1:
            key = "joint"
        elif any(len(weighted.query.items) > request.ways[-1] for weighted in queries):
            key = "unions"
        elif len(queries) < wanted:
            key = "largest"
        elif len({weighted.weight for weighted in queries}) > 1:
            key = "unequal"
        pairs = zip(queries, noises, strict=True)
        errors = [sqrt(noise.discrete_variance) * float(part.step) for part, noise in pairs]
        error = Fraction(self.expected_error(request, queries, errors))
        expected = note("designs.error", error=rounded_text(error, 3))
        return note(f"designs.{key}", **facts), expected

    def estimate(
        self, request: Request, answers: Sequence[NoisyAnswer], confidence: Fraction
    ) -> Estimates:
        """The noisy counts, in the order of groups, then tables."""
        return summed_counts(_tables(request), read_measured(answers), confidence)

    def names(self, request: Request) -> tuple[str, ...]:
        """The columns and labels of each cell."""
        return tuple(
            "; ".join(f"{key.column.name}={label}" for key, label in zip(table, cell, strict=True))
            for table in _tables(request)
            for cell in product(*(key.labels for key in table))
        )

    def item_count(self, request: Request) -> int:
        """The number of cells of all tables together."""
        return count_cells(sizes_of(request), request.ways)

    def make_consistent(
        self,
        request: Request,
        answers: Sequence[NoisyAnswer],
        estimates: Estimates,
        confidence: Fraction,
    ) -> Estimates:
        """The counts of each group, with the same totals in all tables."""
        if not len(estimates):  # No group was selected.
            return estimates
        if len(answers) == 1:
            return self.estimate(request, answers, confidence)
        return agreed_counts(_tables(request), read_measured(answers), confidence)


def _tables(request: Request) -> list[Axes]:
    places = wanted_tables(len(request.margins), request.ways)
    return [tuple(request.margins[place] for place in table) for table in places]
