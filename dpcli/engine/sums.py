"""Sums that queries share, and the sums that answer each query.

sum(a x - c) is a times the sum of x minus c times the number of rows with an x. So a total, a mean
and a count of the same rows need two sums, not four. The offset of a product is subtracted the same
way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from math import prod
from operator import mul

import polars as pl

from dpcli.columns import Column
from dpcli.engine.row_filter import row_filter
from dpcli.filters import Filter
from dpcli.light_dataclasses import dataclass
from dpcli.queries.bernstein import BernsteinQuery
from dpcli.queries.effects import EffectQuery
from dpcli.queries.indicators import IndicatorQuery
from dpcli.queries.objectives import LeastSquaresQuery, LogisticQuery
from dpcli.queries.query import Factor, LinearQuery, Query, ReadabilityQuery
from dpcli.queries.regression import RidgeQuery
from dpcli.queries.scores import SelectionQuery

COUNTABLE_ROWS = 2**32
"""Rows that polars can count in a group. A file has at most as many rows as bytes."""


@dataclass(frozen=True, slots=True)
class PlainSum:
    """The sum of a product over the rows of a group that pass, or their number.

    A row passes if all filters are true and no column in `not_missing` is missing in it.
    """

    factors: tuple[Factor, ...]
    where: tuple[Filter, ...]
    not_missing: frozenset[Column]

    @property
    def columns(self) -> set[Column]:
        """Every column that the value of a row depends on."""
        used: set[Column] = {factor.column for factor in self.factors}
        return used | self.not_missing | {column for test in self.where for column in test.columns}

    def expression(self, name: Mapping[Column, str], size: int) -> pl.Expr:
        """The sum as a polars expression, in integers that cannot overflow.

        `name` maps columns to the names of their decoded numbers. There are at most `size` rows.
        """
        mask = row_filter(self.where, self.not_missing, name)
        if self.factors:
            most = prod(max(map(abs, factor.limits)) for factor in self.factors)
            dtype = pl.Int64() if most * size < 2**62 else pl.Int128()
            value = reduce(mul, (factor_value(factor, name, dtype) for factor in self.factors))
            return (value if mask is None else pl.when(mask).then(value)).sum()
        if size < COUNTABLE_ROWS:
            if mask is None:
                return pl.len().cast(pl.Int64)
            if not self.where and len(self.not_missing) == 1:
                (column,) = self.not_missing
                return pl.col(name[column]).count().cast(pl.Int64)
        return (pl.col("row") if mask is None else mask.cast(pl.Int64)).sum()


def factor_value(factor: Factor, name: Mapping[Column, str], dtype: pl.DataType) -> pl.Expr:
    """The value of a factor as a polars expression."""
    value = pl.col(name[factor.column]).cast(dtype)
    value = value * factor.times if factor.times != 1 else value
    return value - factor.offset if factor.offset else value


LinearCombination = tuple[tuple[int, PlainSum], ...]
"""Plain sums with their integer weights."""


def linear_combination(query: LinearQuery) -> LinearCombination:
    """The combination of plain sums that answers `query` in each of its cells."""
    # Rows that are missing on an axis lie in no cell, so axes need no test.
    axes = {key.column for key in query.axes}
    present = {column for column in query.present if column.missing is None}
    factors = {factor.column for factor in query.factors if factor.column.missing is None}
    # A product with a missing factor is missing, and adds nothing.
    not_missing = frozenset(present - factors - axes)
    counted = PlainSum((), query.where, frozenset((present | factors) - axes))
    single = len(query.factors) == 1
    factors_summed = tuple(Factor(factor.column) for factor in query.factors)
    total = PlainSum(factors_summed if single else query.factors, query.where, not_missing)
    times, offset = (query.factors[0].times, query.factors[0].offset) if single else (1, 0)
    offset += query.offset
    return ((times, total), (-offset, counted)) if offset else ((times, total),)


def linear_combinations(query: Query) -> tuple[LinearCombination, ...]:
    """The combinations that answer a query in each cell: several for some queries, else one."""
    if isinstance(query, RidgeQuery | LeastSquaresQuery):
        return tuple(linear_combination(moment) for moment in query.moments)
    if isinstance(query, LogisticQuery):
        present = frozenset(one for one in query.required_columns if one.missing is None)
        true = PlainSum((), (*query.where, query.outcome), present)
        return ((1, PlainSum((), query.where, present)),), ((1, true),)
    if isinstance(query, IndicatorQuery):
        axes = {axis.column for axis in query.axes}
        present = frozenset({one for one in query.present if one.missing is None} - axes)
        passing = (PlainSum((), (*query.where, test), present) for test in query.indicators)
        if not query.signed:
            return tuple(((1, counted),) for counted in passing)
        every = PlainSum((), query.where, present)
        return tuple(((2, counted), (-1, every)) for counted in passing)
    if isinstance(query, BernsteinQuery):
        return tuple(_combined_powers(query, polynomial) for polynomial in query.polynomials)
    if isinstance(query, ReadabilityQuery):
        return tuple(_readability(query))
    if isinstance(query, SelectionQuery | EffectQuery):
        rows = LinearQuery(items=query.grouping_axes, where=query.where, present=query.present)
        return (linear_combination(rows),)
    return (linear_combination(query),) if isinstance(query, LinearQuery) else ()


def _combined_powers(query: BernsteinQuery, polynomial: Sequence[int]) -> LinearCombination:
    """The sum of a polynomial, from sums of the powers of its value."""
    weights = () if query.weight is None else (Factor(query.weight),)
    rows = LinearQuery(by=query.by, where=query.where, present=query.required_columns)
    powers = (
        replace(rows, factors=(Factor(query.column),) * power + weights)
        for power in range(len(polynomial))
    )
    return tuple(
        (coefficient * weight, plain)
        for coefficient, power in zip(polynomial, powers, strict=True)
        for weight, plain in linear_combination(power)
        if coefficient
    )


def _readability(query: ReadabilityQuery) -> Iterator[LinearCombination]:
    """The number of rows, and for each column twice its readable cells minus the rows."""
    rows = PlainSum((), (), frozenset())
    if query.with_rows:
        yield ((1, rows),)
    for column in query.checked:
        yield ((2, PlainSum((), (), frozenset({column}))), (-1, rows))


def plain_sums(queries: Iterable[Query]) -> tuple[PlainSum, ...]:
    """The plain sums of all queries, without repetitions."""
    needed = (part for query in queries for part in linear_combinations(query))
    return tuple(dict.fromkeys(plain for part in needed for _, plain in part))
