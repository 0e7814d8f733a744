"""With `multiline: false` every line is one record, and no line changes another one."""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random

import pytest

from dpcli.data.column import Column
from dpcli.data.formats import STANDARD_DIALECT, Dialect
from dpcli.data.kinds import Axis
from dpcli.data.labels import CategoryColumn, IdColumn, PrivatePartitionColumn
from dpcli.engine.files.pieces import read_texts
from dpcli.engine.files.source import open_dataset
from dpcli.privacy.unit import PersonUnit, RowUnit
from dpcli.problems.errors import DataError
from dpcli.queries.query import LinearQuery
from tests.oracles.agreement import agreed
from tests.oracles.files import batches, generate
from tests.oracles.opened import cells_of, engine
from tests.oracles.plain import table
from tests.support.blocks import read_in_blocks
from tests.support.rules import mostly_extended

LINES = replace(STANDARD_DIALECT, multiline=False)
OTHER = Dialect(";", "'", multiline=False)

A, B = PrivatePartitionColumn("a"), PrivatePartitionColumn("b")

FILES = 600
PER_TEST = 20

MARK = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8."""

Rows = list[tuple[str, ...]]


def read(path: Path, columns: list[Column], dialect: Dialect = LINES) -> Rows:
    """The rows of a file, a missing cell as an empty text."""
    with open_dataset((str(path),), dialect) as dataset, dataset.redacted_errors():
        frames = read_texts(dataset, columns)
        return [tuple(cell or "" for cell in row) for frame in frames for row in frame.rows()]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        # An open quote damages only its own line, which is still a row.
        (b'1,"x\n2,y\n', [("", ""), ("2", "y")]),
        (b'"1,x\n2,y"\n', [("", ""), ("2", 'y"')]),
        (b'1,"x""\n2,y\n', [("", ""), ("2", "y")]),
        (b'1,"x\n', [("", "")]),
        (b'1,"x', [("", "")]),
        (b'"', [("", "")]),
        # LF, CRLF and CR end a line, also between quotes.
        (b'"1\n2",x\n', [("", ""), ('2"', "x")]),
        (b'"1\r2",x\r', [("", ""), ('2"', "x")]),
        (b'1,"x\r\n2,y\r\n', [("", ""), ("2", "y")]),
        (b"1,x\r2,y\n3,z\r\n4,w", [("1", "x"), ("2", "y"), ("3", "z"), ("4", "w")]),
        # Closed quotes are read as usual.
        (b'1,5" pipe\n', [("1", '5" pipe')]),
        (b'1,5" "pipe"\n', [("1", '5" "pipe"')]),
        (b'"1"2,"x"y"\n', [("12", 'xy"')]),
        (b'"1""2","x,y"z\n', [('1"2', "x,yz")]),
        (b' "1", "x,y" \n', [("1", "x,y ")]),
        (b'"1","x,""y"""\n', [("1", 'x,"y"')]),
        (b'"",""\n', [("", "")]),
        # Lines of blanks are no rows; short rows are.
        (b'\n1,x\n\r\n\n2,"y\n\n', [("1", "x"), ("", "")]),
        (b'  \n1,x\n\t \r\n""\n,\n', [("1", "x"), ("", ""), ("", "")]),
        # A row with a surplus cell has none that is known; blank ones change nothing.
        (b'1\n2,y,"z"w\n', [("1", ""), ("", "")]),
        (b'1,x,,z\n2,y, ,""\n', [("", ""), ("2", "y")]),
        # Bytes that are not text change only their cell.
        (b'1,\xff\n2,"\xc3\n3,z"\xe2\x82\n', [("1", "\ufffd"), ("", ""), ("3", 'z"\ufffd')]),
        (b"", []),
        (b"\n\n", []),
    ],
)
@pytest.mark.parametrize(
    ("block", "mark"),
    mostly_extended(
        product((1, 2, 5, 1 << 23), (b"", MARK)), (1, MARK), (5, b""), (1 << 23, b""), unpack=True
    ),
)
def test_an_odd_line_is_decided_alone(
    content: bytes,
    expected: Rows,
    block: int,
    mark: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A line with an open quote is a row of missing cells; other lines are read as usual."""
    read_in_blocks(monkeypatch, block)
    path = tmp_path / "data.csv"
    path.write_bytes(mark + b"a,b\n" + content)

    assert read(path, [A, B]) == expected
    path.write_bytes(content)
    assert read(path, [A, B], replace(LINES, names=("a", "b"))) == expected


def test_one_column(tmp_path: Path) -> None:
    """In a file of one column, a blank or damaged line is a row with a missing cell."""
    path = tmp_path / "data.csv"
    path.write_bytes(b'\n\na\n1\n\n"2\n""\n3"')

    assert read(path, [A]) == [("1",), ("",), ("",), ("",), ('3"',)]
    kind = CategoryColumn("a", (("1", "1"), ("3", "3")), missing=1)
    query = LinearQuery(by=(Axis(kind),))
    assert cells_of(engine([query], RowUnit(), path, dialect=LINES)[0]) == [1, 4]


@pytest.mark.parametrize("start", batches(FILES, PER_TEST, 20, 40))
def test_odd_files_are_read_by_the_written_rule(
    start: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For all damaged lines and sizes of blocks, engine and oracle agree to the integer."""
    read_at_all = 0
    for seed in range(start, start + PER_TEST):
        read_in_blocks(monkeypatch, Random(seed).choice((3, 50, 1000, 1 << 23)))
        data, columns, queries = generate(seed)
        dialect = LINES
        if seed % 3 == 0:
            dialect = OTHER
            data = data.translate(bytes.maketrans(b",;\"'", b";,'\""))
        try:
            header, _ = table(data, dialect)
        except ValueError:
            continue
        if not {column.name for column in columns} <= set(header):
            continue
        read_at_all += 1
        agreed(queries, data, tmp_path, dialect=dialect)
    assert read_at_all > PER_TEST // 3


def damaged(random: Random, mark: str) -> bytes:
    """A line of any bytes without line ends, with more quotes and delimiters than usual."""
    soup = mark * 6 + ",,,,;;ab1 \t\x00\x0b\x1c"
    text = "".join(random.choices(soup, k=random.randint(0, 12))).encode()
    return text + random.randbytes(random.choice((0, 0, 3))).translate(None, b"\r\n")


@pytest.mark.parametrize("start", batches(400, 20, 20, 40))
def test_one_line_changes_one_row(
    start: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To replace a line by any other line changes at most one row, at any place."""
    path, other = tmp_path / "a.csv", tmp_path / "b.csv"
    for seed in range(start, start + 20):
        random = Random(seed)
        read_in_blocks(monkeypatch, random.choice((3, 50, 1 << 23)))
        body = [damaged(random, '"') for _ in range(random.randint(1, 20))]
        changed = list(body)
        place = random.randrange(len(body))
        changed[place] = damaged(random, '"')
        ends = [random.choice((b"\n", b"\r\n", b"\r")) for _ in body]
        names = random.choice((b"a,b", b"a"))
        columns: list[Column] = [A, B] if b"," in names else [A]
        for target, cells in ((path, body), (other, changed)):
            ended = (cell + end for cell, end in zip(cells, ends, strict=True))
            # Without a blank line, CR and LF would join to one line end.
            target.write_bytes(names + b"\n" + b"".join(ended).replace(b"\r\n", b"\n"))
        before, after = (Counter(read(each, columns)) for each in (path, other))

        assert (before - after).total() <= 1, seed
        assert (after - before).total() <= 1, seed
        count = LinearQuery()
        (one,), (two,) = (
            cells_of(engine([count], RowUnit(), each, dialect=LINES)[0]) for each in (path, other)
        )
        assert one == before.total() and two == after.total()


@pytest.mark.parametrize("seed", range(20))
def test_cells_without_line_ends_are_read_alike_in_both_modes(seed: int, tmp_path: Path) -> None:
    """With any quotes, both readings agree if no cell has a line end."""
    random = Random(seed)
    text = io.StringIO()
    end = random.choice(("\n", "\r\n", "\r"))
    everywhere = csv.writer(text, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer = everywhere if seed % 2 else csv.writer(text, lineterminator=end)
    writer.writerow(["a", "b"])
    cells = [["".join(random.choices('a,"; ', k=4)) + "z" for _ in "ab"] for _ in range(50)]
    writer.writerows(cells)
    path = tmp_path / "data.csv"
    path.write_bytes(text.getvalue().encode())

    assert read(path, [A, B]) == read(path, [A, B], STANDARD_DIALECT) == list(map(tuple, cells))


def test_people_lose_no_rows_by_the_damage_of_others(tmp_path: Path) -> None:
    """A damaged line has no id; the rows after it still belong to their people."""
    path = tmp_path / "data.csv"
    path.write_bytes(b'a,b\np1,x\n"p2,x\np3,x\np3,x\n')
    unit = PersonUnit("a", 2, 2, 2)
    kind = CategoryColumn("b", (("x", "x"),))
    query = LinearQuery(present=(IdColumn("a"),), by=(Axis(kind),))

    assert cells_of(engine([query], unit, path, dialect=LINES)[0]) == [3]


@pytest.mark.parametrize("content", [b'"a,b\n1,2\n', b'a,"b\n"\n1,2\n'])
def test_a_header_line_is_one_line(content: bytes, tmp_path: Path) -> None:
    """Names with line ends need the other reading, and the hint says so."""
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(DataError) as refused:
        open_dataset((str(path),), LINES)
    (problem,) = refused.value.problems
    assert problem.code == "no-header" and "multiline: true" in problem.hint
