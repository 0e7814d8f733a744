"""The rows of a file as columns of text, a block at a time, in their own order."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO

import numpy as np
import polars as pl

from dpcli.columns import Column
from dpcli.engine.dialect import Inspection, has_blank_lines, plain_copy
from dpcli.engine.source import UTF8_MARK, Source

BLOCK = 1 << 24
"""Bytes that are read at a time; memory grows with this, not with the file."""

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
    blank = len(source.header) > 1 and has_blank_lines(source.file, source.size)
    if inspection.plain and not blank and _is_utf8(source.file):
        yield _frames(source.file, len(source.header), places, quotes=inspection.quotes)
        return
    with plain_copy(source.file, places) as copy:
        yield _frames(copy, len(places), range(len(places)), quotes=True)


def _is_utf8(file: BinaryIO) -> bool:
    """Whether all bytes are UTF-8 text."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    file.seek(0)
    try:
        while block := file.read(BLOCK):
            decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _frames(file: BinaryIO, width: int, places: Sequence[int], *, quotes: bool) -> Texts:
    """The wanted columns of a plain file, block by block."""
    header = ",".join(f"c{place}" for place in range(width)).encode() + b"\n"
    names = [f"c{place}" for place in places]
    for records in _blocks(file, quotes=quotes):
        frame = pl.read_csv(
            header + records,
            infer_schema=False,
            glob=False,
            truncate_ragged_lines=True,
            quote_char='"' if quotes else None,
            columns=list(dict.fromkeys(names)),
        )
        yield frame.select(pl.col(name).alias(f"t{at}") for at, name in enumerate(names))


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
