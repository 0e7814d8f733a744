"""Rows brought together by person, each person's rows in their own order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpcli.engine.people import Counts, Numbers, Words
from dpcli.sampling.splitmix import ODD

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Runs:
    """An order of rows in which each person's stand together.

    `order` are places of rows; `first` says where in the order each run begins,
    `run` to which run each row of the order belongs, `rank` its place within.
    """

    order: Numbers
    first: Numbers
    run: Counts
    rank: Counts

    @property
    def lengths(self) -> Counts:
        """How many rows each run has."""
        return np.diff(self.first, append=len(self.order)).astype(np.uint32)


def scattered(people: Numbers) -> Words:
    """A word for each person whose bits are all well mixed; no two share one."""
    words: Words = people.view(np.uint64) * ODD
    words ^= words >> np.uint64(32)
    words *= ODD
    words ^= words >> np.uint64(29)
    return words


def by_person(people: Numbers) -> Runs:
    """The runs of rows that belong to one person each.

    Sorting whole words, with the bits of a person above and the place of the row
    below, is far faster than sorting places; where the bits that fit are the same
    for two people, those few rows are put in order once more.
    """
    count = len(people)
    width = np.uint64(max(1, count.bit_length()))
    places = np.uint64((1 << int(width)) - 1)
    keys = (scattered(people) & ~places) | np.arange(count, dtype=np.uint64)
    keys.sort()
    order = (keys & places).astype(np.int64)
    sorted_people = people[order]
    keys >>= width
    mixed = np.flatnonzero((keys[1:] == keys[:-1]) & (sorted_people[1:] != sorted_people[:-1]))
    if len(mixed):
        where = np.flatnonzero(np.isin(keys, keys[mixed]))
        again = np.lexsort((order[where], sorted_people[where], keys[where]))
        order[where] = order[where][again]
        sorted_people = people[order]
    return _runs(order, changes(sorted_people))


def _runs(order: Numbers, begins: Flags) -> Runs:
    """The runs of an order, from where they begin."""
    first = np.flatnonzero(begins)
    run = np.cumsum(begins, dtype=np.uint32)
    run -= np.uint32(1)
    rank = np.arange(len(order), dtype=np.uint32)
    rank -= first.astype(np.uint32)[run]
    return Runs(order, first, run, rank)


def changes(*columns: Numbers) -> Flags:
    """Where a row differs from the row before it in some column; true at the first."""
    begins = np.ones(len(columns[0]), dtype=bool)
    if len(begins):
        begins[1:] = False
        for column in columns:
            begins[1:] |= column[1:] != column[:-1]
    return begins


def ranked(*columns: Numbers | Words) -> Runs:
    """The runs of rows equal in all columns but the last, which orders each run."""
    order = np.lexsort(tuple(reversed(columns)))
    heads = [np.asarray(column[order]).view(np.int64) for column in columns[:-1]]
    return _runs(order, changes(*heads))
