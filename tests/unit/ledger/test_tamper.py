"""Every change of a ledger is detected."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dpcli.ledger.ledger import OpenLedger, create_ledger
from dpcli.problems.errors import LedgerError
from tests.support.ledgers import charge, render
from tests.support.rules import for_each
from tests.support.shared import made_once

ENTRIES = 8


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a ledger of eight entries and its anchor."""

    def make(folder: Path) -> None:
        with closing(create_ledger(folder / "ledger.sqlite")) as ledger:
            for number in range(ENTRIES - 1):
                ledger.commit(charge(f"r{number}", "1/100"), render)

    return made_once(tmp_path_factory, "ledger", make)


@pytest.fixture
def full(made: Path, tmp_path: Path) -> Path:
    """A copy of that ledger."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "ledger.sqlite"


def is_detected(path: Path) -> bool:
    """Whether opening or verifying the ledger finds a fault."""
    try:
        with closing(OpenLedger.open(path)) as book:
            return bool(book.all_faults())
    except LedgerError:
        return True


def tamper(path: Path, *statements: str) -> None:
    """Change a ledger like a person who removes the triggers and restores them."""
    connection = sqlite3.connect(path)
    triggers = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
    ).fetchall()
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        connection.execute(statement)
    for _, sql in triggers:
        connection.execute(sql)
    connection.commit()
    connection.close()


def changes() -> Iterator[str]:
    """Every change of a single field, deletion, duplication and swap of neighbors."""
    fields = {
        "kind": "'x'", "dataset": "'x'", "release_id": "'x'",
        "payload": "payload || ' '", "parts": "'[]   '", "period": "'2026-01-01'",
        "previous": "'x'", "head": "'x'", "seal": "'x'", "number": "number + 100",
    }  # fmt: skip
    for number in range(1, ENTRIES + 1):
        for field, value in fields.items():
            yield f"UPDATE entries SET {field} = {value} WHERE number = {number}"
        yield f"DELETE FROM entries WHERE number = {number}"
        if number > 1:
            yield f"UPDATE outputs SET content = x'00' WHERE number = {number}"
            yield f"UPDATE outputs SET name = 'x' WHERE number = {number}"
            yield f"UPDATE outputs SET number = number + 100 WHERE number = {number}"
            yield f"DELETE FROM outputs WHERE number = {number}"
            yield f"INSERT INTO outputs VALUES ({number}, 'more', x'00')"
    for number in range(2, ENTRIES):
        for field in ("payload", "head", "seal", "previous"):
            yield (
                f"UPDATE entries SET {field} = (SELECT {field} FROM entries other WHERE "
                f"other.number = {2 * number + 1} - entries.number) "
                f"WHERE number IN ({number}, {number + 1})"
            )
    yield (
        "INSERT INTO entries SELECT number + 1, kind, dataset, 'new', period, parts, payload, "
        "seal, head, seal "
        f"FROM entries WHERE number = {ENTRIES}"
    )
    for name in ("identity", "anchor"):
        yield f"UPDATE meta SET value = 'x' WHERE name = '{name}'"
        yield f"DELETE FROM meta WHERE name = '{name}'"


@for_each(changes())
def test_every_single_change_is_detected(statement: str, made: Path, full: Path) -> None:
    """One field, row or pair that differs puts the ledger in doubt."""
    shutil.copytree(made, full.parent, dirs_exist_ok=True)
    assert not is_detected(full)
    tamper(full, statement)
    assert is_detected(full)


@pytest.mark.parametrize("event", ["UPDATE entries SET kind = 'x'", "DELETE FROM entries"])
def test_entries_are_append_only(full: Path, event: str) -> None:
    """The database itself refuses to change an entry."""
    connection = sqlite3.connect(full)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(event)
    connection.close()


def test_a_dropped_trigger_is_detected(full: Path) -> None:
    """A ledger without its triggers does not verify."""
    connection = sqlite3.connect(full)
    connection.execute("DROP TRIGGER entries_no_delete")
    connection.commit()
    connection.close()
    assert is_detected(full)


def test_a_restored_backup_is_detected(full: Path, tmp_path: Path) -> None:
    """An older copy in place of the ledger is refused, as long as the anchor exists."""
    shutil.copy(full, tmp_path / "backup")
    book = OpenLedger.open(full)
    book.commit(charge("later", "1/100"), render)
    book.close()
    shutil.copy(tmp_path / "backup", full)
    with pytest.raises(LedgerError, match=f"entry {ENTRIES + 1} is missing"):
        OpenLedger.open(full)


def test_a_removed_ledger_is_not_created_again(full: Path) -> None:
    """Deletion of the file does not restore the budget, as long as the anchor exists."""
    full.unlink()
    with pytest.raises(LedgerError, match="its anchor"):
        create_ledger(full)


def test_a_removed_anchor_is_detected(full: Path) -> None:
    """Without its anchor, a ledger is in doubt."""
    full.with_name(full.name + ".anchor").unlink()
    assert is_detected(full)


def test_the_anchor_may_lag_and_lines_may_be_cut(full: Path) -> None:
    """A crash between commit and anchor, or within a line of the anchor, is not a fault."""
    anchor = full.with_name(full.name + ".anchor")
    text = anchor.read_text("ascii")
    for size in range(text.index("\n") + 1, len(text)):
        anchor.write_text(text[:size], "ascii")
        store = OpenLedger.open(full)
        store.close()
    book = OpenLedger.open(full)
    book.commit(charge("later", "1/100"), render)
    book.close()
    assert not is_detected(full)
    assert anchor.read_text("ascii").splitlines()[-1].startswith(f"{ENTRIES + 1} ")
