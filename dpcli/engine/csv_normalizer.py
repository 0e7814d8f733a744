"""Plain CSV, on which all readers agree, made of any CSV.

In a plain file lines end in LF or CRLF, quotes open at the start of a cell, close at its end and
are doubled within, no line is blank (unless there is one column, where an empty cell makes a blank
line), and the bytes are UTF-8. Native readers read only such text, so that a record is what
Python's `csv` module makes of it, whatever is read: what is not plain is written again, cell by
cell, and the rest as it is. What is found here decides how text is read, never whether, and is
never reported.

A quoted cell of more than `LONGEST_CELL` bytes is missing, so that a quote that is never closed
does not bring the rest of a file into memory.

A spec with `csv: {multiline: false}` declares files in which every line is one record. A line
ends at LF, CRLF or CR, also between quotes. A line in which a quoted cell is not closed is a
row all of whose cells are missing: it is still a row, so that damage does not change how many
rows there are. Any other line holds the cells that the `csv` module finds in it alone. A
blank line is no row, or in a file of one column a row whose cell is missing.

Privacy: in such files, no line changes what another line is read as. To change one line of a
file, or to add or remove one, changes one row at most, however odd the line is. The writer of a
record decides one row of the table, and without this rule an open quote would decide all that
follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from dpcli.csv_dialect import Dialect
from dpcli.engine.file_content import UTF8_BOM, placeholder_header, split_start
from dpcli.numeric.arrays import np

LONGEST_CELL = 1 << 20
"""Bytes of a quoted cell that is read: far more than any value has."""

BLOCK = 1 << 18
"""Bytes that are looked at together; one odd cell makes no more to be written again."""

LINE_FEED = 10
"""The byte that ends a line."""

LINE = re.compile(rb"[\r\n]*+[^\n]*+\n")
"""The first line that is not blank, where quotes mean nothing."""


class CsvNormalizer:
    """Makes the text of one file plain, in the order of its bytes.

    `unclosed` is whether the whole text ends within a quoted cell. Without `blank_lines`, those
    that are no rows are removed.
    """

    def __init__(self, dialect: Dialect, width: int, *, blank_lines: bool = False) -> None:
        self.unclosed = self._inside = False
        self.header = placeholder_header(dialect.delimiter, width).encode()
        self._quote, self._multiline = (dialect.quote or "").encode(), dialect.multiline
        self._blank_rows, self._blank_lines = width == 1, blank_lines or width == 1
        self._missing = dialect.delimiter.encode() * (width - 1) or self._quote * 2
        # What is in the open cell, or whether that was too long.
        self._open, self._dropped = b"", False
        marks = (dialect.delimiter, dialect.quote or "\n")
        self._edges = np.zeros(256, bool)
        self._edges[list(f"{dialect.delimiter}\r\n{dialect.quote or ''}".encode())] = True
        self._begun = [mark + self._quote for mark in (dialect.delimiter.encode(), b"\n", b"\r")]
        d, q = (re.escape(mark).encode() for mark in marks)
        # A quoted cell may hold line ends where records may have several lines.
        inner = rb"(?:[^%b%b]++|%b%b)*+" % (q, b"" if dialect.multiline else rb"\r\n", q, q)
        whole, rest = q + inner + q if dialect.quote else rb"(?!)", rb"[^%b\r\n]*+" % d
        start, end = rb"(?<![^%b\r\n])" % d, rb"(?![^%b\r\n])" % d
        others = rb"[^%b\n]*+" % q
        record = rb"%b(?:%b%b%b%b)*+\n" % (others, start, whole, end, others)
        self._first = re.compile(rb"[\r\n]*+" + record)
        self._inner = re.compile(inner)
        self._tail = re.compile(rest)
        bare = rb"[^%b%b\r\n]" % (d, q)

        def parts(cell: bytes) -> re.Pattern[bytes]:
            """Cells that stay as they are; then one that does not, or the last of some lines."""
            kept = rb"(?!\A[\r\n])(?:%b|%b*+)(?:%b|\r?\n(?![\r\n]))" % (cell, bare, d)
            odd = rb"%b(%b)(?:%b(%b)|\Z)|(%b++%b%b)" % (q, inner, q, rest, bare, q, rest)
            return re.compile(rb"(?:%b)*+(?:%b|%b*+([\r\n]+|\Z))" % (kept, odd, bare))

        self._parts, self._quoted_parts = parts(whole), parts(rb"(?!)")

    def pieces(self, blocks: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
        """The records behind the first one that is not blank, some whole ones at a time.

        Each piece is plain text behind a line in the place of a header. It comes with whether
        quotes mean something in it; where no cell begins with one, they do not. There is always
        a piece, and each but the last is as long as a block, more or less.
        """
        pieces = self._pieces(blocks)
        for text, quoted in pieces:
            first = self._first if quoted else LINE
            header = first.match(text, len(self.header))
            if header is not None:
                yield self.header + text[header.end() :], quoted
                yield from pieces
                return
        yield self.header, False

    def _pieces(self, blocks: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
        start, others = split_start(blocks, len(UTF8_BOM) + 1)
        next(others)
        unmarked = chain((start.removeprefix(UTF8_BOM),), others)
        begun, waiting = b"", list[bytes]()
        for lines in whole_lines(unmarked, self.header):
            text = self.header + begun + lines[len(self.header) :] if begun else lines
            begun = b""
            if not waiting and self.is_plain(text):
                yield text, False
                continue
            end = 0 if waiting else self._well_quoted(text)
            if end > len(self.header):
                begun = text[end:]
                yield text[:end], True
                continue
            waiting.append(self._plain(text[len(self.header) :]))
            if not self._inside:
                yield b"".join((self.header, *waiting)), True
                waiting = []
        if begun:
            waiting.append(self._plain(begun))
        if waiting:
            self.unclosed = self._inside
            yield b"".join((self.header, *waiting, self._closed())), True

    def _well_quoted(self, text: bytes) -> int:
        """How much of some whole lines are whole records without odd quotes.

        Zero if a quote is odd, or a cell too long.
        """
        if not self._is_even(text):
            return 0
        letters = np.frombuffer(text, np.uint8)
        quotes = np.flatnonzero(letters == self._quote[0])
        if not self._multiline:
            ends = np.flatnonzero(letters == LINE_FEED)
            within = np.searchsorted(quotes, ends) % 2
            if within.any() or len(quotes) % 2:
                return 0
        opening, closing = quotes[::2], quotes[1::2]
        # Two quotes that stand for one are an end and a beginning.
        before, after = letters[opening - 1], letters.take(closing + 1, mode="clip")
        # A line begins where the text does, and one ends where it does.
        before[:1][opening[:1] == 0] = LINE_FEED
        after[-1:][closing[-1:] == len(text) - 1] = LINE_FEED
        if not (self._edges[before].all() and self._edges[after].all()):
            return 0
        first, last = opening[before != self._quote[0]], closing[after != self._quote[0]]
        ended = min(len(first), len(last))
        if ended and (last[:ended] - first[:ended]).max() > LONGEST_CELL:
            return 0
        end = len(text)
        while len(quotes) % 2:
            end = text.rfind(b"\n", 0, quotes[-1]) + 1
            quotes = quotes[: np.searchsorted(quotes, end)]
        return end

    def is_plain(self, text: bytes) -> bool:
        """Whether whole lines behind another line are plain text in which quotes mean nothing."""
        return not self._begins_cells(text) and self._is_even(text)

    def whole(self, text: bytes) -> bytes:
        """The plain text of whole records, behind the line in the place of a header."""
        return b"".join((self.header, self._plain(text[len(self.header) :]), self._closed()))

    def _plain(self, lines: bytes) -> bytes:
        """The plain text of the next lines; the last quoted cell waits if it is open."""
        blocks = (lines[at : at + BLOCK] for at in range(0, len(lines), BLOCK))
        made, rest = [], b""
        for block in whole_lines(blocks):
            text, rest = rest + block, b""
            if not self._has_quotes(text) and not self._inside:
                made.append(text if self._is_even(text) else self._changed(text))
                continue
            end = 0 if self._inside else self._well_quoted(text)
            if end:
                # The next lines may belong to what follows.
                made.append(text[:end])
                rest = text[end:]
                continue
            made.append(self._changed(text))
        if rest:
            made.append(self._changed(rest))
        return b"".join(made)

    def _closed(self) -> bytes:
        """The end of the last cell if the text ends within it; that was its end then."""
        if not self._inside:
            return b""
        cell, self._open, self._inside, self._dropped = self._open, b"", False, False
        return self._quote + cell + self._quote

    def _has_quotes(self, text: bytes) -> bool:
        return bool(self._quote) and self._quote in text

    def _begins_cells(self, text: bytes) -> bool:
        """Whether a cell of whole lines behind another line begins with a quote."""
        return self._has_quotes(text) and any(begun in text for begun in self._begun)

    def _is_even(self, text: bytes) -> bool:
        """Whether each line of whole records ends in LF or CRLF, and is a row."""
        if b"\r" in text and text.count(b"\r") != text.count(b"\r\n"):
            return False
        return self._blank_lines or not (
            text.startswith((b"\r", b"\n"))
            or b"\n\n" in text
            or (b"\r" in text and b"\n\r\n" in text)
        )

    def _changed(self, text: bytes) -> bytes:
        """Any text that begins where a line does, or inside a quoted cell."""
        if self._multiline and (self._inside or self._has_quotes(text)):
            return self._requoted(text)
        made = self._evened(text)
        if self._has_quotes(made):
            made = b"\n".join(map(self._line, made.split(b"\n")))
        return made

    def _evened(self, ends: bytes, *, first: bool = True) -> bytes:
        """Some lines with LF at their ends, and without blank ones unless these are rows."""
        lines = ends.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if self._blank_rows:
            return lines
        lines = lines.lstrip(b"\n") if first else lines
        return re.sub(rb"\n\n+", b"\n", lines) if b"\n\n" in lines else lines

    def _line(self, line: bytes) -> bytes:
        made = self._requoted(line) if self._quote in line else line
        if self._inside:
            self._closed()
            made = self._missing
        return made

    def _requoted(self, text: bytes) -> bytes:
        """Text whose odd cells are whole quoted cells, up to the last one if that is open."""
        quote, done = self._quote, 0
        made: list[bytes] = []
        if self._dropped:
            end = self._inner.match(text)
            assert end is not None
            if end.end() == len(text):
                return b""
            rest = self._tail.match(text, end.end() + len(quote))
            assert rest is not None
            text = quote * 2 + text[rest.end() :]
        elif self._inside:
            text = quote + self._open + text
        self._open, self._inside, self._dropped = b"", False, False
        parts = self._parts if len(text) <= LONGEST_CELL else self._quoted_parts
        for part in parts.finditer(text):
            inner, tail, bare, ends = part.groups()
            if bare is not None:
                made += text[done : part.start(3)], quote, bare.replace(quote, quote * 2), quote
            elif ends is not None:
                made += text[done : part.start(4)], self._evened(ends, first=not part.start(4))
            else:
                too_long = len(inner) - inner.count(quote * 2) + len(tail or b"") > LONGEST_CELL
                inner = b"" if too_long else inner
                self._inside = tail is None
                if tail is None:
                    made.append(text[done : part.start(1) - len(quote)])
                    self._open, self._dropped = inner, too_long
                else:
                    tail = b"" if too_long else tail.replace(quote, quote * 2)
                    made += text[done : part.start(1)], inner, tail, quote
            done = part.end()
        made.append(text[done:])
        return b"".join(made)


def whole_lines(blocks: Iterable[bytes], header: bytes = b"") -> Iterator[bytes]:
    """The same text behind headers, in pieces that end where a line does, the last one perhaps not.

    Each byte is copied once; the last lines of a block wait.
    """
    waiting: list[bytes | memoryview] = []
    for block in blocks:
        # What follows a CR at the end of a block may be the rest of a line end.
        end = max(block.rfind(b"\n"), block.rfind(b"\r", 0, len(block) - 1)) + 1
        whole, rest = memoryview(block)[:end], block[end:]
        if end:
            yield b"".join((header, *waiting, whole))
            waiting = []
        waiting.append(rest)
    if any(waiting):
        yield b"".join((header, *waiting))
