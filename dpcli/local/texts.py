"""The rows of a file as columns of text, a block at a time, in their own order."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO

import numpy as np
import polars as pl

from dpcli.columns import Column
from dpcli.engine.dialect import Inspection, plain_copy
from dpcli.engine.source import UTF8_MARK, Source

BLOCK = 1 << 24
"""Bytes that are read at a time; memory grows with this, not with the file."""

BLANK = re.compile(rb"\n\r?\n")
"""A blank line in a file whose lines end in LF or CRLF, or one within quotes."""

Texts = Iterator[pl.DataFrame]
"""Frames with a column `t0`, `t1` and so on for each wanted column."""


@contextmanager
def texts_of(source: Source, columns: Sequence[Column]) -> Iterator[Texts]:
    """The rows of a file that has these columns, each a column of texts in that order.

    A file that every reader understands alike is read as it is, another by way of a plain
    copy, which is settled before the first row is handed out.
    """
    inspection = Inspection(source.file, source.size)
    places = [source.header.index(column.name) for column in columns]
    if inspection.plain:
        yield _frames(source.file, len(source.header), places, quotes=inspection.quotes)
        return
    with plain_copy(source.file, places) as copy:
        yield _frames(copy, len(places), range(len(places)), quotes=True)


def _frames(file: BinaryIO, width: int, places: Sequence[int], *, quotes: bool) -> Texts:
    """The wanted columns of a plain file, block by block."""
    header = ",".join(f"c{place}" for place in range(width)).encode() + b"\n"
    names = [f"c{place}" for place in places]
    wanted = [pl.col(name).alias(f"t{at}") for at, name in enumerate(names)]
    empty = pl.all_horizontal(pl.all().is_null()).any()
    for records in _blocks(file, quotes=quotes):
        try:
            frame = pl.read_csv(
                header + records,
                infer_schema=False,
                glob=False,
                truncate_ragged_lines=True,
                quote_char='"' if quotes else None,
                columns=list(dict.fromkeys(names)),
            ).select(wanted)
        except pl.exceptions.PolarsError:
            # Bytes that are not UTF-8 end up here.
            yield _by_reference(records, width, places)
            continue
        # In a file of one column a blank line is a row whose only cell is missing.
        if width > 1 and frame.select(empty).item() and BLANK.search(b"\n" + records):
            frame = _by_reference(records, width, places)
        yield frame


def _by_reference(records: bytes, width: int, places: Sequence[int]) -> pl.DataFrame:
    """Whole records as Python's `csv` module reads them; blank lines are none of several cells."""
    text = io.StringIO(records.decode("utf-8", "replace"), newline="")
    rows = [row for row in csv.reader(text) if row or width == 1]
    return pl.DataFrame(
        {
            f"t{at}": pl.Series(
                [row[place] if place < len(row) else "" for row in rows], dtype=pl.String
            )
            for at, place in enumerate(places)
        }
    )


def _blocks(file: BinaryIO, *, quotes: bool) -> Iterator[bytes]:
    """Whole records after the header, some megabytes at a time."""
    file.seek(0)
    rest, first = b"", True
    while block := file.read(BLOCK):
        rest += block.removeprefix(UTF8_MARK) if first and not rest else block
        if first:
            start = _end(rest, quotes=quotes, last=False)
            if not start:
                continue
            rest, first = rest[start:], False
        end = _end(rest, quotes=quotes, last=True)
        if end:
            yield rest[:end]
            rest = rest[end:]
    if rest and not first:
        yield rest


def _end(text: bytes, *, quotes: bool, last: bool) -> int:
    """Where the first or the last whole record ends, in a text that begins with one; or 0."""
    find = text.rfind if last else text.find
    if not quotes or b'"' not in text:
        return find(b"\n") + 1
    # A line end outside quotes has an even number of them before it.
    marks = np.frombuffer(text, np.uint8)
    inside = np.bitwise_xor.accumulate(marks == ord('"'))
    ends = np.flatnonzero((marks == ord("\n")) & ~inside)
    return int(ends[-1 if last else 0]) + 1 if len(ends) else 0
