"""Files in which every line is one record, and copies without odd lines.

A spec with `csv: {multiline: false}` declares such files. A line ends at LF, CRLF or CR, also
between quotes. A line in which a quoted cell is not closed is a row all of whose cells are
missing: it is still a row, so that damage does not change how many rows there are. Any other
line holds the cells that the reference reader finds in it alone. A blank line is no row, or in
a file of one column a row whose cell is missing.

Privacy: no line changes what another line is read as. To change one line of a file, or to add
or remove one, changes one row at most, however odd the line is. The writer of a record decides
one row of the table, and without this rule an open quote would decide all that follow.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from functools import cache
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from dpcli.dialect import Dialect
from dpcli.engine.dialect import quoted_fields
from dpcli.engine.records import UTF8_MARK
from dpcli.engine.source import Source

BLOCK = 1 << 23
"""Bytes that are read at a time; a longer line is taken whole."""

_BLANK = re.compile(rb"\n\n+")


def line_copy(source: Source) -> BinaryIO:
    """The same table in a nameless temporary file, every line of which all readers agree on.

    Only odd lines are written in another way; the others are copied as they are.
    """
    dialect, width = source.dialect, len(source.header)
    assert dialect is not None
    copy = tempfile.TemporaryFile(prefix="dpcli-")  # noqa: SIM115 - closed by the caller
    copy.write(dialect.delimiter.join(f"c{place}" for place in range(width)).encode() + b"\n")
    headed = False
    for lines in _whole_lines(source.file):
        text = lines
        if not headed:
            # The first line that is not blank names the columns.
            text = text.lstrip(b"\n")
            headed = bool(text)
            text = text.partition(b"\n")[2]
        copy.write(_plain(text, width, dialect))
    copy.seek(0)
    return copy


def _whole_lines(file: BinaryIO) -> Iterator[bytes]:
    """Whole lines in UTF-8, each with LF at its end, some megabytes at a time."""
    marked = os.pread(file.fileno(), len(UTF8_MARK), 0) == UTF8_MARK
    position, pending = len(UTF8_MARK) * marked, b""
    parts: list[bytes] = []
    while block := os.pread(file.fileno(), BLOCK, position):
        position += len(block)
        # A CR at the end of a block may be the first half of CRLF.
        block, pending = pending + block, b""
        if block.endswith(b"\r"):
            block, pending = block[:-1], b"\r"
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        end = block.rfind(b"\n") + 1
        parts.append(block[:end] if end else block)
        if end:
            yield _text(b"".join(parts))
            parts = [block[end:]]
    rest = b"".join(parts)
    if rest or pending:
        yield _text(rest + b"\n")


def _text(lines: bytes) -> bytes:
    """The lines, with the replacement character for what is no UTF-8."""
    try:
        lines.decode("utf-8")
    except UnicodeDecodeError:
        # No character spans a line end, so that this is decided within each line.
        return lines.decode("utf-8", "replace").encode("utf-8")
    return lines


def _plain(lines: bytes, width: int, dialect: Dialect) -> bytes:
    """Lines with the same cells, on which all readers agree."""
    if width > 1:
        lines = lines.lstrip(b"\n")
        if b"\n\n" in lines:
            lines = _BLANK.sub(b"\n", lines)
    mark = (dialect.quote or "").encode()
    if not mark or mark not in lines:
        return lines
    quoted = quoted_fields(dialect.delimiter, mark.decode(), multiline=False)
    rest = quoted.sub(b"", lines)
    if mark not in rest:
        return lines
    # No field spans a line, so that both texts have the same lines.
    odd = _lines_with(mark, rest)
    ends = _places(b"\n", lines)
    starts = np.concatenate(([0], ends[:-1] + 1))
    spans = list(zip(starts[odd].tolist(), ends[odd].tolist(), strict=True))
    usual = _in_usual_form([lines[start:end] for start, end in spans], width, dialect)
    pieces: list[bytes] = []
    done = 0
    for (start, end), line in zip(spans, usual, strict=True):
        pieces += (lines[done:start], line)
        done = end
    return b"".join((*pieces, lines[done:]))


def _in_usual_form(odd: list[bytes], width: int, dialect: Dialect) -> list[bytes]:
    """Odd lines with quotes around the cells that need them, or without cells if damaged."""
    mark, separator = (dialect.quote or "").encode(), dialect.delimiter.encode()
    cells = _odd_cells(dialect.delimiter, mark.decode())

    def usual(found: re.Match[bytes]) -> bytes:
        inner, behind, bare = found.groups()
        if bare is None and not behind:
            return found[0]
        cell = bare if bare is not None else inner.replace(2 * mark, mark) + behind
        if mark not in cell and separator not in cell:
            return cell
        return mark + cell.replace(mark, 2 * mark) + mark

    text = b"\n".join(odd) + b"\n"
    lines = cells.sub(usual, text).split(b"\n")[:-1]
    # What is left of a quote opens a cell that is not closed in its line.
    empty = separator if width > 1 else 2 * mark
    for number in _lines_with(mark, cells.sub(b"", text)).tolist():
        lines[number] = empty
    return lines


@cache
def _odd_cells(delimiter: str, quote: str) -> re.Pattern[bytes]:
    """A closed cell that begins with a quote, and what is behind it; or one with a quote in it.

    In a text without these, every quote belongs to a cell that is not closed in its line: no
    match begins before the quote that opens one.
    """
    d, q = (re.escape(mark.encode()) for mark in (delimiter, quote))
    begin = rb"(?<![^%s\n])" % d
    closed = rb"%s((?:[^%s\n]++|%s%s)*+)%s([^%s%s\n][^%s\n]*+)?" % (q, q, q, q, q, d, q, d)
    bare = rb"([^%s%s\n]++%s[^%s\n]*+)" % (d, q, q, d)
    return re.compile(rb"%s(?:%s|%s)" % (begin, closed, bare))


def _places(mark: bytes, text: bytes) -> npt.NDArray[np.int64]:
    """Where a byte stands in a text."""
    return np.flatnonzero(np.frombuffer(text, np.uint8) == ord(mark))


def _lines_with(mark: bytes, text: bytes) -> npt.NDArray[np.int64]:
    """The numbers of the lines in which a byte stands."""
    found: npt.NDArray[np.int64] = np.searchsorted(_places(b"\n", text), _places(mark, text))
    return np.unique(found)
