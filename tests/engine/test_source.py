"""One name is one file, opened once; nothing is expanded, dialled or guessed."""

from __future__ import annotations

import gzip
import io
import os
import threading
import unicodedata
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest

from dpcli.columns import NumericColumn
from dpcli.engine import copying as module
from dpcli.engine.aggregate import aggregate
from dpcli.engine.dialect import Inspection
from dpcli.engine.header import require_columns
from dpcli.engine.source import Dataset, Source, open_dataset
from dpcli.errors import DataError
from dpcli.privacy.relation import RowUnit
from dpcli.queries import Factor, LinearQuery
from tests.oracles.opened import cells_of, engine, opened

AGE = NumericColumn("age", "integer", Fraction(1), (0, 100))
TOTAL = LinearQuery(factors=(Factor(AGE),))
TEXT = b"id,age\n1,20\n2,30\n3,40\n"
PACKED = gzip.compress(TEXT, mtime=0)


def total(name: Path | str) -> int:
    """The sum of ages in a file."""
    return cells_of(engine([TOTAL], RowUnit(), name)[0])[0]


def headed(names: Sequence[str]) -> Dataset:
    """A file with this header, and nothing else."""
    return Dataset((Source("a.csv", io.BytesIO(), 0, tuple(names)),))


def code(name: Path | str) -> str:
    """The code with which a file is refused."""
    with pytest.raises(DataError) as refusal:
        total(name)
    return refusal.value.problems[0].code


def test_a_plain_file(tmp_path: Path) -> None:
    """A file is read by its name."""
    (tmp_path / "a.csv").write_bytes(TEXT)
    assert total(tmp_path / "a.csv") == 90


def test_names_with_patterns_are_plain_names(tmp_path: Path) -> None:
    """Brackets, stars and spaces in a name mean themselves."""
    (tmp_path / "lit[1] *.csv").write_bytes(TEXT)
    assert total(tmp_path / "lit[1] *.csv") == 90


@pytest.mark.parametrize(
    "name", ["*.csv", "a?.csv", "http://127.0.0.1:9/x.csv", "s3://bucket/x.csv", "none.csv"]
)
def test_patterns_and_addresses_are_not_expanded(name: str, tmp_path: Path) -> None:
    """A pattern that matches files, or an address, names no file."""
    (tmp_path / "ab.csv").write_bytes(TEXT)
    joined = name if "://" in name else str(tmp_path / name)
    assert code(joined) == "data-missing"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    """Files in a folder are not joined."""
    (tmp_path / "a.csv").write_bytes(TEXT)
    assert code(tmp_path) == "data-unreadable"


def test_gzip_by_its_name(tmp_path: Path) -> None:
    """A file named .gz is unpacked, several members in a row too."""
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(TEXT) + gzip.compress(b"4,10\n"))
    assert total(tmp_path / "a.csv.gz") == 100


@pytest.mark.parametrize("content", [TEXT, b"", PACKED[:-9], PACKED + b"x"])
def test_what_is_named_gzip_must_be_gzip(content: bytes, tmp_path: Path) -> None:
    """Plain, truncated or trailing content under the name .gz is refused."""
    (tmp_path / "a.csv.gz").write_bytes(content)
    assert code(tmp_path / "a.csv.gz") in {"data-not-gzip", "no-header"}


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unpacking stops at the limit."""
    monkeypatch.setattr(module, "LARGEST_UNPACKED", 1 << 22)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(TEXT + b"0" * (1 << 23)))
    assert code(tmp_path / "a.csv.gz") == "data-too-large"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (PACKED, "not-csv"),
        (TEXT.decode().encode("utf-16"), "not-csv"),
        (b"PK\x03\x04rest", "not-csv"),
        (b"", "no-header"),
        (b"\n\n", "no-header"),
        (b"\xef\xbb\xbf", "no-header"),
    ],
)
def test_what_is_no_csv_is_refused(content: bytes, expected: str, tmp_path: Path) -> None:
    """Other formats under a CSV name, and files without a header, are named."""
    (tmp_path / "a.csv").write_bytes(content)
    assert code(tmp_path / "a.csv") == expected


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    """A named pipe works like a file."""
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(TEXT,))
    writer.start()
    assert total(tmp_path / "pipe") == 90
    writer.join()


def test_a_file_that_is_replaced_stays_the_one_that_was_opened(tmp_path: Path) -> None:
    """A writer that renames a new file into place does not mix versions."""
    path = tmp_path / "a.csv"
    path.write_bytes(TEXT)
    dataset = open_dataset((str(path),))
    (tmp_path / "new").write_bytes(b"id,age\n" + b"1,100\n" * 1000)
    (tmp_path / "new").rename(path)
    with dataset:
        sealed = aggregate([TOTAL], RowUnit(), dataset, Inspection(dataset))
    assert cells_of(opened(sealed)[0])[0] == 90


@pytest.mark.parametrize("names", [["age", "age"], ["Age"], [" age"], []])
def test_headers_must_name_each_column_once(names: list[str]) -> None:
    """Absent, repeated or differently spelled names are refused."""
    with pytest.raises(DataError):
        require_columns(headed(names), [AGE])


def test_twins_in_other_characters_are_refused() -> None:
    """A header with the same word composed and decomposed is ambiguous."""
    composed = unicodedata.normalize("NFC", "âge")
    column = NumericColumn(composed, "integer", Fraction(1), (0, 1))
    with pytest.raises(DataError) as refusal:
        require_columns(headed([composed, unicodedata.normalize("NFD", "âge")]), [column])
    assert refusal.value.problems[0].code == "ambiguous-column"


def test_other_columns_may_be_nameless_or_repeated() -> None:
    """Only declared columns need a name of their own."""
    require_columns(headed(["", "", "x", "x", "age"]), [AGE])
