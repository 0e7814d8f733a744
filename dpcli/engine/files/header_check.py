"""Headers: whether a file has the columns of a spec; no other line is shown."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

from dpcli.data.column import Column, file_columns
from dpcli.data.formats import UTF16, UTF32
from dpcli.engine.files.dataset import ZIP_ENDING, Dataset, Source, format_of
from dpcli.engine.files.decoding import WINDOWS
from dpcli.problems.errors import DataError, Problem, make_problem
from dpcli.problems.messages import MAX_QUOTED, quote

SEPARATORS = {";": "semicolon", "\t": "tab", "|": "vertical bar", ",": "comma"}
"""Probable delimiters of a first line that seems to be a single name."""


def require_columns(
    dataset: Dataset, columns: Sequence[Column], *, every_record: bool = False
) -> None:
    """Raise DataError with each declared column missing or ambiguous in a file.

    Names must match exactly. Messages show only names from the spec, and the types of columns of a
    Parquet file. If `every_record` must be a row, because the number of rows is public, a file is
    refused if the content of a record decides whether it is a row.
    """
    if every_record:
        if dataset.dialect.footer or dataset.dialect.comment:
            raise ValueError("a footer or a comment leaves out records")
        _refuse_sheets(source.name for source in dataset.sources if source.kind == "sheet")
    read = file_columns(columns)
    problems = [problem for source in dataset.sources for problem in _problems(source, read)]
    positions = [key for column in read if isinstance(key := column.file_key, int)]
    if positions and not dataset.dialect.names:
        # Objects have no positions.
        problems += [
            make_problem("missing-column.json", file=source.name, position=positions[0])
            for source in dataset.sources
            if source.kind == "json"
        ]
    DataError.require_none(problems)


def refuse_possible_sheets(names: Iterable[str]) -> None:
    """Raise DataError for the names of workbooks, and of archives that may hold one."""
    _refuse_sheets(
        name for name in names if format_of(name) == "sheet" or name.lower().endswith(ZIP_ENDING)
    )


def _refuse_sheets(names: Iterable[str]) -> None:
    DataError.require_none(make_problem("sheet-rows", file=name) for name in names)


def _problems(source: Source, columns: Sequence[Column]) -> Iterator[Problem]:
    # How many columns of the file each declared column may mean, in any Unicode form.
    by_name = Counter(unicodedata.normalize("NFC", name) for name in source.header)
    counts = {
        column: int(key <= len(source.header))
        if isinstance(key := column.file_key, int)
        else by_name[unicodedata.normalize("NFC", source.own_name(key))]
        for column in columns
    }
    file, (hint, mark) = source.name, _hint_of(source)
    absent = set(map(attrgetter("file_key"), columns)).difference(source.header)
    near = _near_names(absent, source.header) if absent and hint != WIDE else {}
    if len(columns) > 1 and not any(counts.values()) and not near:
        if source.dialect is not None and hint == "missing-column":
            hint = "missing-column.all"
        first = quote(str(columns[0].file_key))
        missed = f"none of the {len(columns):,} declared columns, {first} for one"
        yield make_problem(hint, file=file, mark=mark, missed=missed)
        return
    for column, count in counts.items():
        key = column.file_key
        if count == 1 and (isinstance(key, int) or source.own_name(key) in source.header):
            yield from _type_problems(source, column)
        elif isinstance(key, str) and key in near:
            missed = f"no column {quote(key)}"
            arguments = {"column": column.name, "near": near[key], "missed": missed}
            yield make_problem("missing-column.near", file=file, **arguments)
        elif count:
            yield make_problem("ambiguous-column", file=file, column=key, count=count)
        elif isinstance(key, int):
            missed = f"{len(source.header):,} columns, and none at position {key:,}"
            yield make_problem("missing-column.position", file=file, missed=missed)
        else:
            # Letters that UTF-8 has no form for may be those of the name.
            lost = hint == "missing-column" and not key.isascii() and LOST in "".join(source.header)
            code = "missing-column.encoding" if lost else hint
            yield make_problem(code, file=file, mark=mark, missed=f"no column {quote(key)}")


WIDE = "missing-column.wide"

LOST = "\N{REPLACEMENT CHARACTER}"


def _hint_of(source: Source) -> tuple[str, str | None]:
    """The code of a missing column, with a probable delimiter or encoding."""
    if source.in_memory:
        return "missing-column.memory", None
    mark = separator_in(source)
    if source.dialect is not None and "\0" in "".join(source.header):
        return WIDE, wide_encoding(source)
    if is_separator_mark(source.header):
        return "missing-column.mark", None
    if mark is not None:
        return "missing-column.delimiter", "tab" if mark == "\t" else f'"{mark}"'
    return "missing-column", None


INKLESS = r"[\s\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0]"
"""Blanks, and characters without ink that count as letters, marks or symbols."""


def _near_names(keys: Iterable[str | int], header: Sequence[str]) -> dict[str, str]:
    """For keys that a header lacks, its only name that differs in form alone."""
    names: dict[str, list[str]] = {}
    for name in header:
        names.setdefault(_folded(name), []).append(name)
    near: dict[str, str] = {}
    for key in keys:
        same = names.get(_folded(str(key)), [])
        if len(same) == 1 and isinstance(key, str) and len(same[0]) <= MAX_QUOTED:
            (name,) = same
            differs = unicodedata.normalize("NFC", name) != unicodedata.normalize("NFC", key)
            is_seen = name.isprintable() and not re.search(INKLESS, name.replace(" ", ""))
            near[key] = f"'{name}'" if differs and is_seen and "'" not in name else json.dumps(name)
    return near


def _folded(name: str) -> str:
    text = re.sub(INKLESS, "", unicodedata.normalize("NFKC", name).casefold())
    return unicodedata.normalize("NFKC", "".join(filter(str.isprintable, text)))


def _type_problems(source: Source, column: Column) -> Iterator[Problem]:
    name = source.header[source.index_of(column)]
    if name in source.odd:
        arguments = {"column": name, "type": source.odd[name]}
        expected = "single numbers, texts, dates or booleans"
        yield make_problem("column-type", file=source.name, expected=expected, **arguments)
    elif column.is_id and name in source.unfit_ids:
        # As texts, 7.0 and 7 in another file would be two people, and so would one time in two
        # time zones.
        arguments = {"column": name, "type": source.unfit_ids[name]}
        expected = "whole numbers or texts, as it has ids"
        yield make_problem("column-type.id", file=source.name, expected=expected, **arguments)


def is_separator_mark(header: Sequence[str]) -> bool:
    """Whether a first line is like `sep=;`, where spreadsheets state the delimiter."""
    line = "".join(header)
    return line[:4].lower() == "sep=" and len(line) <= 5


def separator_in(source: Source) -> str | None:
    """The probable delimiter of a header that seems to be a single name."""
    if len(source.header) != 1 or source.dialect is None:
        return None
    marks = (mark for mark in SEPARATORS if mark != source.dialect.delimiter)
    return next((mark for mark in marks if mark in source.header[0]), None)


def wide_encoding(source: Source) -> str:
    """The encoding of a first line with NUL bytes; empty without them."""
    start = os.pread(source.file.fileno(), WINDOWS[0], 0).lstrip(b"\r\n")
    line = re.split(rb"[\r\n]", start, maxsplit=1)[0]
    # In UTF-16 a Latin letter has a zero byte before or after it, in UTF-32 three of them.
    wide = UTF32 if 3 * line.count(0) > 2 * len(line) else UTF16
    wide += "be" * (line[::2].count(0) > line[1::2].count(0) and wide == UTF16)
    return wide if b"\0" in line else ""
