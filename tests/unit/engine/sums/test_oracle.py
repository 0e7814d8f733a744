"""The engine against the oracle: the same whole numbers for every file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dpcli.data.formats import Dialect
from dpcli.data.kinds import Axis
from dpcli.data.labels import PrivatePartitionColumn
from dpcli.data.number_columns import IntegerColumn
from dpcli.engine.files import csv_normalizer, pieces
from dpcli.engine.files.pieces import read_pieces
from dpcli.engine.files.source import open_dataset
from dpcli.engine.progress import Progress
from dpcli.queries.query import LinearQuery
from dpcli.queries.sums import Factor
from tests.oracles import plain as oracle
from tests.oracles.agreement import agreed
from tests.oracles.files import batches, generate, vectors
from tests.support.blocks import read_in_blocks
from tests.support.rules import mostly_extended

FILES = 700
PER_TEST = 25

BY_CELLS = [LinearQuery(by=(Axis(PrivatePartitionColumn("a")), Axis(PrivatePartitionColumn("b"))))]


@pytest.mark.parametrize("start", batches(FILES, PER_TEST, 25, 25))
def test_thousands_of_odd_files_are_read_by_the_written_rules(start: int, tmp_path: Path) -> None:
    """For all damaged cells and lines, engine and oracle agree to the integer."""
    for seed in range(start, start + PER_TEST):
        data, columns, generated = generate(seed)
        queries = [*generated, *vectors(seed, columns)]
        agreed(queries, data, tmp_path)


@pytest.mark.extended
@pytest.mark.parametrize("start", batches(FILES, 5, 5, 10))
def test_odd_files_are_read_by_the_written_rules_in_pieces_of_any_size(
    start: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers do not depend on where blocks and pieces end, or on a first guess "plain"."""
    for seed in range(start, start + 5):
        read_in_blocks(monkeypatch, Random(seed).choice((1, 5, 30, 100, 1000)))
        data, columns, generated = generate(seed)
        queries = [*generated, *vectors(seed, columns)]
        agreed(queries, data, tmp_path)


@pytest.mark.extended
@pytest.mark.parametrize("start", batches(FILES, PER_TEST, 25, 25))
def test_quoted_cells_that_are_too_long_are_missing(
    start: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quote that is never closed makes only its cell and the cells after it missing."""
    longest, tried = 30, 0
    monkeypatch.setattr(csv_normalizer, "LONGEST_CELL", longest)
    monkeypatch.setattr(oracle, "LONGEST", longest)
    for seed in range(start, start + PER_TEST):
        read_in_blocks(monkeypatch, Random(seed).choice((1, 5, 30, 100, 1000)))
        data, columns, generated = generate(seed)
        queries = [*generated, *vectors(seed, columns)]
        # Other cells may be longer.
        body = re.split(rb"[\r\n]", data, maxsplit=1)[-1]
        if re.search(rb"[^,\r\n]{%d,}" % (longest + 1), body):
            continue
        if "\ufffd" in data.decode(errors="replace"):
            # The mark for a wrong byte is longer than the byte.
            continue
        tried += 1
        agreed(queries, data, tmp_path)
    assert tried > PER_TEST // 10


@pytest.mark.parametrize(
    ("end", "block"),
    mostly_extended(
        product([b"", b"\n", b"\r\n"], [5, 1 << 18]), (b"", 5), (b"\r\n", 1 << 18), unpack=True
    ),
)
def test_a_cell_that_is_too_long_is_missing_wherever_it_stands(
    end: bytes, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a cell is missing in the last record of a file without a line end, too."""
    read_in_blocks(monkeypatch, block)
    monkeypatch.setattr(csv_normalizer, "LONGEST_CELL", 30)
    monkeypatch.setattr(oracle, "LONGEST", 30)
    long = b'"' + b"x" * 31 + b'"'
    records = [b'1,"y"', b'"1",y', long + b',"y"', b'"1",' + long, long + b"," + long]
    for first in records:
        for last in records:
            agreed(BY_CELLS, b"a,b\n" + first + b"\n" + last + end, tmp_path)


@pytest.mark.extended
@pytest.mark.parametrize("size", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_large_files_with_quotes_are_read_by_the_written_rules(size: int, tmp_path: Path) -> None:
    """A file of many blocks, with line ends inside quotes, gives the oracle's integers."""
    for seed in range(3 // size):
        data, _, queries = generate(seed)
        lines = data.split(b"\n")
        body = b"\n".join(lines[1:]) + b"\n"
        repeated = data + b"\n" + body * (size * 2**20 // max(len(body), 1) + 1)
        agreed(queries, repeated, tmp_path)


@pytest.mark.parametrize("first", [b"1", b"1,2,3,4,5", b",,", b"1,2"])
def test_the_first_record_decides_nothing(first: bytes, tmp_path: Path) -> None:
    """The number of its cells does not change the cells of other records."""
    columns = [IntegerColumn(name, Fraction(1), (0, 9)) for name in "abc"]
    queries = [LinearQuery(factors=(Factor(column),)) for column in columns]
    agreed(queries, b"a,b,c\n" + first + b"\n1,2,3\n4,5,6,7\n8\n", tmp_path)


@pytest.mark.parametrize("rows", ["", "1,2\n", ",\n"])
def test_centers_beyond_a_word_are_exact_however_few_rows_there_are(
    rows: str, tmp_path: Path
) -> None:
    """A release must not fail because no row is readable: that would reveal the content."""
    wide = [IntegerColumn(name, Fraction(1), (0, 10**12)) for name in "ab"]
    factors = tuple(Factor(column, 5 * 10**11) for column in wide)
    queries = [LinearQuery(factors=factors), LinearQuery(factors=factors, offset=1 << 70)]
    agreed(queries, f"a,b\n{rows}", tmp_path)


@pytest.mark.parametrize("body", [b'1,5" pipe\n2,y"x"\n3"4,"\n', b'1,5"', b'a""b,c"\r\n5" ,7\r\n'])
@pytest.mark.parametrize("block", [1, 3, 1 << 18])
def test_quotes_within_cells_are_left_as_they_are(
    body: bytes, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If no cell begins with a quote, quotes have no meaning, and the text is read unchanged."""
    read_in_blocks(monkeypatch, block)
    whole = b"a,b\n" + body.replace(b',"\n', b',x"\n')
    agreed(BY_CELLS, whole, tmp_path)
    with open_dataset([str(tmp_path / "data.csv")]) as dataset:
        actual = read_pieces(dataset, [PrivatePartitionColumn("a")], Progress(), in_place=True)
        assert not any(piece.quoted for piece in actual)

    # One quoted cell anywhere makes the other quotes odd.
    for cells in (b'"1",5\n', b'1,"5"\r\n', b'1,"5\n', b'""'):
        for data in (whole.rstrip() + b"\n" + cells, b"a,b\n" + cells.rstrip() + b"\n" + body):
            agreed(BY_CELLS, data, tmp_path)


@pytest.mark.parametrize("block", range(1, 8))
def test_blank_lines_after_a_byte_order_mark_are_no_header(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For every size of the first block, the header is the first line that is not blank."""
    read_in_blocks(monkeypatch, block)
    for end in (b"\n", b"\r\n", b"\r"):
        agreed(BY_CELLS, b"\xef\xbb\xbf" + end + b"a,b" + end + b"1,2" + end, tmp_path)


DAMAGE = [b'"', b'""', b'"x', b'x"', b"\n", b"\n\n", b"\r", b'",', b',"', b'"\n', b"\xff"]


@pytest.mark.extended
@pytest.mark.parametrize("damage", mostly_extended([b"", *DAMAGE], b"", *DAMAGE[::6]))
@pytest.mark.parametrize("multiline", [True, False])
def test_files_of_quoted_cells_are_read_in_place_if_no_byte_is_odd(
    damage: bytes, multiline: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever a quote or a line end is out of place, the file is read by the written rules."""
    read_in_blocks(monkeypatch, 64)
    inspections: list[pieces.Inspection] = []
    inspect = pieces.Inspection

    def inspected(*args: Any, quoted: bool) -> pieces.Inspection:
        inspections.append(inspect(*args, quoted=quoted))
        return inspections[-1]

    monkeypatch.setattr(pieces, "Inspection", inspected)
    dialect, random = Dialect(multiline=multiline), Random(1)
    records = [b'1,"x,y"', b'"2","z"', b'"3 ""a""",', b"4,5"]
    records += [b'"5\n6","\n"'] if multiline else []
    text = b'\xef\xbb\xbf"a","b"\n' + b"\n".join(random.choices(records, k=60)) + b"\n"
    for _ in range(12 if damage else 1):
        place = random.randint(8, len(text))
        agreed(BY_CELLS, text[:place] + damage + text[place:], tmp_path, dialect=dialect)
    assert all(one.quoted for one in inspections)
    assert inspections
    if not damage:
        assert inspections[0].is_right()


@pytest.mark.parametrize("failure", [OSError, MemoryError, RuntimeError, TypeError, SystemExit])
def test_a_file_that_cannot_be_inspected_is_not_plain(
    failure: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If an inspection fails, quotes are read by the written rules."""

    def failing(_: object) -> Iterator[bytes]:
        yield b"a,b\n1,2\n"
        raise failure

    read_in_blocks(monkeypatch, 5)
    inspect = pieces.Inspection
    monkeypatch.setattr(
        pieces, "Inspection", lambda text, _, quoted: inspect(text, failing(text), quoted=quoted)
    )
    agreed(BY_CELLS, b'a,b\n1,"x,y"\n2,"z\n"\n3,5" pipe\n4\r5,6\n', tmp_path)
