"""Whether a ledger is what it was: its tables, its chain, and its anchor."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

from dpcli.ledger.anchor import ForeignAnchor, read_anchor
from dpcli.ledger.entry import Entry
from dpcli.ledger.schema import STATEMENTS


def tables_fault(connection: sqlite3.Connection) -> str:
    """What is wrong with the tables and triggers; empty if nothing is.

    A trigger more could undo what is written, an index of somebody else's could hide
    entries from those who look things up in it.
    """
    query = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"
    found = [row[0] for row in connection.execute(query)]
    if len(found) != len(STATEMENTS) or set(found) != STATEMENTS:
        return "its tables or triggers were changed"
    return ""


def chain_fault(entries: Sequence[Entry], start: str) -> str:
    """What is wrong with a chain, naming the first entry; empty if nothing is."""
    previous = start
    for number, entry in enumerate(entries, start=1):
        if entry.number != number:
            return f"entry {number} is missing"
        if entry.previous != previous or entry.head != entry.expected_head():
            return f"entry {number} was changed"
        previous = entry.seal
    return ""


def anchor_memory(anchor: Path, identity: str) -> tuple[Mapping[int, str], str]:
    """The seals that an anchor remembers, and what is wrong with it; empty if nothing is."""
    try:
        remembered = read_anchor(anchor, identity)
    except ForeignAnchor as foreign:
        return {}, f"its anchor `{anchor.name}` {foreign}"
    if not anchor.exists():
        return {}, f"its anchor `{anchor.name}` is missing"
    return remembered, ""


def seals_fault(remembered: Mapping[int, str], entries: Sequence[Entry]) -> str:
    """The first entry that is another one than its anchor remembers; empty if none is."""
    for entry in entries:
        if remembered.get(entry.number, entry.seal) not in entry.seals:
            return f"entry {entry.number} is not the one that its anchor remembers"
    return ""


def missing_fault(remembered: Mapping[int, str], entries: Sequence[Entry]) -> str:
    """The first entry that its anchor remembers and the ledger lacks; empty if it has all."""
    lacking = remembered.keys() - {entry.number for entry in entries}
    if not lacking:
        return ""
    return f"entry {min(lacking)} is missing: an older copy was put in its place"
