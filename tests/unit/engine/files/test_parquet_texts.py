"""Texts of Parquet files that are not UTF-8 are read as in CSV, whatever wrote the file."""

from __future__ import annotations

import io
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

from dpcli.data.column import Column
from dpcli.data.labels import CategoryColumn
from dpcli.engine.files import parquet, pieces, thrift
from dpcli.engine.files.parquet import decoded, footer
from dpcli.engine.files.pieces import read_texts
from dpcli.engine.files.source import open_dataset
from dpcli.engine.files.thrift import Structure
from tests.support.refusals import refused
from tests.support.rules import for_each

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

RANDOM = Random("texts")

FRAGMENTS = [
    b"a", b"\0", b"\n", "é".encode(), "€".encode(), "😀".encode(), b"\xff", b"\x80",
    b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
    b"\xc0\xaf", b"\xf0\x9f\x98", b"\xf0\x90", b"\xe2\x82", b"\xe0\x80",
]  # fmt: skip


def random_bytes() -> bytes:
    """A few characters, parts of characters, and other bytes."""
    parts = (
        RANDOM.choice(FRAGMENTS) if RANDOM.random() < 0.7 else RANDOM.randbytes(1)
        for _ in range(RANDOM.randrange(8))
    )
    return b"".join(parts)


def unchecked(values: list[bytes | None]) -> Any:
    """An Arrow column of texts that are not checked."""
    content = pa.array(values, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(content), content.buffers(), content.null_count)


def read(path: Path, *names: str) -> list[tuple[str | None, ...]]:
    """The cells of columns of a file, as texts."""
    columns: list[Column] = [CategoryColumn(name, (("a", "a"),)) for name in names]
    with open_dataset((str(path),)) as dataset:
        return [row for frame in read_texts(dataset, columns) for row in frame.rows()]


def test_bytes_that_are_not_utf_8_are_replaced_as_in_python() -> None:
    """Each maximal part of a character is one replacement character, and so is any other byte."""
    values = [*(random_bytes() for _ in range(20_000)), None, b""]
    frame = pl.DataFrame({"x": values}, schema={"x": pl.Binary}).lazy()
    texts = frame.select(decoded(pl.col("x"), is_valid=False)).collect().to_series().to_list()
    assert texts == [None if one is None else one.decode("utf-8", "replace") for one in values]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"use_dictionary": False, "compression": "none"},
        {"row_group_size": 7, "compression": "zstd"},
        {"data_page_version": "2.0", "compression": "gzip"},
        {"store_schema": False, "write_statistics": False, "write_page_index": False},
        {"write_page_index": True, "data_page_size": 64},
        {"column_encoding": "DELTA_BYTE_ARRAY", "use_dictionary": False},
        {"column_encoding": {"x": "DELTA_LENGTH_BYTE_ARRAY"}, "use_dictionary": False},
    ],
    ids=str,
)
def test_a_file_of_any_writer_keeps_its_rows(options: Any, tmp_path: Path) -> None:
    """Dictionaries, plain pages, row groups, packing: the row stays, its bytes are replaced."""
    values = [random_bytes() if place % 3 else None for place in range(60)]
    binary = pa.array(values, pa.binary())
    nested = pa.array([[b"\xff"], None, []] * 20, pa.list_(pa.binary()))
    table = pa.table(
        {
            "before": nested,
            "number": pa.array(range(60)),
            "x": unchecked(values),
            "pair": pa.StructArray.from_arrays([binary, binary], ["x", "y"]),
            "same": unchecked(values),
        }
    )
    if isinstance(options.get("column_encoding"), str):
        table = table.select(["x", "same"]).append_column("number", table["number"].cast("string"))
    path = tmp_path / "t.parquet"
    pq.write_table(table, path, **options)
    texts = [None if one is None else one.decode("utf-8", "replace") for one in values]
    numbers = map(str, range(60))
    assert read(path, "x", "number", "same", "x") == [
        (text, number, text, text) for text, number in zip(texts, numbers, strict=True)
    ]
    assert read(path, "number") == [(str(place),) for place in range(60)]
    assert read(path) == [()] * 60


@pytest.mark.parametrize("kind", ["dictionary", "Categorical", "Enum"])
def test_categories_are_texts(kind: str, tmp_path: Path) -> None:
    """Columns that list their texts are read in the same way."""
    path = tmp_path / "t.parquet"
    if kind == "dictionary":
        indices = pa.array([0, 1, None, 1], pa.int32())
        column = pa.DictionaryArray.from_arrays(indices, unchecked([b"a", b"\xff"]))
        pq.write_table(pa.table({"x": column}), path)
        assert read(path, "x") == [("a",), ("\ufffd",), (None,), ("\ufffd",)]
        return
    dtype = pl.Enum(["a", "b"]) if kind == "Enum" else pl.Categorical()
    pl.DataFrame({"x": pl.Series(["a", None, "b"], dtype=dtype)}).write_parquet(path)
    assert read(path, "x") == [("a",), (None,), ("b",)]


def test_several_queries_read_the_same_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a file is read in several parts, each takes its rows of all columns."""
    monkeypatch.setattr(pieces, "SEGMENT", 7)
    values = [random_bytes() for _ in range(100)]
    path = tmp_path / "t.parquet"
    table = pa.table({"x": unchecked(list(values)), "n": list(range(100))})
    pq.write_table(table, path, row_group_size=9)
    texts = [value.decode("utf-8", "replace") for value in values]
    assert read(path, "n", "x") == [(str(place), text) for place, text in enumerate(texts)]


def test_a_file_without_rows_has_none(tmp_path: Path) -> None:
    """No row group, and a row group without rows."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": pa.array([], pa.string())}), path)
    assert read(path, "x") == read(path) == []
    pl.DataFrame({"x": []}, schema={"x": pl.String}).write_parquet(path)
    assert read(path, "x") == read(path) == []


def test_a_full_disk_stops_a_file_with_any_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy is made whether or not a text needs it, so that no record decides the status."""

    def full(*_: object) -> None:
        raise OSError(28, "no space")

    monkeypatch.setattr(parquet, "_copy_bytes", full)
    for value in (b"a", b"\xff"):
        pq.write_table(pa.table({"x": unchecked([value])}), tmp_path / "t.parquet")
        with refused("no-space"):
            read(tmp_path / "t.parquet", "x")


def test_a_footer_is_decoded_and_encoded(tmp_path: Path) -> None:
    """What is decoded from a footer is encoded as the same structure."""
    path = tmp_path / "t.parquet"
    columns = {f"column {place}": list(range(50)) for place in range(40)}
    pq.write_table(pa.table(columns | {"x": ["a"] * 50}), path, row_group_size=3)
    with path.open("rb") as file:
        described = thrift.decode(footer(file))
    assert thrift.decode(thrift.encode(described)) == described
    assert len(described.structures(4)) == 17
    assert described.number(3) == 50


@for_each(range(0, 400, 7))
def test_a_damaged_footer_is_no_internal_error(place: int, tmp_path: Path) -> None:
    """Whatever byte of a footer is another one, it is decoded or refused by one kind of error."""
    file = io.BytesIO()
    pl.DataFrame({"x": ["a", "b"], "n": [1, 2]}).write_parquet(file)
    path = tmp_path / "t.parquet"
    path.write_bytes(file.getvalue())
    with path.open("rb") as opened:
        content = bytearray(footer(opened))
    content[place % len(content)] ^= RANDOM.randrange(1, 256)
    with suppress(ValueError):
        assert isinstance(thrift.decode(bytes(content)), Structure)
