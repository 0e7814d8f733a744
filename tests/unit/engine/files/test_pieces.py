"""Plain files in pieces of whole records."""

from __future__ import annotations

from pathlib import Path
from resource import RUSAGE_SELF, getrusage

from dpcli.data.labels import IdColumn
from dpcli.engine.files.pieces import read_pieces
from dpcli.engine.files.source import open_dataset
from dpcli.engine.progress import Progress


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
