"""Sums of rows as polars expressions, in integers that cannot overflow."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from math import prod
from operator import mul

import polars as pl

from dpcli.data.column import Column
from dpcli.data.filters import row_filter
from dpcli.queries.query import Query
from dpcli.queries.sums import CountedFactors, Factor, PlainSum, RowSums, UserTotals, WeightedSum

COUNTABLE_ROWS = 2**32
"""Rows that polars can count in a group; a file has at most as many as bytes."""


def sum_expression(plain: PlainSum, names: Mapping[Column, str], size: int) -> pl.Expr:
    """A plain sum as an expression, in integers that cannot overflow.

    `names` are the names of decoded columns. There are at most `size` rows.
    """
    mask = row_filter(plain.where, plain.not_missing, names)
    if plain.factors:
        max_size = prod(max(map(abs, factor.limits)) for factor in plain.factors)
        dtype = pl.Int64() if max_size * size < 2**62 else pl.Int128()
        value = reduce(mul, (factor_value(factor, names, dtype) for factor in plain.factors))
        return (value if mask is None else pl.when(mask).then(value)).sum()
    if size < COUNTABLE_ROWS:
        if mask is None:
            return pl.len().cast(pl.Int64)
        if not plain.where and len(plain.not_missing) == 1:
            (column,) = plain.not_missing
            return pl.col(names[column]).count().cast(pl.Int64)
    return (pl.col("row") if mask is None else mask.cast(pl.Int64)).sum()


def factor_value(factor: Factor, names: Mapping[Column, str], dtype: pl.DataType) -> pl.Expr:
    """The value of a factor as a polars expression of this type."""
    value = pl.col(names[factor.column]).cast(dtype)
    value = value * factor.times if factor.times != 1 else value
    return value - factor.offset if factor.offset else value


def weighted_sums(query: Query, *, of_people: bool = False) -> tuple[WeightedSum, ...]:
    """The weighted sums of rows that answer a query; empty for other shapes.

    Of lines of people, of which each has one in a cell, the number of people is that of lines.
    """
    shape = query.shape
    if of_people and isinstance(shape, UserTotals):
        return (((1, shape.counted),),)
    return shape.sums if isinstance(shape, RowSums | CountedFactors) else ()
