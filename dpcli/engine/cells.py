"""In which cell a row lies: the axes of a cluster as columns to group by."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from dpcli.columns import Column, NumericColumn
from dpcli.engine.cluster import Cluster
from dpcli.engine.people import Numbers
from dpcli.queries import Key

FARTHEST = 1 << 62
"""Numbers of groups stay below this."""


class GroupBy:
    """The columns that say where a row lies, made of encoded columns by their names.

    `cell` is the joint cell of the closed axes, the last one fastest, one place past
    the end of an axis for nowhere; `o0`, `o1` and so on are open axes, null for
    nowhere.
    """

    def __init__(self, cluster: Cluster, encoded: Mapping[Column, str]) -> None:
        self._cluster, self._encoded = cluster, encoded
        self.open = [f"o{place}" for place in range(len(cluster.kind.open))]
        self.names = ["cell", *self.open]

    def placed(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """The rows with the columns to group by, and a `row` to count by."""
        opened = [
            pl.col(self._encoded[axis.column]).alias(name)
            for axis, name in zip(self._cluster.kind.open, self.open, strict=True)
        ]
        row = pl.lit(1, dtype=pl.Int64).alias("row")
        return rows.with_columns(self._cell().alias("cell"), row, *opened)

    def _cell(self) -> pl.Expr:
        """The joint cell of a row."""
        cell = pl.lit(0, dtype=pl.Int64)
        for axis in self._cluster.axes:
            cell = cell * (len(axis) + 1) + _place(axis, self._encoded[axis.column])
        return cell

    def inside(self, table: pl.DataFrame) -> pl.DataFrame:
        """The rows of a placed table that lie somewhere on every axis."""
        return table.filter(pl.Series(self.groups(table) >= 0))

    def groups(self, table: pl.DataFrame) -> Numbers:
        """A number for the group of each row of a placed table, below zero for nowhere."""
        cell = table["cell"].to_numpy()
        number: Numbers = np.zeros(len(table), dtype=np.int64)
        nowhere = np.zeros(len(table), dtype=bool)
        span = 1
        for axis in reversed(self._cluster.axes):
            cell, place = np.divmod(cell, len(axis) + 1)
            if axis in self._cluster.grouping:
                nowhere |= place == len(axis)
                number += place * span
                span *= len(axis) + 1
        for name in self.open:
            code = table[name].cast(pl.Int64).fill_null(-1).to_numpy()
            nowhere |= code < 0
            span = int(code.max(initial=0)) + 1
            if int(number.max(initial=0)) >= FARTHEST // span:
                number = np.unique(number, return_inverse=True)[1].astype(np.int64)
            number = number * span + np.maximum(code, 0)
        number[nowhere] = -1
        return number


def _place(axis: Key, name: str) -> pl.Expr:
    """Where a row lies along an axis; one past the end for nowhere."""
    value = pl.col(name).cast(pl.Int64)
    if isinstance(axis.starts, range):
        # Every value is a bin of its own.
        value = value - axis.starts[0]
    elif isinstance(axis.column, NumericColumn):
        inner = pl.Series(axis.starts[1:], dtype=pl.Int64)
        value = value.map_batches(
            lambda values: (
                inner.search_sorted(values, side="right").cast(pl.Int64).set(values.is_null(), None)
            ),
            return_dtype=pl.Int64,
            is_elementwise=True,
        )
    return value.fill_null(len(axis))
