"""Whether a ledger may begin at a place: asked before one is made, and by plans.

Nothing here writes, and nothing needs SQLite: a plan without a ledger asks the same
questions that the first release will.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from dpcli.ledger.anchor import ForeignAnchor, read_anchor
from dpcli.ledger.refusals import (
    doubt,
    missing,
    require_file_name,
    require_local,
    unusable,
)


def usual_anchor(path: Path) -> Path:
    """Where the anchor of a ledger lies unless another place is chosen."""
    return path.with_name(path.name + ".anchor")


def is_absent(path: Path) -> bool:
    """Whether there is no ledger yet: no file, or an empty one."""
    try:
        return not path.exists() or (path.is_file() and not path.stat().st_size)
    except OSError as error:
        raise unusable(path, error) from None


def require_place(path: Path, *, network: bool = False) -> None:
    """Raise LedgerError unless a file can be made at `path`, on a local disk.

    With `network` it may lie on a network drive.
    """
    require_file_name(path)
    if path.exists() and not path.is_file():
        raise missing(path)
    if not network:
        require_local(path)
    if path.parent.is_dir() and not os.access(path.parent, os.W_OK):
        raise unusable(path, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))


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
