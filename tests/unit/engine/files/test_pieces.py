"""Plain files in pieces of whole records."""

from __future__ import annotations

from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import pytest

from dpcli.data.labels import IdColumn
from dpcli.engine.files import pieces
from dpcli.engine.files.pieces import read_pieces
from dpcli.engine.files.source import open_dataset
from dpcli.engine.progress import Progress

FILES = (
    b"a,b\n1,2\n3,4\n",
    b"a,b\r\n1,2\r\n3,4",
    b'a,b\n"1\n\n2",x\n3,4\n"5""\n""","6\n7"\n8,9\n',
    b"a,b\n",
    b"a,b\n" + b"1,2\n" * 50,
    b'a,b\n"' + b"x\n" * 50 + b'",2\n3,4\n',
    b'a,b\n1,2\n3,"never\nclosed\n',
)


@pytest.mark.parametrize("content", FILES)
@pytest.mark.parametrize("size", [1, 3, 7, 64, 1000])
def test_pieces_have_the_rows_of_the_file_in_their_order(
    content: bytes, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pieces of any size cut, repeat or drop no record."""
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    columns = (IdColumn("a"), IdColumn("b"))

    def rows(length: int) -> list[tuple[object, ...]]:
        monkeypatch.setattr(pieces, "PIECE", length)
        with open_dataset([str(path)]) as dataset:
            actual = list(read_pieces(dataset, columns, Progress()))
        if len(content) > 20 * length and b'"' not in content:
            assert len(actual) > 2
        return [row for piece in actual for row in piece.frame.collect().rows()]

    assert rows(size) == rows(1 << 20)


def test_a_record_of_many_cells_takes_no_memory_for_columns(tmp_path: Path) -> None:
    """Cells beyond the header have no names, even in the first record of a piece."""
    path = tmp_path / "data.csv"
    path.write_bytes(b"a,b\n1,2" + b',"x"' * (1 << 21) + b"\n3,4\n")
    before = getrusage(RUSAGE_SELF).ru_maxrss
    with open_dataset([str(path)]) as dataset:
        actual = list(read_pieces(dataset, (IdColumn("a"), IdColumn("b")), Progress()))
        rows = [row[:2] for piece in actual for row in piece.frame.collect().rows()]

    assert rows == [(None, None), ("3", "4")]
    assert getrusage(RUSAGE_SELF).ru_maxrss - before < 400_000
