"""Whether the axes of a cluster have few distinct texts: a look at three places.

Grouping by raw texts and encoding one text per group is much faster than encoding
every cell, unless nearly every row has a text of its own. The choice changes time
and memory, never an answer.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import polars as pl

from dpcli.engine.source import Source

WORTHWHILE = 1 << 24
"""Bytes: smaller files are read in no time either way."""

WINDOW = 1 << 19
MOST_GROUPS = 1 << 14


def few_distinct(source: Source, positions: Sequence[int]) -> bool:
    """Whether the columns at `positions` have few joint texts in samples of the file."""
    if source.size < WORTHWHILE or not positions:
        return False
    try:
        texts = [_texts(source, positions, place) for place in (0, source.size // 2, source.size)]
        rows = pl.concat(texts)
        groups = rows.n_unique()
    except pl.exceptions.PolarsError:
        return False
    return groups <= MOST_GROUPS and groups * 4 <= len(rows)


def _texts(source: Source, positions: Sequence[int], place: int) -> pl.DataFrame:
    """The wanted columns of the whole lines in a window around `place`."""
    start = min(max(0, place - WINDOW // 2), source.size - WINDOW)
    window = os.pread(source.file.fileno(), WINDOW, start)
    lines = window[window.find(b"\n") + 1 : window.rfind(b"\n") + 1]
    return pl.read_csv(
        lines,
        has_header=False,
        infer_schema=False,
        truncate_ragged_lines=True,
        encoding="utf8-lossy",
        quote_char=None,
        new_columns=[f"t{index}" for index in range(len(source.header))],
    ).select(f"t{index}" for index in positions)
