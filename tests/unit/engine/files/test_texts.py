"""Files of records are read row by row, by the same rules as in releases."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpcli.data.column import Column
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.labels import CategoryColumn, LabeledColumn
from dpcli.engine.cells import Decoder
from dpcli.engine.files.pieces import read_texts
from dpcli.engine.files.source import open_dataset
from tests.oracles.files import generate
from tests.oracles.plain import table, value
from tests.support.blocks import read_in_blocks
from tests.support.rules import mostly_extended


def cells(path: Path, columns: list[Column]) -> list[tuple[int | None, ...]]:
    """Every row of a file as whole numbers."""
    decoder = Decoder(columns)
    rows: list[tuple[int | None, ...]] = []
    with open_dataset((str(path),)) as dataset, dataset.redacted_errors():
        for frame in read_texts(dataset, columns):
            rows += decoder.decode(frame).rows()
    return rows


@pytest.mark.extended
@pytest.mark.parametrize("block", [64, 1000, 1 << 24])
@pytest.mark.parametrize("start", mostly_extended(range(0, 60, 10), 0))
def test_odd_files_are_read_row_by_row(
    start: int, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For all damaged lines and blocks, the rows are those of the oracle, in order."""
    read_in_blocks(monkeypatch, block)
    path = tmp_path / "data.csv"
    for seed in range(start, start + 10):
        data, declared, _ = generate(seed)
        path.write_bytes(data)
        columns: list[Column] = [
            one for one in declared if isinstance(one, LabeledColumn | NumericColumn)
        ]
        header, records = table(data)
        places = [header.index(column.name) for column in columns]
        expected = [
            tuple(
                value(column, row[at] if at < len(row) else "")
                for column, at in zip(columns, places, strict=True)
            )
            for row in records
        ]
        assert cells(path, columns) == (expected if columns else []), seed


X = CategoryColumn("x", (("a", "a"), ("b", "b")), 0)
Y = CategoryColumn("y", (("a", "a"), ("b", "b")))


@pytest.mark.parametrize("block", [1, 3, 7, 1 << 24])
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"x,y\na,b\n\nb,a\n\n\n", [(0, 1), (1, 0)]),
        (b"x,y\r\na,b\r\n\r\nb,a", [(0, 1), (1, 0)]),
        (b"x,y\n,\n\n,b\n", [(0, None), (0, 1)]),
        (b'x,y\n"a","b\n\nb"\nb,"b"\n', [(0, None), (1, 1)]),
        (b'"x","y"\n"a","b"\n', [(0, 1)]),
        (b"\xef\xbb\xbfx,y\nb,b\n", [(1, 1)]),
        (b"x,y\nb,\xff\nb,b\n", [(1, None), (1, 1)]),
        (b"x,y\nb\na,b,c,d\na,b,,\n", [(1, None), (0, None), (0, 1)]),
        (b"x,y\n", []),
        (b"x,y", []),
        (b"x,y\rb,b\r\ra,b", [(1, 1), (0, 1)]),
        (b'x,y\nb,b"\na,b\n', [(1, None), (0, 1)]),
    ],
)
def test_rows_are_cut_where_records_end(
    data: bytes, expected: list[tuple[int | None, ...]], block: int,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Blank lines and quoted line ends are no rows; odd bytes damage one cell."""
    read_in_blocks(monkeypatch, block)
    path = tmp_path / "data.csv"
    path.write_bytes(data)

    assert cells(path, [X, Y]) == expected


@pytest.mark.parametrize("block", [1, 1 << 24])
def test_in_a_file_of_one_column_a_blank_line_is_a_record(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its only cell is missing, and becomes the constant."""
    read_in_blocks(monkeypatch, block)
    path = tmp_path / "data.csv"
    path.write_bytes(b"x\nb\n\nb\n")

    assert cells(path, [X]) == [(1,), (0,), (1,)]
