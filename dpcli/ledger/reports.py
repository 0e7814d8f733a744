"""Whether a ledger is intact, and whether published reports agree with it."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dpcli.errors import UsageError
from dpcli.ledger.chain import Entry, seal_of
from dpcli.ledger.sqlite import translated_errors
from dpcli.ledger.store import Store

UNREADABLE = (KeyError, TypeError, ValueError, ArithmeticError, AttributeError)
"""What reading a file that is no report may raise."""


def faults(store: Store) -> Iterator[str]:
    """Everything that is wrong with a ledger: one sentence each."""
    with translated_errors(store.path):
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
    try:
        for entry in store.entries():
            entry.content()
            seal_of(entry.head, store.outputs(entry.number))
    except (sqlite3.Error, ValueError, TypeError, AttributeError):
        return False
    return True


def read_report(path: Path) -> tuple[bytes, dict[str, Any]]:
    """A file, and the JSON that it is, numbers as their digits; else UsageError."""
    try:
        content = path.read_bytes() if path.is_file() else b""
        report = json.loads(content, parse_float=str, parse_int=str, parse_constant=str)
    except (OSError, ValueError, RecursionError):
        raise not_a_report(path) from None
    if not isinstance(report, dict):
        raise not_a_report(path)
    return content, report


def entry_named(report: dict[str, Any]) -> tuple[int, str, str]:
    """The number, the head and the release of a report's entry; one of `UNREADABLE` if none."""
    place = report["ledger"]
    return int(place["entry"]), str(place["head"]), str(report["release_id"])


def not_a_report(path: Path) -> UsageError:
    """A file that is no report, or does not name its entry."""
    return UsageError.about("not-a-report", report=path)


def report_faults(store: Store, reports: Sequence[Path]) -> Iterator[str]:
    """What published reports say that the ledger does not; UsageError if one is none."""
    read = []
    for path in reports:
        content, report = read_report(path)
        try:
            read.append((path, content, *entry_named(report)))
        except UNREADABLE:
            raise not_a_report(path) from None
    with translated_errors(store.path):
        entries = {entry.number: entry for entry in store.entries()}
        for path, content, number, head, release_id in read:
            if number not in entries:
                yield f"`{path}` was published from entry {number}, which the ledger does not have"
            elif not entries[number].is_named(head, release_id):
                yield f"`{path}` was published from another entry {number} than the ledger has"
            elif not _published(store, entries[number], content):
                yield f"`{path}` is not what entry {number} published: its text was changed"


def _published(store: Store, entry: Entry, content: bytes) -> bool:
    """Whether an entry published that report, or was recovered from it."""
    if entry.recovered is not None:
        return entry.recovered.get("report") == hashlib.sha256(content).hexdigest()
    packed = store.outputs(entry.number).get("report.json")
    try:
        return packed is not None and content == zlib.decompress(packed)
    except zlib.error:
        return False
