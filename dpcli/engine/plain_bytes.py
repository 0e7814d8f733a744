"""Decides whether text is plain CSV, which all native readers read alike.

Lines end in LF or CRLF. Either no cell begins with a quote, or quotes are well formed: each opens
at the start of a cell, closes at its end, or is doubled within. Blank lines, which are no rows
unless there is one column, are left out of it. All of this takes about as long for line ends as
for other bytes: a packed file may hold a hundred million of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from dpcli.data.csv_dialect import Dialect
from dpcli.engine.file_content import UTF8_BOM, split_start
from dpcli.numeric.arrays import Array, np

LONGEST_CELL = 1 << 20
"""Bytes of the longest quoted cell that is read; no value needs nearly as many."""

LINE_FEED, CARRIAGE_RETURN = b"\n\r"
"""The bytes that end lines."""

FEW_BYTES = 256
"""So short a text is changed faster byte by byte than as an array."""

WITH_LINE_FEEDS = bytes.maketrans(b"\r", b"\n")

CHUNK = 1 << 17
"""Bytes that are compared at a time, and stay in the cache of a processor."""


def is_too_long(size: int) -> bool:
    """Whether a quoted cell of `size` bytes is missing."""
    return size > LONGEST_CELL


class PlainText:
    """Decides for text of a dialect whether it is plain; it may have blank lines."""

    def __init__(self, dialect: Dialect) -> None:
        self._quote, self._multiline = (dialect.quote or "").encode(), dialect.multiline
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
            if len(quotes) % 2 or _any_within(ends, quotes):
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
        quoted = self.has_quotes(text) and any(begun in text for begun in self._quoted_starts)
        return not quoted and self.has_plain_lines(text)

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

    def without_blank_lines(self, text: bytes, *, quoted: bool) -> bytes:
        """Plain text after another line, without its blank lines.

        If it is `quoted`, quotes have a meaning, and line ends between them stay.
        """
        letters = np.frombuffer(text, np.uint8)
        kept: list[bytes | memoryview] = [text[:2]]
        has_returns, has_quotes = b"\r" in text, quoted and self.has_quotes(text)
        number, found = text[:2].count(self._quote) if has_quotes else 0, False
        for start in range(0, len(letters) - 2, CHUNK):
            chunk = letters[start : start + CHUNK + 2]
            feeds = chunk == LINE_FEED
            blank = feeds[2:] & feeds[1:-1]
            if has_returns:
                returns = chunk == CARRIAGE_RETURN
                blank |= returns[2:] & feeds[1:-1]
                blank |= feeds[2:] & returns[1:-1] & feeds[:-2]
            if has_quotes:
                quotes = np.flatnonzero(chunk[2:] == self._quote[0])
                if blank.any():
                    blank &= ~_is_within(quotes, len(blank), begins_within=number % 2 == 1)
                number += len(quotes)
            if blank.any():
                found = True
                kept.append(chunk[2:][~blank].data)
            else:
                kept.append(chunk[2:].data)
        return b"".join(kept) if found else text


def _is_within(quotes: Array, count: int, *, begins_within: bool) -> Array:
    """Whether each of `count` bytes is between an opening quote and its end."""
    lengths = np.diff(quotes, prepend=0, append=count)
    is_within = np.arange(len(lengths)) % 2 == (0 if begins_within else 1)
    return np.repeat(is_within, lengths)


def _any_within(ends: Array, quotes: Array) -> bool:
    """Whether some line end lies between a quote and the next one, of an even number."""
    if len(ends) <= len(quotes):
        return bool((np.searchsorted(quotes, ends) % 2).any())
    before = np.searchsorted(ends, quotes)
    return bool((before[::2] != before[1::2]).any())


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
