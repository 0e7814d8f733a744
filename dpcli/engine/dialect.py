"""Whether a file is plain CSV, on which all readers agree.

The fast reader is used only on files that every reader of RFC 4180 understands
alike: lines end in LF or CRLF, quotes open at the start of a field, close at its
end, and are doubled within, and no line is blank (unless there is one column, where
an empty cell makes a blank line). Anything else is first copied as Python's `csv` module
reads it. What is found here decides how a file is read, never whether, and is never reported.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from typing import BinaryIO

from dpcli.dialect import Dialect
from dpcli.engine.progress import READING, Progress
from dpcli.engine.records import UTF8_MARK, quoted_fields
from dpcli.engine.source import Dataset, Source

BLOCK = 1 << 20
WINDOW = 1 << 24
LONGEST = WINDOW * 8

BLANK_LINE = re.compile(rb"\n\r?\n")


class Inspection:
    """A look at every byte of the CSV files, once, on a thread of its own.

    It begins at once, so that it can run while other things are being loaded, and
    has at its end which files are plain and which have quotes. Blank lines
    are not looked for here, but by `has_blank_lines`.
    """

    def __init__(self, dataset: Dataset, progress: Progress | None = None) -> None:
        self._sources = [source for source in dataset.sources if source.dialect is not None]
        self._found: dict[int, tuple[bool, bool]] = {}
        self._passed = 0
        self._thread = threading.Thread(target=self._inspect_all, daemon=True)
        self._thread.start()
        if progress and self._sources:
            # The bar asks for the position at once, on a thread of its own.
            total = sum(source.bytes for source in self._sources)
            size = max(1, sum(source.size for source in self._sources))
            progress.begin(READING, total, lambda: self._position(total, size))

    def _position(self, total: int, size: int) -> int | None:
        """How far the look is; None when it is over, and copies or sums go on."""
        return self._passed * total // size if self._thread.is_alive() else None

    def plain(self, source: Source) -> bool:
        """Whether the fast reader and the reference reader agree on a CSV file."""
        self._thread.join()
        return self._found.get(id(source), (False, False))[0]

    def quotes(self, source: Source) -> bool:
        """Whether a quote occurs in a CSV file."""
        self._thread.join()
        return self._found.get(id(source), (False, True))[1]

    def _inspect_all(self) -> None:
        """Decide; a file that cannot be read is not plain, and fails later with a message."""
        for source in self._sources:
            with contextlib.suppress(OSError, ValueError, MemoryError):
                dialect = source.dialect
                assert dialect is not None
                quotes, odd = self._marks(source.file, dialect.quote)
                pair_up = not quotes or _quotes_pair_up(source.file, source.size, dialect)
                self._found[id(source)] = (not odd and pair_up, quotes)

    def _marks(self, file: BinaryIO, quote: str | None) -> tuple[bool, bool]:
        """Whether quotes occur; whether a CR stands alone or a blank line stands first."""
        quotes = lone = pending = False
        mark = quote.encode() if quote else None
        buffer = bytearray(BLOCK)
        position = 0
        while read := os.preadv(file.fileno(), [buffer], position):
            if not position:
                lone = bytes(buffer[:8]).removeprefix(UTF8_MARK)[:1] in (b"\r", b"\n")
            position += read
            self._passed += read
            quotes = quotes or (mark is not None and buffer.find(mark, 0, read) >= 0)
            lone = lone or (pending and buffer[0] != 0x0A)
            pending = buffer[read - 1] == 0x0D
            if not lone and buffer.find(b"\r", 0, read) >= 0:
                returns = buffer.count(b"\r", 0, read) - pending
                lone = returns != buffer.count(b"\r\n", 0, read)
        return quotes, lone or pending


def has_blank_lines(file: BinaryIO, size: int) -> bool:
    """Whether some line holds nothing at all; a quoted one counts as well."""
    carried = b""
    for position in range(0, size, BLOCK):
        block = carried + os.pread(file.fileno(), BLOCK, position)
        if BLANK_LINE.search(block):
            return True
        carried = block[-2:]
    return False


def _quotes_pair_up(file: BinaryIO, size: int, dialect: Dialect) -> bool:
    """Whether every quote belongs to a whole quoted field."""
    mark, quoted = (dialect.quote or "").encode(), quoted_fields(dialect).encode()
    start = len(UTF8_MARK) if os.pread(file.fileno(), 3, 0) == UTF8_MARK else 0
    length = WINDOW
    while start < size:
        window = os.pread(file.fileno(), length, start)
        last = start + len(window) >= size or not window
        lines = window if last else window[: window.rfind(b"\n") + 1]
        # A quote that is left may belong to a field that the window cuts.
        if lines and mark not in re.sub(quoted, b"", lines):
            start, length = start + len(lines), WINDOW
        elif last or length >= LONGEST or (lines and not dialect.multiline):
            return False
        else:
            length *= 4
    return True
