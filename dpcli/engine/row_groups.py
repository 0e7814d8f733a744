"""Rows grouped by user and by group, and the limits on the groups of a user."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpcli.engine.user_ids import Counts, Numbers, Words
from dpcli.sampling.splitmix import ODD

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class GroupedRows:
    """An order of rows in which the rows of each group stand together.

    `order` has the places of rows; `first` states where in the order each group begins,
    `group` to which group each row of the order belongs, `rank` its place in the group.
    """

    order: Numbers
    first: Numbers
    group: Counts
    rank: Counts

    @classmethod
    def of(cls, order: Numbers, *keys: Numbers) -> GroupedRows:
        """The groups of equal keys, which are given in this order of rows."""
        begins = np.ones(len(order), dtype=bool)
        if len(order):
            begins[1:] = False
            for key in keys:
                begins[1:] |= key[1:] != key[:-1]
        first = np.flatnonzero(begins)
        group = np.cumsum(begins, dtype=np.uint32)
        group -= np.uint32(1)
        rank = np.arange(len(order), dtype=np.uint32)
        rank -= first.astype(np.uint32)[group]
        return cls(order, first, group, rank)

    @property
    def lengths(self) -> Counts:
        """How many rows each group has."""
        return np.diff(self.first, append=len(self.order)).astype(np.uint32)


def scattered(users: Numbers) -> Words:
    """A word for each user whose bits are all well mixed; two users never share one."""
    words: Words = users.view(np.uint64) * ODD
    words ^= words >> np.uint64(32)
    words *= ODD
    words ^= words >> np.uint64(29)
    return words


def grouped_by_user(users: Numbers) -> GroupedRows:
    """The rows of each user, in their order.

    Sorting whole words, with the bits of a user above and the place of the row
    below, is far faster than sorting places; where the bits that fit are the same
    for two users, those few rows are sorted again.
    """
    count = len(users)
    width = np.uint64(max(1, count.bit_length()))
    places = np.uint64((1 << int(width)) - 1)
    keys = (scattered(users) & ~places) | np.arange(count, dtype=np.uint64)
    keys.sort()
    order = (keys & places).astype(np.int64)
    sorted_users = users[order]
    keys >>= width
    mixed = np.flatnonzero((keys[1:] == keys[:-1]) & (sorted_users[1:] != sorted_users[:-1]))
    if len(mixed):
        where = np.flatnonzero(np.isin(keys, keys[mixed]))
        again = np.lexsort((order[where], sorted_users[where], keys[where]))
        order[where] = order[where][again]
        sorted_users = users[order]
    return GroupedRows.of(order, sorted_users)


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
