"""How many ids differ from another one only in what an option would ignore.

Confidential, as `check_cells` is, which alone may import this module.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import polars as pl

from dpcli.data.column import Column, TextOption


def _joining_options(ids: Column) -> tuple[TextOption, ...]:
    """The options that join ids, without the declared ones."""
    kinds = (kind for kind in ids.takes if issubclass(kind, TextOption))
    return tuple(kind() for kind in kinds if ids.option(kind) is None)


def id_counts(ids: Column, value: pl.Expr) -> pl.Expr:
    """The rows of each id, with what each option makes of it; texts as hashes."""
    text = value.drop_nulls()
    changed = [option.changed(text) for option in _joining_options(ids)]
    hashes = [one.hash(seed=0).alias(f"h{index}") for index, one in enumerate((text, *changed))]
    return pl.struct(hashes).value_counts(name="rows").implode().alias("users")


def rows_of_ids(counted: pl.DataFrame) -> pl.DataFrame:
    """The `rows` of each id, from the `id_counts` of all pieces."""
    counts = counted.select(pl.col("users").explode()).unnest("users").drop_nulls()
    hashes, rows = counts.columns
    return counts.group_by(hashes).agg(pl.col(rows).sum()).unnest(hashes)


def joined_ids(ids: Column, users: pl.DataFrame) -> Iterator[tuple[TextOption, Fraction]]:
    """The options that would join ids, each with the share of ids that it would join."""
    for index, option in enumerate(_joining_options(ids), 1):
        is_joined = pl.col("h0").n_unique().over(f"h{index}") > 1
        count = int(users.select(is_joined.sum()).item())
        if count:
            yield option, Fraction(count, len(users))
