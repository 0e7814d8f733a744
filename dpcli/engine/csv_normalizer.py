"""Rewrites any CSV as plain CSV, which all readers read alike.

In a plain file lines end in LF or CRLF, quotes open at the start of a cell, close at its end and
are doubled within, no line is blank (unless there is one column, where an empty cell is a blank
line), and the bytes are UTF-8. Native readers read only such text, so that every record is what
Python's `csv` module reads. Text that is not plain is rewritten cell by cell; other text stays. The
content only decides how text is read. It never causes an error and is never reported.

A quoted cell of more than `LONGEST_CELL` bytes is missing, so that a quote that is never closed
does not bring the remaining file into memory.

A spec with `csv: {multiline: false}` declares that every line is one record. A line ends at LF,
CRLF or CR, also between quotes. If a line does not close a quoted cell, it is a row with all cells
missing: it is still a row, so that damage does not change the number of rows. Any other line holds
the cells that the `csv` module finds in this line alone. A blank line is no row; in a file of one
column it is a row with a missing cell.

Privacy: in such files, no line changes how another line is read. To change, add or remove one line
changes at most one row, however odd the line is. So the writer of a record decides one row of the
table. Without this rule, an open quote would decide all rows after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import starmap

from dpcli.data.csv_dialect import Dialect
from dpcli.engine.file_content import placeholder_header
from dpcli.engine.plain_bytes import (
    PlainText,
    is_too_long,
    whole_lines,
    with_line_feeds,
    without_mark,
)

BLOCK = 1 << 18
"""Bytes that are examined together; one odd cell causes at most these to be rewritten."""

FIRST_LINE = re.compile(rb"[\r\n]*+[^\n]*+\n")
"""The first line that is not blank, in text without quoted cells."""


class CsvNormalizer:
    """Rewrites the text of one file as plain text, from its start to its end.

    After the end, `unclosed` states whether the text ends within a quoted cell. Blank lines that
    are no rows are removed.
    """

    def __init__(self, dialect: Dialect, width: int) -> None:
        self.unclosed = self._is_open = False
        self.header = placeholder_header(dialect.delimiter, width).encode()
        self._quote, self._multiline = (dialect.quote or "").encode(), dialect.multiline
        self._plain = PlainText(dialect)
        self._blank_rows = width == 1
        self._missing = dialect.delimiter.encode() * (width - 1) or self._quote * 2
        # The content of the open cell, or whether it is too long and dropped.
        self._open_cell, self._drops_cell = b"", False
        marks = (dialect.delimiter, dialect.quote or "\n")
        d, q = (re.escape(mark).encode() for mark in marks)
        # A quoted cell may hold line ends if records may have several lines.
        inner = rb"(?:[^%b%b]++|%b%b)*+" % (q, b"" if dialect.multiline else rb"\r\n", q, q)
        quoted = q + inner + q if dialect.quote else rb"(?!)"
        tail = rb"[^%b\r\n]*+" % d
        start, end = rb"(?<![^%b\r\n])" % d, rb"(?![^%b\r\n])" % d
        others = rb"[^%b\n]*+" % q
        record = rb"%b(?:%b%b%b%b)*+\n" % (others, start, quoted, end, others)
        self._first_quoted_record = re.compile(rb"[\r\n]*+" + record)
        self._cell_content = re.compile(inner)
        self._cell_tail = re.compile(tail)
        bare = rb"[^%b%b\r\n]" % (d, q)

        def odd_cells(cell: bytes) -> re.Pattern[bytes]:
            """Matches cells that stay as they are, then an odd cell or the end of some lines."""
            kept = rb"(?!\A[\r\n])(?:%b|%b*+)(?:%b|\r?\n(?![\r\n]))" % (cell, bare, d)
            odd = rb"%b(%b)(?:%b(%b)|\Z)|(%b++%b%b)" % (q, inner, q, tail, bare, q, tail)
            return re.compile(rb"(?:%b)*+(?:%b|%b*+([\r\n]+|\Z))" % (kept, odd, bare))

        self._odd_cells, self._odd_cells_of_long_text = odd_cells(quoted), odd_cells(rb"(?!)")

    def pieces(self, blocks: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
        """The records after the first one that is not blank, in pieces of whole records.

        Each piece is plain text after a placeholder header line, with a flag whether some cell may
        be quoted. There is always a piece. All but the last are about as long as a block.
        """
        pieces = self._pieces(blocks)
        for text, quoted in pieces:
            first = self._first_quoted_record if quoted else FIRST_LINE
            header = first.match(text, len(self.header))
            if header is not None:
                yield self._records(self.header + text[header.end() :], quoted)
                yield from starmap(self._records, pieces)
                return
        yield self.header, False

    def _records(self, text: bytes, quoted: bool) -> tuple[bytes, bool]:
        """A piece without the blank lines that are no rows."""
        if not self._blank_rows:
            text = self._plain.without_blank_lines(text, quoted=quoted)
        return text, quoted

    def _pieces(self, blocks: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
        begun, waiting = b"", list[bytes]()
        for lines in whole_lines(without_mark(blocks), self.header):
            text = self.header + begun + lines[len(self.header) :] if begun else lines
            begun = b""
            if not waiting and self._plain.is_plain(text):
                yield text, False
                continue
            end = 0 if waiting else self._plain.well_quoted_length(text)
            if end > len(self.header):
                begun = text[end:]
                yield text[:end], True
                continue
            waiting.append(self._normalize(text[len(self.header) :]))
            if not self._is_open:
                yield b"".join((self.header, *waiting)), True
                waiting = []
        if begun:
            waiting.append(self._normalize(begun))
        if waiting:
            self.unclosed = self._is_open
            yield b"".join((self.header, *waiting, self._close_cell())), True

    def _normalize(self, lines: bytes) -> bytes:
        """The plain text of the next lines; a quoted cell that is still open waits."""
        blocks = (lines[at : at + BLOCK] for at in range(0, len(lines), BLOCK))
        rewritten, waiting = [], b""
        for block in whole_lines(blocks):
            text, waiting = waiting + block, b""
            if not self._plain.has_quotes(text) and not self._is_open:
                rewritten.append(text if self._plain.has_plain_lines(text) else self._rewrite(text))
                continue
            end = 0 if self._is_open else self._plain.well_quoted_length(text)
            if end:
                # The last record may continue in the next lines.
                rewritten.append(text[:end])
                waiting = text[end:]
                continue
            rewritten.append(self._rewrite(text))
        if waiting:
            rewritten.append(self._rewrite(waiting))
        return b"".join(rewritten)

    def _close_cell(self) -> bytes:
        """The open cell, closed at the end of the text; empty if no cell is open."""
        if not self._is_open:
            return b""
        cell, self._open_cell, self._is_open, self._drops_cell = self._open_cell, b"", False, False
        return self._quote + cell + self._quote

    def _rewrite(self, text: bytes) -> bytes:
        """The plain text of text that begins with a line, or within a quoted cell."""
        if self._multiline and (self._is_open or self._plain.has_quotes(text)):
            return self._requote(text)
        rewritten = with_line_feeds(text)
        if not self._blank_rows:
            rewritten = self._plain.without_blank_lines(rewritten, quoted=False)
        if self._plain.has_quotes(rewritten):
            rewritten = b"\n".join(map(self._rewrite_line, rewritten.split(b"\n")))
        return rewritten

    def _rewrite_line(self, line: bytes) -> bytes:
        rewritten = self._requote(line) if self._quote in line else line
        if self._is_open:
            self._close_cell()
            rewritten = self._missing
        return rewritten

    def _requote(self, text: bytes) -> bytes:
        """The text with odd cells rewritten as quoted cells; a cell open at the end waits."""
        quote, done = self._quote, 0
        rewritten: list[bytes] = []
        if self._drops_cell:
            end = self._cell_content.match(text)
            assert end is not None
            if end.end() == len(text):
                return b""
            tail = self._cell_tail.match(text, end.end() + len(quote))
            assert tail is not None
            text = quote * 2 + text[tail.end() :]
        elif self._is_open:
            text = quote + self._open_cell + text
        self._open_cell, self._is_open, self._drops_cell = b"", False, False
        parts = self._odd_cells if not is_too_long(len(text)) else self._odd_cells_of_long_text
        for part in parts.finditer(text):
            inner, after, bare, ends = part.groups()
            if bare is not None:
                rewritten += (
                    text[done : part.start(3)],
                    quote,
                    bare.replace(quote, quote * 2),
                    quote,
                )
            elif ends is not None:
                rewritten += text[done : part.start(4)], with_line_feeds(ends)
            else:
                size = len(inner) - inner.count(quote * 2) + len(after or b"")
                too_long = is_too_long(size)
                inner = b"" if too_long else inner
                self._is_open = after is None
                if after is None:
                    rewritten.append(text[done : part.start(1) - len(quote)])
                    self._open_cell, self._drops_cell = inner, too_long
                else:
                    after = b"" if too_long else after.replace(quote, quote * 2)
                    rewritten += text[done : part.start(1)], inner, after, quote
            done = part.end()
        rewritten.append(text[done:])
        return b"".join(rewritten)
