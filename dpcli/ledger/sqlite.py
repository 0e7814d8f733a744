"""The SQLite file of a ledger: its tables, the connection to it, and its errors.

The tables are append-only. A connection waits while other processes write, reports it,
and can be interrupted.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpcli.errors import LedgerError

APPLICATION = 0x64706C67
"""Marks the file as a ledger of this tool."""

VERSION = 1

TABLES = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    """CREATE TABLE entries (
    number INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    dataset TEXT NOT NULL,
    release_id TEXT UNIQUE,
    period TEXT,
    parts TEXT NOT NULL,
    payload TEXT NOT NULL,
    previous TEXT NOT NULL,
    head TEXT NOT NULL,
    seal TEXT NOT NULL
) STRICT""",
    """CREATE TABLE outputs (
    number INTEGER NOT NULL REFERENCES entries (number),
    name TEXT NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (number, name)
) STRICT""",
)

TRIGGERS = (
    """CREATE TRIGGER entries_in_order BEFORE INSERT ON entries
WHEN NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM entries)
BEGIN SELECT RAISE(ABORT, 'entries are numbered in order'); END""",
    *(
        f"CREATE TRIGGER {table}_no_{event.lower()} BEFORE {event} ON {table} "
        f"BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"
        for table, events in (
            ("meta", ("INSERT", "UPDATE", "DELETE")),
            ("entries", ("UPDATE", "DELETE")),
            ("outputs", ("UPDATE", "DELETE")),
        )
        for event in events
    ),
)
"""Made after the facts about the ledger are in `meta`, which they close."""

STATEMENTS = sorted(TABLES + TRIGGERS)
"""Everything that a ledger is made of; anything more or less was done by another program."""

SETTINGS = (
    "journal_mode = DELETE",
    "synchronous = EXTRA",
    "foreign_keys = ON",
    "trusted_schema = OFF",
    "cell_size_check = ON",
)
"""A rollback journal, everything synced, and no trust in what the file says of itself."""

LONGEST_WAIT = 300.0
"""Seconds to wait for other processes that write; each needs a fraction of one."""

WAIT_OF_SQLITE = 0.1
"""Seconds that SQLite waits by itself: for that long no signal is handled."""

WAIT_BEFORE_NOTICE = 2.0

notice: Callable[[], None] = lambda: None  # noqa: E731 - replaced by the command line
"""Called once when other processes keep the ledger locked for long."""

REASONS = {
    "SQLITE_BUSY": "other processes kept it locked for too long",
    "SQLITE_LOCKED": "other processes kept it locked for too long",
    "SQLITE_READONLY": "it may not be written",
    "SQLITE_CANTOPEN": "it cannot be opened",
    "SQLITE_FULL": "the disk is full",
    "SQLITE_IOERR": "the disk failed",
    "SQLITE_PERM": "it may not be written",
    "SQLITE_NOTADB": "it is not an SQLite database",
    "SQLITE_CORRUPT": "the file is damaged",
    "SQLITE_CONSTRAINT": "an entry does not fit the chain",
    "SQLITE_ERROR": "it does not have the tables of a ledger",
}


class Database:
    """A connection to a file that tries again while other processes keep the file locked.

    Statements are committed one by one, outside of `writing`, and everything is synced.
    """

    __slots__ = ("connection", "path")  # so that nothing hides a method

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            # Made here rather than by SQLite, so that only its owner may read it.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        uri = f"{path.resolve().as_uri()}?mode=rw"
        try:
            self.connection = sqlite3.connect(
                uri, uri=True, timeout=WAIT_OF_SQLITE, isolation_level=None
            )
        except sqlite3.Error as error:
            raise self._refused(error) from None
        try:
            for setting in SETTINGS:
                self.query(f"PRAGMA {setting}")
        except BaseException:
            self.close()
            raise

    def query(self, sql: str, *values: object, code: str = "ledger-unusable.sqlite") -> list[Any]:
        """The rows of one statement; LedgerError if SQLite refuses it for `LONGEST_WAIT` seconds.

        `code` is that of the refusal.
        """
        start, silent = time.monotonic(), True
        while True:
            try:
                return self.connection.execute(sql, values).fetchall()
            except sqlite3.Error as error:
                waited = time.monotonic() - start
                busy = (getattr(error, "sqlite_errorname", "") or "").startswith("SQLITE_BUSY")
                if not busy or waited > LONGEST_WAIT:
                    raise self._refused(error, code) from None
                if silent and waited > WAIT_BEFORE_NOTICE:
                    silent = False
                    notice()

    def _refused(self, error: sqlite3.Error, code: str = "ledger-unusable.sqlite") -> LedgerError:
        name = getattr(error, "sqlite_errorname", "") or ""
        known = (text for start, text in REASONS.items() if name.startswith(start))
        return LedgerError.about(code, path=self.path, why=next(known, "SQLite refused it"))

    def value(self, sql: str) -> Any:
        """The first value of the first row."""
        return self.query(sql)[0][0]

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction during which no other process writes; all of it, or nothing."""
        self.query("BEGIN IMMEDIATE")
        try:
            yield
            self._commit()
        except BaseException:
            if self.connection.in_transaction:
                self.query("ROLLBACK")
            raise

    def _commit(self) -> None:
        """The instant at which a charge exists.

        If the disk fails in it, it cannot be known here whether the charge exists.
        """
        self.query("COMMIT", code="ledger-unusable.commit")

    def make_tables(self, facts: Mapping[str, str]) -> None:
        """Make the tables of a ledger with what it knows of itself, in a transaction."""
        for statement in TABLES:
            self.query(statement)
        for fact in facts.items():
            self.query("INSERT INTO meta VALUES (?, ?)", *fact)
        for statement in TRIGGERS:
            self.query(statement)
        self.query(f"PRAGMA application_id = {APPLICATION}")
        self.query(f"PRAGMA user_version = {VERSION}")

    def is_ledger(self) -> bool:
        """Whether the file says that it is a ledger; LedgerError if of a later version."""
        version = self.value("PRAGMA user_version")
        is_ours: bool = self.value("PRAGMA application_id") == APPLICATION
        if is_ours and version > VERSION:
            raise LedgerError.about("ledger-unusable.newer", path=self.path)
        return is_ours and version == VERSION

    def tables_fault(self) -> str:
        """What is wrong with the tables and triggers; empty if nothing is.

        One more trigger could undo what is written, and an index of another program could hide
        entries from queries that use it.
        """
        found = self.query("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
        same = sorted(found) == [(statement,) for statement in STATEMENTS]
        return "" if same else "its tables or triggers were changed"

    def close(self) -> None:
        """Close the file."""
        self.connection.close()
