"""Whether a ledger is what it was: tables, chain, anchor and outputs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from dpcli.ledger.entry import seal_of
from dpcli.ledger.failures import told
from dpcli.ledger.schema import STATEMENTS
from dpcli.ledger.store import Store


def faults(store: Store) -> Iterator[str]:
    """Everything that opening the ledger did not look at, and that is wrong."""
    with told(store.path):
        tables = {row[0] for row in store.connection.execute(
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"
        )}  # fmt: skip
        if tables != set(STATEMENTS):
            yield "its tables or triggers were changed"
        numbers = {row[0] for row in store.connection.execute("SELECT number FROM outputs")}
        entries = store.entries()
        if numbers - {entry.number for entry in entries}:
            yield "it has outputs without an entry"
        for entry in entries:
            if entry.seal != seal_of(entry.head, store.outputs(entry.number)):
                yield f"the outputs of entry {entry.number} were changed"


def report_faults(store: Store, reports: Sequence[Path]) -> Iterator[str]:
    """What published reports say that the ledger does not."""
    with told(store.path):
        heads = {entry.number: (entry.head, entry.release_id) for entry in store.entries()}
    for path in reports:
        try:
            report = json.loads(path.read_text(encoding="utf-8"))
            place = report["ledger"]
            claimed = (place["head"], report["release_id"])
            number = place["entry"]
        except (OSError, ValueError, KeyError, TypeError):
            yield f"`{path}` is not a report in JSON that names its entry"
            continue
        if number not in heads:
            yield f"`{path}` was published from entry {number}, which the ledger does not have"
        elif heads[number] != claimed:
            yield f"`{path}` was published from another entry {number} than the ledger has"
