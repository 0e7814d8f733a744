"""The same table in every dialect, format and split gives the same exact answers."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

from dpcli.data.column import Column
from dpcli.data.formats import (
    DELIMITERS,
    ENCODINGS,
    QUOTES,
    STANDARD_DIALECT,
    Dialect,
    find_encoding,
)
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.labels import LabeledColumn
from dpcli.data.number_columns import IntegerColumn
from dpcli.engine.cells import Decoder
from dpcli.engine.files import decoding
from dpcli.engine.files.pieces import read_texts
from dpcli.engine.files.source import open_dataset
from dpcli.privacy.unit import PersonUnit, RowUnit
from dpcli.queries.query import LinearQuery, Query
from dpcli.queries.sums import Factor
from tests.oracles import files, users
from tests.oracles.agreement import without_empty
from tests.oracles.opened import engine
from tests.oracles.plain import Priority, evaluate, table, value
from tests.support.blocks import compact_often, read_in_blocks
from tests.support.rules import mostly_extended

Rows = list[list[str]]

FILES = 3
"""Tables that each form is tried with."""


@dataclass(frozen=True)
class Form:
    """A way to write a table in files."""

    name: str
    dialect: Dialect
    write: Callable[[Sequence[str], Rows, Path, Dialect], list[Path]]

    def fits(self, lines: Rows) -> bool:
        """Whether every cell can be written and read back unchanged."""
        return all(fits(line, self.dialect) for line in lines)


def fits(line: Sequence[str], dialect: Dialect) -> bool:
    """Whether every cell of a line can be written and read back unchanged."""
    text = "".join(line)
    if dialect.quote is None and any(mark in text for mark in dialect.delimiter + "\r\n"):
        return False
    try:
        # Some codecs write a text that they read as another one.
        return text.encode(codec(dialect)).decode(codec(dialect)) == text
    except UnicodeError:
        return False


def codec(dialect: Dialect) -> str:
    """The codec that writes a file of this dialect."""
    return "utf-16-le" if dialect.encoding == "utf-16" else ENCODINGS[dialect.encoding]


def as_csv(header: Sequence[str], cells: Rows, dialect: Dialect, end: str = "\n") -> bytes:
    """The table as CSV, with quotes around cells that need them."""
    lines = cells if dialect.names else [header, *cells]
    text = "".join(
        dialect.delimiter.join(field(cell, dialect) for cell in line) + end for line in lines
    )
    return text.encode(codec(dialect))


def field(cell: str, dialect: Dialect) -> str:
    """A cell as it is written."""
    quote = dialect.quote
    if quote and any(mark in cell for mark in (dialect.delimiter, quote, "\r", "\n")):
        return quote + cell.replace(quote, 2 * quote) + quote
    return cell


def one(header: Sequence[str], cells: Rows, folder: Path, dialect: Dialect) -> list[Path]:
    """A single file."""
    path = folder / "one.csv"
    path.write_bytes(as_csv(header, cells, dialect))
    return [path]


def ended(end: str) -> Callable[[Sequence[str], Rows, Path, Dialect], list[Path]]:
    """A single file with these line ends."""

    def write(header: Sequence[str], cells: Rows, folder: Path, dialect: Dialect) -> list[Path]:
        path = folder / "ended.csv"
        text = as_csv(header, cells, dialect, end)
        # If the last line is blank, its end is the whole record.
        last_is_blank = bool(cells) and cells[-1] == [""]
        path.write_bytes(text if last_is_blank else text.removesuffix(end.encode()))
        return [path]

    return write


def marked(header: Sequence[str], cells: Rows, folder: Path, dialect: Dialect) -> list[Path]:
    """A file with a mark at its start; the mark of a header line states the order of bytes."""
    path = folder / "marked.csv"
    text = as_csv(header, cells, dialect).decode(codec(dialect))
    path.write_bytes(("\ufeff" + text).encode("utf-16-le" if dialect.names else "utf-16-be"))
    return [path]


def packed(header: Sequence[str], cells: Rows, folder: Path, dialect: Dialect) -> list[Path]:
    """A compressed file."""
    path = folder / "packed.csv.gz"
    path.write_bytes(gzip.compress(as_csv(header, cells, dialect), mtime=0))
    return [path]


def parquet(header: Sequence[str], cells: Rows, folder: Path, dialect: Dialect) -> list[Path]:
    """A Parquet file of texts, nulls where cells are empty."""
    path = folder / "table.parquet"
    columns = {
        name: pl.Series([row[at] or None for row in cells], dtype=pl.String)
        for at, name in enumerate(header)
    }
    pl.DataFrame(columns).write_parquet(path, row_group_size=7)
    return [path]


def split(header: Sequence[str], cells: Rows, folder: Path, dialect: Dialect) -> list[Path]:
    """Three files: as it is, compressed in reverse order of columns, and Parquet."""
    cuts = (0, len(cells) // 3, len(cells) // 2, len(cells))
    parts = [cells[low:high] for low, high in pairwise(cuts)]
    turned = [[*row[::-1], "more"] for row in parts[1]]
    middle = [*header[::-1], "\u00b6more"]
    if dialect.names:
        # Files without a header line have the same columns in the same order.
        middle, turned = list(header), parts[1]
    return [
        *one(header, parts[0], folder, dialect),
        *packed(middle, turned, folder, dialect),
        *parquet(header, parts[2], folder, dialect),
    ]


FORMS = (
    Form("standard", STANDARD_DIALECT, one),
    Form("semicolons", Dialect(";", multiline=True), one),
    Form("single quotes", Dialect(";", "'", multiline=True), one),
    Form("tabs without quotes", Dialect("\t", None, multiline=True), one),
    Form("odd marks", Dialect("|", "~", multiline=True), one),
    Form("spaces", Dialect(" ", multiline=True), one),
    Form("CRLF", Dialect(";", multiline=True), ended("\r\n")),
    Form("CR", Dialect(";", "'", multiline=True), ended("\r")),
    Form("decimal comma", Dialect(";", decimal=",", multiline=True), one),
    Form("no header", Dialect(names=("?",), multiline=True), one),
    Form("no header, tabs", Dialect("\t", "'", names=("?",), decimal=",", multiline=True), one),
    Form("UTF-16", Dialect(encoding="utf-16", multiline=True), one),
    Form("UTF-16, marked", Dialect(encoding="utf-16", multiline=True), marked),
    Form(
        "UTF-16, marked, no header",
        Dialect(encoding="utf-16", names=("?",), multiline=True),
        marked,
    ),
    Form("GB 18030, packed", Dialect("^", encoding="gb18030", multiline=True), packed),
    Form("Windows", Dialect(";", encoding="windows-1252", decimal=",", multiline=True), one),
    Form("Shift JIS", Dialect("|", encoding="shift_jis", multiline=True), one),
    Form("Parquet", STANDARD_DIALECT, parquet),
    Form("Parquet, decimal comma", Dialect(";", decimal=",", multiline=True), parquet),
    Form("split", STANDARD_DIALECT, split),
    Form("split, semicolons", Dialect(";", "'", decimal=",", multiline=True), split),
    Form("split, no header", Dialect(names=("?",), multiline=True), split),
    Form("split, UTF-16", Dialect(encoding="utf-16", multiline=True), split),
)


def rectangle(data: bytes) -> tuple[list[str], Rows]:
    """The header and the records of a file, each with a cell for every name."""
    header, records = table(data)
    width = len(header)
    return header, [(row + [""] * width)[:width] for row in records]


def commas(header: Sequence[str], cells: Rows, columns: Sequence[Column]) -> Rows:
    """The same cells, with comma and point exchanged in numbers."""
    names = {c.name for c in columns if isinstance(c, NumericColumn) and c.kind != "date"}
    swap = str.maketrans(",.", ".,")
    return [
        [
            cell.translate(swap) if name in names else cell
            for name, cell in zip(header, row, strict=True)
        ]
        for row in cells
    ]


def written(form: Form, data: bytes, columns: Sequence[Column], folder: Path) -> list[Path] | None:
    """The files of a form; None if it cannot represent the table."""
    header, cells = rectangle(data)
    if form.dialect.decimal == ",":
        cells = commas(header, cells, columns)
    if not form.fits([header, *cells]):
        return None
    return form.write(header, cells, folder, named(form, data))


def named(form: Form, data: bytes) -> Dialect:
    """The dialect of a form, with the names of this table if it has names."""
    names = tuple(rectangle(data)[0]) if form.dialect.names else ()
    return replace(form.dialect, names=names)


Tables = Iterator[tuple[int, bytes, Any, Sequence[Query], list[Path]]]


def tables(form: Form, generate: Callable[[int], tuple[bytes, Any, Any]], folder: Path) -> Tables:
    """Some tables that a form can represent: a seed, the table, its facts, queries, and files."""
    tried = 0
    for seed in range(1000):
        data, facts, queries = generate(seed)
        is_people = isinstance(facts, PersonUnit)
        columns = [one for query in queries for one in query.columns] if is_people else facts
        if paths := written(form, data, columns, folder):
            yield seed, data, facts, queries, paths
            tried += 1
        if tried == FILES:
            return
    pytest.fail("too few tables fit")


@pytest.mark.parametrize("form", mostly_extended(FORMS, *FORMS[::10]), ids=lambda form: form.name)
def test_every_form_gives_the_same_answers(
    form: Form, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In every form, the exact answers of a table are those of standard CSV."""
    read_in_blocks(monkeypatch, 100)
    for seed, data, _, queries, paths in tables(form, files.generate, tmp_path):
        expected = evaluate(queries, as_csv(*rectangle(data), STANDARD_DIALECT))
        actual = engine(queries, RowUnit(), *paths, dialect=named(form, data))
        assert actual == expected, seed


@pytest.mark.extended
@pytest.mark.parametrize("form", mostly_extended(FORMS, *FORMS[::8]), ids=lambda form: form.name)
def test_people_are_the_same_in_every_form(
    form: Form, priority: Priority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows with one id in several files belong to one person, in the order of the files."""
    compact_often(monkeypatch)
    for seed, data, unit, queries, paths in tables(form, users.generate, tmp_path):
        expected = evaluate(queries, as_csv(*rectangle(data), STANDARD_DIALECT), unit, priority)
        actual = engine(queries, unit, *paths, dialect=named(form, data))
        assert without_empty(actual) == without_empty(expected), seed


HOSTILE = (
    Dialect(";", "'", multiline=True),
    Dialect("\t", multiline=True),
    Dialect("|", None, multiline=True),
    Dialect(",", None, multiline=True),
    Dialect(" ", "'", decimal=",", multiline=True),
    Dialect(";", encoding="utf-16", multiline=True),
    Dialect("^", "'", encoding="shift_jis", multiline=True),
    Dialect(":", '"', encoding="windows-1252", multiline=True),
    Dialect("|", "'", encoding="gb18030", multiline=True),
)


@pytest.mark.parametrize(
    ("dialect", "headless"),
    mostly_extended(
        product(HOSTILE, (False, True)),
        *((dialect, at % 2 == 0) for at, dialect in enumerate(HOSTILE)),
        unpack=True,
    ),
    ids=repr,
)
def test_damaged_files_are_read_by_the_written_rules(
    dialect: Dialect, headless: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Engine and oracle agree on misplaced quotes, ragged rows and broken characters."""
    path = tmp_path / "data.csv"
    for seed in range(FILES):
        data, _, queries = files.generate(seed)
        random = Random(seed)
        header, _ = table(data)
        marks = {",": dialect.delimiter, dialect.delimiter: ","}
        if dialect.quote:
            marks |= {'"': dialect.quote, dialect.quote: '"'}
        text = data.decode("utf-8-sig", "replace").translate(
            {ord(old): new for old, new in marks.items()}
        )
        raw = bytearray(text.encode(codec(dialect), "replace"))
        file_dialect = replace(dialect, names=tuple(header) if headless else ())
        line = (
            as_csv(header, [], replace(dialect, names=()), "\n") if fits(header, dialect) else b""
        )
        if not headless:
            # The first record is well formed in every dialect.
            raw[:0] = line
        if not line:
            continue
        for _ in range(random.randrange(4)):
            place = random.randrange(len(raw) // 2, len(raw) + 1)
            raw[place:place] = random.randbytes(random.randint(1, 3))
        path.write_bytes(raw)
        expected = evaluate(queries, bytes(raw), dialect=file_dialect)
        assert engine(queries, RowUnit(), path, dialect=file_dialect) == expected, seed


PAIRS = [pair for pair in product(DELIMITERS, [*QUOTES, None]) if pair[0] != pair[1]]


@pytest.mark.parametrize(("delimiter", "quote"), mostly_extended(PAIRS, *PAIRS[::6], unpack=True))
def test_every_pair_of_marks_is_read(delimiter: str, quote: str | None, tmp_path: Path) -> None:
    """Each delimiter works with every other quote, in the fast and the slow reader."""
    column = IntegerColumn("age", bounds=(0, 100))
    queries = [rows_query(column)]
    cells = [["1", "x"], ["20", "y"], ["30", f"{quote or ''}"]]
    dialect = Dialect(delimiter, quote, multiline=True)
    for end in ("\n", "\r"):
        path = tmp_path / "data.csv"
        path.write_bytes(as_csv(["age", "note"], cells, dialect, end))
        assert engine(queries, RowUnit(), path, dialect=dialect) == [[51]]


def rows_query(column: NumericColumn) -> LinearQuery:
    """The sum of a column."""
    return LinearQuery(factors=(Factor(column),))


@pytest.mark.parametrize("form", mostly_extended(FORMS, *FORMS[1::9]), ids=lambda form: form.name)
def test_rows_keep_their_order_in_every_form(
    form: Form, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read row by row, the cells of a table are the same in every form, in the same order."""
    read_in_blocks(monkeypatch, 100)
    for seed, data, declared, _, paths in tables(form, files.generate, tmp_path):
        columns: list[Column] = [
            one for one in declared if isinstance(one, LabeledColumn | NumericColumn)
        ]
        header, cells = rectangle(data)
        places = [header.index(column.name) for column in columns]
        expected = [
            tuple(value(column, row[at]) for column, at in zip(columns, places, strict=True))
            for row in cells
        ]
        assert by_rows(columns, paths, named(form, data)) == expected, seed


def by_rows(
    columns: Sequence[Column], paths: Sequence[Path], dialect: Dialect
) -> list[tuple[int | None, ...]]:
    """Every row of some files as whole numbers."""
    decoder = Decoder(columns)
    with open_dataset(tuple(map(str, paths)), dialect) as dataset, dataset.redacted_errors():
        return [
            row for frame in read_texts(dataset, columns) for row in decoder.decode(frame).rows()
        ]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_blocks_are_decoded_as_if_they_were_one(encoding: str) -> None:
    """The end of a block changes nothing in how a text is decoded."""
    random = Random(encoding)
    for _ in range(30):
        parts = [random.randbytes(9), "héß年я".encode(ENCODINGS[encoding], "ignore"), b"1,2\r\n"]
        raw = b"".join(random.choices(parts, k=12))
        whole = raw.decode(ENCODINGS[encoding], "replace")
        if encoding == "utf-16" and raw.startswith(b"\xfe\xff"):
            continue
        for size in (1, 2, 3, 7, 1000):
            blocks = (raw[at : at + size] for at in range(0, len(raw), size))
            actual = b"".join(decoding.to_utf8(blocks, encoding, has_header=True))
            assert actual.decode("utf-8", "replace") == whole


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("UTF8", "utf-8"),
        ("utf_8", "utf-8"),
        ("Latin-1", "windows-1252"),
        ("ISO8859-1", "iso-8859-1"),
        ("ISO8859-15", "iso-8859-15"),
        ("cp1252", "windows-1252"),
        ("CP 437", "ibm437"),
        ("Windows 1250", "windows-1250"),
        ("UTF-16LE", "utf-16le"),
        ("Shift JIS", "shift_jis"),
        ("GB18030", "gb18030"),
        ("", None),
        ("utf-7", None),
        ("cp", None),
        ("idna", None),
    ],
)
def test_names_of_encodings_are_compared_leniently(name: str, encoding: str | None) -> None:
    """Case, dashes and blanks do not matter; only listed encodings are accepted."""
    assert find_encoding(name) == encoding
