"""Whether the axes of a cluster have few distinct texts: a look at three places.

Grouping by raw texts and encoding one text per group is much faster than encoding
every cell, unless nearly every row has a text of its own. The choice changes time
and memory, never an answer.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import polars as pl

from dpcli.dialect import Dialect
from dpcli.engine.parquet import scanned
from dpcli.engine.source import Source

WORTHWHILE = 1 << 24
"""Bytes: smaller files are read in no time either way."""

WINDOW = 1 << 19
MOST_GROUPS = 1 << 14

FIRST = 1 << 16
"""Rows of a Parquet file that are looked at."""


def few_distinct(source: Source, columns: Sequence[int], chosen: Sequence[int]) -> bool:
    """Whether the `chosen` ones of some columns have few joint texts in samples of the file."""
    positions = [columns[place] for place in chosen]
    if source.size < WORTHWHILE or not positions:
        return False
    try:
        rows = _rows(source, positions)
        groups = rows.n_unique()
    except (pl.exceptions.PolarsError, OSError):
        return False
    return groups <= MOST_GROUPS and groups * 4 <= len(rows)


def _rows(source: Source, positions: Sequence[int]) -> pl.DataFrame:
    """Some rows: of three places of a CSV file, or the first ones of a Parquet file."""
    if source.dialect is None:
        return scanned(source.file).select(pl.nth(*positions)).head(FIRST).collect()
    places = (0, source.size // 2, source.size)
    return pl.concat([_texts(source, source.dialect, positions, place) for place in places])


def _texts(source: Source, dialect: Dialect, positions: Sequence[int], place: int) -> pl.DataFrame:
    """The wanted columns of the whole lines in a window around `place`."""
    start = min(max(0, place - WINDOW // 2), source.size - WINDOW)
    window = os.pread(source.file.fileno(), WINDOW, start)
    lines = window[window.find(b"\n") + 1 : window.rfind(b"\n") + 1]
    names = [f"t{index}" for index in range(len(source.header))]
    # The first bytes must not be those of a record: they would be searched for compression.
    header = dialect.delimiter.join(names).encode() + b"\n"
    return pl.read_csv(
        header + lines,
        separator=dialect.delimiter,
        infer_schema=False,
        truncate_ragged_lines=True,
        encoding="utf8-lossy",
        quote_char=None,
    ).select(f"t{index}" for index in positions)
