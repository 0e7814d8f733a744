"""Plain CSV, on which all readers agree, made of any CSV.

In a plain file lines end in LF or CRLF, quotes open at the start of a cell, close at its end and
are doubled within, no line is blank (unless there is one column, where an empty cell makes a blank
line), and the bytes are UTF-8. Native readers read only such files, so that a record is what
Python's `csv` module makes of it, whatever is read: what is not plain is written again, cell by
cell, and the rest as it is. What is found here decides how a file is read, never whether, and is
never reported.

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
import threading
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import BinaryIO

from dpcli.dialect import Dialect
from dpcli.engine.content import UTF8_MARK, blocks_at, started
from dpcli.engine.progress import READING, Progress
from dpcli.engine.source import Dataset, Source


class PlainText:
    """Makes the text of one file plain.

    `odd` is whether anything had to be changed so far, `quoted` whether a quote occurred, `bare`
    whether quotes were left where no cell begins with one, and `inside` whether what was handed
    out ends within a quoted cell; `unclosed` is whether the whole text did so.
    """

    def __init__(self, dialect: Dialect, width: int) -> None:
        self.odd = self.quoted = self.bare = self.inside = self.unclosed = False
        self._quote, self._multiline = (dialect.quote or "").encode(), dialect.multiline
        self._width = width
        self._missing = dialect.delimiter.encode() * (width - 1) or self._quote * 2
        marks = (dialect.delimiter, dialect.quote or "\n")
        self._begun = [mark + self._quote for mark in (dialect.delimiter.encode(), b"\n", b"\r")]
        d, q = (re.escape(mark).encode() for mark in marks)
        # A quoted cell may hold line ends where records may have several lines.
        inner = rb"(?:[^%b%b]++|%b%b)*+" % (q, b"" if dialect.multiline else rb"\r\n", q, q)
        whole, rest = q + inner + q if dialect.quote else rb"(?!)", rb"[^%b\r\n]*+" % d
        start, end = rb"(?<![^%b\r\n])" % d, rb"(?![^%b\r\n])" % d
        others = rb"[^%b\n]*+" % q
        record = rb"%b(?:%b%b%b%b)*+\n" % (others, start, whole, end, others)
        self._first = re.compile(rb"[\r\n]*+" + record)
        self._records = re.compile(rb"(?:%b)*+" % record)
        bare = rb"[^%b%b\r\n]" % (d, q)
        # Cells that stay as they are; then one that does not, or the last of some lines.
        cell = rb"(?!\A[\r\n])(?:%b|%b*+)(?:%b|\r?\n(?![\r\n]))" % (whole, bare, d)
        odd = rb"%b(%b)(?:%b(%b)|\Z)|(%b++%b%b)" % (q, inner, q, rest, bare, q, rest)
        self._parts = re.compile(rb"(?:%b)*+(?:%b|%b*+([\r\n]+|\Z))" % (cell, odd, bare))

    def records(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """The plain text after the header, which is the first record that is not blank."""
        pieces = self.pieces(blocks)
        text = b""
        for piece in pieces:
            text += piece
            header = None if self.inside else self._first.match(text)
            if header is not None:
                yield text[header.end() :]
                yield from pieces

    def pieces(self, blocks: Iterable[bytes], *, bare: bool = False) -> Iterator[bytes]:
        """The plain text of a file in UTF-8, each piece up to the end of some line.

        With `bare`, quotes stay in text in which no cell begins with one: if none does in the
        whole file, quotes mean nothing there.
        """
        start, others = started(blocks, len(UTF8_MARK) + 1)
        next(others)
        start = start.removeprefix(UTF8_MARK)
        self.odd = start.startswith((b"\r", b"\n"))
        rest = b""
        for lines in _whole_lines(chain((start,), others)):
            text, rest = rest + lines, b""
            has_quotes, plain = self._has_quotes(text), not self.inside
            if bare and has_quotes and plain and not self._begins_cells(text):
                self.bare, self.odd = True, self.odd or not self._is_even(text)
                yield text
                continue
            self.quoted = self.quoted or has_quotes
            if plain and has_quotes:
                # Whole records without odd quotes; what follows them may go on in the next lines.
                whole = self._records.match(text)
                end = whole.end() if whole else 0
                plain = end > 0
                if plain:
                    text, rest = text[:end], text[end:]
            yield text if plain and self._is_even(text) else self._changed(text)
        yield self._changed(rest)
        if self.inside:
            self.odd, self.inside, self.unclosed = True, False, True
            yield self._quote

    def _has_quotes(self, text: bytes) -> bool:
        return bool(self._quote) and self._quote in text

    def _begins_cells(self, text: bytes) -> bool:
        """Whether a cell of whole lines begins with a quote."""
        return text.startswith(self._quote) or any(begun in text for begun in self._begun)

    def _is_even(self, text: bytes) -> bool:
        """Whether each line of whole records ends in LF or CRLF, and is a row."""
        if b"\r" in text and text.count(b"\r") != text.count(b"\r\n"):
            return False
        return self._width == 1 or not (
            text.startswith((b"\r", b"\n"))
            or b"\n\n" in text
            or (b"\r" in text and b"\n\r\n" in text)
        )

    def _changed(self, text: bytes) -> bytes:
        """Any text that begins where a line does, or inside a quoted cell."""
        if self._multiline and (self.inside or self._has_quotes(text)):
            made = self._requoted(text)
        else:
            made = self._evened(text)
            if self._has_quotes(made):
                made = b"\n".join(map(self._line, made.split(b"\n")))
        self.odd = self.odd or made != text
        return made

    def _evened(self, ends: bytes, *, first: bool = True) -> bytes:
        """Some lines with LF at their ends, and without blank ones unless these are rows."""
        lines = ends.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if self._width == 1:
            return lines
        lines = lines.lstrip(b"\n") if first else lines
        return re.sub(rb"\n\n+", b"\n", lines) if b"\n\n" in lines else lines

    def _line(self, line: bytes) -> bytes:
        made = self._requoted(line) if self._quote in line else line
        if self.inside:
            self.inside, made = False, self._missing
        return made

    def _requoted(self, text: bytes) -> bytes:
        """Text whose odd cells are whole quoted cells; the last one stays open if it was."""
        quote, inside = self._quote, self.inside
        text = quote + text if inside else text
        made: list[bytes] = []
        done, self.inside = 0, False
        for part in self._parts.finditer(text):
            inner, tail, bare, ends = part.groups()
            if bare is not None:
                made += text[done : part.start(3)], quote, bare.replace(quote, quote * 2), quote
            elif ends is not None:
                made += text[done : part.start(4)], self._evened(ends, first=not part.start(4))
            else:
                made += text[done : part.start(1)], inner
                self.inside = tail is None
                if tail is not None:
                    made += tail.replace(quote, quote * 2), quote
            done = part.end()
        made.append(text[done:])
        return b"".join(made)[len(quote) if inside else 0 :]


def _whole_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The same text, in pieces that end where a line does, the last one perhaps not."""
    waiting: list[bytes] = []
    for block in blocks:
        # What follows a CR at the end of a block may be the rest of a line end.
        end = max(block.rfind(b"\n"), block.rfind(b"\r", 0, len(block) - 1)) + 1
        if end:
            yield b"".join((*waiting, block[:end]))
            waiting = []
        waiting.append(block[end:])
    yield b"".join(waiting)


class Inspection:
    """A look at every byte of the CSV files, once, on a thread of its own.

    It begins at once, so that it can run while other things are being loaded, and
    has at its end which files are plain and which have quotes that mean something. Blank lines
    are not looked for here, but by `has_blank_lines`.
    """

    def __init__(self, dataset: Dataset, progress: Progress | None = None) -> None:
        # In a file of one column, blank lines are rows.
        self._texts = {
            id(source): (source, PlainText(source.dialect, width=1))
            for source in dataset.sources
            if source.dialect is not None
        }
        self._passed = 0
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        if progress and self._texts:
            # The bar asks for the position at once, on a thread of its own.
            total = sum(source.bytes for source, _ in self._texts.values())
            size = max(1, sum(source.size for source, _ in self._texts.values()))
            progress.begin(READING, total, lambda: self._position(total, size))

    def _position(self, total: int, size: int) -> int | None:
        """How far the look is; None when it is over, and copies or sums go on."""
        return self._passed * total // size if self._thread.is_alive() else None

    def of(self, source: Source) -> PlainText:
        """Whether a CSV file is `odd` or `quoted`."""
        self._thread.join()
        return self._texts[id(source)][1]

    def _look(self) -> None:
        for source, text in self._texts.values():
            try:
                for piece in text.pieces(blocks_at(source.file), bare=True):
                    self._passed += len(piece)
                    text.odd = text.odd or (text.bare and text.quoted)
                    if text.odd:
                        break
            except BaseException:  # noqa: BLE001 - no other thread would see it
                # What was not seen to its end is not plain; to copy it fails with a message.
                text.odd = True


def has_blank_lines(file: BinaryIO) -> bool:
    """Whether some line holds nothing at all; a quoted one counts as well."""
    carried = b""
    for block in blocks_at(file):
        text = carried + block
        if b"\n\n" in text or b"\n\r\n" in text:
            return True
        carried = text[-2:]
    return False
