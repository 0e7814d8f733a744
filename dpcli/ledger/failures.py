"""Failures of SQLite and of the file system in plain words, as LedgerErrors."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpcli.composition.base import Missing
from dpcli.errors import LedgerError
from dpcli.ledger.pricing import UnknownMechanism
from dpcli.ledger.refusals import unusable


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Failures of SQLite and of the file system as LedgerErrors."""
    try:
        yield
    except UnknownMechanism as unknown:
        raise LedgerError.of(
            "ledger-unusable",
            f"the ledger `{path}` cannot be used: it records a mechanism that this version does "
            f"not know, `{unknown}`",
            "nothing was charged; install the version that wrote it here as well",
        ) from None
    except Missing as missing_package:
        raise LedgerError.of(
            "package-missing",
            f"an account in `{path}` needs a package that is not installed: {missing_package}",
            "nothing was charged; install it here as well",
        ) from None
    except sqlite3.Error as error:
        raise failed(path, error) from None
    except OSError as error:
        raise unusable(path, error) from None


def failed(path: Path, error: sqlite3.Error) -> LedgerError:
    """What SQLite met, in plain words."""
    name = getattr(error, "sqlite_errorname", "") or ""
    words = {
        "SQLITE_BUSY": "others kept it locked for too long",
        "SQLITE_LOCKED": "others kept it locked for too long",
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
    known = [text for code, text in words.items() if name.startswith(code)]
    reason = known[0] if known else "SQLite refused it"
    return LedgerError.of(
        "ledger-unusable",
        f"the ledger `{path}` cannot be used: {reason}",
        "nothing was charged; check the file, its folder and the disk, then try again",
    )
