"""The SQLite file of a ledger: its tables, the connection to it, and its errors.

The tables are append-only. A connection waits while other processes write; it reports a long wait
and can be interrupted.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpcli.errors import LedgerError
from dpcli.ledger import waiting

APPLICATION = 0x64706C67
"""The SQLite application id that marks a ledger of this tool."""

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
"""Created after the metadata are in `meta`, which no statement can change from then on."""

STATEMENTS = sorted(TABLES + TRIGGERS)
"""The complete schema of a ledger; any difference was made by another program."""

SETTINGS = (
    "journal_mode = DELETE",
    "synchronous = EXTRA",
    "foreign_keys = ON",
    "trusted_schema = OFF",
    "cell_size_check = ON",
)
"""A rollback journal, every write synced, and no trust in the schema of the file."""

LONGEST_WAIT = 300.0
"""Seconds to wait for other processes that write; each needs a fraction of a second."""

WAIT_OF_SQLITE = 0.1
"""Seconds that SQLite waits by itself; no signal is handled during that time."""

WAIT_BEFORE_NOTICE = 2.0

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
    """A connection to a file that retries while other processes keep the file locked.

    Outside of `writing`, each statement is committed by itself. Raises LedgerError, also from its
    methods, if SQLite refuses the file or a statement.
    """

    __slots__ = ("connection", "path")  # so that nothing hides a method

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            # SQLite would create a file that others may read.
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
        """The rows of one statement.

        Raises LedgerError with `code` if SQLite refuses the statement, or if other processes lock
        the file for more than `LONGEST_WAIT` seconds.
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
                    waiting.notice()

    def _refused(self, error: sqlite3.Error, code: str = "ledger-unusable.sqlite") -> LedgerError:
        name = getattr(error, "sqlite_errorname", "") or ""
        reasons = (reason for start, reason in REASONS.items() if name.startswith(start))
        # The module of Python itself refuses these, without a name.
        misused = isinstance(error, sqlite3.ProgrammingError)
        other = "it is closed, or another thread opened it" if misused else "SQLite refused it"
        return LedgerError.about(code, path=self.path, why=next(reasons, other))

    def value(self, sql: str) -> Any:
        """The first value of the first row."""
        return self.query(sql)[0][0]

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction in which no other process writes; after an error, nothing is written."""
        self.query("BEGIN IMMEDIATE")
        try:
            yield
            self._commit()
        except BaseException:
            if self.connection.in_transaction:
                self.query("ROLLBACK")
            raise

    def _commit(self) -> None:
        """Commit: a charge exists from here on.

        If the disk fails during the commit, it is unknown whether the charge exists.
        """
        self.query("COMMIT", code="ledger-unusable.commit")

    def create_tables(self, metadata: Mapping[str, str]) -> None:
        """Create the tables of a ledger with its metadata; call it in a transaction."""
        for statement in TABLES:
            self.query(statement)
        for item in metadata.items():
            self.query("INSERT INTO meta VALUES (?, ?)", *item)
        for statement in TRIGGERS:
            self.query(statement)
        self.query(f"PRAGMA application_id = {APPLICATION}")
        self.query(f"PRAGMA user_version = {VERSION}")

    def is_ledger(self) -> bool:
        """Whether the file is marked as a ledger; LedgerError if a later version wrote it."""
        version = self.value("PRAGMA user_version")
        is_ours: bool = self.value("PRAGMA application_id") == APPLICATION
        if is_ours and version > VERSION:
            raise LedgerError.about("ledger-unusable.newer", path=self.path)
        return is_ours and version == VERSION

    def schema_fault(self) -> str:
        """What is wrong with the tables and triggers; empty if nothing is.

        An additional trigger could undo a write. An index of another program could hide entries
        from queries that use it.
        """
        schema = self.query("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
        is_same = sorted(schema) == [(statement,) for statement in STATEMENTS]
        return "" if is_same else "its tables or triggers were changed"

    def close(self) -> None:
        """Close the file."""
        self.connection.close()
