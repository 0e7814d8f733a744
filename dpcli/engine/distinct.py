"""How many different values a column has in each cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from dpcli.columns import Column
from dpcli.engine.sums import passing
from dpcli.queries import DistinctQuery


def distinct_values(
    placed: pl.LazyFrame,
    query: DistinctQuery,
    names: Mapping[Column, str],
    keys: Sequence[str],
) -> pl.LazyFrame:
    """Each value once in each cell, null for rows that do not count, and any blanks."""
    known = [column for column in query.present if column.missing is None]
    mask = passing(query.where, known, names)
    value = pl.col(names[query.column])
    value = value if mask is None else pl.when(mask).then(value)
    return (
        placed.with_columns(value.alias("value"))
        .group_by([*keys, "value"])
        .agg(pl.col("blank").any())
    )


def how_many(values: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """The number of values in each cell."""
    count = pl.col("value").is_not_null().cast(pl.Int64).sum()
    return values.group_by(keys).agg(count.alias("s0"), pl.col("blank").any())
