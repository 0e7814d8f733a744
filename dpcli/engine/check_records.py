"""What is wrong with whole records of CSV files, or with their encoding.

Confidential, as `check_cells.py` is: it looks at records, at the start and at the end of each file.
"""

from __future__ import annotations

import io
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Literal
from unicodedata import normalize

from dpcli.data.characters import UNSEEN_BLANKS
from dpcli.data.column import Column
from dpcli.data.formats import ENCODINGS, UTF8, Dialect
from dpcli.engine.files.csv_marks import comment_line
from dpcli.engine.files.dataset import GZIP_ENDING, ZIP_ENDING, Dataset, Source
from dpcli.engine.files.decoding import (
    LINE_END,
    UTF8_BOM,
    CountingReader,
    parse_line,
    parse_lines,
    split_start,
)
from dpcli.engine.files.decompression import decompress, zip_member
from dpcli.engine.files.source import open_file
from dpcli.problems.errors import DataError
from dpcli.problems.light_dataclasses import dataclass
from dpcli.problems.reference import usual_cells

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""What stands for bytes that are not of the declared encoding."""

START, END = 1 << 22, 1 << 14
"""Bytes at the start and at the end of a file that are looked at."""

LAST_RECORDS = 10
"""Records at the end of a file among which there may be totals and notes."""

WESTERN = "windows-1252"
"""The encoding of most files that are not UTF-8."""

PLAUSIBLE = re.compile(
    "[\0-~\u00a0-\u00ff\u2013-\u2026\u20ac\u0152\u0153\u0160\u0161\u017d\u017e\u0178]*"
)
"""What Western texts have: ASCII, other letters, quotes, dashes, the euro sign."""

ESCAPE = 'escape: "\\\\"'
"""The key that reads quotes after a backslash."""

ENCODING = "encoding: "
"""The key of an encoding in the section `csv`."""

Kind = Literal[
    "short", "long", "joined", "unclosed", "escaped", "footer", "encoding", "undecodable", "comment"
]

WORDS: dict[Kind, str] = {
    "short": "{amount} records have fewer cells than the header, and the others are blank",
    "long": (
        "{amount} records have more cells than the header, so no cell of them is certain, and all "
        "count as unreadable; where people are protected, these records are left out. Cells with "
        "a delimiter in them need quotes around them, or another delimiter is right"
    ),
    "joined": "line ends within a cell make {amount} records of a wrong length",
    "unclosed": (
        "{amount} lines do not close a quote, so no cell of them is certain, and all count as "
        "unreadable; where people are protected, these lines are left out"
    ),
    "escaped": "quotes within cells have a backslash before them, which would stay in the text",
    "footer": (
        "the last lines are no records: declare `csv: {{{key}}}`, with the first words of "
        "other lines that are none, such as sub-totals: look at the file"
    ),
    "encoding": (
        "it is written in another encoding: declare `csv: {{{key}}}`. What follows about its "
        "columns is about that encoding"
    ),
    "comment": (
        "{amount} lines begin with `{key}`, have as many cells as records, and are left out: if "
        "they are records, quotes around their first cells keep them; look at the file"
    ),
    "undecodable": "it is not UTF-8: declare its encoding, such as `csv: {{encoding: macintosh}}`",
}
"""What is wrong with a file; `amount` is how many of the records at its start."""

R_NAMES = (
    "would read them, as `write.table` of R writes names of rows; unquoted decimal commas, or "
    "delimiters in texts, look the same"
)
SPARK = "would read them, as Spark, MySQL and PostgreSQL write quotes in cells"
OTHER = "would read them, if that is how it is written"

CHANGES: dict[str, tuple[str, object, str]] = {
    ESCAPE: ("escape", "\\", SPARK),
    'comment: "#"': ("comment", "#", "would leave out lines that begin so"),
    'quote: "\'"': ("quote", "'", OTHER),
    "row_names: true": ("row_names", True, R_NAMES),
    "quote: none": ("quote", None, OTHER),
    "multiline: true": ("multiline", True, OTHER),
}
"""Keys for records of a wrong length: what each changes, and what it would do."""


Amount = Literal["all", "most", "some", "few", "none"]

MAX_FEW, MIN_MOST = Fraction(1, 10), Fraction(9, 10)
"""The shares up to which an amount is "few", and from which on it is "most"."""


def amount(part: Fraction | int, whole: Fraction | int) -> Amount:
    """How much a part is of a whole, in one word."""
    if part in (0, whole):
        return "all" if part else "none"
    share = Fraction(part) / whole
    return "few" if share <= MAX_FEW else "most" if share >= MIN_MOST else "some"


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of fault in a file; the section `csv` can declare `key` against it."""

    kind: Kind
    file: str
    key: str = ""
    amount: Amount = "none"

    @property
    def words(self) -> str:
        """What is wrong with the file, and what to declare."""
        words = f"{self.file}: {WORDS[self.kind].format(amount=self.amount, key=self.key)}"
        if self.key not in CHANGES:
            return words
        return f"{words}. `csv: {{{self.key}}}` {CHANGES[self.key][2]}: look at the file"

    @property
    def encoding(self) -> str:
        """The encoding that fits the file better; empty for all other kinds of faults."""
        return self.key.removeprefix(ENCODING) if self.kind == "encoding" else ""


def record_faults(dataset: Dataset, columns: Sequence[Column]) -> tuple[Fault, ...]:
    """The faults of all files, each kind once for a file; none in Parquet."""
    return tuple(
        fault
        for source in dataset.sources
        if source.dialect is not None
        for fault in _faults(source, source.dialect, dataset.dialect, columns)
    )


def _faults(
    source: Source, dialect: Dialect, declared: Dialect, columns: Sequence[Column]
) -> Iterator[Fault]:
    encoding = declared.encoding
    size = os.fstat(source.file.fileno()).st_size
    start = os.pread(source.file.fileno(), START, 0).removeprefix(UTF8_BOM)
    start = start[: start.rfind(b"\n") + 1] if len(start) < size else start
    text = start.decode("utf-8", "replace")
    found = _better_encoding(source.name, text, encoding, columns)
    if found != encoding:
        yield Fault("encoding" if found else "undecodable", source.name, ENCODING + found)
    records, wrong = _lengths(text, dialect, len(source.header))
    if declared.comment:
        written = _start_of(source.name).decode(ENCODINGS[encoding], "replace")
        left_out = _comments_like_records(written, declared.comment, dialect, len(source.header))
        if left_out:
            share = amount(left_out, left_out + records)
            yield Fault("comment", source.name, declared.comment, share)
    end = os.pread(source.file.fileno(), END, max(0, size - END)).decode("utf-8", "replace")
    words = _footer_words(end, dialect, is_whole=size <= END)
    if words:
        del wrong["short"]
        yield Fault("footer", source.name, f"footer: [{', '.join(words)}]")
    key = _better_key(text, dialect, len(source.header), wrong) if wrong else ""
    mark = re.escape(dialect.delimiter)
    is_escaped = re.search(rf'(?:^|{mark})"[^"\r\n]*\\"[^"\r\n{mark}]', text, re.MULTILINE)
    if is_escaped and dialect.quote == '"' and not dialect.escape and key != ESCAPE:
        yield Fault("escaped", source.name, ESCAPE)
    for kind, count in sorted(wrong.items()):
        helps = key if kind != "short" or key.startswith("comment") else ""
        yield Fault(kind, source.name, helps, amount(Fraction(count), Fraction(records)))


def _lengths(text: str, dialect: Dialect, width: int) -> tuple[int, Counter[Kind]]:
    """The number of records, and of those without `width` cells, by kind."""
    kinds, count = Counter[Kind](), 0
    text = re.sub(comment_line(dialect.comment), "", text) if dialect.comment else text
    for cells in parse_lines(io.StringIO(text, newline=""), dialect):
        if cells == [] or (cells and _is_footer(cells, dialect.footer)):
            continue
        count += 1
        if count == 1:
            continue
        if cells is None:
            kinds["unclosed"] += 1
        elif len(cells) != width and any("\n" in cell or "\r" in cell for cell in cells):
            kinds["joined"] += 1
        elif any(cell.strip(UNSEEN_BLANKS) for cell in cells[width:]):
            kinds["long"] += 1
        elif len(cells) < width and any(cell.strip(UNSEEN_BLANKS) for cell in cells):
            kinds["short"] += 1
    return count - 1, kinds


def _comments_like_records(text: str, mark: str, dialect: Dialect, width: int) -> int:
    """The number of comments with as many cells as records, if these have several."""
    lines = (found[0].rstrip("\r\n") for found in re.finditer(comment_line(mark), text))
    records = (parse_line(line, dialect) for line in lines)
    return sum(cells is not None and len(cells) == width > 1 for cells in records)


def _better_key(text: str, dialect: Dialect, width: int, wrong: Counter[Kind]) -> str:
    """The key with which the fewest records have a wrong length; empty if none helps."""
    left = {"": wrong.total()}
    for key, (name, value, _) in CHANGES.items():
        if getattr(dialect, name) != value:
            changed = replace(dialect, **{name: value})  # type: ignore[arg-type]
            # The header has the name of rows that is declared.
            added = changed.row_names > dialect.row_names
            if name == "comment" and _comments_like_records(text, "#", dialect, width):
                continue
            left[key] = _lengths(text, changed, width + added)[1].total()
    return min(left, key=lambda key: left[key])


def _is_footer(cells: Sequence[str], footer: Iterable[str]) -> bool:
    first, *texts = (" ".join(normalize("NFC", text).split()) for text in (cells[0], *footer))
    return first.startswith(tuple(texts))


def _footer_words(end: str, dialect: Dialect, *, is_whole: bool) -> tuple[str, ...]:
    """Usual words of footers, not declared, as they begin the last records in `end`."""
    lines = [line for line in LINE_END.split(end) if line.strip()][not is_whole :]
    one_line = replace(dialect, multiline=False)
    firsts = (parse_line(line, one_line) or [""] for line in lines[-LAST_RECORDS:])
    starts = [cells[0].strip(" \t") for cells in firsts if not _is_footer(cells, dialect.footer)]
    words = re.compile(
        rf"({'|'.join(usual_cells()['footers'])})s?(?: [0-9]{{4}})?(?::|$)", re.IGNORECASE
    )
    found = map(words.match, starts)
    return tuple(dict.fromkeys(match[1] for match in found if match))


def _better_encoding(name: str, text: str, encoding: str, columns: Sequence[Column]) -> str:
    """The encoding in which the file has most declared texts; empty if none is known.

    Without such texts, one that is not UTF-8 may be Western.
    """
    if encoding == UTF8 and REPLACEMENT not in text:
        return UTF8
    content, found = _start_of(name), dict[str, int]()
    declared = [text for column in columns for text in column.texts if not text.isascii()]
    for each in set(ENCODINGS) - {UTF8} if encoding == UTF8 else (encoding, UTF8):
        # Letters that an encoding lacks are left out.
        parts = ((one, one.encode(ENCODINGS[each], "ignore")) for one in declared)
        found[each] = sum(len(part) >= len(one) and part in content for one, part in parts)
    best = max(found, key=lambda each: (found[each], each in (encoding, WESTERN), each))
    if found[best] or encoding != UTF8:
        return best
    letters = "".join(set(content.decode(ENCODINGS[WESTERN], "replace")))
    return WESTERN if content and PLAUSIBLE.fullmatch(letters) else ""


def _start_of(name: str) -> bytes:
    """The start of the text of a file as it was written; nothing of a read pipe."""
    # A copy of the file may be decoded already.
    with suppress(DataError, OSError):
        if Path(name).is_file():
            with open_file(name) as file:
                packed, lower = CountingReader(file), name.lower()
                if lower.endswith(GZIP_ENDING):
                    return split_start(decompress(packed, name), START)[0]
                if lower.endswith(ZIP_ENDING):
                    return split_start(zip_member(packed, name)[1], START)[0]
                return file.read(START)
    return b""
