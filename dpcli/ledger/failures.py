"""What can be wrong with a ledger file, in plain words: always a LedgerError."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpcli.composition.base import Missing
from dpcli.errors import LedgerError
from dpcli.ledger.place import network_file_system
from dpcli.ledger.pricing import UnknownMechanism


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
        reason = (error.strerror or "input or output error").lower()
        raise LedgerError.of(
            "ledger-unusable",
            f"the ledger `{path}` cannot be used: {reason}",
            "check its folder, its permissions and the disk",
        ) from None


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


def doubt(path: Path, reason: str) -> LedgerError:
    """A ledger that cannot be trusted."""
    return LedgerError.of(
        "ledger-in-doubt",
        f"the ledger `{path}` cannot be trusted: {reason}",
        "find out who changed it, and compare it with published reports by "
        "`dpcli ledger verify --against`; never start a new one to spend again",
    )


def require_local(path: Path) -> None:
    """Refuse a ledger on a network drive."""
    kind = network_file_system(path)
    if kind is not None:
        raise LedgerError.of(
            "ledger-on-network",
            f"the ledger `{path}` lies on a network drive ({kind}), which may not keep its locks",
            "keep it on a local disk and name it by --ledger; if only one machine ever uses it, "
            "`dpcli ledger init PATH --network` makes one there",
        )


def newer(path: Path) -> LedgerError:
    """A ledger of a later version of this tool."""
    return LedgerError.of(
        "ledger-unusable",
        f"the ledger `{path}` cannot be used: it was written by a newer version of dpcli",
        "nothing was charged; install that version here as well",
    )


def require_file_name(path: Path) -> None:
    """Refuse names that are no texts, which no report could print."""
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        raise LedgerError.of(
            "ledger-unusable",
            "the ledger cannot be used: its name is not UTF-8",
            "rename it, with plain letters",
        ) from None


def missing(path: Path) -> LedgerError:
    """A ledger that was named and is not there."""
    if path.exists():
        return LedgerError.of(
            "ledger-unusable",
            f"the ledger `{path}` cannot be used: it is no regular file",
            "name the file itself, `dpcli-ledger.sqlite` or as it was called by `ledger init`",
        )
    return LedgerError.of(
        "ledger-missing",
        f"there is no ledger `{path}`",
        "check the name: the ledger of a spec lies beside the spec, unless --ledger named another; "
        "`dpcli ledger init PATH` makes a new one, with an empty history",
    )
