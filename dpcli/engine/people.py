"""Whose row it is: ids as whole numbers, equal exactly when the ids are.

An id is compared as a text, without the spaces and tabs around it. A plain decimal
number stands for itself; any other text gets a number of its own from a dictionary,
below zero. No hash stands for a person, so no two people are ever taken for one.
"""

from __future__ import annotations

import threading

import numpy as np
import numpy.typing as npt
import polars as pl

from dpcli.engine.dictionary import Dictionary
from dpcli.engine.grammar import BLANKS

Numbers = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.uint32]

NOBODY = -(1 << 63)
"""Stands for a row without an id."""

STRANGERS = -(1 << 62)
"""From here downwards: rows without an id that are a person each."""


class People:
    """The numbers of all people met so far, and a word of 64 bits for each."""

    def __init__(self) -> None:
        self._dictionary = Dictionary()
        self._words: Words = np.zeros(0, dtype=np.uint64)
        self._growing = threading.Lock()

    def numbers(self, ids: pl.Series) -> pl.Series:
        """The person of each row; `NOBODY` where the id is empty."""
        found = _decimals(ids)
        if not found.null_count():
            return found
        others = found.is_null().arg_true()
        stripped = ids.gather(others).str.strip_chars(BLANKS)
        return found.scatter(others, self._others(stripped))

    def _others(self, ids: pl.Series) -> pl.Series:
        """People whose stripped ids were no plain decimals at first sight."""
        ids = ids.set((ids == "").fill_null(value=False), None)
        codes = ids.to_frame("id").select(self._dictionary.numbers(pl.col("id"))).to_series()
        self._learn(codes.drop_nulls().to_numpy(), ids.drop_nulls().hash(0).to_numpy())
        named = pl.DataFrame({"decimal": _decimals(ids), "other": -1 - codes})
        number = pl.coalesce("decimal", "other", pl.lit(NOBODY, dtype=pl.Int64))
        return named.select(number).to_series()

    def _learn(self, codes: Numbers, words: Words) -> None:
        """Keep the words of named people, by their place in the dictionary."""
        if not len(codes):
            return
        with self._growing:
            needed = int(codes.max()) + 1
            if needed > len(self._words):
                grown = np.zeros(max(needed, 2 * len(self._words)), dtype=np.uint64)
                grown[: len(self._words)] = self._words
                self._words = grown
            self._words[codes] = words

    def words(self, people: Numbers) -> Words:
        """A word for each person that depends on the id alone, not on other people."""
        words = people.view(np.uint64).copy()
        named = np.flatnonzero((people < 0) & (people > STRANGERS))
        if len(named):
            words[named] = self._words[-1 - people[named]]
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
