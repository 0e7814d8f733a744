"""No record is mistaken for something else, at any place in a file."""

from __future__ import annotations

import random
import zlib
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

from dpcli.data.formats import STANDARD_DIALECT, Dialect
from dpcli.data.kinds import Axis
from dpcli.data.labels import CategoryColumn, IdColumn
from dpcli.data.number_columns import IntegerColumn
from dpcli.engine.files.decoding import WINDOWS
from dpcli.engine.files.header_check import require_columns
from dpcli.engine.files.pieces import read_texts
from dpcli.engine.files.source import open_dataset
from dpcli.privacy.unit import RowUnit
from dpcli.problems.errors import DataError
from dpcli.queries.query import LinearQuery
from tests.oracles.opened import cells_of, engine

KIND = CategoryColumn("a", (("x", "x"), ("y", "y")))
COUNTS = LinearQuery(by=(Axis(KIND),))
HEADLESS = Dialect(names=("a", "n"))

MAGIC = {
    "zlib": zlib.compress(b"y,1\n" * 100, 9),
    "zlib start": b"x^",
    "others": b"x\x01",
    "gzip": b"\x1f\x8b\x08",
    "zstd": b"\x28\xb5\x2f\xfd",
    "bzip2": b"BZh91AY&SY",
    "xz": b"\xfd7zXZ\x00",
    "lz4": b"\x04\x22\x4d\x18",
    "zip": b"PK\x03\x04",
    "parquet": b"PAR1",
    "arrow": b"ARROW1",
    "utf-16": b"\xfe\xff",
    "mark": b"\xef\xbb\xbf",
}
"""First bytes that readers take for formats of their own."""

ROWS = b"x,1\n" * 7 + b"y,2\n" * 3


@pytest.mark.parametrize("magic", MAGIC)
def test_a_first_record_is_a_record(magic: str, tmp_path: Path) -> None:
    """In a file without a header line the first cell counts as one cell, whatever it holds."""
    path = tmp_path / "data.csv"
    cell = MAGIC[magic].replace(b"\n", b"").replace(b",", b"").replace(b"\r", b"")
    path.write_bytes(cell.replace(b'"', b"") + b",1\n" + ROWS)

    assert cells_of(engine([COUNTS], RowUnit(), path, dialect=HEADLESS)[0]) == [7, 3]
    with open_dataset((str(path),), HEADLESS) as dataset:
        assert [row[0] for frame in read_texts(dataset, [KIND]) for row in frame.rows()][1:] == [
            "x"
        ] * 7 + ["y"] * 3


@pytest.mark.parametrize("name", ["x^2", "xÚ", "PARENT", "PAR1", "BZhours", "BZh9"])
def test_a_header_that_begins_like_another_format_is_read(name: str, tmp_path: Path) -> None:
    """Headers may begin like files of other formats."""
    path = tmp_path / "data.csv"
    path.write_bytes(f"{name},a\n".encode() + b"".join(b"0," + row for row in [b"x\n"] * 4))

    assert cells_of(engine([COUNTS], RowUnit(), path)[0]) == [4, 0]


@pytest.mark.parametrize("name", ["PARENT", "PAR1"])
def test_no_last_record_makes_a_file_parquet(name: str, tmp_path: Path) -> None:
    """A Parquet file also ends in its mark, but the end of a file belongs to a record."""
    path = tmp_path / "data.csv"
    path.write_bytes(f"{name},a\n1,x\n1,{name[:4]}".encode())

    assert cells_of(engine([COUNTS], RowUnit(), path)[0]) == [1, 0]


def test_no_record_changes_the_byte_order(tmp_path: Path) -> None:
    """Without a header line, a byte order mark of UTF-16 is part of a cell."""
    dialect = Dialect(names=("a", "n"), encoding="utf-16")
    path = tmp_path / "data.csv"
    path.write_bytes(("\ufffe,1\n" + "x,1\n" * 5).encode("utf-16-le"))
    assert cells_of(engine([COUNTS], RowUnit(), path, dialect=dialect)[0]) == [5, 0]
    path.write_bytes(("\ufeffx,1\n" + "x,1\n" * 5).encode("utf-16-le"))
    assert cells_of(engine([COUNTS], RowUnit(), path, dialect=dialect)[0]) == [6, 0]


def test_times_are_refused_as_ids(tmp_path: Path) -> None:
    """One time can be written in several ways, so it cannot identify a user."""
    path = tmp_path / "data.parquet"
    days = pl.Series("who", [0, 1], dtype=pl.Int64).cast(pl.Datetime("us"))
    pl.DataFrame({"who": days, "age": [1, 2]}).write_parquet(path)
    age = IntegerColumn("age", Fraction(1), (0, 9))
    with open_dataset((str(path),)) as dataset:
        with pytest.raises(DataError) as refused:
            require_columns(dataset, [IdColumn("who"), age])
        require_columns(dataset, [age])

    assert [problem.code for problem in refused.value.problems] == ["column-type"]


def test_random_first_records_are_records(tmp_path: Path) -> None:
    """No content of the first cell changes the count of the other cells."""
    path = tmp_path / "data.csv"
    for seed in range(60):
        cell = random.Random(seed).randbytes(6)
        for mark in b'\r\n,"':
            cell = cell.replace(bytes([mark]), b"")
        path.write_bytes(b"q" + cell + b",1\n" + ROWS)
        assert cells_of(engine([COUNTS], RowUnit(), path, dialect=HEADLESS)[0]) == [7, 3]
        path.write_bytes(cell + b",1\n" + ROWS)
        assert sum(cells_of(engine([COUNTS], RowUnit(), path, dialect=HEADLESS)[0])) in (10, 11)
    assert STANDARD_DIALECT.names == ()


@pytest.mark.parametrize("header", ["[", "{", "<", "[ ", "x"])
@pytest.mark.parametrize("first", ["[a", '"a', '{"a"', "html", "[[", "x", ""])
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\n\n"])
def test_no_record_makes_a_file_json_or_a_page(
    header: str, first: str, end: str, tmp_path: Path
) -> None:
    """Only the bytes of the header line show another format, also after blank lines."""
    path = tmp_path / "data.csv"
    path.write_bytes(f"{end}{header}{end}{first}{end}".encode())
    with open_dataset((str(path),)) as dataset:
        assert dataset.sources[0].header == (header.strip(),)


@pytest.mark.parametrize("blank", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("before", ["", "x,1\n"])
def test_blank_lines_after_the_header_change_no_outcome(
    before: str, blank: str, tmp_path: Path
) -> None:
    """A header line is whole, however far from it the next record is."""
    path = tmp_path / "data.csv"
    path.write_bytes((f"a,n{blank}{before}" + blank * (WINDOWS[-1] + 1) + "y,2\n").encode())

    assert cells_of(engine([COUNTS], RowUnit(), path)[0]) == [len(before) // 4, 1]


@pytest.mark.extended
@pytest.mark.parametrize("close", [b"", b'"'])
def test_no_record_decides_whether_an_open_quote_is_a_header(close: bytes, tmp_path: Path) -> None:
    """A header that closes no quote has the same columns before it, if records close it or not."""
    path = tmp_path / "data.csv"
    path.write_bytes(b'a,"n\n' + b"x,1\n" * (WINDOWS[-1] // 4 + 1) + close + b"\ny,2\n")

    assert cells_of(engine([COUNTS], RowUnit(), path)[0]) == [0, len(close)]
