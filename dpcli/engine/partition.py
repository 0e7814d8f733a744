"""Some of the people of a file: their rows with the least lots, and their totals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from dpcli.engine.draw import Draw
from dpcli.engine.people import Counts, Numbers, People, Words
from dpcli.engine.runs import Runs, by_person
from dpcli.engine.totals import Totals

Column = npt.NDArray[np.int32] | npt.NDArray[np.int64]


class Partition:
    """The people whom one partition holds."""

    def __init__(
        self,
        limit: int,
        names: Mapping[str, int | None],
        totals: Sequence[Totals],
        draw: Draw,
        everybody: People,
        patience: int,
    ) -> None:
        self._limit, self._names, self.totals = np.uint32(limit), names, totals
        self._draw, self._everybody, self._patience = draw, everybody, patience
        self._people: Numbers = np.zeros(0, dtype=np.int64)
        self._ordinals: Counts = np.zeros(0, dtype=np.uint32)
        self._seen: Counts = np.zeros(0, dtype=np.uint32)
        self._columns: list[Column] = []
        self._new: list[Sequence[Column]] = []
        self._waiting = 0

    def __len__(self) -> int:
        """How many rows are kept."""
        return len(self._people)

    def add(self, columns: Sequence[Column]) -> None:
        """Take in rows; the first column says whose they are."""
        self._new.append(columns)
        self._waiting += len(columns[0])
        if self._waiting > max(self._patience, len(self._people) // 2):
            self.settle()

    def rows(self) -> pl.DataFrame:
        """The kept rows: `person`, `lot` and the encoded columns."""
        lots = self._lots(self._people, self._ordinals)
        return self._frame(self._people, lots, self._columns)

    def settle(self) -> None:
        """Bring the new rows together with the kept ones, and let the rest go.

        A person's ordinals count their rows from zero in the order of the file, over
        all rows that were ever seen (beyond 2^32 they repeat, and so do lots).
        """
        if not self._waiting:
            return
        new = [np.concatenate(parts) for parts in zip(*self._new, strict=True)]
        self._new, self._waiting = [], 0
        old = len(self._people)
        whose = np.concatenate((self._people, new[0]))
        columns = new[1:]
        if old:
            pairs = zip(self._columns, columns, strict=True)
            columns = [np.concatenate(pair) for pair in pairs]
        runs = by_person(whose)
        people = whose[runs.order]
        ordinals, seen = self._counted(runs, old)
        if self.totals:
            self._add_up(np.flatnonzero(runs.order >= old), runs, people, ordinals, columns)
        stays = self._stays(runs, people, ordinals)
        if stays is not None:
            people, ordinals = people[stays], ordinals[stays]
            seen, order = seen[runs.run[stays]], runs.order[stays]
        else:
            seen, order = seen[runs.run], runs.order
        self._people, self._ordinals, self._seen = people, ordinals, seen
        self._columns = [column[order] for column in columns]

    def _counted(self, runs: Runs, old: int) -> tuple[Counts, Counts]:
        """The ordinal of each row in order, and how many rows of each run were seen."""
        lengths = runs.lengths
        if not old:
            return runs.rank, lengths
        nothing = np.zeros(len(runs.order) - old, dtype=np.uint32)
        kept = runs.order < old
        # Rows seen before come first in their run, and each knows how many were seen.
        gone = np.concatenate((self._seen, nothing))[runs.order[runs.first]]
        gone -= np.add.reduceat(kept, runs.first, dtype=np.uint32)
        ordinals = np.concatenate((self._ordinals, nothing))[runs.order]
        return np.where(kept, ordinals, runs.rank + gone[runs.run]), lengths + gone

    def _stays(self, runs: Runs, people: Numbers, ordinals: Counts) -> Numbers | None:
        """Where in the order rows are among their person's least lots; None for all."""
        crowded = (runs.lengths > self._limit)[runs.run]
        rivals = np.flatnonzero(crowded)
        if not len(rivals):
            return None
        lots = self._lots(people[rivals], ordinals[rivals])
        keeps = ~crowded
        keeps[rivals[_least(runs.run[rivals], runs.rank[rivals], lots, self._limit)]] = True
        return np.flatnonzero(keeps)

    def _add_up(
        self,
        fresh: Numbers,
        runs: Runs,
        people: Numbers,
        ordinals: Counts,
        columns: Sequence[Column],
    ) -> None:
        """Add the new rows to the totals."""
        whose, places = people[fresh], runs.order[fresh]
        lots = self._lots(whose, ordinals[fresh])
        frame = self._frame(whose, lots, [column[places] for column in columns])
        for each in self.totals:
            each.add(frame)

    def _lots(self, people: Numbers, ordinals: Counts) -> Words:
        """The lots of rows."""
        return self._draw.lots(self._everybody.words(people), ordinals)

    def _frame(self, people: Numbers, lots: Words, columns: Sequence[Column]) -> pl.DataFrame:
        """Rows as a table, with null for what is absent."""
        named = dict(zip(self._names, columns, strict=True))
        return pl.DataFrame({"person": people, "lot": lots, **named}).with_columns(
            pl.when(pl.col(name) != absent).then(pl.col(name)).alias(name)
            for name, absent in self._names.items()
            if absent is not None
        )


def _least(run: Counts, rank: Counts, lots: Words, limit: np.uint32) -> Numbers:
    """The places of the `limit` least lots of each run; whole runs stand together.

    Sorting words of run and lot is fast; should two lots of a run agree in the bits
    that fit, all bits are compared: how many fit depends on other people.
    """
    from_first = (run - run[0]).astype(np.uint64)
    width = np.uint64(max(1, int(from_first[-1]).bit_length()))
    keys = (from_first << (np.uint64(64) - width)) | (lots >> width)
    order = np.argsort(keys)
    ordered = keys[order]
    if (ordered[1:] == ordered[:-1]).any():
        order = np.lexsort((lots, run))
    # Runs keep their places, so the ranks of a run count its sorted rows as well.
    chosen: Numbers = order[rank < limit]
    return chosen
