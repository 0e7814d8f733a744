"""Sums that queries share, and the sums that make up each query.

sum(x - c) is the sum of x less c times the number of rows with an x, so a total, a mean and a
count of the same rows need two sums, not four. An offset of a product is taken off in the same
way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from operator import mul

import polars as pl

from dpcli.columns import Column
from dpcli.queries import Condition, Factor, LinearQuery, Query, ReadabilityQuery, RidgeQuery
from dpcli.scores import ScoreQuery

MOST_SHORT = 2**32
"""Rows that polars can count in a group; a file has at most as many as bytes."""


@dataclass(frozen=True, slots=True)
class PlainSum:
    """Over the rows of a group that pass: the sum of a product, or their number.

    A row passes when every condition holds and no column in `known` is missing.
    """

    factors: tuple[Factor, ...]
    where: tuple[Condition, ...]
    known: frozenset[Column]

    @property
    def columns(self) -> set[Column]:
        """Every column that decides what a row adds."""
        used: set[Column] = {factor.column for factor in self.factors}
        return used | self.known | {condition.column for condition in self.where}

    def expression(self, name: Mapping[Column, str], size: int) -> pl.Expr:
        """The sum as polars computes it, in integers that cannot overflow.

        `name` has where the whole numbers of a column are; there are at most `size` rows.
        """
        mask = passing(self.where, self.known, name)
        if self.factors:
            most = prod(max(map(abs, factor.limits)) for factor in self.factors)
            dtype = pl.Int64() if most * size < 2**62 else pl.Int128()
            columns = ((pl.col(name[each.column]).cast(dtype), each) for each in self.factors)
            value = reduce(
                mul, (col - each.offset if each.offset else col for col, each in columns)
            )
            return (value if mask is None else pl.when(mask).then(value)).sum()
        if size < MOST_SHORT:
            if mask is None:
                return pl.len().cast(pl.Int64)
            if not self.where and len(self.known) == 1:
                (column,) = self.known
                return pl.col(name[column]).count().cast(pl.Int64)
        return (pl.col("row") if mask is None else mask.cast(pl.Int64)).sum()


def passing(
    where: Sequence[Condition], known: Iterable[Column], name: Mapping[Column, str]
) -> pl.Expr | None:
    """Which rows meet all conditions and know all columns, or None if all do."""
    tests = [
        pl.any_horizontal(
            pl.col(name[condition.column]).is_between(low, high) for low, high in condition.ranges
        )
        for condition in where
    ]
    tests += [pl.col(name[column]).is_not_null() for column in known]
    return pl.all_horizontal(tests).fill_null(value=False) if tests else None


LinearCombination = tuple[tuple[int, PlainSum], ...]
"""A weighted total of plain sums."""


def combination(query: LinearQuery) -> LinearCombination:
    """The plain sums that make up `query`, within its cells."""
    # Rows that are missing on an axis lie in no cell, which needs no test.
    axes = {key.column for key in query.axes}
    present = {column for column in query.present if column.missing is None}
    factors = {factor.column for factor in query.factors if factor.column.missing is None}
    # A product with a missing factor is missing itself, and adds nothing.
    known = frozenset(present - factors - axes)
    counted = PlainSum((), query.where, frozenset((present | factors) - axes))
    single = len(query.factors) == 1
    factors_summed = tuple(Factor(factor.column) for factor in query.factors)
    total = PlainSum(factors_summed if single else query.factors, query.where, known)
    offset = query.offset + (query.factors[0].offset if single else 0)
    return ((1, total), (-offset, counted)) if offset else ((1, total),)


def combinations(query: Query) -> tuple[LinearCombination, ...]:
    """What a query adds up in each cell: for some queries several numbers, else one."""
    if isinstance(query, RidgeQuery):
        return tuple(combination(moment) for moment in query.moments)
    if isinstance(query, ReadabilityQuery):
        return tuple(_readability(query))
    if isinstance(query, ScoreQuery):
        rows = LinearQuery(items=query.grouping_axes, where=query.where, present=query.present)
        return (combination(rows),)
    return (combination(query),) if isinstance(query, LinearQuery) else ()


def _readability(query: ReadabilityQuery) -> Iterator[LinearCombination]:
    """The number of rows, and twice the readable cells of each column less the rows."""
    rows = PlainSum((), (), frozenset())
    if query.with_rows:
        yield ((1, rows),)
    for column in query.checked:
        yield ((2, PlainSum((), (), frozenset({column}))), (-1, rows))


def plain_sums(queries: Iterable[Query]) -> tuple[PlainSum, ...]:
    """The plain sums of all queries, each once."""
    needed = (part for query in queries for part in combinations(query))
    return tuple(dict.fromkeys(plain for part in needed for _, plain in part))
