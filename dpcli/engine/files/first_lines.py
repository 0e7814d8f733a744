"""What `dpcli init` finds in the first lines of a file: a header, and its form.

A file without a header line begins with a record. So nothing of a doubtful first line is copied,
shown or counted: a message names the kind of doubt and the option that resolves it.

Privacy: a draft must not copy a record. So a line counts as a header only if every cell is a name:
there, different, no value, and without a blank at its start, as prose has it after a comma. A line
that precedes it has one filled cell, or at most half as many as the header, all at its left:
records are about as long as each other. In doubt the first line is the header, and the usual checks
of it decide; only a first line of one cell above longer ones is refused as a title.
"""

from __future__ import annotations

import io
import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice

from dpcli.data.formats import UTF8, Dialect, has_unnamed_index
from dpcli.engine.files.dataset import GZIP_ENDING, Source, format_of
from dpcli.engine.files.decoding import (
    UTF8_BOM,
    WINDOWS,
    CountingReader,
    parse_line,
    read_blocks,
    read_first_record,
)
from dpcli.engine.files.header_check import (
    SEPARATORS,
    is_separator_mark,
    separator_in,
    wide_encoding,
)
from dpcli.engine.files.source import open_dataset, open_file
from dpcli.problems.errors import DataError

VALUE = (
    r"[+-]?(inf|infinity|nan)|0x[0-9a-f]+|[+-]?[0-9.,]+e[+-]?[0-9]+"
    r"|n/?a|#n/a|none|null|nil|true|false"
    r"|[^@\s]+@[^@\s]+\.[^@\s]+"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}[t ].*"
    r"|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)
"""Cells with letters, no names: numbers, missing marks, addresses, times, UUIDs."""

MONTH = (
    r"(?<![a-z])(jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?"
    r"|sept?(ember)?|oct(ober)?|nov(ember)?|dec(ember)?)(?![a-z])"
)
"""The letters in a date such as 7 March 2021."""

LONGEST_DATE = 20
"""Characters of the longest cell that may be a date with the name of a month."""


def require_names(source: Source, *, asserted: bool, in_two_lines: bool = False) -> None:
    """Raise DataError if the first line is not text, or looks like a record.

    With `asserted`, the caller states that it is a header, and only a line that cannot be read as
    text is refused. If the names are `in_two_lines`, neither part may be a value. A Parquet file
    needs no check.
    """
    if source.dialect is None:
        return
    file, encoding = source.name, source.dialect.encoding
    if other := wide_encoding(source):
        why = f": it has NUL bytes in it, as {other[:6].upper()} text has"
        raise DataError.about("not-text", file=file, encoding=encoding, other=other, why=why)
    if any("\ufffd" in name for name in source.header):
        alternative = "windows-1252" if encoding == UTF8 else UTF8
        raise DataError.about("not-text", file=file, encoding=encoding, other=alternative, why="")
    doubt = None if asserted else _doubt(source, in_two_lines=in_two_lines)
    if doubt == "delimiter":
        mark = separator_in(source) or ""
        arguments = {"mark": SEPARATORS[mark], "option": "tab" if mark == "\t" else f"'{mark}'"}
        raise DataError.about("not-column-names.delimiter", file=file, **arguments)
    if doubt is not None:
        if doubt in ("mark", "two-lines"):
            raise DataError.about(f"not-column-names.{doubt}", file=file)
        raise DataError.about("not-column-names", file=file, doubt=doubt)


def _doubt(source: Source, *, in_two_lines: bool) -> str | None:
    """The reason why a header may be a record, if there is one."""
    if is_separator_mark(source.header):
        return "mark"
    if separator_in(source) is not None:
        return "delimiter"
    parts = [part for name in source.header for part in name.split(": ")] if in_two_lines else []
    if any(map(_is_value, parts)):
        return "two-lines"
    return doubtful_names(source.header[has_unnamed_index(source.header) :])


def doubtful_names(cells: Sequence[str]) -> str | None:
    """The reason why a line with these cells may be a record, if there is one."""
    names = [unicodedata.normalize("NFC", cell).strip() for cell in cells]
    doubts = {
        "an empty cell, where a column should be named": not all(names),
        "the same cell twice, where every column should have its own name": len(set(names))
        < len(names),
        "a cell that reads as a value: a number, a date, an address or a missing mark": any(
            map(_is_value, names)
        ),
    }
    return next((doubt for doubt, applies in doubts.items() if applies), None)


def columns_without_names(source: Source) -> int:
    """The number of cells in the first record of a file read without a header line.

    Only this number, which is the number of columns, leaves the function. Raises DataError
    `no-header.empty` if there is no record.
    """
    assert source.dialect is not None
    # A placeholder header line precedes the records of such a file.
    start = os.pread(source.file.fileno(), WINDOWS[0], 0).find(b"\n") + 1
    cells = read_first_record(source.file, source.size, source.dialect, start)
    if not cells:
        raise DataError.about("no-header.empty", file=source.name)
    return len(cells)


def _is_value(cell: str) -> bool:
    """Whether a cell is more likely a value than a name."""
    if re.fullmatch(VALUE, cell, re.IGNORECASE):
        return True
    without_month = (
        re.sub(MONTH, "", cell, flags=re.IGNORECASE) if len(cell) <= LONGEST_DATE else cell
    )
    return any(letter.isnumeric() for letter in cell) and not any(map(str.isalpha, without_month))


MARKS = (",", ";", "\t", "|")
"""Recognized delimiters; if two fit a line equally well, the first is taken."""

MAX_TITLE_LINES = 20
"""Lines that may precede a header."""

USUAL_ENCODING = "windows-1252"
"""The encoding to propose for titles not in UTF-8, if names below them are ASCII."""


@contextmanager
def recognized_source(data: str, dialect: Dialect, *, asserted: bool) -> Iterator[Source]:
    """A data file with the names in its header, and the dialect to declare for it.

    A declared delimiter, declared `skip_lines` and an `asserted` header are taken as they are; all
    else is recognized. Raises DataError `not-column-names.title` for a title above no certain
    header.
    """
    titles = 0 if asserted or dialect.skip_lines else MAX_TITLE_LINES
    if format_of(data) == "sheet":
        declared = replace(dialect, multiline=True)
        if titles:
            rows = _sheet_rows(data, declared, titles + 1)
            declared = replace(declared, skip_lines=_header_index(rows, declared, data) or 0)
        with open_dataset((data,), declared) as dataset:
            yield replace(dataset.sources[0], dialect=replace(declared, multiline=False))
        return
    from dpcli.engine.files.header_lines import header_names

    # Quotes in titles have no meaning.
    whole = replace(dialect, quote=None, skip_lines=0, header_lines=1)
    with open_dataset((data,), whole) as dataset:
        (source,) = dataset.sources
        if source.dialect is None or source.dialect.quote is not None:
            # Parquet, or another format that was written as CSV with quotes.
            yield source if source.dialect is None else replace(source, dialect=Dialect())
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
    """The dialect with the delimiter and the lines to skip that the header shows.

    The delimiter is one of `marks`. The file is text as it is written. At most `titles` lines
    precede the header.
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
    from dpcli.engine.files.decompression import decompress
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
    """The index of the row that must be the header; None if the first row decides.

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
    """Whether the first row names all columns but the first, which numbers rows."""
    row = rows[0]
    named = has_unnamed_index(row) and doubtful_names(row[1:]) is None
    return named and max(map(len, rows)) == len(row)


def is_certain_header(cells: Sequence[str]) -> bool:
    """Whether a line with these cells, below other lines, can only be a header."""
    has_prose = any(cell[:1].isspace() for cell in cells)
    return len(cells) > 1 and not has_prose and doubtful_names(cells) is None


def _cells(line: str, dialect: Dialect) -> list[str]:
    return parse_line(line.rstrip("\r\n"), dialect) or []


def _filled(cells: Sequence[str]) -> list[str]:
    return [cell for cell in cells if cell.strip()]


def _lines(source: Source, skipped: int) -> io.StringIO:
    """The lines at the start of a file after `skipped` ones, up to a limited size."""
    start = os.pread(source.file.fileno(), WINDOWS[1], 0).removeprefix(UTF8_BOM)
    lines = io.StringIO(start.decode("utf-8", "replace"), newline="")
    for _ in range(skipped):
        lines.readline()
    return lines
