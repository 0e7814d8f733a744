"""The SQLite file of a ledger: its tables, the connection to it, and its errors.

The tables are append-only. A connection waits while other processes write, reports it,
and can be interrupted.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpcli.composition.base import Missing
from dpcli.errors import LedgerError
from dpcli.ledger.balance import UnknownMechanism
from dpcli.ledger.place import unusable

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

STATEMENTS = frozenset(TABLES + TRIGGERS)
"""Everything that a ledger is made of; anything more or less was done by another program."""

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


class RetryingConnection(sqlite3.Connection):
    """Tries a statement again while other processes keep the file locked."""

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Run one statement; sqlite3.OperationalError after `LONGEST_WAIT` seconds."""
        start, silent = time.monotonic(), True
        while True:
            try:
                return super().execute(sql, parameters)
            except sqlite3.OperationalError as error:
                waited = time.monotonic() - start
                busy = (getattr(error, "sqlite_errorname", "") or "").startswith("SQLITE_BUSY")
                if not busy or waited > LONGEST_WAIT:
                    raise
                if silent and waited > WAIT_BEFORE_NOTICE:
                    silent = False
                    notice()


def connect(path: Path) -> RetryingConnection:
    """A connection to a file that exists, in autocommit mode, that syncs everything."""
    uri = f"{path.resolve().as_uri()}?mode=rw"
    connection = sqlite3.connect(
        uri, uri=True, timeout=WAIT_OF_SQLITE, isolation_level=None, factory=RetryingConnection
    )
    try:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def is_empty(connection: sqlite3.Connection) -> bool:
    """Whether the file holds nothing yet."""
    return not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def make_tables(connection: sqlite3.Connection, facts: Mapping[str, str]) -> None:
    """Make the tables of a ledger with what it knows of itself, in a transaction."""
    for statement in TABLES:
        connection.execute(statement)
    for fact in facts.items():
        connection.execute("INSERT INTO meta VALUES (?, ?)", fact)
    for statement in TRIGGERS:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def tables_fault(connection: sqlite3.Connection) -> str:
    """What is wrong with the tables and triggers; empty if nothing is.

    One more trigger could undo what is written, and an index of another program could hide
    entries from queries that use it.
    """
    query = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"
    found = [row[0] for row in connection.execute(query)]
    if len(found) != len(STATEMENTS) or set(found) != STATEMENTS:
        return "its tables or triggers were changed"
    return ""


@contextmanager
def translated_errors(path: Path) -> Iterator[None]:
    """Errors of SQLite, of the file system and of unknown mechanisms as LedgerErrors."""
    try:
        yield
    except UnknownMechanism as unknown:
        name = str(unknown)
        raise LedgerError.about("ledger-unusable.mechanism", path=path, name=name) from None
    except Missing as package:
        raise LedgerError.about("package-missing.ledger", path=path, why=str(package)) from None
    except sqlite3.Error as error:
        raise LedgerError.about("ledger-unusable.sqlite", path=path, why=reason(error)) from None
    except OSError as error:
        raise unusable(path, error) from None


def reason(error: sqlite3.Error) -> str:
    """An error of SQLite in plain words."""
    name = getattr(error, "sqlite_errorname", "") or ""
    known = (text for code, text in REASONS.items() if name.startswith(code))
    return next(known, "SQLite refused it")
