"""The file of a ledger: opened after all its checks, and locked to write.

Rollback journal, `synchronous=EXTRA`: a committed entry survives power loss. Every
failure of SQLite becomes a LedgerError in plain words; a ledger that is in doubt is
never taken for an empty one. No query uses an index: what is read is what the chain
covers.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import astuple, replace
from json import JSONDecoder
from pathlib import Path
from typing import Self

from dpcli.errors import LedgerError, describe_system_error
from dpcli.ledger.anchor import ForeignAnchor, append_anchor, read_anchor
from dpcli.ledger.chain import LedgerEntry, anchor_fault, chain_fault, genesis, seal_of
from dpcli.ledger.filesystem import (
    in_doubt_error,
    missing_error,
    require_file_name,
    require_local,
    translated_os_errors,
)
from dpcli.ledger.sqlite import Database

FILES = '"files":'
"""Before the data files in the payload of an entry."""

COLUMNS = "number, kind, dataset, release_id, period, parts, payload, previous, head, seal"

LARGE = 1 << 20
"""Bytes of an output from which on packing it well takes too long."""

NOTHING: Mapping[str, bytes] = {}


class Store(Database):
    """A ledger file, connected to; `created` if it was made a ledger just now."""

    __slots__ = ("_file", "created")

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.created = False
        self._file = _identity(path)

    @classmethod
    def open(cls, path: Path, *, doubtful: bool = False) -> Self:
        """The ledger at `path`, which must exist; LedgerError if it is in doubt.

        `doubtful` opens one whose chain or anchor is broken, to be examined.
        """
        require_file_name(path)
        with translated_os_errors(path), ExitStack() as undo:
            if not path.is_file():
                raise missing_error(path)
            store = cls(path)
            undo.callback(store.close)
            if not store.is_ledger():
                raise in_doubt_error(path, "it is empty, or not a ledger of dpcli")
            if "network" not in store.facts():
                require_local(path)
            if not doubtful:
                store.check()
            undo.pop_all()
        return store

    def begin(self, anchor: Path, identity: str, *, network: bool = False) -> None:
        """Make a ledger of an empty file, in a transaction; LedgerError if it holds anything."""
        if self.value("SELECT count(*) FROM sqlite_master"):
            raise in_doubt_error(self.path, "it is a database of something else")
        home = self.path.resolve().parent
        facts = {"identity": identity, "anchor": os.path.relpath(anchor.resolve(), home)}
        self.make_tables(facts | ({"network": "allowed"} if network else {}))
        self.created = True

    def check(self, *, incomplete: bool = False) -> None:
        """Raise LedgerError unless file, tables, chain and anchor agree; see `fault`."""
        fault = self.fault(incomplete=incomplete)
        if fault:
            raise in_doubt_error(self.path, fault)

    def fault(self, *, incomplete: bool = False) -> str:
        """What is wrong with file, tables, chain or anchor; empty if nothing is.

        An `incomplete` ledger may lack its anchor, and entries that its anchor records.
        """
        with translated_os_errors(self.path):
            if _identity(self.path) != self._file:
                return "another file was put in its place while it was in use"
            if self.value("PRAGMA quick_check(1)") != "ok":
                return "the file is damaged"
            try:
                return self.tables_fault() or self._entries_fault(incomplete=incomplete)
            except (ValueError, TypeError, AttributeError):
                return "an entry cannot be read"

    def _entries_fault(self, *, incomplete: bool) -> str:
        # The anchor first: what another process adds meanwhile is in the ledger before.
        anchor, foreign = self.anchor, ""
        identity: str | None = None
        recorded: dict[int, str] = {}
        try:
            identity, recorded = read_anchor(anchor, self.meta("identity"))
        except ForeignAnchor as error:
            foreign = str(error)
        entries = self.entries()
        fault = chain_fault(entries, self.genesis())
        if fault:
            return fault
        if foreign or (identity is None and not incomplete):
            return f"its anchor `{anchor.name}` {foreign or 'is missing'}"
        return anchor_fault(recorded, entries, incomplete=incomplete)

    @property
    def anchor(self) -> Path:
        """Where the anchor is."""
        return self.path.resolve().parent / self.meta("anchor")

    def files(self) -> list[Path]:
        """Every file that belongs to the ledger, now or in between."""
        path, anchor = self.path.resolve(), self.anchor
        made = [path.with_name(path.name + end) for end in ("-journal", "-wal", "-shm", ".anchor")]
        return [path, *made, anchor, anchor.with_name(anchor.name + ".new")]

    def facts(self) -> dict[str, str]:
        """What the ledger knows of itself."""
        query = "SELECT name, value FROM meta NOT INDEXED ORDER BY name"
        return {str(name): str(value) for name, value in self.query(query)}

    def meta(self, name: str) -> str:
        """A fact about the ledger itself; LedgerError if it is not there."""
        facts = self.facts()
        if name not in facts:
            raise in_doubt_error(self.path, "it lacks a fact about itself")
        return facts[name]

    def genesis(self) -> str:
        """What the first entry builds on."""
        return genesis(self.facts())

    def entries(self, where: str = "1", *values: object) -> list[LedgerEntry]:
        """The entries that a condition selects, in order."""
        query = f"SELECT {COLUMNS} FROM entries NOT INDEXED WHERE {where} ORDER BY number"  # noqa: S608
        return [LedgerEntry(*row) for row in self.query(query, *values)]

    def last(self) -> LedgerEntry | None:
        """The last entry."""
        found = self.entries("number = (SELECT max(number) FROM entries)")
        return found[0] if found else None

    def charged_events(self, dataset: str) -> list[tuple[str, str | None, int]]:
        """The parts that an account was charged for, each with its period and how often."""
        query = (
            "SELECT parts, period, count(*) FROM entries NOT INDEXED "
            "WHERE kind = 'release' AND dataset = ? GROUP BY parts, period"
        )
        return self.query(query, dataset)

    def data_files(self) -> dict[str, set[str]]:
        """The data files of the releases that each account paid for.

        Entries of earlier versions, and of standard input, record none. The date of a payload
        stands before its files, so equal files of many releases are read once.
        """
        query = (
            "SELECT DISTINCT dataset, substr(payload, instr(payload, ?)) FROM entries NOT INDEXED "
            "WHERE kind = 'release' AND instr(payload, ?)"
        )
        found: dict[str, set[str]] = {}
        for dataset, ending in self.query(query, FILES, FILES):
            files = JSONDecoder().raw_decode(ending, len(FILES))[0]
            found.setdefault(dataset, set()).update(files)
        return found

    def outputs(self, number: int) -> dict[str, bytes]:
        """The bytes that an entry published, by name."""
        query = "SELECT name, content FROM outputs WHERE number = ? ORDER BY name"
        return dict(self.query(query, number))

    def insert(self, entry: LedgerEntry, outputs: Mapping[str, bytes] = NOTHING) -> None:
        """Seal an entry and what it publishes, add both in a transaction, and read them back."""
        packed = {name: _packed(content) for name, content in outputs.items()}
        entry = replace(entry, seal=seal_of(entry.head, packed))
        self.query("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", *astuple(entry))
        for name, content in packed.items():
            self.query("INSERT INTO outputs VALUES (?, ?, ?)", entry.number, name, content)
        kept = self.entries("number = ?", entry.number), self.outputs(entry.number)
        if kept != ([entry], packed):
            raise in_doubt_error(self.path, "it does not keep what is written to it")

    def update_anchor(self) -> None:
        """Bring the anchor up to the last entry, as far as that is possible now.

        If this fails, the next charge does it first.
        """
        with suppress(OSError, ForeignAnchor, LedgerError):
            self._append_to_anchor()

    def require_anchor(self) -> None:
        """Raise LedgerError unless the anchor can take what comes; it is brought up to date.

        An anchor that stays behind would let an older copy of the ledger pass.
        """
        try:
            self._append_to_anchor()
        except ForeignAnchor as foreign:
            raise in_doubt_error(self.path, f"its anchor `{self.anchor.name}` {foreign}") from None
        except OSError as error:
            why, fix = describe_system_error(error)
            name = self.anchor.name
            raise LedgerError.about(
                "ledger-unusable.anchor", path=self.path, anchor=name, why=why, fix=fix
            ) from None

    def _append_to_anchor(self) -> None:
        """Append the entries that the anchor does not know yet, or knows by another seal."""
        _, known = read_anchor(self.anchor, self.meta("identity"))
        query = "SELECT number, seal FROM entries NOT INDEXED"
        entries: dict[int, str] = dict(self.query(query))
        new = {number: seal for number, seal in entries.items() if known.get(number) != seal}
        append_anchor(self.anchor, new)


def _packed(content: bytes) -> bytes:
    """Large outputs are packed three times as fast, and a quarter larger."""
    return zlib.compress(content, zlib.Z_BEST_SPEED if len(content) > LARGE else -1)


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino
