"""Whether the first line of a file names columns, and those of the spec.

A file without a header line begins with a record, so that nothing of a doubtful first line is
copied, shown or counted. A message names the kind of doubt and the option that decides it.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

from dpcli.columns import Column, IdColumn
from dpcli.dialect import UTF8
from dpcli.engine.records import WINDOWS, first_record, is_separator_mark
from dpcli.engine.source import Dataset, Source
from dpcli.errors import DataError, Problem

SEPARATORS = {";": "semicolon", "\t": "tab", "|": "vertical bar", ",": "comma"}
"""What probably stands between names where a first line seems to be a single one."""

VALUE = (
    r"[+-]?(inf|infinity|nan)|0x[0-9a-f]+|[+-]?[0-9.,]+e[+-]?[0-9]+"
    r"|n/?a|#n/a|none|null|nil|true|false"
    r"|[^@\s]+@[^@\s]+\.[^@\s]+"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}[t ].*"
    r"|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)
"""Cells with letters that are no names: numbers, missing marks, addresses, instants, UUIDs."""

MONTH = (
    r"(?<![a-z])(jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?"
    r"|sept?(ember)?|oct(ober)?|nov(ember)?|dec(ember)?)(?![a-z])"
)
"""The only letters of a date such as 7 March 2021."""

LONGEST_DATE = 20
"""Characters of a cell that may be a date with the name of a month."""


def require_columns(dataset: Dataset, columns: Sequence[Column]) -> None:
    """Raise DataError, naming every declared column that is absent or ambiguous in a file.

    Names must match exactly. Only names from the spec appear in messages, and of a
    Parquet file the types of its columns.
    """
    problems = [problem for source in dataset.sources for problem in _problems(source, columns)]
    if problems:
        raise DataError(problems)


def _problems(source: Source, columns: Sequence[Column]) -> Iterator[Problem]:
    composed = Counter(unicodedata.normalize("NFC", name) for name in source.header)
    counts = {column: composed[unicodedata.normalize("NFC", column.name)] for column in columns}
    if len(columns) > 1 and not any(counts.values()):
        yield Problem(
            "missing-column",
            f"the header of `{source.name}` has none of the {len(columns):,} declared columns, "
            f"`{columns[0].name}` for one",
            _hint(source, none=True),
        )
        return
    for column, count in counts.items():
        if not count:
            yield Problem(
                "missing-column",
                f"the header of `{source.name}` has no column `{column.name}`",
                _hint(source),
            )
        elif count > 1 or column.name not in source.header:
            yield Problem(
                "ambiguous-column",
                f"the header of `{source.name}` names `{column.name}` {count} times, or spells it "
                "with other Unicode characters",
                "give every column a name of its own, spelled as in the spec",
            )
        elif column.name in source.odd:
            yield Problem(
                "column-type",
                f"the column `{column.name}` of `{source.name}` has the type "
                f"{source.odd[column.name]}, expected single numbers, texts, dates or booleans",
                "write the column with another type, or remove it from the spec",
            )
        elif isinstance(column, IdColumn) and column.name in source.unfit_ids:
            # As texts, 7.0 here and 7 in another file would be two people, and one
            # instant in two time zones as well.
            yield Problem(
                "column-type",
                f"the ids in `{column.name}` of `{source.name}` have the type "
                f"{source.unfit_ids[column.name]}, expected whole numbers or texts",
                "write the column as whole numbers or texts, the same in every file",
            )


def _hint(source: Source, *, none: bool = False) -> str:
    """What to do about a missing column, or if there is none of them."""
    if is_separator_mark(source.header):
        return "the first line is the mark `sep=` of a spreadsheet program: delete it from the file"
    if source.dialect is not None:
        mark = _separator_within(source.header, source.dialect.delimiter)
        if mark is not None:
            word = "tab" if mark == "\t" else f'"{mark}"'
            return (
                f"the header is one name with {word} in it; if that separates names, "
                f"declare `csv: {{delimiter: {word}}}`"
            )
        if none:
            return (
                "if the file has no header line, declare its columns by `csv: {names: [...]}`; "
                "if it is not UTF-8, declare its encoding, as in `csv: {encoding: windows-1252}`; "
                "names must match exactly"
            )
    return (
        "names must match exactly, spaces and case included; "
        "`dpcli init DATA` lists the names in the header"
    )


def _separator_within(header: Sequence[str], delimiter: str) -> str | None:
    """What probably separates names in a header that seems to be a single one."""
    if len(header) != 1:
        return None
    return next((mark for mark in SEPARATORS if mark in header[0] and mark != delimiter), None)


def require_names(source: Source, *, asserted: bool) -> None:
    """Raise DataError if the first line is no text, or reads as a record.

    With `asserted`, the caller states that it names the columns, and only what cannot be
    read as text is refused. A Parquet file names its columns apart from its records.
    """
    if source.dialect is None:
        return
    line = f"the first line of `{source.name}`"
    unreadable = _unreadable(source)
    if unreadable is not None:
        raise DataError.of("not-text", f"{line} {unreadable[0]}", unreadable[1])
    doubt = None if asserted else _doubt(source.header, source.dialect.delimiter)
    if doubt is not None:
        raise DataError.of("not-column-names", f"{line} {doubt[0]}", doubt[1])


def columns_without_names(source: Source) -> int:
    """How many cells the first record has, in a file that is read without a header line.

    Only the number of cells leaves this function, which is the number of columns.
    """
    assert source.dialect is not None
    # A line in the place of a header precedes the records of such a file.
    start = os.pread(source.file.fileno(), WINDOWS[0], 0).find(b"\n") + 1
    cells = first_record(source.file, source.size, source.dialect, start)
    if not cells:
        raise DataError.of(
            "no-header",
            f"`{source.name}` has no first line whose cells could be counted",
            "name a file with at least one record",
        )
    return len(cells)


def _unreadable(source: Source) -> tuple[str, str] | None:
    """Why the first line is no text in its encoding, and what to try."""
    start = os.pread(source.file.fileno(), WINDOWS[0], 0).lstrip(b"\r\n")
    line = re.split(rb"[\r\n]", start, maxsplit=1)[0]
    if b"\0" in line:
        # Letters of the Latin alphabet have a zero byte before or after them in UTF-16.
        big = line[::2].count(0) > line[1::2].count(0)
        name = "utf-16be" if big else "utf-16"
        return (
            "has NUL bytes in it, as UTF-16 text has",
            f"try `--encoding {name}`, or save the file as UTF-8 text",
        )
    assert source.dialect is not None
    if any("\ufffd" in name for name in source.header):
        encoding = source.dialect.encoding
        other = "windows-1252" if encoding == UTF8 else UTF8
        return (
            f"is not text in {encoding}",
            f"try `--encoding {other}`, or the encoding that the file was saved with",
        )
    return None


def _doubt(header: Sequence[str], delimiter: str) -> tuple[str, str] | None:
    """Why a header may not be one, and what to do."""
    if is_separator_mark(header):
        return (
            "is the mark `sep=` of a spreadsheet program, not the names of columns",
            "delete that line from the file; if names are separated by `;`, use `--delimiter ';'`",
        )
    mark = _separator_within(header, delimiter)
    if mark is not None:
        option = "tab" if mark == "\t" else f"'{mark}'"
        return (
            f"is a single name with a {SEPARATORS[mark]} in it",
            f"try `--delimiter {option}`; with `--header`, the line is taken as one name",
        )
    names = [unicodedata.normalize("NFC", name).strip() for name in header]
    found = ""
    if not all(names):
        found = "has an empty cell, where a column should be named"
    elif len(set(names)) < len(names):
        found = "has the same cell twice, where every column should have a name of its own"
    elif any(map(_is_value, names)):
        found = "has a cell that reads as a value: a number, a date, an address or a missing mark"
    if not found:
        return None
    return found, (
        "if the line is a record, use `--no-header`; if it names the columns, use `--header`, or "
        "give the columns other names in the file"
    )


def _is_value(cell: str) -> bool:
    """Whether a cell is more likely a value than a name."""
    if re.fullmatch(VALUE, cell, re.IGNORECASE):
        return True
    rest = re.sub(MONTH, "", cell, flags=re.IGNORECASE) if len(cell) <= LONGEST_DATE else cell
    return any(letter.isnumeric() for letter in cell) and not any(map(str.isalpha, rest))
