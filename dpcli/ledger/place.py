"""Where a ledger may be, and why a file is refused as one: always a LedgerError.

Nothing here writes, and nothing needs SQLite: a plan without a ledger asks the same
questions that the first release will.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from dpcli.errors import LedgerError, describe_system_error
from dpcli.ledger.anchor import ForeignAnchor, read_anchor

NETWORK = frozenset(
    {"9p", "afs", "beegfs", "ceph", "cifs", "davfs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs",
     "nfs4", "smb2", "smb3", "smbfs", "vboxsf", "virtiofs"}
)  # fmt: skip
"""Kinds of file systems whose files are on another machine, as Linux names them."""

LOCAL_FUSE = frozenset({"fuse.ntfs-3g", "fuse.exfat", "fuse.ext2", "fuse.encfs", "fuse.gocryptfs"})
"""File systems run by programs, on a disk of this machine; others may be anywhere."""

MOUNTS = Path("/proc/self/mountinfo")
"""What is mounted where, on Linux; elsewhere nothing is known, and nothing refused."""


def network_file_system(path: Path) -> str | None:
    """The kind of network drive that holds `path`, or None if it is on none.

    Two machines that write one ledger at once rely on locks that some network drives
    do not keep; then one budget could pay twice (SQLite documentation, How To Corrupt
    An SQLite Database File, section 2.1).
    """
    place = path if path.exists() else path.parent
    with suppress(OSError):
        number = place.stat().st_dev
        device = f"{os.major(number)}:{os.minor(number)}"
        for line in MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines():
            mount, _, source = line.partition(" - ")
            kind = source.split(" ")[0]
            away = kind in NETWORK or (kind.startswith("fuse.") and kind not in LOCAL_FUSE)
            if away and mount.split(" ")[2:3] == [device]:
                return kind
    return None


def usual_anchor(path: Path) -> Path:
    """Where the anchor of a ledger is unless another place is chosen."""
    return path.with_name(path.name + ".anchor")


def is_absent(path: Path) -> bool:
    """Whether there is no ledger yet: no file, or an empty one."""
    try:
        return not path.exists() or (path.is_file() and not path.stat().st_size)
    except OSError as error:
        raise unusable(path, error) from None


def require_file_name(path: Path) -> None:
    """Refuse names that are not UTF-8, which no report could print."""
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        raise LedgerError.of(
            "ledger-unusable",
            "the ledger cannot be used: its name is not UTF-8",
            "rename it, with plain letters",
        ) from None


def require_local(path: Path) -> None:
    """Refuse a ledger on a network drive."""
    kind = network_file_system(path)
    if kind is not None:
        raise LedgerError.of(
            "ledger-on-network",
            f"the ledger `{path}` is on a network drive ({kind}), which may not keep its locks",
            "keep it on a local disk and name it by --ledger; if only one machine ever uses it, "
            "`dpcli ledger init PATH --network` makes one there",
        )


def require_place(path: Path, *, network: bool = False) -> None:
    """Raise LedgerError unless a file can be made at `path`, on a local disk.

    With `network` it may be on a network drive.
    """
    require_file_name(path)
    if path.exists() and not path.is_file():
        raise missing(path)
    if not network:
        require_local(path)
    if path.parent.is_dir() and not os.access(path.parent, os.W_OK):
        raise unusable(path, PermissionError(errno.EACCES, ""))


def require_no_history(path: Path, anchor: Path | None = None) -> None:
    """Raise LedgerError where an anchor remembers entries: then a ledger was lost."""
    usual = usual_anchor(path)
    for place in {usual, anchor or usual}:
        try:
            remembered = read_anchor(place, None)
        except ForeignAnchor as foreign:
            raise doubt(path, f"it is missing or empty, and `{place}` {foreign}") from None
        except OSError as error:
            raise unusable(path, error) from None
        if remembered:
            raise doubt(path, f"it is missing or empty, but its anchor `{place}` remembers entries")
    if anchor is not None and anchor != usual and anchor.exists():
        raise doubt(path, f"`{anchor}` is the anchor of another ledger")


def doubt(path: Path, reason: str) -> LedgerError:
    """A ledger that cannot be trusted."""
    return LedgerError.of(
        "ledger-in-doubt",
        f"the ledger `{path}` cannot be trusted: {reason}",
        "find out who changed it, and compare it with published reports by `dpcli ledger verify "
        "--against`; after a lost disk, `dpcli ledger recover --from` charges what they prove",
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
        "nothing was charged; install that version",
    )


def required(path: Path) -> LedgerError:
    """A ledger that does not exist where one is required."""
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
            "name the file itself, `dpcli-ledger.sqlite` or the name given to `ledger init`",
        )
    return LedgerError.of(
        "ledger-missing",
        f"there is no ledger `{path}`",
        "check the name: the ledger of a spec is next to it, unless --ledger named another; "
        "`dpcli ledger init PATH` makes a new one, with an empty history",
    )
