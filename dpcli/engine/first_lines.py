"""Where the header of a file is, as its first lines show it, for `dpcli init`.

Privacy: nothing is published here, but a draft must not copy a record. So a line counts as a header
only if every cell is a name: there, different, no value, and without a blank at its start, as prose
has it after a comma. Only lines with one filled cell may precede it. In doubt the first line is the
header, and the usual checks of it decide.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from dpcli.csv_dialect import STANDARD_DIALECT, Dialect
from dpcli.engine.file_content import UTF8_BOM, WINDOWS, parse_line
from dpcli.engine.header import doubtful_names
from dpcli.engine.regular_file import format_of
from dpcli.engine.source import Source, open_dataset
from dpcli.engine.table_text import header_names
from dpcli.errors import DataError

MARKS = (",", ";", "\t", "|")
"""Delimiters that are recognised; of two that fit a line alike, the first is taken."""

MOST_TITLES = 20
"""Lines that may precede a header."""


@contextmanager
def recognized_source(data: str, dialect: Dialect, *, asserted: bool) -> Iterator[Source]:
    """A data file with the names in its header, and the dialect that a spec has to declare.

    A declared delimiter or `skip_lines`, or the line of an `asserted` header, are not recognized
    but believed.
    """
    titles = 0 if asserted or dialect.skip_lines else MOST_TITLES
    if format_of(data) == "sheet":
        declared = _recognized_sheet(data, replace(dialect, multiline=True), titles)
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
    lines = _lines(source, dialect.skip_lines)
    blank = True
    for skipped in range(titles + 1):
        line = lines.readline()
        if not line:
            break
        filled = {mark: _filled(line, replace(dialect, delimiter=mark)) for mark in marks}
        delimiter = max(marks, key=lambda mark: len(filled[mark]))
        if len(filled[delimiter]) > 1:
            found = replace(dialect, delimiter=delimiter)
            if blank:
                return found
            cells = parse_line(line.rstrip("\r\n"), found)
            is_header = dialect.header_lines > 1 or is_certain_header(cells or [])
            return replace(found, skip_lines=skipped) if is_header else dialect
        blank = blank and not line.strip()
        # A file may have one column.
        may_be_name = filled[delimiter] and not any(map(line.strip().__contains__, (" ", *marks)))
        if may_be_name:
            break
    return dialect


def _recognized_sheet(data: str, dialect: Dialect, titles: int) -> Dialect:
    """The dialect with the rows to skip before the header of a sheet."""
    for skipped in range(titles):
        found = replace(dialect, skip_lines=skipped, header_lines=1)
        try:
            with open_dataset((data,), found) as dataset:
                header = dataset.sources[0].header
        except DataError:
            break
        is_first = not skipped or dialect.header_lines > 1
        if is_certain_header(header) or (is_first and len([*filter(None, header)]) > 1):
            return replace(dialect, skip_lines=skipped)
    return dialect


def is_certain_header(cells: Sequence[str]) -> bool:
    """Whether a line below others can only be a header: no cell may be of a record."""
    has_prose = any(cell[:1].isspace() for cell in cells)
    return len(cells) > 1 and not has_prose and doubtful_names(cells) is None


def _filled(line: str, dialect: Dialect) -> list[str]:
    cells = parse_line(line.rstrip("\r\n"), dialect) or []
    return [cell for cell in cells if cell.strip()]


def _lines(source: Source, skipped: int) -> io.StringIO:
    """The first lines of a file, after those that are skipped."""
    start = os.pread(source.file.fileno(), WINDOWS[1], 0).removeprefix(UTF8_BOM)
    lines = io.StringIO(start.decode("utf-8", "replace"), newline="")
    for _ in range(skipped):
        lines.readline()
    return lines
