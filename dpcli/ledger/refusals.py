"""Why a ledger file is refused, in plain words: always a LedgerError."""

from __future__ import annotations

from pathlib import Path

from dpcli.errors import LedgerError, describe_system_error
from dpcli.ledger.place import network_file_system


def doubt(path: Path, reason: str) -> LedgerError:
    """A ledger that cannot be trusted."""
    return LedgerError.of(
        "ledger-in-doubt",
        f"the ledger `{path}` cannot be trusted: {reason}",
        "find out who changed it, and compare it with published reports by `dpcli ledger verify "
        "--against`; after a lost disk, `dpcli ledger recover --from` charges what they prove",
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


def unusable(path: Path, error: OSError) -> LedgerError:
    """A ledger that the file system does not let this tool use."""
    why, fix = describe_system_error(error)
    return LedgerError.of("ledger-unusable", f"the ledger `{path}` cannot be used: {why}", fix)


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


def required(path: Path) -> LedgerError:
    """A ledger that is not there where one is demanded."""
    return LedgerError.of(
        "ledger-must-exist",
        f"there is no ledger `{path}`, and `ledger: must-exist` in the spec or "
        "DPCLI_LEDGER_MUST_EXIST demands one: nothing was created",
        "put the ledger of this spec there or name it by --ledger; to begin with an empty "
        "history on purpose, `dpcli ledger init PATH`",
    )


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
        "check the name: the ledger of a spec lies next to it, unless --ledger named another; "
        "`dpcli ledger init PATH` makes a new one, with an empty history",
    )
