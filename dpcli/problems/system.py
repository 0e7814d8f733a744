"""What operating systems do differently: Linux and macOS; Windows is refused.

What only Linux has is used here alone. What Windows lacks is not used while modules are imported,
so that a program can import dpcli there, and is refused when it uses it.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from dpcli.problems.errors import UsageError

try:
    import fcntl
except ImportError:
    # On Windows, which is refused before it is needed.
    fcntl = None  # type: ignore[assignment]

PLATFORM: str = sys.platform

NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
"""How a file is opened that must not exist, not even as a link."""


def require_supported() -> None:
    """Raise UsageError on Windows, where some promises of a release do not hold."""
    if PLATFORM == "win32":
        raise UsageError.about("unsupported-system")


def run_after_fork(call: Callable[[], None]) -> None:
    """Have each forked child begin with a call, where processes can fork."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=call)


def sync(descriptor: int) -> None:
    """Write a file or folder to the disk, and not only to its cache. Raises OSError.

    On macOS, `fsync` leaves bytes in the cache of the disk, which a power loss empties.
    """
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        # Some file systems cannot do more than `fsync`.
        with suppress(OSError):
            fcntl.fcntl(descriptor, full)
            return
    os.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to the disk. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


def lock(descriptor: int, *, wait: bool) -> None:
    """Lock an open file; OSError if that fails, or needs a wait without `wait`."""
    fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def name_key(path: Path) -> str:
    """A text that two names of one file share, even if there is no such file yet.

    On most disks of macOS, names differ neither by case nor by how an accent is encoded.
    """
    name = str(path.resolve())
    return unicodedata.normalize("NFD", name).casefold() if PLATFORM == "darwin" else name


def nameless_file(folder: Path) -> int | None:
    """A new file without a name that can be linked later; None if impossible."""
    if not hasattr(os, "O_TMPFILE"):
        return None
    try:
        descriptor = os.open(folder, os.O_WRONLY | os.O_TMPFILE, 0o600)
    except OSError:
        return None
    if Path(descriptor_path(descriptor)).exists():
        return descriptor
    os.close(descriptor)
    return None


def descriptor_path(descriptor: int) -> str:
    """The path by which Linux links an open file."""
    return f"/proc/self/fd/{descriptor}"
