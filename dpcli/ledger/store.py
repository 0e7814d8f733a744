"""The SQLite file of a ledger: checked when it is opened, and append-only.

A connection waits while other processes write; it reports a long wait and can be interrupted. With
a rollback journal and `synchronous=EXTRA`, a committed entry survives a power loss. Each
failure of SQLite becomes a LedgerError. A ledger in doubt is never treated as an empty one. No
query uses an index, so that it reads exactly what the hash chain covers.
"""

from __future__ import annotations

import os
import sqlite3
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import astuple, replace
from json import JSONDecoder
from pathlib import Path
from typing import Any, Self

from dpcli.ledger import options
from dpcli.ledger.chain import (
    ForeignAnchorError,
    LedgerEntry,
    anchor_fault,
    append_anchor,
    chain_fault,
    entry_digest,
    entry_names,
    genesis,
    read_anchor,
)
from dpcli.ledger.entries import FILES, MAX_UNPACKED, entry_faults, size_error
from dpcli.ledger.options import (
    in_doubt_error,
    missing_error,
    require_file_name,
    require_local,
    translated_os_errors,
)
from dpcli.problems import system
from dpcli.problems.errors import LedgerError, describe_system_error

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
"""The triggers that make the tables append-only, and `meta` read-only.

They are created after the metadata are written to `meta`.
"""

STATEMENTS = sorted(TABLES + TRIGGERS)
"""The complete schema of a ledger; any difference was made by another program."""

SETTINGS = (
    "journal_mode = DELETE",
    "synchronous = EXTRA",
    "fullfsync = ON",
    "foreign_keys = ON",
    "trusted_schema = OFF",
    "cell_size_check = ON",
)
"""A rollback journal, full syncs, and no trust in the schema of the file."""

LONGEST_WAIT = 300.0
"""Seconds to wait for processes that write; each needs a fraction of a second."""

WAIT_OF_SQLITE = 0.1
"""Seconds that SQLite waits by itself; no signal is handled during that time."""

WAIT_BEFORE_MESSAGE = 2.0

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


COLUMNS = "number, kind, dataset, release_id, period, parts, payload, previous, head, seal"

LARGE = 1 << 20
"""An output of more bytes than this is compressed with the fastest level.

Compression is then three times as fast, and the result 25% larger.
"""

NO_OUTPUTS: Mapping[str, bytes] = {}


class Store:
    """A connection to a ledger file; `created` is whether it created the ledger.

    A statement is tried again while other processes keep the file locked. Outside of `writing`,
    each statement is committed by itself. Raises LedgerError, also from its methods, if SQLite
    refuses the file or a statement.
    """

    # So that nothing hides a method.
    __slots__ = ("_file", "_verified", "connection", "created", "path")

    def __init__(self, path: Path) -> None:
        system.require_supported()
        self.path, self.created = path, False
        self._verified: tuple[dict[str, str], list[LedgerEntry]] | None = None
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
            self._file = _file_identity(path)
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
                if silent and waited > WAIT_BEFORE_MESSAGE:
                    silent = False
                    options.announce_waiting()

    def _refused(self, error: sqlite3.Error, code: str = "ledger-unusable.sqlite") -> LedgerError:
        name = getattr(error, "sqlite_errorname", "") or ""
        reasons = (reason for start, reason in REASONS.items() if name.startswith(start))
        # The module of Python itself refuses these, without a name.
        misused = isinstance(error, sqlite3.ProgrammingError)
        default = "it is closed, or another thread opened it" if misused else "SQLite refused it"
        return LedgerError.about(code, path=self.path, why=next(reasons, default))

    def value(self, sql: str) -> Any:
        """The first value of the first row."""
        return self.query(sql)[0][0]

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction in which no other process writes; an error rolls it back."""
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
        if system.PLATFORM == "darwin":
            # There, SQLite leaves the end of its journal in the cache of the disk: with an old
            # journal, the next process would take the charge back.
            with suppress(OSError):
                system.sync_folder(self.path.resolve().parent)

    def is_ledger(self) -> bool:
        """Whether the file is marked as a ledger; LedgerError if of a later version."""
        version = self.value("PRAGMA user_version")
        is_ours: bool = self.value("PRAGMA application_id") == APPLICATION
        if is_ours and version > VERSION:
            raise LedgerError.about("ledger-unusable.newer", path=self.path)
        return is_ours and version == VERSION

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    @classmethod
    def open(cls, path: Path, *, unchecked: bool = False) -> Self:
        """The ledger at `path`; LedgerError if it does not exist or is in doubt.

        With `unchecked`, a ledger whose chain or anchor is broken opens too, to be examined.
        """
        require_file_name(path)
        with translated_os_errors(path), ExitStack() as undo:
            if not path.is_file():
                raise missing_error(path)
            store = cls(path)
            undo.callback(store.close)
            if not store.is_ledger():
                raise in_doubt_error(path, "it is empty, or not a ledger of dpcli")
            if "network" not in store.metadata():
                require_local(path)
            if not unchecked:
                store.check()
            undo.pop_all()
        return store

    def initialize(self, anchor: Path, identity: str, *, network: bool = False) -> None:
        """Turn an empty file into the ledger `identity`; call it in a transaction.

        With `network`, it may be on a network drive. Raises LedgerError if the file has tables.
        """
        if self.value("SELECT count(*) FROM sqlite_master"):
            raise in_doubt_error(self.path, "it is a database of something else")
        folder = self.path.resolve().parent
        metadata = {"identity": identity, "anchor": os.path.relpath(anchor.resolve(), folder)}
        metadata |= {"network": "allowed"} if network else {}
        for statement in TABLES:
            self.query(statement)
        for item in metadata.items():
            self.query("INSERT INTO meta VALUES (?, ?)", *item)
        for statement in TRIGGERS:
            self.query(statement)
        self.query(f"PRAGMA application_id = {APPLICATION}")
        self.query(f"PRAGMA user_version = {VERSION}")
        self.created = True

    def check(self, *, incomplete: bool = False) -> None:
        """Raise LedgerError unless file, tables, chain and anchor agree (`first_fault`)."""
        fault = self.first_fault(incomplete=incomplete)
        if fault:
            raise in_doubt_error(self.path, fault)

    def first_fault(self, *, incomplete: bool = False) -> str:
        """What is wrong with file, tables, chain or anchor; empty if nothing is.

        An `incomplete` ledger may lack its anchor, and entries that its anchor records.
        """
        with translated_os_errors(self.path):
            if _file_identity(self.path) != self._file:
                return "another file was put in its place while it was in use"
            if self.value("PRAGMA quick_check(1)") != "ok":
                return "the file is damaged"
            try:
                # An additional trigger could undo a write. An index of another program could hide
                # entries from queries that use it.
                schema = self.query("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
                if sorted(schema) != [(statement,) for statement in STATEMENTS]:
                    return "its tables or triggers were changed"
                return self._entries_fault(incomplete=incomplete)
            except (LedgerError, ValueError, TypeError, AttributeError):
                return "an entry cannot be read"

    def _entries_fault(self, *, incomplete: bool) -> str:
        # Read the anchor first: another process appends to the ledger before it does to the anchor.
        anchor, foreign = self.anchor, ""
        identity: str | None = None
        recorded: dict[int, str] = {}
        try:
            identity, recorded = read_anchor(anchor, self.metadata_value("identity"))
        except ForeignAnchorError as error:
            foreign = str(error)
        metadata, entries = self.metadata(), self.entries()
        # The same ones were verified when the ledger was opened.
        if (metadata, entries) != self._verified:
            fault = chain_fault(entries, genesis(metadata)) or next(entry_faults(entries), "")
            if fault:
                return fault
            self._verified = metadata, entries
        if foreign or (identity is None and not incomplete):
            return f"its anchor `{anchor.name}` {foreign or 'is missing'}"
        return anchor_fault(recorded, entries, incomplete=incomplete)

    @property
    def anchor(self) -> Path:
        """The path of the anchor."""
        return self.path.resolve().parent / self.metadata_value("anchor")

    def files(self) -> list[Path]:
        """Every file that belongs to the ledger, temporary files included."""
        path, anchor = self.path.resolve(), self.anchor
        endings = ("-journal", "-wal", "-shm", ".anchor")
        siblings = [path.with_name(path.name + ending) for ending in endings]
        return [path, *siblings, anchor, anchor.with_name(anchor.name + ".new")]

    def metadata(self) -> dict[str, str]:
        """The metadata of the ledger, by name."""
        query = "SELECT name, value FROM meta NOT INDEXED ORDER BY name"
        return {str(name): str(value) for name, value in self.query(query)}

    def metadata_value(self, name: str) -> str:
        """One item of the metadata; LedgerError if it is missing."""
        metadata = self.metadata()
        if name not in metadata:
            raise in_doubt_error(self.path, "it lacks a fact about itself")
        return metadata[name]

    def entries(self, where: str = "1", *values: object) -> list[LedgerEntry]:
        """The entries that an SQL condition selects, in order."""
        query = f"SELECT {COLUMNS} FROM entries NOT INDEXED WHERE {where} ORDER BY number"  # noqa: S608
        return [LedgerEntry(*row) for row in self.query(query, *values)]

    def last_entry(self) -> LedgerEntry | None:
        """The last entry; None if the ledger has none."""
        entries = self.entries("number = (SELECT max(number) FROM entries)")
        return entries[0] if entries else None

    def charged_events(
        self, dataset: str, without: str
    ) -> list[tuple[str, str | None, str | None, int]]:
        """The events charged to an account, as JSON, with period, recipient and count.

        Those of the entry with the release id `without` are left out.
        """
        left_out = entry_names(without, dataset)
        query = (
            "SELECT parts, period, json_extract(payload, '$.recipient') AS recipient, count(*) "
            "FROM entries NOT INDEXED WHERE kind = 'release' "
            "AND dataset = ? AND release_id NOT IN (?, ?) GROUP BY parts, period, recipient"
        )
        return self.query(query, dataset, *left_out)

    def data_files(self) -> dict[str, set[str]]:
        """The data files of the releases that each account paid for.

        Entries of earlier versions, and of standard input, record none.
        """
        # The end of the payload begins with the files.
        query = (
            "SELECT DISTINCT dataset, substr(payload, instr(payload, ?)) "
            "FROM entries NOT INDEXED WHERE kind = 'release' AND instr(payload, ?)"
        )
        files: dict[str, set[str]] = {}
        for dataset, ending in self.query(query, FILES, FILES):
            names = JSONDecoder().raw_decode(ending, len(FILES))[0]
            files.setdefault(dataset, set()).update(names)
        return files

    def outputs(self, number: int) -> dict[str, bytes]:
        """The packed outputs of the entry with this number, by name."""
        query = "SELECT name, content FROM outputs WHERE number = ? ORDER BY name"
        return dict(self.query(query, number))

    def last_with_output(self, name: str, dataset: str, period: str | None = None) -> int | None:
        """The last entry with an output of this name, by dataset, perhaps by period."""
        query = (
            "SELECT max(o.number) FROM outputs o JOIN entries e ON e.number = o.number "
            "WHERE o.name = ? AND e.dataset = ? AND e.period = ifnull(?, e.period)"
        )
        found: int | None = self.query(query, name, dataset, period)[0][0]
        return found

    def append(self, entry: LedgerEntry, outputs: Mapping[str, bytes] = NO_OUTPUTS) -> None:
        """Complete an entry by its hashes, and write it with its outputs.

        Call it in a transaction. Raises LedgerError if the ledger does not return what was written.
        """
        if sum(map(len, outputs.values())) > MAX_UNPACKED:
            raise size_error(entry.number)
        packed = {
            name: zlib.compress(content, zlib.Z_BEST_SPEED if len(content) > LARGE else -1)
            for name, content in outputs.items()
        }
        entry = replace(entry, digest=entry_digest(entry.head, packed))
        self.query("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", *astuple(entry))
        for name, content in packed.items():
            self.query("INSERT INTO outputs VALUES (?, ?, ?)", entry.number, name, content)
        written = self.entries("number = ?", entry.number), self.outputs(entry.number)
        if written != ([entry], packed):
            raise in_doubt_error(self.path, "it does not keep what is written to it")

    def update_anchor(self) -> None:
        """Append new entries to the anchor file, if it can be written now.

        After a failure, the next charge appends them before it does anything else.
        """
        with suppress(OSError, ForeignAnchorError, LedgerError):
            self._append_to_anchor()

    def require_anchor(self) -> None:
        """Append new entries to the anchor; LedgerError if it cannot be written.

        With an anchor that stays behind, an older copy of the ledger would pass the check.
        """
        try:
            self._append_to_anchor()
        except ForeignAnchorError as foreign:
            raise in_doubt_error(self.path, f"its anchor `{self.anchor.name}` {foreign}") from None
        except OSError as error:
            why, fix = describe_system_error(error)
            name = self.anchor.name
            raise LedgerError.about(
                "ledger-unusable.anchor", path=self.path, anchor=name, why=why, fix=fix
            ) from None

    def _append_to_anchor(self) -> None:
        """Append the entries that the anchor lacks, or records with another digest."""
        anchor = self.anchor
        _, recorded = read_anchor(anchor, self.metadata_value("identity"))
        query = "SELECT number, seal FROM entries NOT INDEXED"
        entries: dict[int, str] = dict(self.query(query))
        new = {
            number: digest for number, digest in entries.items() if recorded.get(number) != digest
        }
        append_anchor(anchor, new)


def _file_identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino
