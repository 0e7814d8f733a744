"""A connection to SQLite that waits for others, says so, and can be interrupted."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PATIENCE = 300.0
"""Seconds to wait for others who are writing; each needs a fraction of one."""

SHORT = 0.1
"""Seconds that SQLite waits by itself: for so long no signal is heard."""

SILENT = 2.0
"""Seconds to wait before a word is said about it."""

notice: Callable[[], None] = lambda: None  # noqa: E731 - replaced by the command line
"""What is called once when others keep the ledger locked for long."""


class Patient(sqlite3.Connection):
    """Tries a statement again while others keep the file locked."""

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Run one statement; sqlite3.OperationalError after `PATIENCE` seconds."""
        start, silent = time.monotonic(), True
        while True:
            try:
                return super().execute(sql, parameters)
            except sqlite3.OperationalError as error:
                waited = time.monotonic() - start
                busy = (getattr(error, "sqlite_errorname", "") or "").startswith("SQLITE_BUSY")
                if not busy or waited > PATIENCE:
                    raise
                if silent and waited > SILENT:
                    silent = False
                    notice()


def connect(path: Path) -> Patient:
    """A connection to a file that exists, in autocommit mode, that syncs everything."""
    uri = f"{path.resolve().as_uri()}?mode=rw"
    connection = sqlite3.connect(
        uri, uri=True, timeout=SHORT, isolation_level=None, factory=Patient
    )
    try:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def touch(path: Path) -> None:
    """An empty file, made here rather than by SQLite, so that nobody else may read it."""
    if not path.exists():
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
