"""Outputs that could not be what their names say, or could not be written, cost nothing."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from itertools import product
from pathlib import Path

import pytest

from dpcli import load_spec, plan, randomize
from dpcli.problems.errors import UsageError
from tests.support.cli import LOCAL, PEOPLE, ROOT, Command
from tests.support.fork_server import fast_dpcli

LEDGERS = "*.sqlite*"


def is_unspent(folder: Path) -> bool:
    """Whether no ledger was made."""
    return not [*folder.glob(LEDGERS)]


@pytest.mark.parametrize(
    ("endings", "hint"),
    [
        (("xlsx", "XLSX", "ods", "tsv", "jsonl", "csv.gz", "parquet.gz", "csv.zip"), "`.parquet`"),
        (("json", "html", "yaml"), "name a report by `--report`"),
    ],
)
def test_tables_in_other_formats_are_refused_before_anything_is_charged(
    endings: tuple[str, ...], hint: str, dpcli: Command, spec: Path, data: Path, tmp_path: Path
) -> None:
    """A name that ends as a format that is not written names no table."""
    for ending, layout in product(endings, ("long", "wide")):
        out = tmp_path / f"table.{ending}"
        done = dpcli("release", spec, data, "-o", out, "--layout", layout)

        assert done.status == 2
        assert "[table-format]" in done.err and hint in done.err
        assert not out.exists()
    assert is_unspent(tmp_path)


@pytest.mark.parametrize("name", ["table", "table.csv", "table.txt", "table.v2", "a.json.csv"])
def test_other_names_are_those_of_csv_files(
    name: str, dpcli: Command, spec: Path, data: Path, tmp_path: Path
) -> None:
    """A name without an ending, or with one that is no format, is that of a CSV file."""
    assert dpcli("release", spec, data, "-q", "-o", tmp_path / name).status == 0
    assert (tmp_path / name).read_text(encoding="utf-8").startswith("statistic,")


def test_responses_and_estimates_are_csv_files(dpcli: Command, tmp_path: Path) -> None:
    """No Parquet is written in the local model, and no such name is accepted."""
    book = ("--ledger", tmp_path / "book.sqlite")
    assert dpcli("ledger", "init", book[1]).status == 0
    before = book[1].read_bytes()
    out = tmp_path / "responses.parquet"
    done = dpcli("local", "randomize", LOCAL, PEOPLE, "-o", out, *book)
    assert done.status == 2 and "end its name in `.csv`\n" in done.err
    assert book[1].read_bytes() == before

    with pytest.raises(UsageError, match=r"ends in `\.parquet`"):
        randomize(plan(load_spec(LOCAL)), PEOPLE, out, ledger=book[1], release_id="r")
    assert dpcli("local", "estimate", LOCAL, PEOPLE, "-o", tmp_path / "e.json").status == 2
    assert not out.exists() and book[1].read_bytes() == before


def test_dummy_files_have_names_of_text(dpcli: Command, spec: Path, tmp_path: Path) -> None:
    """A dummy file may have tabs between cells, and is no workbook and not packed."""
    words = ("simulate", spec, "--rows", "9", "--runs", "2", "--dummy")
    assert dpcli(*words, tmp_path / "d.xlsx").status == 2
    assert dpcli(*words, tmp_path / "d.csv.gz").status == 2
    assert dpcli(*words, tmp_path / "d.tsv").status == 0
    assert "\t" in (tmp_path / "d.tsv").read_text(encoding="utf-8")


@pytest.mark.parametrize("option", ["-o", "--report", "--metadata"])
def test_a_file_that_cannot_be_replaced_is_refused_before_anything_is_charged(
    option: str, dpcli: Command, spec: Path, data: Path, tmp_path: Path
) -> None:
    """The memory of a process is a regular file, but no other file can be put in its place."""
    if not Path("/proc/self/mem").exists():
        pytest.skip("no such files here")
    others = {"-o": (), "--report": ("--format", "json"), "--metadata": ("-o", tmp_path / "o.csv")}
    for force in ((), ("--force",)):
        words = (option, "/proc/self/mem", *others[option], *force)
        done = dpcli("release", spec, data, *words)
        assert done.status == 2 and "takes no new file" in done.err
    assert is_unspent(tmp_path)


def test_a_socket_is_refused_before_anything_is_charged(
    dpcli: Command, spec: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A socket cannot be opened as a file."""
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("socket")
        for dry in ((), ("--dry-run",)):
            done = dpcli("release", spec, data, "-o", "socket", *dry)
            assert done.status == 2 and "[output-device]" in done.err
    assert is_unspent(tmp_path)


def test_a_folder_that_takes_no_file_is_refused_before_anything_is_charged(
    dpcli: Command, spec: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder without the permission to write costs nothing, and the trial leaves no file."""
    closed = tmp_path / "closed"
    closed.mkdir()
    make = os.open

    def refused(path: os.PathLike[str] | str, *words: int, **named: int) -> int:
        # No permission stops the root of a machine.
        if Path(path).parent == closed:
            raise PermissionError(13, "Permission denied")
        return make(path, *words, **named)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refused)
        done = dpcli("release", spec, data, "-o", closed / "o.csv")
    assert done.status == 2 and "takes no new file" in done.err
    assert is_unspent(tmp_path)

    assert dpcli("release", spec, data, "-q", "-o", closed / "o.csv", "--dry-run").status == 0
    assert not [*closed.iterdir()]


@pytest.mark.extended
def test_pipes_are_written_to(dpcli: Command, spec: Path, data: Path, tmp_path: Path) -> None:
    """A named pipe, descriptors, standard output and process substitution take a table."""
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text(encoding="utf-8")))
    reader.start()
    # Only the standard streams are passed on by the fast program.
    programs = dict.fromkeys("ab", fast_dpcli()) | dict.fromkeys("cd", f"{sys.executable} -m dpcli")
    for name in "abcd":
        assert dpcli("ledger", "init", tmp_path / f"{name}.sqlite").status == 0
    command = "; ".join(
        f"{programs[name]} release {spec} {data} -q --ledger {name}.sqlite {rest}"
        for name, rest in {
            "a": f"-o {pipe}",
            "b": "-o /dev/stdout | cat > stdout.csv",
            "c": "-o /dev/fd/7 7>&1 | cat > fd.csv",
            "d": "-o >(cat > substituted.csv; touch ready)",
        }.items()
    )
    waiting = "; until test -e ready; do sleep 0.1; done"
    done = subprocess.run(
        ["bash", "-c", command + waiting],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip
    reader.join(60)

    files = ("stdout.csv", "fd.csv", "substituted.csv")
    tables = [*read, *((tmp_path / name).read_text(encoding="utf-8") for name in files)]
    assert "error" not in done.stderr
    assert len(tables) == 4
    for table in tables:
        assert table.startswith("statistic,") and table.endswith("\n")
