"""What to add up in each group: plain sums that several queries can share.

A query of one factor, sum(x - c), is the sum of x less c times the number of rows
with an x; so a total, a mean and a count of the same rows need two sums, not four.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from dpcli.columns import Column
from dpcli.engine.cluster import Cluster
from dpcli.queries import Condition, Factor, LinearQuery, Query

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

        `name` tells where the whole numbers of a column are; a file of `size` bytes
        has at most that many rows.
        """
        mask = passing(self.where, self.known, name)
        if self.factors:
            most = 1
            for factor in self.factors:
                most *= max(map(abs, factor.limits))
            dtype = pl.Int64() if most * size < 2**62 else pl.Int128()
            value = pl.lit(1, dtype=dtype)
            for place, factor in enumerate(self.factors):
                number = pl.col(name[factor.column]).cast(dtype)
                number = number - factor.offset if factor.offset else number
                value = value * number if place else number
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


Combination = tuple[tuple[int, PlainSum], ...]
"""A weighted total of plain sums."""


def combination(query: LinearQuery) -> Combination:
    """The plain sums that make up `query`, within its cells."""
    # Rows that are missing on an axis lie in no cell, which needs no test.
    axes = {key.column for key in query.axes}
    known = frozenset(
        column for column in query.present if column.missing is None and column not in axes
    )
    if len(query.factors) != 1:
        return ((1, PlainSum(query.factors, query.where, known)),)
    (factor,) = query.factors
    column = factor.column
    total = PlainSum((Factor(column),), query.where, known - {column})
    if not factor.offset:
        return ((1, total),)
    with_value = known | ({column} if column.missing is None and column not in axes else set())
    return ((1, total), (-factor.offset, PlainSum((), query.where, with_value)))


def sums_of(queries: Sequence[Query], cluster: Cluster) -> tuple[PlainSum, ...]:
    """The plain sums of all members of a cluster, each once."""
    members = (queries[position] for position in cluster.members)
    linear = (query for query in members if isinstance(query, LinearQuery))
    return tuple(dict.fromkeys(plain for query in linear for _, plain in combination(query)))
