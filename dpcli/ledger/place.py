"""Where a ledger may lie: not on a network drive, whose locks may not be kept."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

NETWORK = frozenset(
    {"9p", "afs", "beegfs", "ceph", "cifs", "davfs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs",
     "nfs4", "smb2", "smb3", "smbfs", "vboxsf", "virtiofs"}
)  # fmt: skip
"""Kinds of file systems whose files lie on another machine, as Linux names them."""

LOCAL_FUSE = frozenset({"fuse.ntfs-3g", "fuse.exfat", "fuse.ext2", "fuse.encfs", "fuse.gocryptfs"})
"""File systems run by programs, on a disk of this machine; others may be anywhere."""

MOUNTS = Path("/proc/self/mountinfo")
"""What is mounted where, on Linux; elsewhere nothing is known, and nothing refused."""


def network_file_system(path: Path) -> str | None:
    """The kind of network drive that holds `path`, or None if it lies on none.

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
