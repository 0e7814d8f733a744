"""The limits on the groups of a user: what stays, and clamped totals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from dpcli.engine.batching import Grouping
from dpcli.engine.sums import PlainSum
from dpcli.engine.user_ids import GroupedRows, Numbers, Words
from dpcli.queries import LinearQuery

Flags = npt.NDArray[np.bool_]

PENDING = 1 << 18
"""Rows of sums that wait before they are added up again."""


def cap_rows_per_group(
    users: Numbers, priorities: Words, groups: Numbers, most: int, rows: int
) -> Flags:
    """Which rows stay: of each user those in `most` groups, and `rows` in each.

    Rows are taken in the order of their priorities: a row is left out when its group has
    enough rows, or when it would be in one group too many. A group below zero is
    nowhere, and such rows are left out.
    """
    stays = np.zeros(len(users), dtype=bool)
    placed = np.flatnonzero(groups >= 0)
    if not len(placed):
        return stays
    user, priority, group = users[placed], priorities[placed], groups[placed]
    pairs = _ranked(user, group, priority)
    heads = pairs.order[pairs.first]
    chosen = cap_groups(user[heads], priority[heads], most)
    fits = chosen[pairs.group] & (pairs.rank < rows)
    stays[placed[pairs.order[fits]]] = True
    return stays


def cap_groups(users: Numbers, priorities: Words, most: int) -> Flags:
    """Which of the groups of each user stay: the `most` with the smallest priorities."""
    stays = np.zeros(len(users), dtype=bool)
    rows = _ranked(users, priorities)
    stays[rows.order[rows.rank < most]] = True
    return stays


def _ranked(*columns: Numbers | Words) -> GroupedRows:
    """The groups of rows equal in all columns but the last, which orders each group."""
    order = np.lexsort(tuple(reversed(columns)))
    keys = [np.asarray(column[order]).view(np.int64) for column in columns[:-1]]
    return GroupedRows.of(order, *keys)


class ClampedTotals:
    """The totals of some users, cell by cell, for queries of the same groups.

    A row of the table is a user in a cell: the smallest of their priorities there, and for
    each query the sum of the rows that count and how many those are.
    """

    def __init__(
        self, grouping: Grouping, queries: Sequence[LinearQuery], size: int, most: int
    ) -> None:
        self._grouping, self._queries = grouping, tuple(queries)
        self._size, self._most = size, most
        self._keys = ["user", *grouping.keys]
        self._parts: list[pl.DataFrame] = []
        self._pending = 0

    def empty(self) -> ClampedTotals:
        """The same for other users, with no rows yet."""
        return ClampedTotals(self._grouping, self._queries, self._size, self._most)

    def add(self, rows: pl.DataFrame) -> None:
        """Add rows: `user`, `priority` and the encoded columns, their nulls in place."""
        wanted = [pl.col("priority").min()]
        for position, query in enumerate(self._queries):
            for name, plain in zip("nt", _count_and_total(query), strict=True):
                value = plain.expression(self._grouping.encoded, self._size)
                wanted.append(value.alias(f"{name}{position}"))
        part = self._grouping.placed(rows.lazy()).group_by(self._keys).agg(wanted).collect()
        self._parts.append(part)
        self._pending += len(part)
        if self._pending > PENDING + len(self._parts[0]):
            self._merge()

    def _merge(self) -> None:
        whole = pl.concat(self._parts)
        if len(self._parts) > 1:
            added = (pl.col("priority").min(), pl.col(r"^[tn]\d+$").sum())
            whole = whole.group_by(self._keys).agg(*added)
        self._parts, self._pending = [whole], 0

    def sums(self) -> pl.DataFrame:
        """For each cell, the clamped totals of the users who have it among their groups."""
        self._merge()
        table = self._parts[0].filter(pl.Series(self._grouping.numbers(self._parts[0]) >= 0))
        stays = cap_groups(table["user"].to_numpy(), table["priority"].to_numpy(), self._most)
        # A bound away from zero makes totals larger than the rows that they are made of.
        clamped = [
            pl.when(pl.col(f"n{position}") > 0)
            .then(pl.col(f"t{position}").cast(pl.Int128).clip(*query.totals))
            .otherwise(0)
            .sum()
            .alias(f"s{position}")
            for position, query in enumerate(self._queries)
            if query.totals is not None
        ]
        return table.filter(pl.Series(stays)).group_by(self._grouping.keys).agg(clamped)


def _count_and_total(query: LinearQuery) -> tuple[PlainSum, PlainSum]:
    """How many rows of a user count, and what they add."""
    known = frozenset(
        column
        for column in (*query.present, *(factor.column for factor in query.factors))
        if column.missing is None
    )
    counted = PlainSum((), query.where, known)
    return counted, PlainSum(query.factors, query.where, known) if query.factors else counted
