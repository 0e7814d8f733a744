"""The SQLite file of a ledger: made, opened with suspicion, and locked to write.

Rollback journal, `synchronous=EXTRA`: a committed entry survives power loss. Every
failure of SQLite becomes a LedgerError in plain words; a ledger that is in doubt is
never taken for an empty one.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import astuple
from pathlib import Path

from dpcli.errors import LedgerError
from dpcli.ledger.anchor import ForeignAnchor, append_anchor, begin_anchor, read_anchor
from dpcli.ledger.entry import Entry, genesis
from dpcli.ledger.schema import APPLICATION, STATEMENTS, VERSION
from dpcli.sampling.entropy import random_bytes

PATIENCE = 300.0
"""Seconds to wait for others who are writing; each needs a fraction of one."""

COLUMNS = "number, kind, dataset, release_id, period, parts, payload, previous, head, seal"


class Store:
    """An open ledger file."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.connection = connection

    @classmethod
    def open(cls, path: Path) -> Store:
        """The ledger at `path`, which must exist; LedgerError if it is in doubt."""
        if not path.is_file():
            raise _missing(path)
        store = cls(path, _connect(path, "rw"))
        with told(path), store.closed_on_failure():
            if not store.is_ledger():
                raise _doubt(path, "it is empty, or not a ledger of dpcli")
            store.check()
        return store

    @classmethod
    def create(cls, path: Path, anchor: Path | None = None) -> Store:
        """A ledger at `path`: the one that is there, or a new one with its anchor.

        LedgerError if the anchor remembers entries that the file does not have.
        """
        store = cls(path, _connect(path, "rwc"))
        with told(path), store.closed_on_failure():
            with store.writing():
                if not store.is_ledger():
                    store._initialise(anchor or path.with_name(path.name + ".anchor"))
            store.check()
        return store

    def _initialise(self, anchor: Path) -> None:
        """Make the tables; the anchor comes first, so that it is never missing."""
        if self.connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise _doubt(self.path, "it is a database of something else")
        try:
            if read_anchor(anchor, None):
                raise _doubt(
                    self.path, f"it is missing, but its anchor `{anchor.name}` remembers entries"
                )
            identity = random_bytes(16).hex()
            begin_anchor(anchor, identity)
        except ForeignAnchor:
            raise _doubt(self.path, f"`{anchor}` is not an anchor") from None
        for statement in STATEMENTS:
            self.connection.execute(statement)
        place = os.path.relpath(anchor, self.path.parent)
        self.connection.executemany(
            "INSERT INTO meta VALUES (?, ?)", [("identity", identity), ("anchor", place)]
        )
        self.connection.execute(f"PRAGMA application_id = {APPLICATION}")
        self.connection.execute(f"PRAGMA user_version = {VERSION}")

    def is_ledger(self) -> bool:
        """Whether the file says that it is a ledger; LedgerError if of a later version."""
        application = self.connection.execute("PRAGMA application_id").fetchone()[0]
        version = self.connection.execute("PRAGMA user_version").fetchone()[0]
        if application == APPLICATION and version > VERSION:
            raise _doubt(self.path, "it was written by a newer version of dpcli")
        return bool(application == APPLICATION and version == VERSION)

    def check(self) -> None:
        """Raise LedgerError unless file, chain and anchor agree."""
        verdict = self.connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            raise _doubt(self.path, "the file is damaged")
        try:
            fault = chain_fault(self.entries(), self.genesis()) or self._anchor_fault()
        except (ValueError, TypeError, AttributeError):
            fault = "an entry cannot be read"
        if fault:
            raise _doubt(self.path, fault)

    def _anchor_fault(self) -> str:
        """What the anchor remembers otherwise; empty if it agrees."""
        try:
            remembered = read_anchor(self.anchor, self.meta("identity"))
        except ForeignAnchor:
            return f"its anchor `{self.anchor.name}` belongs to another ledger"
        if not self.anchor.exists():
            return f"its anchor `{self.anchor.name}` is missing"
        seals = dict(self.connection.execute("SELECT number, seal FROM entries"))
        for number, seal in sorted(remembered.items()):
            if number not in seals:
                return f"entry {number} is missing: an older copy was put in its place"
            if seals[number] != seal:
                return f"entry {number} is not the one that its anchor remembers"
        return ""

    @property
    def anchor(self) -> Path:
        """Where the anchor is."""
        return self.path.parent / self.meta("anchor")

    def meta(self, name: str) -> str:
        """A fact about the ledger itself."""
        row = self.connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        if row is None:
            raise _doubt(self.path, "it does not know itself")
        return str(row[0])

    def genesis(self) -> str:
        """What the first entry builds on."""
        return genesis(self.meta("identity"), self.meta("anchor"))

    def entries(self, where: str = "1", *values: object) -> list[Entry]:
        """The entries that a condition selects, in order."""
        query = f"SELECT {COLUMNS} FROM entries WHERE {where} ORDER BY number"  # noqa: S608
        return [Entry(*row) for row in self.connection.execute(query, values)]

    def spends(self, dataset: str) -> list[tuple[str, str | None, int]]:
        """The parts that an account was charged for, each with its period and how often."""
        query = (
            "SELECT parts, period, count(*) FROM entries "
            "WHERE kind = 'release' AND dataset = ? GROUP BY parts, period"
        )
        return self.connection.execute(query, (dataset,)).fetchall()

    def outputs(self, number: int) -> dict[str, bytes]:
        """The bytes that an entry published, by name."""
        query = "SELECT name, content FROM outputs WHERE number = ? ORDER BY name"
        return dict(self.connection.execute(query, (number,)))

    def insert(self, entry: Entry, outputs: Mapping[str, bytes]) -> None:
        """Add an entry and what it publishes, within a transaction."""
        self.connection.execute(
            f"INSERT INTO entries ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
            astuple(entry),
        )
        rows = [(entry.number, name, content) for name, content in outputs.items()]
        self.connection.executemany("INSERT INTO outputs VALUES (?, ?, ?)", rows)

    def remember(self) -> None:
        """Bring the anchor up to the last entry; a failure is mended by the next run."""
        with suppress(OSError, ForeignAnchor, sqlite3.Error):
            known = read_anchor(self.anchor, self.meta("identity"))
            rows = self.connection.execute(
                "SELECT number, seal FROM entries WHERE number > ?", (max(known, default=0),)
            )
            new = dict(rows)
            if new:
                append_anchor(self.anchor, new)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction that nobody else can write beside; all of it, or nothing."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._commit()
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise

    def _commit(self) -> None:
        """The instant at which a charge exists."""
        self.connection.execute("COMMIT")

    @contextmanager
    def closed_on_failure(self) -> Iterator[None]:
        """Close the file if what follows fails."""
        try:
            yield
        except BaseException:
            self.connection.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self.connection.close()


def chain_fault(entries: list[Entry], start: str) -> str:
    """What is wrong with a chain, naming the first entry; empty if nothing is."""
    previous = start
    for number, entry in enumerate(entries, start=1):
        if entry.number != number:
            return f"entry {number} is missing"
        if entry.previous != previous or entry.head != entry.expected_head():
            return f"entry {number} was changed"
        previous = entry.seal
    return ""


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    """A connection in autocommit mode that waits for others and syncs everything."""
    with told(path):
        if mode == "rwc" and not path.exists():
            # Made here rather than by SQLite, so that nobody else may read it.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        uri = f"{path.resolve().as_uri()}?mode=rw"
        connection = sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cell_size_check = ON")
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Failures of SQLite and of the file system as LedgerErrors."""
    try:
        yield
    except sqlite3.Error as error:
        raise _failed(path, error) from None
    except OSError as error:
        reason = (error.strerror or "input or output error").lower()
        raise LedgerError.of(
            "ledger-unusable",
            f"the ledger `{path}` cannot be used: {reason}",
            "check its folder, its permissions and the disk",
        ) from None


def _failed(path: Path, error: sqlite3.Error) -> LedgerError:
    """What SQLite met, in plain words."""
    name = getattr(error, "sqlite_errorname", "") or ""
    words = {
        "SQLITE_BUSY": "others kept it locked for too long",
        "SQLITE_LOCKED": "others kept it locked for too long",
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
    known = [text for code, text in words.items() if name.startswith(code)]
    reason = known[0] if known else "SQLite refused it"
    return LedgerError.of(
        "ledger-unusable",
        f"the ledger `{path}` cannot be used: {reason}",
        "nothing was charged; check the file, its folder and the disk, then try again",
    )


def _doubt(path: Path, reason: str) -> LedgerError:
    """A ledger that cannot be trusted."""
    return LedgerError.of(
        "ledger-in-doubt",
        f"the ledger `{path}` cannot be trusted: {reason}",
        "find out who changed it, and compare it with published reports by "
        "`dpcli ledger verify --against`; never start a new one to spend again",
    )


def _missing(path: Path) -> LedgerError:
    """A ledger that was named and is not there."""
    return LedgerError.of(
        "ledger-missing",
        f"there is no ledger `{path}`",
        "check the name; `dpcli ledger init PATH` makes a new one, with an empty history",
    )
