"""What differs between systems, where macOS and Windows are simulated."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import dpcli as package
from dpcli import DpcliError, Ledger
from dpcli.ledger.ledger import create_ledger
from dpcli.ledger.options import DEFAULT
from dpcli.problems import system
from dpcli.releasing.publishing import require_writable
from tests.support.cli import LOCAL, PEOPLE, ROOT, Command, data, dpcli, spec
from tests.support.systems import missing

__all__ = ["data", "dpcli", "spec"]

FULL_SYNC = 51

FIND = """#!/bin/sh
cat >&2
case "$*" in
*/share*) ;;
*" -prune -fstype local") echo "$1" ;;
esac
"""
"""Answers as on macOS, if `share` is a network drive; and reads standard input, as data are."""


@pytest.fixture
def synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what is synced to the disk, on macOS: without names that only Linux has."""
    found: list[str] = []

    def control(descriptor: int, command: int) -> None:
        assert command == FULL_SYNC
        found.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)

    def only_to_the_cache(_: int) -> None:
        raise AssertionError("the cache of the disk still holds it")

    for name in missing("os", "darwin"):
        monkeypatch.delattr(os, name, raising=False)
    # Python itself chose what it uses when it was imported.
    monkeypatch.setattr(tempfile, "_O_TMPFILE_WORKS", False)
    monkeypatch.setattr(subprocess, "_USE_POSIX_SPAWN", False)
    monkeypatch.setattr(system, "PLATFORM", "darwin")
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", FULL_SYNC, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", control)
    monkeypatch.setattr(os, "fsync", only_to_the_cache)
    find = tmp_path / "find"
    find.write_text(FIND, "utf-8")
    find.chmod(0o700)
    monkeypatch.setattr("dpcli.ledger.options.FIND", str(find))
    monkeypatch.setattr("dpcli.ledger.options.MOUNTS", tmp_path / "no-mounts")
    return found


def test_a_release_on_macos_is_synced_past_the_cache_of_the_disk(
    dpcli: Command, spec: Path, data: Path, synced: list[str]
) -> None:
    """Anchor, folder of the ledger and outputs are, and the release is as on Linux."""
    done = dpcli("release", spec, data, "-q", "-o", spec.with_name("t.csv"))

    assert (done.status, dpcli("ledger", "verify", "--ledger", spec.with_name(DEFAULT)).status) == (
        0,
        0,
    )
    assert {"dpcli-ledger.sqlite.anchor", spec.parent.name} < {*synced}
    assert any(name.startswith(".t.csv.") for name in synced)


def test_responses_on_macos_are_synced_and_published(
    dpcli: Command, tmp_path: Path, synced: list[str]
) -> None:
    """Their file has a name before they are charged, as no file there is without one."""
    book = tmp_path / "book.sqlite"
    dpcli("ledger", "init", book)
    words = ("local", "randomize", LOCAL, PEOPLE, "-q", "--ledger", book)
    done = dpcli(*words, "-o", tmp_path / "o.csv", "--release-id", "a")

    assert done.status == 0, done.err
    assert any(name.startswith(".dpcli-") for name in synced)
    assert (tmp_path / "o.csv").stat().st_size


def test_the_folder_of_a_ledger_is_synced_after_a_charge_on_macos(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite removes its journal there without that, and a journal takes a charge back."""
    folders: list[Path] = []
    with closing(create_ledger(tmp_path / "book.sqlite")) as store:
        monkeypatch.setattr(system, "sync_folder", folders.append)
        monkeypatch.setattr(system, "PLATFORM", "darwin")
        with store.writing():
            assert folders == []
        assert folders == [tmp_path]
        assert store.value("PRAGMA fullfsync") == 1


def test_a_disk_that_knows_no_full_sync_is_synced(
    tmp_path: Path, synced: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some file systems of macOS refuse it."""
    plain: list[int] = []

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOTSUP, "")

    monkeypatch.setattr(fcntl, "fcntl", refuse)
    monkeypatch.setattr(os, "fsync", plain.append)
    system.sync_folder(tmp_path)

    assert len(plain) == 1 and synced == []


def test_a_network_drive_of_macos_is_refused_unless_it_is_allowed(
    dpcli: Command, spec: Path, data: Path, tmp_path: Path, synced: list[str]
) -> None:
    """The system says which files are local; it is not asked about allowed ledgers."""
    share = tmp_path / "share"
    share.mkdir()
    book = share / "book.sqlite"
    refused = dpcli("ledger", "init", book)
    created = dpcli("ledger", "init", book, "--network")
    allowed = dpcli("release", spec, data, "-q", "--ledger", book)

    assert (refused.status, created.status, allowed.status) == (6, 0, 0)
    assert "error[ledger-on-network]" in refused.err and "(not local)" in refused.err


def test_a_drive_of_which_nothing_is_known_is_allowed(
    dpcli: Command, tmp_path: Path, synced: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Documented: without the program or the list that knows it, no path is refused."""
    monkeypatch.setattr("dpcli.ledger.options.FIND", str(tmp_path / "absent"))

    assert dpcli("ledger", "init", tmp_path / "book.sqlite").status == 0


@pytest.mark.parametrize("names", [("A.csv", "a.csv"), ("\u00e9.csv", "e\u0301.csv")])
def test_names_that_macos_takes_for_one_are_one_output(
    names: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They differ by case or accents alone. On Linux these are two files."""
    targets = [tmp_path / name for name in names]
    require_writable(targets, [], force=False)
    monkeypatch.setattr(system, "PLATFORM", "darwin")

    with pytest.raises(DpcliError) as refused:
        require_writable(targets, [], force=False)
    assert [problem.code for problem in refused.value.problems] == ["output-twice"]


def test_an_input_is_no_output_under_any_name(tmp_path: Path) -> None:
    """A file may have several names that no path shows, as in a folder that is mounted twice."""
    data, other = tmp_path / "data.csv", tmp_path / "other.csv"
    data.write_text("a\n", "utf-8")
    other.hardlink_to(data)

    with pytest.raises(DpcliError) as refused:
        require_writable([other], [data], force=True)
    assert [problem.code for problem in refused.value.problems] == ["output-is-input"]


@pytest.mark.parametrize(
    "words", ["", "--help", "plan spec.yaml", "release spec.yaml data.csv -q", "ledger show"]
)
def test_a_command_is_refused_on_windows(
    words: str, dpcli: Command, spec: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence says so, and what to use; nothing is written."""
    before = sorted(spec.parent.iterdir())
    monkeypatch.setattr(system, "PLATFORM", "win32")
    done = dpcli(*words.split())

    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error[unsupported-system]: dpcli does not run on Windows")
    assert "WSL" in done.err
    assert sorted(spec.parent.iterdir()) == before


MINIMAL = ROOT / "specs" / "minimal.yaml"
PLAN, LOCAL_PLAN = package.plan(MINIMAL), package.plan(LOCAL)

CALLS: dict[str, Callable[[Path], object]] = {
    "load_spec": lambda _: package.load_spec(MINIMAL),
    "plan": lambda _: package.plan(MINIMAL),
    "check": lambda _: package.check(MINIMAL),
    "simulate": lambda _: package.simulate(MINIMAL, 10),
    "estimate": lambda _: package.estimate(LOCAL, PEOPLE),
    "release": lambda path: package.release(PLAN, PEOPLE, ledger=path, release_id="a"),
    "randomize": lambda path: package.randomize(LOCAL_PLAN, PEOPLE, path, release_id="a"),
    "Ledger": Ledger.create,
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_refused_on_windows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program gets the same error, from each public name, and no file is made."""
    monkeypatch.setattr(system, "PLATFORM", "win32")

    with pytest.raises(DpcliError) as refused:
        CALLS[name](tmp_path / "new")
    assert [problem.code for problem in refused.value.problems] == ["unsupported-system"]
    assert list(tmp_path.iterdir()) == []
