"""One name is one file, which is opened once; no pattern or URL is expanded."""

from __future__ import annotations

import gzip
import io
import os
import sqlite3
import subprocess
import sys
import threading
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import polars as pl
import pytest

from dpcli.data.formats import STANDARD_DIALECT
from dpcli.data.number_columns import IntegerColumn
from dpcli.engine.files.dataset import Dataset, Source
from dpcli.engine.files.header_check import require_columns
from dpcli.engine.files.source import open_dataset
from dpcli.engine.sums.aggregate import aggregate
from dpcli.privacy.unit import RowUnit
from dpcli.problems.errors import DataError
from dpcli.queries.query import LinearQuery
from dpcli.queries.sums import Factor
from tests.oracles.opened import bounded, cells_of, engine, opened
from tests.support.refusals import refused
from tests.support.rules import mostly_extended

AGE = IntegerColumn("age", Fraction(1), (0, 100))
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
    """The error code for a refused file."""
    with pytest.raises(DataError) as refusal:
        total(name)
    return refusal.value.problems[0].code


def test_a_plain_file(tmp_path: Path) -> None:
    """A file is read by its name."""
    (tmp_path / "a.csv").write_bytes(TEXT)
    assert total(tmp_path / "a.csv") == 90


def test_names_with_patterns_are_plain_names(tmp_path: Path) -> None:
    """Brackets, stars and spaces are ordinary characters of a name."""
    (tmp_path / "lit[1] *.csv").write_bytes(TEXT)
    assert total(tmp_path / "lit[1] *.csv") == 90


@pytest.mark.parametrize(
    "name", ["*.csv", "a?.csv", "http://127.0.0.1:9/x.csv", "s3://bucket/x.csv", "none.csv"]
)
def test_patterns_and_addresses_are_not_expanded(name: str, tmp_path: Path) -> None:
    """A pattern that matches files, or a URL, is the name of no file."""
    (tmp_path / "ab.csv").write_bytes(TEXT)
    joined = name if "://" in name else str(tmp_path / name)
    assert code(joined) == "data-missing"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    """Files in a folder are not joined."""
    (tmp_path / "a.csv").write_bytes(TEXT)
    assert code(tmp_path) == "data-unreadable"


def test_gzip_by_its_name(tmp_path: Path) -> None:
    """A file named .gz is decompressed, also one with several members."""
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(TEXT) + gzip.compress(b"4,10\n"))
    assert total(tmp_path / "a.csv.gz") == 100


@pytest.mark.parametrize(
    "content",
    [
        TEXT,
        b"",
        b"\0" + PACKED,
        PACKED[:-9],
        PACKED[:-1],
        PACKED + b"x",
        PACKED + b"\0x",
        PACKED + b"\0" * 9 + PACKED[:-1],
        PACKED + b"\n",
        PACKED[:-8] + b"\0\0\0\0" + PACKED[-4:],
    ],
)
@pytest.mark.parametrize("block", [1, 3, 1 << 20])
def test_what_is_named_gzip_must_be_gzip(
    content: bytes, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plain, truncated, damaged or trailing content under the name .gz is refused."""
    monkeypatch.setattr("dpcli.engine.files.decoding.BLOCK", block)
    (tmp_path / "a.csv.gz").write_bytes(content)
    assert code(tmp_path / "a.csv.gz") == "data-not-gzip"


@pytest.mark.parametrize("padding", [0, 1, 511, 1 << 16])
@pytest.mark.parametrize("block", [1, 3, 1 << 20])
def test_members_and_padding_are_one_content(
    padding: int, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Zeros after members are ignored, as on tapes; members after them are read."""
    monkeypatch.setattr("dpcli.engine.files.decoding.BLOCK", block)
    more = gzip.compress(b"4,10\n") + b"\0" * padding
    (tmp_path / "a.csv.gz").write_bytes(PACKED + b"\0" * padding + more)
    assert total(tmp_path / "a.csv.gz") == 100


def names_of(kind: str, folder: Path) -> Path:
    """A file of some megabytes of a kind, with random digits."""
    frame = pl.DataFrame({"age": [place * 7919 % 101 for place in range(1_000_000)]})
    path = folder / f"data.{kind}"
    if kind == "parquet":
        frame.write_parquet(path, compression="uncompressed")
    elif kind == "quoted.csv":
        frame.cast(pl.String).write_csv(path, quote_style="always")
    else:
        frame.write_csv(path)
    return path


CHANGES: dict[str, Callable[[Path], object]] = {
    "cut off": lambda path: os.truncate(path, 1000),
    "emptied": lambda path: os.truncate(path, 0),
    "longer": lambda path: path.open("ab").write(b"1\n"),
    "overwritten": lambda path: path.open("r+b").write(b"AGE"),
}


CHANGED = list(product(CHANGES, ("csv", "quoted.csv", "odd.csv", "parquet")))
"""Changes of an opened file, of each kind."""


@pytest.mark.parametrize(("change", "kind"), mostly_extended(CHANGED, *CHANGED[::3], unpack=True))
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_file_that_changes_while_it_is_read_is_refused(
    change: str, kind: str, tmp_path: Path
) -> None:
    """After any change of an opened file, no answer is sealed."""
    path = names_of(kind, tmp_path)
    if kind == "odd.csv":
        with path.open("ab") as file:
            file.write(b'"never closed\n')
    os.utime(path, ns=(1, 1))
    with open_dataset((str(path),)) as dataset:
        CHANGES[change](path)
        with pytest.raises(DataError) as refusal:
            aggregate(bounded([TOTAL], RowUnit()), dataset)
    assert [problem.code for problem in refusal.value.problems] == ["data-changed"]


CUTS = list(product(("csv", "quoted.csv", "parquet"), (0, 0.01, 0.05)))
"""Kinds of files, and seconds after which they are cut off."""


@pytest.mark.parametrize(("kind", "delay"), mostly_extended(CUTS, CUTS[0], CUTS[-1], unpack=True))
def test_a_truncated_file_ends_no_process(kind: str, delay: float, tmp_path: Path) -> None:
    """A file that is truncated in place gives status 4 and no charge, never a signal."""
    path = names_of(kind, tmp_path)
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "dpcli: 1\ndataset: d\nprivacy: {unit: row, neighbors: add-remove, budget: {epsilon: 9}}\n"
        "columns: {age: {type: integer, bounds: [0, 99]}}\n"
        "statistics: [{name: n, statistic: mean, column: age, epsilon: 1}]\n",
        encoding="utf-8",
    )
    script = (
        "import os, sys, threading, time\n"
        "from dpcli.engine.files import source\n"
        "opened = source.open_dataset\n"
        "def cut():\n"
        f"    time.sleep({delay}); os.truncate({str(path)!r}, 1000)\n"
        "def then(*words):\n"
        "    dataset = opened(*words)\n"
        "    threading.Thread(target=cut).start()\n"
        "    return dataset\n"
        "import dpcli.releasing.steps\n"
        "dpcli.releasing.steps.open_dataset = then\n"
        "from dpcli.cli.main import main\n"
        f"sys.argv = ['dpcli', 'release', {str(spec)!r}, {str(path)!r}]\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "POLARS_FORCE_ASYNC": "1"},
    )
    assert done.returncode in (0, 4), done.stderr
    if done.returncode == 4:
        assert "error[data-changed]" in done.stderr
        assert done.stdout == ""
        with sqlite3.connect(tmp_path / "dpcli-ledger.sqlite") as ledger:
            assert not ledger.execute("SELECT * FROM entries WHERE kind = 'release'").fetchall()


@pytest.mark.parametrize("kind", ["csv", "quoted.csv", "parquet"])
def test_no_data_file_is_mapped_into_memory(kind: str, tmp_path: Path) -> None:
    """Readers read bytes by position, so that a missing page cannot end the process."""
    path = names_of(kind, tmp_path)
    seen: list[bool] = []
    ended = threading.Event()

    def look() -> None:
        while not ended.is_set():
            seen.append(str(path) in Path("/proc/self/maps").read_text(encoding="utf-8"))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        # On a busy machine the watcher looks rarely.
        while len(seen) <= 20:
            total(path)
    finally:
        ended.set()
        watcher.join()
    assert not any(seen)


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decompression stops at the limit."""
    monkeypatch.setattr("dpcli.engine.files.decompression.LARGEST_UNPACKED", 1 << 22)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(TEXT + b"0" * (1 << 23)))
    assert code(tmp_path / "a.csv.gz") == "data-too-large"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (PACKED, "not-csv"),
        (TEXT.decode().encode("utf-16"), "not-csv"),
        (b"PK\x03\x04rest", "not-csv"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rest", "not-csv"),
        (b"%PDF-1.7\n", "not-csv"),
        (b"\n<!DOCTYPE html>\n", "not-csv"),
        (b'\xef\xbb\xbf[ {\n    "age": 5}]', "not-csv"),
        (b'{"age": 5}\n', "not-csv"),
        (b"", "no-header"),
        (b"\n\n", "no-header"),
        (b"\xef\xbb\xbf", "no-header"),
    ],
)
def test_what_is_no_csv_is_refused(content: bytes, expected: str, tmp_path: Path) -> None:
    """Messages name other formats under a CSV name, and files without a header."""
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
        sealed = aggregate(bounded([TOTAL], RowUnit()), dataset)
    assert cells_of(opened(sealed)[0])[0] == 90


@pytest.mark.parametrize("names", [["age", "age"], ["Age"], [" age"], []])
def test_headers_must_name_each_column_once(names: list[str]) -> None:
    """Absent, repeated or differently spelled names are refused."""
    with pytest.raises(DataError):
        require_columns(headed(names), [AGE])


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Âge", "'Âge'"),
        ("âge ", "'âge '"),
        ("â ge", "'â ge'"),
        ("âge\u00a0", r'"\u00e2ge\u00a0"'),
        ("\ufeffâ\u200bge", r'"\ufeff\u00e2\u200bge"'),
        ("â\ufe0fge", r'"\u00e2\ufe0fge"'),
        ("a\u0302ge", r'"a\u0302ge"'),
        ("â\uff47e", "'â\uff47e'"),
    ],
)
def test_a_name_that_differs_in_form_alone_is_shown(name: str, shown: str) -> None:
    """In quotes, with escapes for what cannot be seen; other names are not shown."""
    column = IntegerColumn("âge", Fraction(1), (0, 1))
    with pytest.raises(DataError) as refusal:
        require_columns(headed(["SECRET", name]), [column, IntegerColumn("x", Fraction(1), (0, 1))])
    near, absent = refusal.value.problems
    assert (near.code, absent.code) == ("missing-column", "missing-column")
    assert f"declare `âge: {{from: {shown}, ...}}`" in near.hint
    assert "SECRET" not in str(refusal.value) + near.hint + absent.hint


def test_a_name_in_another_encoding_is_missed_for_that(tmp_path: Path) -> None:
    """The hint is to declare the encoding, and with it the file is read; other names are not it."""
    data, columns = tmp_path / "a.csv", [IntegerColumn(name, bounds=(0, 1)) for name in ("ä", "b")]
    data.write_bytes("ä;b\n1;1\n".encode("windows-1252"))
    dialect = replace(STANDARD_DIALECT, delimiter=";")
    with open_dataset([str(data)], dialect) as dataset, pytest.raises(DataError) as refusal:
        require_columns(dataset, columns)
    (absent,) = refusal.value.problems
    assert "`csv: {encoding: windows-1252}`" in absent.hint
    with open_dataset([str(data)], replace(dialect, encoding="windows-1252")) as dataset:
        require_columns(dataset, columns)
    with open_dataset([str(data)], dialect) as dataset, pytest.raises(DataError) as refusal:
        require_columns(dataset, [IntegerColumn("c", bounds=(0, 1)), columns[1]])
    assert "names must match" in refusal.value.problems[0].hint


@pytest.mark.parametrize("encoding", ["utf-16le", "utf-16be", "utf-32"])
def test_names_with_nul_bytes_are_of_a_wide_encoding(encoding: str, tmp_path: Path) -> None:
    """The hint is the encoding, not a name with escapes, where a file has no byte-order mark."""
    data, codec = tmp_path / "a.csv", {"utf-32": "utf-32-le"}.get(encoding, encoding)
    data.write_bytes("age,income\n1,2\n".encode(codec))
    with open_dataset((str(data),)) as dataset, pytest.raises(DataError) as refusal:
        require_columns(dataset, [IntegerColumn("age", Fraction(1), (0, 1))])
    assert f"csv: {{encoding: {encoding.removesuffix('le')}" in refusal.value.problems[0].hint


def test_a_decomposed_key_is_shown_the_composed_name() -> None:
    """Either side may be decomposed."""
    with pytest.raises(DataError) as refusal:
        require_columns(headed(["âge"]), [IntegerColumn("a\u0302ge", Fraction(1), (0, 1))])
    assert r'{from: "\u00e2ge", ...}' in refusal.value.problems[0].hint


@pytest.mark.parametrize("names", [["Age", "age "], ["ages"], ["a_ge"], ["а\u0433е"], ["AGE" * 30]])
def test_only_one_near_name_is_shown(names: list[str]) -> None:
    """Of several names, or one that differs in a letter, nothing is shown."""
    with pytest.raises(DataError) as refusal:
        require_columns(headed(names), [AGE])
    (problem,) = refusal.value.problems
    assert "from:" not in problem.hint and names[0] not in problem.hint


def test_twins_in_other_characters_are_refused() -> None:
    """A header with composed and decomposed forms of one word is ambiguous."""
    composed = unicodedata.normalize("NFC", "âge")
    column = IntegerColumn(composed, Fraction(1), (0, 1))
    with refused("ambiguous-column"):
        require_columns(headed([composed, unicodedata.normalize("NFD", "âge")]), [column])


def test_other_columns_may_be_nameless_or_repeated() -> None:
    """Only declared columns need a unique name."""
    require_columns(headed(["", "", "x", "x", "age"]), [AGE])
