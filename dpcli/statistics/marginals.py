"""Marginal tables of several columns, made consistent in their totals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

from dpcli.fields.columns import AxesPerTable, FieldFault, TableColumns, check_at_most
from dpcli.fields.section import field_types
from dpcli.noise.distribution import ADDITIVE
from dpcli.privacy.neighboring import Relation
from dpcli.statistics.design import Design, Request
from dpcli.statistics.marginal_queries import (
    MeasuredTables,
    limits_groups,
    measured_effects,
    published_tables,
    sizes_of,
)
from dpcli.statistics.statistic import NUMERIC_STEPS, Statistic
from dpcli.statistics.table_designs import (
    EPSILON,
    RHO,
    count_cells,
    epsilon_design,
    separate_design,
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

    def designs(self, request: Request, relation: Relation) -> tuple[Design, ...]:
        """The effects of the columns or the published tables, and those for shares of epsilon.

        If the rows of a person are limited by cells, each wanted table is measured by itself: a
        finer table would lose rows of people who have some in several of its cells.
        """
        sizes, ways = sizes_of(request), request.ways
        groups = prod(len(axis) for axis in request.by if not axis.is_private)
        limited = limits_groups(relation)
        by_rho = separate_design(sizes, ways, RHO)
        by_epsilon = (
            separate_design(sizes, ways, EPSILON)
            if limited
            else epsilon_design(sizes, ways, groups)
        )
        effects = measured_effects(request, relation)
        return (
            *effects,
            MeasuredTables.of(request, by_rho, ("l1",) if effects else ADDITIVE, "rho"),
            MeasuredTables.of(request, by_epsilon, ("l1",), "epsilon"),
        )

    def names(self, request: Request) -> tuple[str, ...]:
        return tuple(
            "; ".join(f"{key.column.name}={label}" for key, label in zip(table, cell, strict=True))
            for table in published_tables(request)
            for cell in product(*(key.labels for key in table))
        )

    def item_count(self, request: Request) -> int:
        """The number of cells of all tables together."""
        return count_cells(sizes_of(request), request.ways)
