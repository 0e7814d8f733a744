r"""Text with escapes or comments, as CSV without them.

An escape before a delimiter, a quote, a line end or another escape makes it a part of the cell, and
stands for itself before every other character. So `\N`, which databases write for a missing value,
is a blank cell, also in quotes: a text `\N` is written with two escapes. Other sequences, whose
meaning depends on the program, stay as they are.

Privacy: if records have one line, each is rewritten by itself.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from dpcli.data.formats import STANDARD_DIALECT, Dialect
from dpcli.engine.files.csv_normalizer import whole_lines, without_mark
from dpcli.engine.files.decoding import parse_line, parse_records

RECORDS = 1 << 12
"""Records that are rewritten at a time."""

UNCLOSED = '"\n'
"""A line that does not close a quote, in place of another such line."""


def without_marks(dialect: Dialect) -> Dialect:
    """The dialect of the text that `plain_text` makes."""
    quote = STANDARD_DIALECT.quote if dialect.escape else dialect.quote
    return replace(dialect, quote=quote, escape=None, comment=None)


def comment_line(mark: str) -> str:
    """The pattern of a line that begins with a mark, not with a blank or a quote."""
    return rf"(?<![^\r\n]){re.escape(mark)}[^\r\n]*+(?:\r\n?|\n|\Z)"


def plain_text(blocks: Iterable[bytes], dialect: Dialect) -> Iterator[bytes]:
    """UTF-8 text without comments and escapes, from the text of a dialect."""
    lines = whole_lines(without_mark(blocks))
    if dialect.comment:
        comment = re.compile(comment_line(dialect.comment).encode())
        lines = (comment.sub(b"", text) for text in lines)
    return _without_escapes(lines, dialect) if dialect.escape else lines


def _without_escapes(blocks: Iterable[bytes], dialect: Dialect) -> Iterator[bytes]:
    text, rows = io.StringIO(newline=""), _records(blocks, dialect)
    # So a cell with a CR has quotes, as one with a LF.
    writer = csv.writer(text, delimiter=dialect.delimiter, lineterminator="\r\n")
    while records := [*islice(rows, RECORDS)]:
        for cells in records:
            if cells is None:
                text.write(UNCLOSED)
            else:
                writer.writerow(cells)
        yield text.getvalue().encode("utf-8", "replace")
        text.seek(0)
        text.truncate()


def _records(blocks: Iterable[bytes], dialect: Dialect) -> Iterator[list[str] | None]:
    """The cells of each record; None for a line that does not close a quote."""
    escape, mark = dialect.escape or "", re.escape(dialect.delimiter)
    special = dialect.delimiter + (dialect.quote or "") + escape + "\n" * dialect.multiline
    blanks, quote = " \t".replace(dialect.delimiter, ""), re.escape(dialect.quote or "")
    missing = f"(?:{re.escape(escape)}N|{quote}{re.escape(escape)}N{quote})"
    sequence = re.compile(
        rf"(?<![^{mark}\r\n])[{blanks}]*{missing}[{blanks}]*(?![^{mark}\r\n])"
        rf"|{re.escape(escape)}(?:\r(?=\n)|([{re.escape(special)}]))?"
    )

    def kept(found: re.Match[str]) -> str:
        """Nothing for a missing value; other escapes that stand for themselves doubled."""
        if found[0].strip(blanks + quote) == f"{escape}N":
            return ""
        is_line_end = found[0].endswith("\r") and dialect.multiline
        return found[0] if found[1] else escape if is_line_end else escape * 2 + found[0][1:]

    texts = (sequence.sub(kept, block.decode("utf-8", "replace")) for block in blocks)
    # The texts end with lines.
    lines = (line for text in texts for line in io.StringIO(text, newline=""))
    if dialect.multiline:
        yield from (record if any(record) else [] for record in parse_records(lines, dialect))
    else:
        bare = (line.rstrip("\r\n") for line in lines)
        yield from (parse_line(line, dialect) if line.strip(blanks) else [] for line in bare)
