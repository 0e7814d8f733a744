"""JSON Lines as CSV text: every line is an object, its keys name columns.

    number         the digits as they are written, not rounded
    true, false    these words
    text           as it is
    null           a blank cell, which is missing, as for a key that the object does not have
    object, list   a blank cell: nested values cannot be read

The spec names the keys that are read. A line that is no object, or has more than `LONGEST_LINE`
bytes, is a row with all cells missing. A blank line is no row.

Privacy: the first object is a record, so no object decides which columns there are. A file may lack
a key in all of its records, which no message may say (`reading_warnings`). Every line is decoded by
itself, by the decoder of Python, line by line. The native readers of polars are faster, but they
round numbers, and one line that they refuse ends the reading of all.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from dpcli.data.formats import STANDARD_DIALECT
from dpcli.engine.files.decoding import TYPED, UTF8_BOM, placeholder_header
from dpcli.problems.errors import DataError

LONGEST_LINE = 1 << 24
"""Bytes of the longest line that is read."""


ROWS = 1 << 12
"""Rows that are written together."""


WORDS = {True: "true", False: "false"}
"""The words for the truth values."""


DECODER = json.JSONDecoder(parse_float=TYPED.__add__, parse_int=TYPED.__add__, parse_constant=str)
"""Decodes a line; numbers are typed texts."""


def json_table(
    blocks: Iterable[bytes], names: Sequence[str], file: str
) -> tuple[tuple[str, ...], Iterator[bytes]]:
    """Names of the columns, and rows as CSV in UTF-8 after a line of placeholders.

    Without `names`, for a draft of a spec, they are the keys of the first object; DataError
    `no-header.json` if the first line is no object with keys.
    """
    records: Iterator[dict[str, object] | None] = map(_record, _lines(blocks))
    if not names:
        first = next(records, None)
        if not first:
            raise DataError.about("no-header.json", file=file)
        names, records = tuple(first), chain((first,), records)
    return tuple(names), _as_csv(records, names)


def _lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """All lines that are not blank.

    A line of more than `LONGEST_LINE` bytes may be cut, but is still longer than that.
    """
    waiting, unmarked = b"", True
    for block in chain(blocks, (b"\n",)):
        *lines, waiting = (waiting + block).split(b"\n")
        waiting = waiting[: LONGEST_LINE + 1]
        for line in lines:
            text = line.removeprefix(UTF8_BOM) if unmarked else line
            unmarked = False
            if text.strip():
                yield text


def _record(line: bytes) -> dict[str, object] | None:
    if len(line) > LONGEST_LINE:
        return None
    try:
        value = DECODER.decode(line.decode("utf-8", "replace").strip(" \t\r\n"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _as_csv(records: Iterable[dict[str, object] | None], names: Sequence[str]) -> Iterator[bytes]:
    yield placeholder_header(STANDARD_DIALECT.delimiter, len(names)).encode()
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    for number, record in enumerate(records, 1):
        cells = map((record or {}).get, names)
        writer.writerow(
            cell if isinstance(cell, str) else WORDS[cell] if isinstance(cell, bool) else ""
            for cell in cells
        )
        if number % ROWS == 0:
            yield text.getvalue().encode("utf-8", "replace")
            text.seek(0)
            text.truncate()
    yield text.getvalue().encode("utf-8", "replace")
