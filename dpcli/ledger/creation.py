"""New ledgers, each with its anchor."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from dpcli.ledger.anchor import begin_anchor, point_elsewhere
from dpcli.ledger.place import (
    doubt,
    is_absent,
    require_file_name,
    require_no_history,
    require_place,
    usual_anchor,
)
from dpcli.ledger.sqlite import (
    APPLICATION,
    TABLES,
    TRIGGERS,
    VERSION,
    connect,
    touch,
    translated_errors,
)
from dpcli.ledger.store import Store
from dpcli.sampling.entropy import random_bytes


def create_ledger(path: Path, anchor: Path | None = None, *, network: bool = False) -> Store:
    """The ledger at `path`: the one that is there, or a new one with its anchor.

    With `network` it may be on a network drive. LedgerError if an anchor shows that
    there was a ledger before. The store says whether it was `created` by this call.
    """
    require_file_name(path)
    with translated_errors(path):
        if path.is_file() and not is_absent(path):
            return Store.open(path)
        require_place(path, network=network)
        touch(path)
        store = Store(path, connect(path))
    with translated_errors(path), store.closed_on_failure():
        with store.writing():
            if not store.is_ledger():
                require_empty(store)
                place, identity = anchor or usual_anchor(path), random_bytes(16).hex()
                require_no_history(path, place)
                # The anchor comes first, so that it is never missing.
                begin_anchor(place, identity)
                make_tables(store, place, identity, network=network)
        store.check()
        if anchor is not None and store.anchor != usual_anchor(store.path):
            with suppress(OSError):
                point_elsewhere(usual_anchor(store.path), store.anchor)
    return store


def require_empty(store: Store) -> None:
    """Raise LedgerError if the file holds anything."""
    if store.connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise doubt(store.path, "it is a database of something else")


def make_tables(store: Store, anchor: Path, identity: str, *, network: bool = False) -> None:
    """Make a ledger of an empty file, in a transaction."""
    home = store.path.resolve().parent
    facts = {"identity": identity, "anchor": os.path.relpath(anchor.resolve(), home)}
    if network:
        facts["network"] = "allowed"
    for statement in TABLES:
        store.connection.execute(statement)
    for fact in facts.items():
        store.connection.execute("INSERT INTO meta VALUES (?, ?)", fact)
    for statement in TRIGGERS:
        store.connection.execute(statement)
    store.connection.execute(f"PRAGMA application_id = {APPLICATION}")
    store.connection.execute(f"PRAGMA user_version = {VERSION}")
    store.created = True
