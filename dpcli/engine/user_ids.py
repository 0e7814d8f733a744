"""Whose row it is: ids as whole numbers, and the rows of each user together.

Two numbers are equal exactly when the ids are. An id is compared as a text, without the spaces
and tabs around it. A plain decimal number stands for itself; any other text gets a number of its
own from a dictionary, below zero. No hash stands for a user, so two users are never taken for one.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from dpcli.engine.decode import stripped
from dpcli.sampling.splitmix import ODD

Numbers = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.uint32]

NULL_ID = -(1 << 63)
"""The number of a row without an id."""

FIRST_ANONYMOUS_ID = -(1 << 62)
"""From here downwards: rows without an id, each of which is a user of its own."""


class Dictionary:
    """The texts met so far as whole numbers from zero on; a text keeps its number."""

    def __init__(self) -> None:
        self._type = pl.Categorical(pl.Categories.random())
        # The numbers are forgotten and assigned again when no column has the type.
        self._kept = pl.Series([], dtype=self._type)

    def numbers(self, texts: pl.Expr) -> pl.Expr:
        """The number of each text as Int64, null for null."""
        return texts.cast(self._kept.dtype).to_physical().cast(pl.Int64)

    def texts(self, numbers: pl.Expr) -> pl.Expr:
        """The text of each number, null for null."""
        return numbers.cast(pl.UInt32).cat.to(self._type).cast(pl.String)


class UserIdIndex:
    """The numbers of all users met so far, and a word of 64 bits for each."""

    def __init__(self) -> None:
        self._dictionary = Dictionary()
        self._words: Words = np.zeros(0, dtype=np.uint64)
        self._growing = threading.Lock()

    def numbers(self, ids: pl.Series) -> pl.Series:
        """The user of each row; `NULL_ID` where the id is empty."""
        found = _decimals(ids)
        if not found.null_count():
            return found
        others = found.is_null().arg_true()
        names = ids.gather(others).to_frame("id").select(stripped(pl.col("id"))).to_series()
        codes = names.to_frame("id").select(self._dictionary.numbers(pl.col("id"))).to_series()
        self._learn(codes.drop_nulls().to_numpy(), names.drop_nulls().hash(0).to_numpy())
        named = pl.DataFrame({"decimal": _decimals(names), "other": -1 - codes})
        number = pl.coalesce("decimal", "other", pl.lit(NULL_ID, dtype=pl.Int64))
        return found.scatter(others, named.select(number).to_series())

    def _learn(self, codes: Numbers, words: Words) -> None:
        if not len(codes):
            return
        with self._growing:
            needed = int(codes.max()) + 1
            if needed > len(self._words):
                grown = np.zeros(max(needed, 2 * len(self._words)), dtype=np.uint64)
                grown[: len(self._words)] = self._words
                self._words = grown
            self._words[codes] = words

    def words(self, users: Numbers) -> Words:
        """A word for each user that depends on the id alone, not on other users."""
        words = users.view(np.uint64).copy()
        named = np.flatnonzero((users < 0) & (users > FIRST_ANONYMOUS_ID))
        if len(named):
            words[named] = self._words[-1 - users[named]]
        return words


def _decimals(ids: pl.Series) -> pl.Series:
    """Plain decimals as themselves; null for every text that is written otherwise.

    Zeros and signs in front are left to the dictionary, where `07` is not `7`.
    """
    numbers = ids.cast(pl.Int64, strict=False)
    for mark in "0+-":
        marked = ids.str.starts_with(mark)
        if marked.any():
            numbers = numbers.set(marked.fill_null(value=False), None)
    return numbers


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
