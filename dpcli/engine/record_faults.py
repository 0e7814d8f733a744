"""What is wrong with whole records of CSV files, or with their encoding.

Confidential, as `cells_check` is: it looks at records, at the start and at the end of each file.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from dpcli.columns import CategoryColumn, Column
from dpcli.csv_dialect import ENCODINGS, UTF8, Dialect
from dpcli.engine.file_content import LINE_END, UTF8_BOM, parse_line, parse_records
from dpcli.engine.source import Dataset, Source
from dpcli.reference import usual_cells

START, END = 1 << 22, 1 << 14
"""Bytes at the start and at the end of a file that are looked at."""

LAST_RECORDS = 10
"""Records at the end of a file among which there may be totals and notes."""

WESTERN = "windows-1252"
"""The encoding of most files that are not UTF-8."""

PLAUSIBLE = re.compile(
    "[\u00a0-\u00ff\u2013-\u2026\u20ac\u0152\u0153\u0160\u0161\u017d\u017e\u0178]*"
)
"""What Western texts hold besides ASCII: letters, quotes, dashes and the euro sign."""

Kind = Literal["short", "long", "joined", "unclosed", "footer", "encoding", "undecodable"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of fault in a file; `key` is what the section `csv` can declare against it."""

    kind: Kind
    file: str
    key: str = ""


def record_faults(dataset: Dataset, columns: Sequence[Column]) -> tuple[Fault, ...]:
    """The faults of all files, each kind once for a file; none in Parquet."""
    return tuple(
        fault
        for source in dataset.sources
        if source.dialect is not None
        for fault in _faults(source, source.dialect, dataset.dialect.encoding, columns)
    )


def _faults(
    source: Source, dialect: Dialect, encoding: str, columns: Sequence[Column]
) -> Iterator[Fault]:
    size = os.fstat(source.file.fileno()).st_size
    start = os.pread(source.file.fileno(), START, 0).removeprefix(UTF8_BOM)
    start = start[: start.rfind(b"\n") + 1] if len(start) < size else start
    found = _better_encoding(start, encoding, columns)
    if found is not None:
        yield Fault("encoding" if found else "undecodable", source.name, f"encoding: {found}")
    text = start.decode("utf-8", "replace")
    kinds = set[Kind]()
    width = len(source.header)
    records = _records_of_lines(text, dialect) if not dialect.multiline else _records(text, dialect)
    for cells in records:
        if cells is None:
            kinds.add("unclosed")
        elif len(cells) != width and any("\n" in cell or "\r" in cell for cell in cells):
            kinds.add("joined")
        elif any(cells[width:]):
            kinds.add("long")
        elif len(cells) < width and any(cells) and not _is_footer(cells, dialect.footer):
            kinds.add("short")
    end = os.pread(source.file.fileno(), END, max(0, size - END)).decode("utf-8", "replace")
    words = _footer_words(end, dialect, is_whole=size <= END)
    if words:
        kinds.discard("short")
        yield Fault("footer", source.name, f"footer: [{', '.join(words)}]")
    yield from (Fault(kind, source.name) for kind in sorted(kinds))


def _records(text: str, dialect: Dialect) -> Iterator[list[str]]:
    return (cells for cells in parse_records(io.StringIO(text, newline=""), dialect) if cells)


def _records_of_lines(text: str, dialect: Dialect) -> Iterator[list[str] | None]:
    return (parse_line(line, dialect) for line in LINE_END.split(text) if line)


def _is_footer(cells: Sequence[str], footer: Iterable[str]) -> bool:
    return cells[0].strip(" \t").startswith(tuple(footer))


def _footer_words(end: str, dialect: Dialect, *, is_whole: bool) -> tuple[str, ...]:
    """The usual words with which the last records begin, where none is declared."""
    lines = [line for line in LINE_END.split(end) if line.strip()][not is_whole :]
    one_line = replace(dialect, multiline=False)
    firsts = (parse_line(line, one_line) or [""] for line in lines[-LAST_RECORDS:])
    starts = [cells[0].strip(" \t") for cells in firsts if not _is_footer(cells, dialect.footer)]
    return tuple(
        word
        for word in usual_cells()["footers"]
        if any(_begins_with(start, word) for start in starts)
    )


def _begins_with(start: str, word: str) -> bool:
    return re.match(rf"{word}s?(?::|$)", start, re.IGNORECASE) is not None


def _better_encoding(start: bytes, encoding: str, columns: Sequence[Column]) -> str | None:
    """The encoding that fits the bytes; empty if none is known, None if the declared one does."""
    declared = [
        text
        for column in columns
        if isinstance(column, CategoryColumn)
        for text, _ in column.values
        if not text.isascii()
    ]
    if encoding != UTF8:
        # The text was decoded as declared; UTF-8 that was read as something else shows by this.
        codec = ENCODINGS[encoding]
        garbled = (text.encode().decode(codec, "replace") for text in declared)
        return UTF8 if any(text.encode() in start for text in garbled) else None
    try:
        start.decode("utf-8")
    except UnicodeDecodeError:
        found = {name: _occurring(declared, codec, start) for name, codec in ENCODINGS.items()}
        best = max(found, key=lambda name: (found[name], name == WESTERN))
        if found[best]:
            return best
        text = start.decode(ENCODINGS[WESTERN], "replace")
        others = "".join(letter for letter in set(text) if not letter.isascii())
        return WESTERN if PLAUSIBLE.fullmatch(others) else ""
    return None


def _occurring(texts: Iterable[str], codec: str, content: bytes) -> int:
    """How many of the texts are in the content, as a codec encodes them."""
    encoded = {text: text.encode(codec, "ignore") for text in texts}
    return sum(
        part in content
        for text, part in encoded.items()
        if len(part) >= len(text) and part != text.encode()
    )
