"""Detects plain CSV, which all readers read the same way, and rewrites other CSV.

In a plain file lines end in LF or CRLF, quotes open at the start of a cell, close at its end and
are doubled within, no line is blank (unless there is one column, where an empty cell is a blank
line), and the bytes are UTF-8. Native readers read only such text, so that every record is what
Python's `csv` module reads. Text that is not plain is rewritten cell by cell; other text stays. The
content only decides how text is read. It never causes an error and is never reported. All of this
takes about as long for line ends as for other bytes: a packed file may hold a hundred million of
them.

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
from itertools import chain

from dpcli.data.formats import Dialect
from dpcli.engine.files.decoding import UTF8_BOM, blank_lines, placeholder_header, split_start
from dpcli.engine.files.quoted_bytes import packed, quoted_bytes, unpacked
from dpcli.engine.files.record_cells import RecordFitter
from dpcli.numeric.arrays import Array, np
from dpcli.problems.light_dataclasses import dataclass

LONGEST_CELL = 1 << 20
"""Bytes of the longest quoted cell that is read; no value needs nearly as many."""

LINE_FEED, CARRIAGE_RETURN = b"\n\r"
"""The bytes that end lines."""

FEW_BYTES = 256
"""A text with fewer bytes is changed faster byte by byte than as an array."""

WITH_LINE_FEEDS = bytes.maketrans(b"\r", b"\n")

CHUNK = 1 << 17
"""Bytes that are compared at a time, and stay in the cache of a processor."""


class PlainText:
    """Decides whether text is plain, and whether its records fit a header.

    `width` is the number of cells in the header. Records whose surplus begins with text fit as
    well: readers find them. It serves one thread at a time.
    """

    def __init__(self, dialect: Dialect, width: int) -> None:
        self._fit = RecordFitter(dialect, width).fit
        self._quote, self._multiline = (dialect.quote or "").encode(), dialect.multiline
        self._edges = f"{dialect.delimiter}\n\r".encode()
        # New memory for the flags of each text would cost more than the flags.
        self._memory = np.empty((3, 0), bool)
        # A blank before a quote may be one before a quoted cell.
        self._quoted_starts = [
            mark.encode() + self._quote for mark in (dialect.delimiter, "\n", "\r", "\t", " ")
        ]

    def well_quoted_length(self, text: bytes) -> int:
        """The length of the whole records at the start of the text.

        Zero if a quote is misplaced or a cell is too long.
        """
        if not self.has_plain_lines(text):
            return 0
        letters, size = np.frombuffer(text, np.uint8), len(text)
        if self._memory.shape[1] < size + 2:
            self._memory = np.empty((3, size + 2), bool)
        is_quote, is_edge = self._memory[:2, :size]
        may_touch = self._memory[2, : size + 2]
        np.equal(letters, self._quote[0], out=is_quote)
        count, quotes = np.count_nonzero(is_quote), packed(is_quote)
        within = quoted_bytes(quotes)
        if not self._multiline and (count % 2 or (packed(letters == LINE_FEED) & within).any()):
            return 0
        # The text begins with a line, and ends with one. A doubled quote is an end and a beginning.
        may_touch[0] = may_touch[-1] = True
        may_touch[1:-1] = is_quote
        for edge in self._edges if b"\r" in text else self._edges[:-1]:
            may_touch[1:-1] |= np.equal(letters, edge, out=is_edge)
        opening, closing = quotes & within, quotes & ~within
        before, after = packed(may_touch[:-2]), packed(may_touch[2:])
        if (opening & ~before).any() or (closing & ~after).any():
            return 0
        if size > LONGEST_CELL and _longest_cell(is_quote, opening, closing) > LONGEST_CELL:
            return 0
        end = size
        while count % 2:
            line = text.rfind(b"\n", 0, text.rfind(self._quote, 0, end)) + 1
            count -= text.count(self._quote, line, end)
            end = line
        return end

    def is_plain(self, text: bytes) -> bool:
        """Whether text is plain, without quoted cells; it begins with a line end."""
        quoted = self.has_quotes(text) and any(begun in text for begun in self._quoted_starts)
        return not quoted and self.has_plain_lines(text)

    def begins_well_quoted(self, text: bytes) -> bool:
        """Whether quoted cells are well formed in a text that begins with a line end.

        The first line must be a whole record; the last cell may be open.
        """
        first = text[: text.find(b"\n", 1) + 1]
        is_record = not self.has_quotes(first) or not first.count(self._quote) % 2
        if not self._quote or not is_record:
            return False
        end = self.well_quoted_length(text)
        return end > 0 and self.fits(text[1:end], quoted=True)

    def fits(self, text: bytes, *, quoted: bool) -> bool:
        """Whether the records of plain text can be read in place."""
        return self._fit(text, quoted=quoted) != "odd"

    def are_plain(self, blocks: Iterable[bytes]) -> bool:
        """Whether the text of a file is plain and has no quoted cells."""
        return all(
            self.is_plain(lines) and self.fits(lines[1:], quoted=False)
            for lines in whole_lines(blocks, b"\n")
        )

    def are_well_quoted(self, blocks: Iterable[bytes]) -> bool:
        """Whether a file is plain text, all of its quoted cells closed and none too long."""
        begun = b""
        for lines in whole_lines(without_mark(blocks), b"\n"):
            text = b"\n" + begun + lines[1:] if begun else lines
            end = self.well_quoted_length(text)
            begun = text[end:]
            if not end or len(begun) > LONGEST_CELL or not self.fits(text[1:end], quoted=True):
                return False
        return not begun

    def has_quotes(self, text: bytes) -> bool:
        """Whether some byte is the quote."""
        return bool(self._quote) and self._quote in text

    def has_plain_lines(self, text: bytes) -> bool:
        """Whether each line ends in LF or CRLF."""
        if b"\r" not in text:
            return True
        letters = np.frombuffer(text, np.uint8)
        for start in range(0, len(letters), CHUNK):
            chunk = letters[start : start + CHUNK + 1]
            returns, feeds = chunk == CARRIAGE_RETURN, chunk == LINE_FEED
            if (returns[:-1] > feeds[1:]).any():
                return False
        return not text.endswith(b"\r")


def _longest_cell(is_quote: Array, opening: Array, closing: Array) -> int:
    """The bytes of the longest quoted cell.

    It may be a larger number if no cell exceeds `LONGEST_CELL`.
    """
    ends = closing & ~packed(np.append(is_quote[1:], False))
    words = np.flatnonzero(ends)
    longest: int = 64 * (np.diff(words, prepend=0).max(initial=0) + 1)
    if longest > LONGEST_CELL:
        last = np.flatnonzero(unpacked(ends, len(is_quote)))
        begins = opening & ~packed(np.append(False, is_quote[:-1]))
        first = np.flatnonzero(unpacked(begins, len(is_quote)))[: len(last)]
        longest = (last[: len(first)] - first).max(initial=0)
    return longest


def with_line_feeds(text: bytes) -> bytes:
    """The text with LF in place of each CRLF and CR."""
    if len(text) < FEW_BYTES:
        return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if b"\r" not in text:
        return text
    letters = np.frombuffer(text, np.uint8)
    pairs = (letters[:-1] == CARRIAGE_RETURN) & (letters[1:] == LINE_FEED)
    if pairs.any():
        text = bytes(letters[np.append(~pairs, True)])
    return text.translate(WITH_LINE_FEEDS)


def without_mark(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The text without the mark of UTF-8 at its start."""
    start, blocks_after = split_start(blocks, len(UTF8_BOM) + 1)
    next(blocks_after)
    return chain((start.removeprefix(UTF8_BOM),), blocks_after)


def whole_lines(blocks: Iterable[bytes], header: bytes = b"") -> Iterator[bytes]:
    """The text in pieces of whole lines, each piece after `header`.

    The last line may have no end. Each byte is copied once. An unfinished line waits for the next
    block.
    """
    waiting: list[bytes | memoryview] = []
    for block in blocks:
        # A CR at the end of a block may be the first byte of a CRLF.
        end = max(block.rfind(b"\n"), block.rfind(b"\r", 0, len(block) - 1)) + 1
        whole, unfinished = memoryview(block)[:end], block[end:]
        if end:
            yield b"".join((header, *waiting, whole))
            waiting = []
        waiting.append(unfinished)
    if any(waiting):
        yield b"".join((header, *waiting))


BLOCK = 1 << 18
"""Bytes examined together; one odd cell causes at most these to be rewritten."""


@dataclass(frozen=True, slots=True)
class PlainPiece:
    """Plain text after a placeholder header line; it has no odd record.

    Some cells may be `quoted`. Records may be broken (`RecordFitter`).
    """

    text: bytes
    quoted: bool = False
    has_broken: bool = False


class CsvNormalizer:
    """Rewrites the text of one file as plain text, from its start to its end.

    After the end, `unclosed` states whether the text ends within a quoted cell. Blank lines that
    are no rows are removed.
    """

    def __init__(self, dialect: Dialect, width: int) -> None:
        self.unclosed = self._is_open = False
        # A broken record has one cell more.
        self.header = placeholder_header(dialect.delimiter, width + 1).encode()
        self._fitter = RecordFitter(dialect, width)
        self._quote, self._multiline = (dialect.quote or "").encode(), dialect.multiline
        self._plain = PlainText(dialect, width)
        self._broken = dialect.delimiter.encode() * width + b"x"
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
        before = blank_lines(dialect).encode()
        self._first_line = re.compile(before + rb"[^\n]*+\n")
        self._first_quoted_record = re.compile(before + record)
        self._cell_content = re.compile(inner)
        self._cell_tail = re.compile(tail)
        bare = rb"[^%b%b\r\n]" % (d, q)
        # Cells that stay as they are, then an odd cell or the end of some lines.
        kept = rb"(?!\A[\r\n])(?:%b|%b*+)(?:%b|\r?\n(?![\r\n]))"
        blanks = b"[%b]*+" % b" \t".replace(dialect.delimiter.encode(), b"")
        odd = rb"(%b%b)(%b)(?:%b(%b)|\Z)|(%b++%b%b)" % (blanks, q, inner, q, tail, bare, q, tail)
        self._odd_cells, self._odd_cells_of_long_text = (
            re.compile(rb"(?:%b)*+(?:%b|%b*+([\r\n]+|\Z))" % (kept % (cell, bare, d), odd, bare))
            for cell in (quoted, rb"(?!)")
        )

    def pieces(self, blocks: Iterable[bytes]) -> Iterator[PlainPiece]:
        """The records after the first one that is not blank, in pieces of whole records.

        There is always a piece. All but the last are about as long as a block.
        """
        after_header = False
        for lines, quoted in self._pieces(blocks):
            text = lines[len(self.header) :]
            if not after_header:
                first = self._first_quoted_record if quoted else self._first_line
                header = first.match(text)
                if header is None:
                    continue
                text, after_header = text[header.end() :], True
            fitted, has_broken = self._fitter.fitted(text, quoted=quoted)
            yield PlainPiece(self.header + fitted, quoted, has_broken)
        if not after_header:
            yield PlainPiece(self.header)

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
        blocks = (lines[start : start + BLOCK] for start in range(0, len(lines), BLOCK))
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
        """Text as plain text; it begins with a line, or within the cell that is open."""
        if self._multiline and (self._is_open or self._plain.has_quotes(text)):
            return self._requote(text)
        rewritten = with_line_feeds(text)
        if self._plain.has_quotes(rewritten):
            rewritten = b"\n".join(map(self._rewrite_line, rewritten.split(b"\n")))
        return rewritten

    def _rewrite_line(self, line: bytes) -> bytes:
        rewritten = self._requote(line) if self._quote in line else line
        if self._is_open:
            self._close_cell()
            rewritten = self._broken
        return rewritten

    def _requote(self, text: bytes) -> bytes:
        """The text with odd cells rewritten in quotes; a cell open at the end waits."""
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
        is_short = len(text) <= LONGEST_CELL
        parts = self._odd_cells if is_short else self._odd_cells_of_long_text
        for part in parts.finditer(text):
            _, inner, after, bare, ends = part.groups()
            if bare is not None:
                rewritten += (
                    text[done : part.start(4)],
                    quote,
                    bare.replace(quote, quote * 2),
                    quote,
                )
            elif ends is not None:
                rewritten += text[done : part.start(5)], with_line_feeds(ends)
            else:
                size = len(inner) - inner.count(quote * 2) + len(after or b"")
                too_long = size > LONGEST_CELL
                inner = b"" if too_long else inner
                self._is_open = after is None
                if after is None:
                    rewritten.append(text[done : part.start(1)])
                    self._open_cell, self._drops_cell = inner, too_long
                else:
                    after = b"" if too_long else after.replace(quote, quote * 2)
                    rewritten += text[done : part.start(1)], quote, inner, after, quote
            done = part.end()
        rewritten.append(text[done:])
        return b"".join(rewritten)
