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
from dataclasses import astuple, replace
from pathlib import Path

from dpcli.errors import LedgerError
from dpcli.ledger.anchor import ForeignAnchor, append_anchor, begin_anchor, read_anchor
from dpcli.ledger.entry import Entry, genesis
from dpcli.ledger.failures import doubt, failed, missing, require_local, told
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
            raise missing(path)
        store = cls(path, _connect(path, "rw"))
        with told(path), store.closed_on_failure():
            if not store.is_ledger():
                raise doubt(path, "it is empty, or not a ledger of dpcli")
            if not store.meta("network", default=""):
                require_local(path)
            store.check()
        return store

    @classmethod
    def create(cls, path: Path, anchor: Path | None = None, *, network: bool = False) -> Store:
        """A ledger at `path`: the one that is there, or a new one with its anchor.

        With `network` it may lie on a network drive. LedgerError if the anchor
        remembers entries that the file does not have.
        """
        if path.is_file() and path.stat().st_size:
            return cls.open(path)
        if not network:
            require_local(path)
        store = cls(path, _connect(path, "rwc"))
        with told(path), store.closed_on_failure():
            with store.writing():
                if not store.is_ledger():
                    place = anchor or path.with_name(path.name + ".anchor")
                    store._initialise(place, network=network)
            store.check()
        return store

    def _initialise(self, anchor: Path, *, network: bool) -> None:
        """Make the tables; the anchor comes first, so that it is never missing."""
        if self.connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise doubt(self.path, "it is a database of something else")
        try:
            if read_anchor(anchor, None):
                raise doubt(
                    self.path, f"it is missing, but its anchor `{anchor.name}` remembers entries"
                )
            identity = random_bytes(16).hex()
            begin_anchor(anchor, identity)
        except ForeignAnchor:
            raise doubt(self.path, f"`{anchor}` is not an anchor") from None
        for statement in STATEMENTS:
            self.connection.execute(statement)
        facts = {"identity": identity, "anchor": os.path.relpath(anchor, self.path.parent)}
        if network:
            facts["network"] = "allowed"
        self.connection.executemany("INSERT INTO meta VALUES (?, ?)", facts.items())
        self.connection.execute(f"PRAGMA application_id = {APPLICATION}")
        self.connection.execute(f"PRAGMA user_version = {VERSION}")

    def is_ledger(self) -> bool:
        """Whether the file says that it is a ledger; LedgerError if of a later version."""
        application = self.connection.execute("PRAGMA application_id").fetchone()[0]
        version = self.connection.execute("PRAGMA user_version").fetchone()[0]
        if application == APPLICATION and version > VERSION:
            raise doubt(self.path, "it was written by a newer version of dpcli")
        return bool(application == APPLICATION and version == VERSION)

    def check(self) -> None:
        """Raise LedgerError unless file, chain and anchor agree."""
        verdict = self.connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            raise doubt(self.path, "the file is damaged")
        try:
            fault = chain_fault(self.entries(), self.genesis()) or self._anchor_fault()
        except (ValueError, TypeError, AttributeError):
            fault = "an entry cannot be read"
        if fault:
            raise doubt(self.path, fault)

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

    def meta(self, name: str, default: str | None = None) -> str:
        """A fact about the ledger itself; LedgerError if it must be there and is not."""
        row = self.connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        if row is None and default is None:
            raise doubt(self.path, "it does not know itself")
        return str(row[0]) if row else str(default)

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
        """Bring the anchor up to the last entry, as far as that is possible now.

        Whatever fails here is caught up with before the next charge.
        """
        with suppress(OSError, ForeignAnchor, sqlite3.Error):
            self._catch_up()

    def require_anchor(self) -> None:
        """Raise LedgerError unless the anchor can take what comes; it is brought up to date.

        An anchor that stays behind would let an older copy of the ledger pass.
        """
        try:
            self._catch_up()
        except ForeignAnchor:
            raise doubt(
                self.path, f"its anchor `{self.anchor.name}` belongs to another ledger"
            ) from None
        except OSError as error:
            raise LedgerError.of(
                "ledger-unusable",
                f"the ledger `{self.path}` cannot be used: its anchor `{self.anchor.name}` cannot "
                f"be written: {(error.strerror or 'input or output error').lower()}",
                "nothing was charged; let whoever writes the ledger write its anchor as well",
            ) from None

    def _catch_up(self) -> None:
        """Append the entries that the anchor does not know yet."""
        known = read_anchor(self.anchor, self.meta("identity"))
        query = "SELECT number, seal FROM entries WHERE number > ?"
        append_anchor(self.anchor, dict(self.connection.execute(query, (max(known, default=0),))))

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
        """The instant at which a charge exists.

        If the disk fails in it, nobody can know here whether the charge exists.
        """
        try:
            self.connection.execute("COMMIT")
        except sqlite3.Error as error:
            failure = failed(self.path, error)
            raise LedgerError(
                replace(
                    problem,
                    hint="the charge was made or it was not: `dpcli ledger history` tells, and "
                    "the same --release-id charges it once at most",
                )
                for problem in failure.problems
            ) from None

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
