"""Parquet files: their columns, and every cell as CSV would write it.

Texts may have bytes that are not UTF-8. The native reader refuses a file if one text of a column
that it reads is not UTF-8. It reads the same column as bytes if the footer does not call them
texts. So the columns with texts are copied to a temporary file as they are, packed pages and all,
under a footer without types of texts.

Privacy: which columns are copied depends on the spec and on the footer. The copy is always made,
so that no record decides whether there is enough space for it.

Numbers and times of workbooks, and numbers of JSON, are typed cells: they stand in the text of a
copy as every program writes them, after a mark: `1234.5`, and `2024-12-31 00:00:00`. A column may
declare another form for its texts, such as `1.234,5`. So a typed cell is written in that form
before it is read. Each cell is treated by itself.
"""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

import polars as pl

from dpcli.data.column import Column
from dpcli.data.dates import within_calendar
from dpcli.data.number_columns import DECIMAL_DIGITS
from dpcli.engine.cells import declared_text
from dpcli.engine.files import thrift
from dpcli.engine.files.dataset import Source
from dpcli.engine.files.decoding import BLOCK, TYPED
from dpcli.engine.files.thrift import Structure
from dpcli.engine.progress import redacted_errors
from dpcli.problems.errors import DataError
from dpcli.problems.light_dataclasses import dataclass

TEXTS = (pl.String, pl.Categorical, pl.Enum)
"""Types of columns that hold texts."""

MARK = b"PAR1"
"""The first and the last bytes of a Parquet file."""

TAIL = 8
"""Bytes at the end of a Parquet file: the length of the footer, and the mark."""

BYTE_ARRAY = 6
"""The physical type of texts."""

SCHEMA, ROW_GROUPS = 2, 4
"""Fields of the footer; below are those of its parts, as in `parquet.thrift`."""

KIND, REPETITION, NAME, CHILDREN = 1, 3, 4, 5
COLUMNS, GROUP_SIZE, GROUP_ROWS = 1, 2, 3
CHUNK_OFFSET, CHUNK = 2, 3
CHUNK_PATH = 3
PACKED_SIZE, DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE = 7, 9, 10, 11

CHUNK_FIELDS = (1, 2, CHUNK_PATH, 4, 5, 6, PACKED_SIZE, DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE)
"""Footer fields that describe a column chunk, without statistics and filters."""

INVALID = "efbfbd"
"""The replacement character of Unicode in UTF-8, in hexadecimal digits."""

LATER = "[89ab]."
"""A byte that continues a character."""

CHARACTER = (
    f"(?:[0-7]|(?:c[2-9a-f]|d.|e0[ab].|e[1-9a-cef]{LATER}|ed[89]."
    f"|f0[9ab].{LATER}|f[123]{LATER}{LATER}|f48.{LATER})[89ab])."
)
"""A character of UTF-8."""

BEGUN = (
    f"e0[ab].|e[1-9a-cef]{LATER}|ed[89].|f0[9ab].(?:{LATER})?"
    f"|f[123]{LATER}(?:{LATER})?|f48.(?:{LATER})?"
)
"""Bytes of a character without its end: one replacement character, as in Python."""


def footer(file: BinaryIO) -> bytes:
    """The description of the columns at the end of a Parquet file. Raises ValueError."""
    size = os.fstat(file.fileno()).st_size
    tail = os.pread(file.fileno(), TAIL, max(0, size - TAIL))
    length = int.from_bytes(tail[:4], "little")
    if not (0 < length <= size - TAIL - len(MARK) and tail.endswith(MARK)):
        raise ValueError
    return os.pread(file.fileno(), length, size - TAIL - length)


@contextmanager
def copied_texts(
    name: str, file: BinaryIO, types: Sequence[pl.DataType], indices: Sequence[int]
) -> Iterator[BinaryIO | None]:
    """A private Parquet file of the text columns at these indices; None without any."""
    indices = [index for index in sorted(set(indices)) if isinstance(types[index], TEXTS)]
    if not indices:
        yield None
        return
    with tempfile.TemporaryFile(prefix="dpcli-") as copy:
        try:
            _copy_columns(file, copy, indices)
        except OSError:
            raise DataError.about("no-space", what="the data") from None
        except ValueError:
            raise DataError.about("not-parquet", file=name) from None
        yield cast("BinaryIO", copy)


def copied_name(index: int) -> str:
    """The name of a column in the copy, by its index."""
    return f"b{index}"


def _copy_columns(file: BinaryIO, copy: BinaryIO, indices: Sequence[int]) -> None:
    """Write the chunks of columns, and a footer that describes them as bytes."""
    described = thrift.decode(footer(file))
    root, elements, leaves = _elements(described)
    chosen = [elements[index] for index in indices]
    groups, copied = [], 0
    copy.write(MARK)
    for group in described.structures(ROW_GROUPS):
        chunks = group.structures(COLUMNS)
        kept = []
        for index, element in zip(indices, chosen, strict=True):
            chunk = chunks[leaves[index]].structure(CHUNK).only(*CHUNK_FIELDS)
            pages = (DICTIONARY_PAGE, INDEX_PAGE, DATA_PAGE)
            starts = {page: chunk.number(page) for page in pages if chunk.number(page, 0) > 0}
            start, size = min(starts.values(), default=0), chunk.number(PACKED_SIZE)
            copied += size
            if size < 0 or copied > os.fstat(file.fileno()).st_size:
                raise ValueError("chunks that overlap")
            moved = copy.tell() - start
            shifted = {page: (thrift.I64, at + moved) for page, at in starts.items()}
            path = thrift.LIST, (thrift.BINARY, [element.fields[NAME][1]])
            chunk = chunk.replaced({**shifted, CHUNK_PATH: path})
            offset = thrift.I64, start + moved
            kept.append(Structure({CHUNK_OFFSET: offset, CHUNK: (thrift.STRUCT, chunk)}))
            _copy_bytes(file, copy, start, size)
        groups.append(
            group.only(GROUP_SIZE, GROUP_ROWS).replaced({COLUMNS: thrift.structures(kept)})
        )
    root = root.replaced({CHILDREN: (thrift.I32, len(chosen))})
    content = thrift.encode(
        described.only(1, 3, 6).replaced(
            {SCHEMA: thrift.structures([root, *chosen]), ROW_GROUPS: thrift.structures(groups)}
        )
    )
    copy.write(content + len(content).to_bytes(4, "little") + MARK)
    # The native reader begins where the file is.
    copy.seek(0)


def _elements(described: Structure) -> tuple[Structure, dict[int, Structure], dict[int, int]]:
    """The root of the schema, the elements of text columns, and their leaf numbers.

    The last two are by column index. The elements state bytes instead of texts.
    """
    root, *rest = described.structures(SCHEMA)
    elements, leaves = {}, {}
    position = leaf = 0
    for index in range(root.number(CHILDREN)):
        if position >= len(rest):
            raise ValueError("a schema that ends early")
        element = rest[position]
        if not element.number(CHILDREN, 0) and element.number(KIND) == BYTE_ARRAY:
            renamed = {NAME: (thrift.BINARY, copied_name(index).encode())}
            elements[index] = element.only(KIND, REPETITION).replaced(renamed)
            leaves[index] = leaf
        pending = 1
        while pending:
            if position >= len(rest):
                raise ValueError("a schema that ends early")
            children = rest[position].number(CHILDREN, 0)
            leaf += not children
            pending += children - 1
            position += 1
    return root, elements, leaves


def _copy_bytes(file: BinaryIO, copy: BinaryIO, start: int, size: int) -> None:
    end = start + size
    while start < end and (block := os.pread(file.fileno(), min(BLOCK, end - start), start)):
        copy.write(block)
        start += len(block)
    if start < end:
        raise ValueError("a file that ends early")


def decoded(content: pl.Expr, *, is_valid: bool) -> pl.Expr:
    """Bytes as texts, with replacement characters for bytes that are not UTF-8.

    With `is_valid`, nothing is replaced, and bytes that are not UTF-8 are an error.
    """
    if is_valid:
        return content.cast(pl.String)
    digits = content.bin.encode("hex")
    right = digits.str.contains(f"^(?:{CHARACTER})*$")
    # Only the others are taken apart.
    parts = pl.when(~right).then(digits).str.extract_all(f"{CHARACTER}|{BEGUN}|..")
    part = pl.element()
    replaced = (
        pl.when(part.str.contains(f"^(?:{CHARACTER})$")).then(part).otherwise(pl.lit(INVALID))
    )
    text = pl.when(right).then(digits).otherwise(parts.list.eval(replaced).list.join(""))
    return text.str.decode("hex").cast(pl.String)


TEXTUAL = (pl.String, pl.Categorical, pl.Enum, pl.Null, pl.Boolean)

DECIMAL256 = "Decimal256"
"""The name of a type of decimals with more digits than can be read."""

UNITS = {"ms": 10**3, "us": 10**6, "ns": 10**9}

DAY = 86_400

MIN_ROW_BYTES = 16
"""Bytes that a row takes at least in a shard of users."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a Parquet file: where they start, how many, and a copy of text columns.

    With `are_valid`, all texts are UTF-8, or an error shows that some are not.
    """

    start: int
    count: int
    copy: BinaryIO | None
    are_valid: bool = True


def parquet_source(name: str, file: BinaryIO) -> Source:
    """A Parquet file with the names and types of its columns.

    `odd` columns cannot be read as texts. A type in `unfit_ids` may write one id as two texts, or
    two ids as one. The size is at least the number of rows, and a rough measure of their memory.
    Raises DataError `not-parquet`.
    """
    with redacted_errors("not-parquet", file=name):
        frame = _scan(_footer(file))
        schema = frame.collect_schema()
        rows: int = frame.select(pl.len()).collect(engine="streaming").item()
    if not schema:
        raise DataError.about("no-header.parquet", file=name)
    # A nested type may list categories, so only the name of the outer type is shown.
    names = {column: dtype.base_type().__name__ for column, dtype in schema.items()}
    odd = {
        name: kind
        for name, kind in names.items()
        if not schema[name].is_numeric()
        and not isinstance(schema[name], (*TEXTUAL, pl.Date, pl.Datetime, pl.Time))
    }
    odd |= {name: DECIMAL256 for name, dtype in schema.items() if _is_too_long(dtype)}
    unfit_ids = {
        name: kind
        for name, kind in names.items()
        if schema[name].is_float()
        or schema[name].is_decimal()
        or isinstance(schema[name], pl.Datetime)
    }
    size = max(os.fstat(file.fileno()).st_size, rows * MIN_ROW_BYTES)
    return Source(name, file, size, tuple(schema), dialect=None, odd=odd, unfit_ids=unfit_ids)


def _is_too_long(dtype: pl.DataType) -> bool:
    """Whether a type is a decimal of more digits than can be read."""
    return isinstance(dtype, pl.Decimal) and dtype.precision > DECIMAL_DIGITS


def _scan(file: BinaryIO, **options: Any) -> pl.LazyFrame:
    """The table in a file, and in no other file that its name or its folder may mean."""
    return pl.scan_parquet(file, glob=False, hive_partitioning=False, **options)


def scan_parquet_file(file: BinaryIO) -> pl.LazyFrame:
    """The table in a Parquet file; columns of decimals that are too long are null.

    The schema is given, so that the file is never mapped into memory: to touch a page of a mapped
    file that was cut off would end the process.
    """
    schema = _scan(_footer(file)).collect_schema()
    known = {name: dtype for name, dtype in schema.items() if not _is_too_long(dtype)}
    extra = "ignore" if len(known) < len(schema) else "raise"
    table = _scan(file, use_statistics=False, schema=known, extra_columns=extra)
    if len(known) == len(schema):
        return table
    indices = {name: index for index, name in enumerate(known)}
    return table.select(
        pl.nth(indices[name]) if name in indices else pl.lit(None, pl.Binary).alias(name)
        for name in schema
    )


@contextmanager
def parquet_rows(
    source: Source, wanted: Sequence[Column], max_rows: int | None
) -> Iterator[Iterator[Rows]]:
    """All rows in their order, a limited number at a time, or all at once."""
    frame = scan_parquet_file(source.file)
    types = frame.collect_schema().dtypes()
    total: int = frame.select(pl.len()).collect(engine="streaming").item()
    indices = [*map(source.index_of, wanted)]
    with copied_texts(source.name, source.file, types, indices) as copy:
        size = max_rows or max(1, total)
        starts = range(0, max(1, total), size)
        yield (Rows(start, min(size, total - start), copy) for start in starts)


def parquet_frame(
    source: Source, wanted: Sequence[Column], decimal: str, rows: Rows, native: Collection[int] = ()
) -> pl.LazyFrame:
    """Wanted columns as `t0` and so on; `odd_row` is false: a blank row is a row.

    The columns at the positions `native` are read without their texts, or an odd cell is an error.
    """
    blank = pl.lit(value=False).alias("odd_row")
    if not wanted:
        # A literal alone would be one row, and no column may be read that is not declared.
        return pl.select(pl.repeat(value=False, n=rows.count).alias("odd_row")).lazy()
    table = scan_parquet_file(source.file)
    types = table.collect_schema().dtypes()
    read, copied = [], []
    for position, column in enumerate(wanted):
        index = source.index_of(column)
        if position in native:
            cell = column.strict_cells(pl.nth(index), types[index])
            assert cell is not None
            read.append(cell.alias(f"t{position}"))
            continue
        if isinstance(types[index], TEXTS):
            text = decoded(pl.col(copied_name(index)), is_valid=rows.are_valid)
            copied.append(declared_text(text, column, decimal).alias(f"t{position}"))
            continue
        cell = column.whole_cells(pl.nth(index), types[index])
        if cell is None:
            cell = declared_text(_cell_text(index, types[index], column, decimal), column, decimal)
        read.append(cell.alias(f"t{position}"))
    frames = []
    if read:
        frames.append(table.slice(rows.start, rows.count).select(read))
    if copied:
        assert rows.copy is not None
        copy = _scan(rows.copy, use_statistics=False)
        frames.append(copy.slice(rows.start, rows.count).select(copied))
    texts = pl.concat(frames, how="horizontal") if len(frames) > 1 else frames[0]
    return texts.select(*(f"t{position}" for position in range(len(wanted))), blank)


def _cell_text(index: int, dtype: pl.DataType, column: Column, decimal: str) -> pl.Expr:
    """The column at an index as texts; typed cells are marked if it has a form."""
    is_typed = dtype.is_numeric() or isinstance(dtype, (pl.Date, pl.Datetime, pl.Time))
    if not is_typed or not column.has_form:
        return column_text(index, dtype, decimal)
    return TYPED + column_text(index, dtype, ".")


def _footer(file: BinaryIO) -> io.BytesIO:
    """A Parquet file without its rows: only the footer, which describes the columns."""
    content = footer(file)
    return io.BytesIO(MARK + content + len(content).to_bytes(4, "little") + MARK)


def column_text(index: int, dtype: pl.DataType, decimal: str) -> pl.Expr:
    """The column at an index as texts, with `decimal` as decimal mark."""
    column = pl.nth(index)
    if isinstance(dtype, pl.Date):
        return within_calendar(column, dtype, 1).dt.to_string("%Y-%m-%d")
    if isinstance(dtype, pl.Time):
        return column.dt.to_string("%H:%M:%S")
    if isinstance(dtype, pl.Datetime):
        second = UNITS[dtype.time_unit]
        return within_calendar(column, dtype, DAY * second).dt.to_string("%Y-%m-%d %H:%M:%S")
    if dtype.is_float():
        # Cells that are read without their texts are null too, and null cells are blank.
        column = column.fill_nan(None)
    text = column.cast(pl.String)
    if decimal != "." and (dtype.is_float() or dtype.is_decimal()):
        return text.str.replace(".", decimal, literal=True)
    return text
