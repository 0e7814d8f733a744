"""Many line ends cost no more than rows of as many bytes, and are read as before."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from random import Random
from time import process_time

import pytest

from dpcli.data.formats import STANDARD_DIALECT
from dpcli.data.kinds import Axis
from dpcli.data.labels import CategoryColumn, IdColumn, PrivatePartitionColumn
from dpcli.engine.files import pieces
from dpcli.engine.files.pieces import read_texts
from dpcli.engine.files.source import open_dataset
from dpcli.privacy.unit import RowUnit
from dpcli.queries.query import LinearQuery
from tests.oracles.opened import cells_of, engine
from tests.support.rules import mostly_extended

COUNTS = LinearQuery(by=(Axis(CategoryColumn("b", (("x", "x"), ("y", "y")))),))
LINES = replace(STANDARD_DIALECT, multiline=False)

MEGABYTES = 16
"""Enough that starting a query takes a small part of the time."""

MOST, TRIES = 1.5, 6
"""What the least of several ratios may be: other programs only make some of them larger."""

ODD = b'31,x,"two\n\nlines"\n'
"""A quoted cell with a blank line, which is a part of the cell."""

BLANKS = {
    "LF": b"\n" * 1_000_000,
    "CRLF": b"\r\n" * 500_000,
    "CR": b"\r" * 1_000_000,
    "LF CR": b"\n\r" * 500_000,
    "LF and quotes": b"\n" * 1_000_000 + ODD,
    "CRLF and quotes": b"\r\n" * 500_000 + ODD,
    "CR and quotes": b"\r" * 1_000_000 + ODD,
}


def rows_of_text() -> bytes:
    """A megabyte of ordinary rows."""
    return b"".join(b"%d,%b,Old Town\n" % (n % 97, b"xy"[n % 2 :][:1]) for n in range(66_000))


def write(path: Path, blocks: Iterator[bytes]) -> Path:
    """A file with a header and these blocks, the last of which is a row."""
    with gzip.open(path, "wb", 1) if path.suffix == ".gz" else path.open("wb") as file:
        file.writelines(chain((b"a,b,c\n", rows_of_text()), blocks, (b"1,y,z\n",)))
    return path


@pytest.mark.extended
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_line_ends_cost_no_more_than_rows(ending: str, tmp_path: Path) -> None:
    """Line ends take at most 1.5 times the processor time of as many bytes of rows."""
    rows = write(tmp_path / f"rows.{ending}", repeat(rows_of_text(), MEGABYTES))
    for name, blank in BLANKS.items():
        path = write(tmp_path / f"blank.{ending}", repeat(blank, MEGABYTES))

        def seconds(path: Path) -> float:
            before = process_time()
            engine([COUNTS], RowUnit(), path)
            return process_time() - before

        seconds(path)
        ratios = [seconds(path) / seconds(rows)]
        while min(ratios) > MOST and len(ratios) < TRIES:
            ratios.append(seconds(path) / seconds(rows))
        assert min(ratios) <= MOST, (name, ratios)


@pytest.mark.parametrize("start", mostly_extended(range(0, 50, 5), 0))
def test_blank_lines_are_left_out_and_no_other_line_ends(
    start: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Text of line ends and quotes has the records that Python reads, in pieces of any size."""
    for seed in range(start, start + 5):
        check_records(seed, tmp_path, monkeypatch)


def check_records(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare the records of a random text with those of the standard library."""
    random = Random(seed)
    monkeypatch.setattr(pieces, "PIECE", random.choice([7, 64, 1 << 20]))
    ends = ["\n", "\r\n", "\r", "\n\n\n", "\r\n\r\n", "\n\r", "\n" * 300, "\r" * 300]
    cells = ["1", "", '""', '"a\n\nb"', '"\r\n\r\n"', '"c""\n""d"', 'e"', "f"]
    text = "a,b\n" + "".join(
        random.choice(cells) + "," * random.randrange(2) + random.choice([*ends, ""])
        for _ in range(random.randrange(1, 40))
    )
    path = tmp_path / "data.csv"
    path.write_bytes(text.encode())
    expected = [row for row in csv.reader(io.StringIO(text, newline="")) if row][1:]
    columns = (PrivatePartitionColumn("a"), PrivatePartitionColumn("b"))
    with open_dataset((str(path),)) as dataset:
        read = [row for frame in read_texts(dataset, columns) for row in frame.rows()]

    assert [tuple(cell or "" for cell in row) for row in read] == [
        tuple([*row, "", ""][:2]) for row in expected
    ]


@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize("blank", ["\n", "\r\n", "\r"])
def test_every_line_is_a_record_also_among_blank_lines(
    blank: str, quoted: bool, tmp_path: Path
) -> None:
    """With `multiline: false`, blank lines are left out, and a quote ends with its line."""
    row = '"1","x","' if quoted else "1,x,z"
    path = tmp_path / "data.csv"
    path.write_text("a,b,c\n" + f"{blank * 1000}{row}{blank}" * 40, encoding="utf-8", newline="")

    assert cells_of(engine([COUNTS], RowUnit(), path, dialect=LINES)[0]) == [0 if quoted else 40, 0]


def test_in_a_file_of_one_column_a_blank_line_is_a_row(tmp_path: Path) -> None:
    """Such a line is a missing cell, however many there are."""
    path = tmp_path / "data.csv"
    path.write_text("a\n" + "\n" * 1000 + "1\n", encoding="utf-8")
    with open_dataset((str(path),)) as dataset:
        read = [row for frame in read_texts(dataset, (IdColumn("a"),)) for row in frame.rows()]

    assert read == [(None,)] * 1000 + [("1",)]
