"""The users of one shard: their rows of smallest priority, and their totals.

The priority of a row depends on a secret of this release, on the user id, and on how many
rows the same user has before it: never on where the row stands in the file, and never on
other users. So a user who joins or leaves does not change which rows of another user are
kept, and whatever the secret is, each user's rows alone decide which of them are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from dpcli.engine.group_limits import ClampedTotals
from dpcli.engine.user_ids import Counts, GroupedRows, Numbers, UserIdIndex, Words, grouped_by_user
from dpcli.sampling.entropy import random_bytes
from dpcli.sampling.splitmix import ODD, scrambled

Column = npt.NDArray[np.int32] | npt.NDArray[np.int64]


class RowSampler:
    """The random priorities of one release.

    Uniform over the rows of a user as far as the mixing of 64-bit words is (Steele, Lea
    and Flood 2014). Nothing about privacy rests on that: any rule that looks at the rows
    of one user alone would do.
    """

    def __init__(self) -> None:
        secret = random_bytes(16)
        self._first = np.uint64(int.from_bytes(secret[:8], "little"))
        self._second = np.uint64(int.from_bytes(secret[8:], "little"))

    def priorities(self, words: Words, ordinals: Counts) -> Words:
        """The priority of each row, from the word of its user and its place among their rows."""
        # Mixed before the ordinal is added: otherwise consecutive ids share shifted priorities.
        mixed = scrambled((words ^ self._first) * ODD)
        mixed += ordinals * ODD
        mixed ^= self._second
        return scrambled(mixed)


class UserShard:
    """The users whose numbers fall into one shard, and of each at most `limit` rows.

    Privacy: of each user the rows with the `limit` smallest priorities stay, so that
    another user's rows never decide which.
    """

    def __init__(
        self,
        limit: int,
        absent: Mapping[str, int | None],
        totals: Sequence[ClampedTotals],
        sampler: RowSampler,
        index: UserIdIndex,
        capacity: int,
    ) -> None:
        self._limit, self._absent, self.totals = np.uint32(limit), absent, totals
        self._sampler, self._index, self._capacity = sampler, index, capacity
        self._users: Numbers = np.zeros(0, dtype=np.int64)
        self._ordinals: Counts = np.zeros(0, dtype=np.uint32)
        self._seen: Counts = np.zeros(0, dtype=np.uint32)
        self._columns: list[Column] = []
        self._new: list[Sequence[Column]] = []
        self._waiting = 0

    def __len__(self) -> int:
        """How many rows are kept."""
        return len(self._users)

    def add(self, columns: Sequence[Column]) -> None:
        """Take in rows; the first column has their users."""
        self._new.append(columns)
        self._waiting += len(columns[0])
        if self._waiting > max(self._capacity, len(self._users) // 2):
            self.compact()

    def rows(self) -> pl.DataFrame:
        """The kept rows: `user`, `priority` and the encoded columns."""
        return self._frame(self._users, self._ordinals, self._columns)

    def compact(self) -> None:
        """Bring the new rows together with the kept ones, and drop what exceeds the limit.

        The ordinals of a user count their rows from zero in the order of the file, over
        all rows that were ever seen (beyond 2^32 they repeat, and so do priorities).
        """
        if not self._waiting:
            return
        new = [np.concatenate(parts) for parts in zip(*self._new, strict=True)]
        self._new, self._waiting = [], 0
        old = len(self._users)
        users, columns = np.concatenate((self._users, new[0])), new[1:]
        if old:
            pairs = zip(self._columns, columns, strict=True)
            columns = [np.concatenate(pair) for pair in pairs]
        rows = grouped_by_user(users)
        order, group = rows.order, rows.group
        users = users[order]
        ordinals, seen = self._counted(rows, old)
        if self.totals:
            fresh = np.flatnonzero(order >= old)
            added = [column[order[fresh]] for column in columns]
            frame = self._frame(users[fresh], ordinals[fresh], added)
            for each in self.totals:
                each.add(frame)
        stays = self._stays(rows, users, ordinals)
        if stays is not None:
            users, ordinals = users[stays], ordinals[stays]
            order, group = order[stays], group[stays]
        self._users, self._ordinals, self._seen = users, ordinals, seen[group]
        self._columns = [column[order] for column in columns]

    def _counted(self, rows: GroupedRows, old: int) -> tuple[Counts, Counts]:
        """The ordinal of each row in order, and how many rows of each user were seen."""
        lengths = rows.lengths
        if not old:
            return rows.rank, lengths
        nothing = np.zeros(len(rows.order) - old, dtype=np.uint32)
        kept = rows.order < old
        # Rows seen before come first in their group, and each has the number that were seen.
        gone = np.concatenate((self._seen, nothing))[rows.order[rows.first]]
        gone -= np.add.reduceat(kept, rows.first, dtype=np.uint32)
        ordinals = np.concatenate((self._ordinals, nothing))[rows.order]
        return np.where(kept, ordinals, rows.rank + gone[rows.group]), lengths + gone

    def _stays(self, rows: GroupedRows, users: Numbers, ordinals: Counts) -> Numbers | None:
        """The places in the order of the rows that are kept; None for all."""
        crowded = (rows.lengths > self._limit)[rows.group]
        rivals = np.flatnonzero(crowded)
        if not len(rivals):
            return None
        priorities = self._priorities(users[rivals], ordinals[rivals])
        keeps = ~crowded
        group, rank = rows.group[rivals], rows.rank[rivals]
        keeps[rivals[smallest(group, rank, priorities, self._limit)]] = True
        return np.flatnonzero(keeps)

    def _priorities(self, users: Numbers, ordinals: Counts) -> Words:
        return self._sampler.priorities(self._index.words(users), ordinals)

    def _frame(self, users: Numbers, ordinals: Counts, columns: Sequence[Column]) -> pl.DataFrame:
        """Rows as a table, with null for what is absent."""
        named = dict(zip(self._absent, columns, strict=True))
        priority = self._priorities(users, ordinals)
        return pl.DataFrame({"user": users, "priority": priority, **named}).with_columns(
            pl.when(pl.col(name) != absent).then(pl.col(name)).alias(name)
            for name, absent in self._absent.items()
            if absent is not None
        )


def smallest(group: Counts, rank: Counts, priorities: Words, limit: np.uint32) -> Numbers:
    """The places of the `limit` smallest priorities of each group; groups stand together.

    Sorting words of group and priority is fast; if two priorities of a group agree in the
    bits that fit, all bits are compared: how many fit depends on other users.
    """
    from_first = (group - group[0]).astype(np.uint64)
    width = np.uint64(max(1, int(from_first[-1]).bit_length()))
    keys = (from_first << (np.uint64(64) - width)) | (priorities >> width)
    order = np.argsort(keys)
    ordered = keys[order]
    if (ordered[1:] == ordered[:-1]).any():
        order = np.lexsort((priorities, group))
    # Groups keep their places, so the ranks of a group count its sorted rows as well.
    chosen: Numbers = order[rank < limit]
    return chosen
