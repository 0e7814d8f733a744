"""Whether a ledger is what it was: all that can be looked at."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from dpcli.errors import UsageError
from dpcli.ledger.entry import Entry, seal_of
from dpcli.ledger.failures import told
from dpcli.ledger.store import Store


def faults(store: Store) -> Iterator[str]:
    """Everything that is wrong with a ledger."""
    with told(store.path):
        fault = store.fault()
        if fault:
            yield fault
        if store.connection.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
            yield "the file is damaged"
            return
        if fault and not _readable(store):
            return
        numbers = {row[0] for row in store.connection.execute("SELECT number FROM outputs")}
        entries = store.entries()
        if numbers - {entry.number for entry in entries}:
            yield "it has outputs without an entry"
        for entry in entries:
            if entry.seal != seal_of(entry.head, store.outputs(entry.number)):
                yield f"the outputs of entry {entry.number} were changed"


def _readable(store: Store) -> bool:
    """Whether the entries and outputs can be looked at."""
    try:
        for entry in store.entries():
            entry.content()
            seal_of(entry.head, store.outputs(entry.number))
    except (sqlite3.Error, ValueError, TypeError, AttributeError):
        return False
    return True


def report_faults(store: Store, reports: Sequence[Path]) -> Iterator[str]:
    """What published reports say that the ledger does not; UsageError if one is none."""
    read = [(path, *_read(path)) for path in reports]
    with told(store.path):
        entries = {entry.number: entry for entry in store.entries()}
        for path, content, number, head, release_id in read:
            if number not in entries:
                yield f"`{path}` was published from entry {number}, which the ledger does not have"
                continue
            entry = entries[number]
            recovered = entry.recovered
            there = entry.head if recovered is None else recovered.get("head")
            if (there, entry.release_id) != (head, release_id):
                yield f"`{path}` was published from another entry {number} than the ledger has"
            elif not _published(store, entry, content):
                yield f"`{path}` is not what entry {number} published: its text was changed"


def _published(store: Store, entry: Entry, content: bytes) -> bool:
    """Whether an entry published that report, or was recovered from it."""
    if entry.recovered is not None:
        return entry.recovered.get("report") == hashlib.sha256(content).hexdigest()
    return content == _stored(store, entry)


def _stored(store: Store, entry: Entry) -> bytes | None:
    """The report in JSON that an entry published."""
    packed = store.outputs(entry.number).get("report.json")
    try:
        return None if packed is None else zlib.decompress(packed)
    except zlib.error:
        return None


def _read(path: Path) -> tuple[bytes, int, str, str]:
    """A report: its bytes, and the entry, head and release that it names."""
    try:
        content = path.read_bytes() if path.is_file() else b""
        report = json.loads(content)
        place = report["ledger"]
        number, head, name = place["entry"], place["head"], report["release_id"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise _no_report(path) from None
    if not isinstance(number, int) or not isinstance(head, str) or not isinstance(name, str):
        raise _no_report(path)
    return content, number, head, name


def _no_report(path: Path) -> UsageError:
    """A file that is no report."""
    return UsageError.of(
        "not-a-report",
        f"`{path}` is not a report in JSON that names its entry",
        "name reports as `dpcli release --report NAME.json` writes them",
    )
