"""The tables of a ledger, and the triggers that keep them append-only."""

from __future__ import annotations

APPLICATION = 0x64706C67
"""Marks the file as a ledger of this tool."""

VERSION = 1

STATEMENTS = (
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
    "CREATE INDEX entries_by_account ON entries (kind, dataset)",
    """CREATE TABLE outputs (
    number INTEGER NOT NULL REFERENCES entries (number),
    name TEXT NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (number, name)
) STRICT""",
    """CREATE TRIGGER entries_in_order BEFORE INSERT ON entries
WHEN NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM entries)
BEGIN SELECT RAISE(ABORT, 'entries are numbered in order'); END""",
    *(
        f"CREATE TRIGGER {table}_no_{event.lower()} BEFORE {event} ON {table} "
        f"BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"
        for table in ("meta", "entries", "outputs")
        for event in ("UPDATE", "DELETE")
    ),
)
"""What makes an empty database a ledger."""
