"""Whose invented rows these are: people with few rows and with too many."""

from __future__ import annotations

import numpy as np

from dpcli.privacy.relation import PersonUnit, Unit
from dpcli.simulation.stream import Places, Stream

FEWEST_PEOPLE = 20
"""In a small file nobody has so many rows that there would be fewer people than this."""

REPEATED = 75
"""Percent of a person's cells that say what the person's other cells say."""

FIRST_PERSON = 1 << 48
"""Places from here on stand for people, those below for rows."""


class Crowd:
    """The person behind each row, in an order without meaning.

    People have up to twice the rows that the limit lets in, few rows more often than many: a
    quarter of them have more than the limit, unless that is large beside the file. Where each
    row stands alone, so it does here.
    """

    def __init__(self, unit: Unit, rows: int, stream: Stream) -> None:
        self._stream = stream
        self._whose: Places | None = None
        self.people: int | None = None
        self.above: int | None = None
        if not isinstance(unit, PersonUnit):
            return
        most = max(2, min(2 * unit.rows, rows // FEWEST_PEOPLE))
        every = np.arange(rows, dtype=np.int64)
        several = stream.named("several").below(most, every)
        sizes = 1 + np.minimum(several, stream.named("few").below(most, every))
        people = int(np.searchsorted(np.cumsum(sizes), rows)) + 1
        ordered = np.repeat(every[:people], sizes[:people])[:rows]
        self.above = int((np.bincount(ordered) > unit.rows).sum())
        order = np.argsort(stream.named("order").words(every), kind="stable")
        self._whose, self.people = ordered[order], people

    def persons(self, rows: Places) -> Places:
        """The number of the person behind each row."""
        return rows if self._whose is None else self._whose[rows]

    def places(self, column: str, rows: Places) -> Places:
        """Where each cell of a column is drawn: most of a person's in one place."""
        if self._whose is None:
            return rows
        repeated = self._stream.named("repeated").named(column).happens(REPEATED, rows)
        found: Places = np.where(repeated, FIRST_PERSON + self._whose[rows], rows)
        return found
