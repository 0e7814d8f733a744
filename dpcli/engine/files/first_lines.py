"""Where the header of a file is, as its first lines show it, for `dpcli init`.

Privacy: nothing is published here, but a draft must not copy a record. So a line counts as a header
only if every cell is a name: there, different, no value, and without a blank at its start, as prose
has it after a comma. A line that precedes it has one filled cell, or at most half as many as the
header, all at its left: records are about as long as each other. In doubt the first line is the
header, and the usual checks of it decide; only a first line of one cell above longer ones is
refused as a title.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice

from dpcli.data.formats import STANDARD_DIALECT, UTF8, Dialect, has_unnamed_index
from dpcli.engine.files.content import (
    UTF8_BOM,
    WINDOWS,
    CountingReader,
    decompress,
    parse_line,
    read_blocks,
)
from dpcli.engine.files.dataset import GZIP_ENDING, Source, format_of
from dpcli.engine.files.header import doubtful_names
from dpcli.engine.files.source import open_dataset, open_file
from dpcli.engine.files.table_text import header_names
from dpcli.problems.errors import DataError

MARKS = (",", ";", "\t", "|")
"""Delimiters that are recognised; if two fit a line equally well, the first is taken."""

MAX_TITLE_LINES = 20
"""Lines that may precede a header."""

USUAL_ENCODING = "windows-1252"
"""The encoding to propose for titles that are not UTF-8, if the names below them are ASCII."""


@contextmanager
def recognized_source(data: str, dialect: Dialect, *, asserted: bool) -> Iterator[Source]:
    """A data file with the names in its header, and the dialect that a spec has to declare.

    A declared delimiter or `skip_lines`, or the line of an `asserted` header, are not recognized
    but believed. Raises DataError `not-column-names.title` for a title above no certain header.
    """
    titles = 0 if asserted or dialect.skip_lines else MAX_TITLE_LINES
    if format_of(data) == "sheet":
        declared = replace(dialect, multiline=True)
        if titles:
            rows = _sheet_rows(data, declared, titles + 1)
            declared = replace(declared, skip_lines=_header_index(rows, declared, data) or 0)
        with open_dataset((data,), declared) as dataset:
            yield replace(dataset.sources[0], dialect=declared)
        return
    # Quotes in titles have no meaning.
    whole = replace(dialect, quote=None, skip_lines=0, header_lines=1)
    with open_dataset((data,), whole) as dataset:
        (source,) = dataset.sources
        if source.dialect is None or source.dialect.quote is not None:
            # Parquet, or another format that was written as CSV with quotes.
            yield source if source.dialect is None else replace(source, dialect=STANDARD_DIALECT)
            return
        mark = source.dialect.delimiter
        is_open = dialect.by_ending and mark == dialect.delimiter
        declared = replace(dialect, delimiter=mark, by_ending=False)
        declared = _recognized_text(source, declared, MARKS if is_open else (mark,), titles)
        header = header_names(_lines(source, declared.skip_lines), declared)
        if not header:
            raise DataError.about("no-header.open-quote", file=data)
        yield replace(source, header=header, dialect=declared)


def _recognized_text(
    source: Source, dialect: Dialect, marks: Sequence[str], titles: int
) -> Dialect:
    """The dialect with the delimiter, of `marks`, and the lines to skip that the header shows.

    The file is text as it is written. At most `titles` lines precede the header.
    """
    lines = [*islice(_lines(source, dialect.skip_lines), titles + 1)]
    rows, delimiters = [], []
    for line in lines:
        cells = {mark: _cells(line, replace(dialect, delimiter=mark)) for mark in marks}
        mark = max(marks, key=lambda mark: len(_filled(cells[mark])))
        rows.append(cells[mark])
        delimiters.append(mark if len(_filled(cells[mark])) > 1 else dialect.delimiter)
        # A file may have one column.
        if line.strip() and not any(map(line.strip().__contains__, (" ", *marks))):
            break
    first = next((index for index, cells in enumerate(rows) if _filled(cells)), 0)
    index = _header_index(rows, dialect, source.name) if titles else None
    if index is None or index == first:
        return replace(dialect, delimiter=delimiters[first]) if delimiters else dialect
    found = replace(dialect, delimiter=delimiters[index], skip_lines=index)
    is_foreign = dialect.encoding == UTF8 and "\ufffd" in "".join(lines[:index])
    return (
        replace(found, encoding=USUAL_ENCODING) if is_foreign and lines[index].isascii() else found
    )


def _sheet_rows(data: str, dialect: Dialect, count: int) -> list[Sequence[str]]:
    """The first rows of a sheet, without the blank cells at their ends."""
    # Only a workbook needs native code to be opened.
    from dpcli.engine.files.spreadsheet import first_rows

    with open_file(data) as file:
        packed = CountingReader(file)
        is_packed = data.lower().endswith(GZIP_ENDING)
        blocks = decompress(packed, data) if is_packed else read_blocks(packed.read)
        rows = first_rows(blocks, dialect, data, count)
    return [_between_blanks(row) for row in rows]


def _between_blanks(row: Sequence[str]) -> Sequence[str]:
    indices = [index for index, cell in enumerate(row) if cell.strip()]
    return row[indices[0] : indices[-1] + 1] if indices else ()


def _header_index(rows: Sequence[Sequence[str]], dialect: Dialect, file: str) -> int | None:
    """The index of the row that can only be the header; None if the first row decides.

    Raises DataError `not-column-names.title`.
    """
    widest, is_title = 0, False
    for index, row in enumerate(rows):
        filled = _filled(row)
        is_declared = dialect.header_lines > 1 and len(filled) > 1
        if is_declared or (is_certain_header(row) and len(row) >= 2 * widest):
            return index
        if filled and not widest and _numbers_rows(rows[index:]):
            return index
        has_prose = any(cell[:1].isspace() for cell in row)
        is_title = is_title or (widest == 1 and len(filled) > 1 and not has_prose)
        if len(filled) > 1 and [*row[: len(filled)]] != filled:
            break
        widest = max(widest, len(filled))
    if is_title:
        raise DataError.about("not-column-names.title", file=file)
    return None


def _numbers_rows(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names all columns but that of the numbers of rows."""
    row = rows[0]
    named = has_unnamed_index(row) and doubtful_names(row[1:]) is None
    return named and max(map(len, rows)) == len(row)


def is_certain_header(cells: Sequence[str]) -> bool:
    """Whether a line below others can only be a header: no cell may be of a record."""
    has_prose = any(cell[:1].isspace() for cell in cells)
    return len(cells) > 1 and not has_prose and doubtful_names(cells) is None


def _cells(line: str, dialect: Dialect) -> list[str]:
    return parse_line(line.rstrip("\r\n"), dialect) or []


def _filled(cells: Sequence[str]) -> list[str]:
    return [cell for cell in cells if cell.strip()]


def _lines(source: Source, skipped: int) -> io.StringIO:
    """The first lines of a file, after those that are skipped."""
    start = os.pread(source.file.fileno(), WINDOWS[1], 0).removeprefix(UTF8_BOM)
    lines = io.StringIO(start.decode("utf-8", "replace"), newline="")
    for _ in range(skipped):
        lines.readline()
    return lines
