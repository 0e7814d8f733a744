"""Filters and plain sums of queries as native expressions over decoded columns.

In filters, null is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from math import prod
from operator import eq, ge, gt, le, lt, mul
from typing import Any

import polars as pl

from dpcli.data.column import Column
from dpcli.data.filters import AllOf, AnyOf, Compared, Filter, InRanges, IsMissing, Not
from dpcli.queries.query import Query
from dpcli.queries.sums import CountedFactors, Factor, PlainSum, RowSums, WeightedSum
from dpcli.statistics.counts.indicators import PassesAmongFirst

COUNTABLE_ROWS = 2**32
"""Rows that polars can count in a group. A file has at most as many rows as bytes."""

COMPARE: dict[str, Callable[[Any, Any], pl.Expr]] = {"<": lt, "<=": le, "=": eq, ">=": ge, ">": gt}


def row_filter(
    where: Sequence[Filter], not_missing: Iterable[Column], names: Mapping[Column, str]
) -> pl.Expr | None:
    """Whether all filters are true for a row that has all columns; None if every row passes.

    `names` are the names of decoded columns.
    """
    tests = [truth(test, names) for test in where]
    tests += [pl.col(names[column]).is_not_null() for column in not_missing]
    return pl.all_horizontal(tests).fill_null(value=False) if tests else None


def truth(test: Filter, names: Mapping[Column, str]) -> pl.Expr:
    """Whether a filter is true, false or unknown (null) for a row."""
    match test:
        case InRanges(column, ranges):
            cell = pl.col(names[column])
            return pl.any_horizontal(cell.is_between(low, high) for low, high in ranges)
        case IsMissing(column):
            return pl.col(names[column]).is_null()
        case Compared(left, comparison, right):
            return COMPARE[comparison](
                *(
                    _multiplied(pl.col(names[column]), max(map(abs, column.limits)), factor)
                    for column, factor in zip((left, right), test.factors, strict=True)
                )
            )
        case Not(inner):
            return ~truth(inner, names)
        case AllOf(parts):
            # The operators follow the logic of Kleene.
            return pl.all_horizontal(truth(part, names) for part in parts)
        case AnyOf(parts):
            return pl.any_horizontal(truth(part, names) for part in parts)
        case PassesAmongFirst(tests, index, limit):
            passed = [truth(part, names).fill_null(value=False) for part in tests[: index + 1]]
            if index < limit:
                return passed[-1]
            return passed[-1] & (pl.sum_horizontal(passed[:-1]) < limit)
    raise TypeError("a filter that the engine does not know")


def _multiplied(cell: pl.Expr, max_size: int, factor: int) -> pl.Expr:
    if factor == 1:
        return cell
    dtype = pl.Int64() if max_size * factor < 1 << 63 and factor < 1 << 63 else pl.Int128()
    return cell.cast(dtype) * pl.lit(factor, dtype=dtype)


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
    """The value of a factor as a polars expression."""
    value = pl.col(names[factor.column]).cast(dtype)
    value = value * factor.times if factor.times != 1 else value
    return value - factor.offset if factor.offset else value


def weighted_sums(query: Query) -> tuple[WeightedSum, ...]:
    """The weighted sums of rows that a query asks for in each cell."""
    shape = query.shape
    return shape.sums if isinstance(shape, RowSums | CountedFactors) else ()


def plain_sums(queries: Iterable[Query]) -> tuple[PlainSum, ...]:
    """The plain sums of all queries, without repetitions."""
    needed = (weighted for query in queries for weighted in weighted_sums(query))
    return tuple(dict.fromkeys(plain for weighted in needed for _, plain in weighted))
