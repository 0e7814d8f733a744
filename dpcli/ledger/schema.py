"""The tables of a ledger, and the triggers that keep them append-only."""

from __future__ import annotations

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
"""All that a ledger is made of; anything more or less was done by somebody else."""
