"""Decides whether text is plain CSV, which all native readers read alike.

Lines end in LF or CRLF and none is blank. Either no cell begins with a quote, or quotes are well
formed: each opens at the start of a cell, closes at its end, or is doubled within.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from dpcli.csv_dialect import Dialect
from dpcli.engine.file_content import UTF8_BOM, split_start
from dpcli.numeric.arrays import np

LONGEST_CELL = 1 << 20
"""Bytes of the longest quoted cell that is read; no value needs nearly as many."""

LINE_FEED = 10
"""The byte that ends a line."""


def is_too_long(size: int) -> bool:
    """Whether a quoted cell of `size` bytes is missing."""
    return size > LONGEST_CELL


class PlainText:
    """Decides for text of a dialect, in a file of `width` columns, whether it is plain.

    Blank lines, which are no rows unless there is one column, are plain if `blank_lines` is true.
    """

    def __init__(self, dialect: Dialect, width: int, *, blank_lines: bool = False) -> None:
        self._quote, self._multiline = (dialect.quote or "").encode(), dialect.multiline
        self._blank_lines = blank_lines or width == 1
        self._is_edge = np.zeros(256, bool)
        self._is_edge[list(f"{dialect.delimiter}\r\n{dialect.quote or ''}".encode())] = True
        self._quoted_starts = [
            mark + self._quote for mark in (dialect.delimiter.encode(), b"\n", b"\r")
        ]

    def well_quoted_length(self, text: bytes) -> int:
        """The length of the whole records at the start of the text.

        Zero if a quote is misplaced or a cell is too long.
        """
        if not self.has_plain_lines(text):
            return 0
        letters = np.frombuffer(text, np.uint8)
        quotes = np.flatnonzero(letters == self._quote[0])
        if not self._multiline:
            ends = np.flatnonzero(letters == LINE_FEED)
            within = np.searchsorted(quotes, ends) % 2
            if within.any() or len(quotes) % 2:
                return 0
        opening, closing = quotes[::2], quotes[1::2]
        # A doubled quote counts as an end and a beginning.
        before, after = letters[opening - 1], letters.take(closing + 1, mode="clip")
        # The text begins with a line, and ends with one.
        before[:1][opening[:1] == 0] = LINE_FEED
        after[-1:][closing[-1:] == len(text) - 1] = LINE_FEED
        if not (self._is_edge[before].all() and self._is_edge[after].all()):
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
        """Whether whole lines, after another line, are plain text without quoted cells."""
        return not self._has_quoted_cells(text) and self.has_plain_lines(text)

    def begins_well_quoted(self, text: bytes) -> bool:
        """Whether quoted cells of lines, after another line, are well formed; the last may be open.

        The first line is a whole record.
        """
        first = text[: text.find(b"\n", 1) + 1]
        is_record = not self.has_quotes(first) or not first.count(self._quote) % 2
        return bool(self._quote) and is_record and self.well_quoted_length(text) > 0

    def are_plain(self, blocks: Iterable[bytes]) -> bool:
        """Whether a file, after its first mark, is plain text without quoted cells."""
        return all(map(self.is_plain, whole_lines(blocks, b"\n")))

    def are_well_quoted(self, blocks: Iterable[bytes]) -> bool:
        """Whether a file is plain text, all of its quoted cells closed and none too long."""
        begun = b""
        for lines in whole_lines(without_mark(blocks), b"\n"):
            text = b"\n" + begun + lines[1:] if begun else lines
            end = self.well_quoted_length(text)
            begun = text[end:]
            if not end or is_too_long(len(begun)):
                return False
        return not begun

    def has_quotes(self, text: bytes) -> bool:
        """Whether some byte is the quote."""
        return bool(self._quote) and self._quote in text

    def _has_quoted_cells(self, text: bytes) -> bool:
        """Whether some cell of whole lines, after another line, begins with a quote."""
        return self.has_quotes(text) and any(begun in text for begun in self._quoted_starts)

    def has_plain_lines(self, text: bytes) -> bool:
        """Whether each line ends in LF or CRLF, and no line is blank unless blank lines stay."""
        if b"\r" in text and text.count(b"\r") != text.count(b"\r\n"):
            return False
        return self._blank_lines or not (
            text.startswith((b"\r", b"\n"))
            or b"\n\n" in text
            or (b"\r" in text and b"\n\r\n" in text)
        )


def without_mark(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The same text without the mark of UTF-8 at its start."""
    start, others = split_start(blocks, len(UTF8_BOM) + 1)
    next(others)
    return chain((start.removeprefix(UTF8_BOM),), others)


def whole_lines(blocks: Iterable[bytes], header: bytes = b"") -> Iterator[bytes]:
    """The same text in pieces of whole lines, each after `header`; the last line may have no end.

    Each byte is copied once. An unfinished line waits for the next block.
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
