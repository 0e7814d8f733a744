"""The texts of Parquet files, also those that are not UTF-8.

The native reader refuses a file if one text of a column that it reads is not UTF-8. It reads the
same column as bytes if its footer does not call them texts. So the columns with texts are copied to
a temporary file as they are, packed pages and all, under a footer without types of texts.

Privacy: which columns are copied depends on the spec and on the footer. The copy is always made,
so that no record decides whether there is enough space for it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, cast

import polars as pl

from dpcli.engine import thrift
from dpcli.engine.file_content import BLOCK
from dpcli.engine.thrift import Structure
from dpcli.errors import DataError

TEXTS = (pl.String, pl.Categorical, pl.Enum)
"""Types of columns that hold texts."""

MARK = b"PAR1"
"""The first and the last bytes of a Parquet file."""

TAIL = 8
"""Bytes at its end: the length of the footer, and the mark."""

BYTE_ARRAY = 6
"""The physical type of texts."""

SCHEMA, ROW_GROUPS = 2, 4
"""Fields of the footer. Those below are of parts of it, as `parquet.thrift` numbers them."""

KIND, REPETITION, NAME, CHILDREN = 1, 3, 4, 5
COLUMNS, GROUP_SIZE, GROUP_ROWS = 1, 2, 3
CHUNK_OFFSET, CHUNK = 2, 3
CHUNK_PATH = 3
PACKED_SIZE, DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE = 7, 9, 10, 11

CHUNK_FIELDS = (1, 2, CHUNK_PATH, 4, 5, 6, PACKED_SIZE, DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE)
"""What describes a chunk of a column; statistics and filters are left out."""

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
"""Several bytes that begin a character: one replacement character, as in Python."""


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
    name: str, file: BinaryIO, types: Sequence[pl.DataType], places: Sequence[int]
) -> Iterator[BinaryIO | None]:
    """A private Parquet file with the columns of texts at these places; None if there are none."""
    places = [place for place in sorted(set(places)) if isinstance(types[place], TEXTS)]
    if not places:
        yield None
        return
    with tempfile.TemporaryFile(prefix="dpcli-") as copy:
        try:
            _copy_columns(file, copy, places)
        except OSError:
            raise DataError.about("no-space") from None
        except ValueError:
            raise DataError.about("not-parquet", file=name) from None
        yield cast("BinaryIO", copy)


def copied_name(place: int) -> str:
    """The name of a column in the copy, by its place."""
    return f"b{place}"


def scan_copy(copy: BinaryIO) -> pl.LazyFrame:
    """The columns of texts as bytes, by `copied_name`."""
    return pl.scan_parquet(copy, glob=False, hive_partitioning=False, use_statistics=False)


def _copy_columns(file: BinaryIO, copy: BinaryIO, places: Sequence[int]) -> None:
    """Write the chunks of columns, and a footer that describes them as bytes."""
    described = thrift.decode(footer(file))
    root, elements, leaves = _elements(described)
    chosen = [elements[place] for place in places]
    groups, copied = [], 0
    copy.write(MARK)
    for group in described.structures(ROW_GROUPS):
        chunks = group.structures(COLUMNS)
        kept = []
        for place, element in zip(places, chosen, strict=True):
            chunk = chunks[leaves[place]].structure(CHUNK).only(*CHUNK_FIELDS)
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
    """The root of the schema; by places, columns of texts as bytes, and their places as leaves."""
    root, *rest = described.structures(SCHEMA)
    elements, leaves = {}, {}
    at = leaf = 0
    for place in range(root.number(CHILDREN)):
        if at >= len(rest):
            raise ValueError("a schema that ends early")
        element = rest[at]
        if not element.number(CHILDREN, 0) and element.number(KIND) == BYTE_ARRAY:
            renamed = {NAME: (thrift.BINARY, copied_name(place).encode())}
            elements[place] = element.only(KIND, REPETITION).replaced(renamed)
            leaves[place] = leaf
        pending = 1
        while pending:
            if at >= len(rest):
                raise ValueError("a schema that ends early")
            children = rest[at].number(CHILDREN, 0)
            leaf += not children
            pending += children - 1
            at += 1
    return root, elements, leaves


def _copy_bytes(file: BinaryIO, copy: BinaryIO, start: int, size: int) -> None:
    end = start + size
    while start < end and (block := os.pread(file.fileno(), min(BLOCK, end - start), start)):
        copy.write(block)
        start += len(block)
    if start < end:
        raise ValueError("a file that ends early")


def decoded(content: pl.Expr, *, is_valid: bool) -> pl.Expr:
    """Bytes as texts, if all are valid UTF-8; else with a mark for each byte that is not."""
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
