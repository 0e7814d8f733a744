"""The options of a charge: the ledger, the id of the release, and its period.

`announce_waiting` says that other processes keep the ledger locked. It is here because a plan opens
no ledger and needs no SQLite.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dpcli.ledger.balance import period_number
from dpcli.ledger.chain import ForeignAnchorError, default_anchor, read_anchor
from dpcli.noise.entropy import random_bytes
from dpcli.problems import system
from dpcli.problems.errors import LedgerError, UsageError, describe_system_error
from dpcli.problems.messages import escape_controls
from dpcli.specification.model import Spec

DEFAULT = "dpcli-ledger.sqlite"
"""The name of the ledger next to a spec; the first release creates it."""

NAMED = "DPCLI_LEDGER"

MUST_EXIST = "DPCLI_LEDGER_MUST_EXIST"
"""Environment variable: requires an existing ledger with the dataset's account."""


def must_exist(spec: Spec) -> bool:
    """Whether the spec or the environment requires an existing ledger and account."""
    return spec.must_exist or os.environ.get(MUST_EXIST, "") not in {"", "0"}


def ledger_of(named: Path | None, folder: Path) -> Path:
    """The ledger that is named, or the one in the folder of the spec."""
    return named or folder / DEFAULT


def checked_day(period: str | None) -> str | None:
    """A period as it was written; UsageError unless it is a day."""
    try:
        if period is not None:
            period_number(period)
    except ValueError:
        raise UsageError.about("not-a-day", period=period) from None
    return period


def checked_period(text: str | None) -> str | None:
    """A period as it was written; UsageError unless it is one."""
    from dpcli.data.periods import parse_period

    try:
        if text is not None:
            parse_period(text)
    except ValueError:
        raise UsageError.about("not-a-period", period=text) from None
    return text


ID = "[A-Za-z0-9][A-Za-z0-9._:-]{0,99}"

ENTRY_ID = rf"{ID}(\+[0-9]{{1,6}})?"
"""The form of a name in the ledger: a later check adds its number."""


def checked_id(release_id: str | None) -> str | None:
    """A release id as it was written; UsageError unless it is a plain word."""
    if release_id is None or re.fullmatch(ID, release_id):
        return release_id
    raise UsageError.about("bad-release-id", found=release_id)


def checked_entry_id(name: str) -> str:
    """The name of a stored release, or of a later check; UsageError for other texts."""
    if re.fullmatch(ENTRY_ID, name):
        return name
    raise UsageError.about("bad-release-id", found=name)


def new_release_id() -> str:
    """A random name for a release; it does not depend on the data."""
    return random_bytes(8).hex()


def created_text(ledger: Path) -> str:
    """A sentence about a new ledger: every budget in it is unspent."""
    path = escape_controls(str(ledger))
    return f"created the ledger `{path}`: its history is empty, so every budget in it is unspent"


announce_waiting: Callable[[], None] = lambda: None  # noqa: E731 - replaced by the command line
"""Called once per statement when other processes keep the ledger locked for long."""


NETWORK = frozenset(
    {"9p", "afs", "beegfs", "ceph", "cifs", "davfs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs",
     "nfs4", "smb2", "smb3", "smbfs", "vboxsf", "virtiofs"}
)  # fmt: skip
"""File systems whose files are on another machine, as Linux names them."""

LOCAL_FUSE = frozenset({"fuse.ntfs-3g", "fuse.exfat", "fuse.ext2", "fuse.encfs", "fuse.gocryptfs"})
"""FUSE file systems on a local disk; files of others may be on another machine."""

MOUNTS = Path("/proc/self/mountinfo")
"""The list of mounts of Linux. Without it, no path there is refused."""

FIND = "/usr/bin/find"
"""The program of macOS that knows which files are on a local disk."""


def is_absent(path: Path) -> bool:
    """Whether there is no ledger yet: no file, or an empty one.

    Raises LedgerError if the file system does not allow to look.
    """
    try:
        return not path.exists() or (path.is_file() and not path.stat().st_size)
    except OSError as error:
        raise unusable_error(path, error) from None


def require_file_name(path: Path) -> None:
    """Raise LedgerError for a name that is not UTF-8, which no report could print."""
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        raise LedgerError.about("ledger-unusable.name") from None


def require_local(path: Path) -> None:
    """Raise LedgerError for a ledger on a network drive.

    Two machines that write one ledger at the same time rely on locks, and some network drives
    do not keep them. One budget could then pay twice (SQLite documentation, How To Corrupt An
    SQLite Database File, section 2.1).
    """
    existing = path if path.exists() else path.parent
    with suppress(OSError):
        find_kind = _remote_kind_on_macos if system.PLATFORM == "darwin" else _remote_kind
        if kind := find_kind(existing.resolve()):
            raise LedgerError.about("ledger-on-network", path=path, kind=kind)


def _remote_kind(path: Path) -> str:
    """The kind of a file system whose files may be on another machine, or empty."""
    number = path.stat().st_dev
    device = f"{os.major(number)}:{os.minor(number)}"
    for line in MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines():
        mount, _, source = line.partition(" - ")
        kind = source.split(" ")[0]
        is_remote = kind in NETWORK or (kind.startswith("fuse.") and kind not in LOCAL_FUSE)
        if is_remote and mount.split(" ")[2:3] == [device]:
            return kind
    return ""


def _remote_kind_on_macos(path: Path) -> str:
    """The same on macOS, which has no such list, and shows if a path is local."""
    # Only this system needs it, and standard input may be the data.
    from subprocess import DEVNULL, run

    command = [FIND, str(path), "-prune", "-fstype", "local"]
    found = run(command, stdin=DEVNULL, capture_output=True, check=False).stdout
    return "" if found else "not local"


def require_creatable(path: Path, *, network: bool = False) -> None:
    """Raise LedgerError unless a ledger can be created at `path`.

    With `network`, `path` may be on a network drive.
    """
    require_file_name(path)
    if path.exists() and not path.is_file():
        raise missing_error(path)
    if not network:
        require_local(path)
    if path.parent.is_dir() and not os.access(path.parent, os.W_OK):
        raise unusable_error(path, PermissionError(errno.EACCES, ""))


def access_warnings(path: Path, anchor: Path) -> list[str]:
    """A warning if everyone on the machine may write a ledger, its anchor or folders.

    In a folder that all may write, others can put another file in the place of one, unless the
    folder has the sticky bit.
    """
    found = []
    # Who replaces a link replaces what it leads to.
    for named in (path, anchor):
        file = named.resolve()
        for checked in (file, file.parent, named.absolute().parent):
            with suppress(OSError):
                mode = checked.stat().st_mode
                is_safe = stat.S_ISDIR(mode) and mode & stat.S_ISVTX
                if mode & stat.S_IWOTH and not is_safe:
                    found.append(shlex.quote(str(checked)))
    if not found:
        return []
    command = " ".join(["chmod o-w", *dict.fromkeys(found)])
    ledger = escape_controls(str(path))
    warning = (
        f"every user of this machine may write the ledger `{ledger}`, its anchor or their "
        f"folder, and so take back what was spent, or destroy it: run `{command}`"
    )
    return [warning]


def require_no_history(path: Path, anchor: Path | None = None) -> None:
    """Raise LedgerError if an anchor records entries: then a ledger was lost."""
    usual = default_anchor(path)
    for named in {usual, anchor or usual}:
        try:
            _, recorded = read_anchor(named, None)
        except ForeignAnchorError as foreign:
            raise in_doubt_error(path, f"it is missing or empty, and `{named}` {foreign}") from None
        except OSError as error:
            raise unusable_error(path, error) from None
        if recorded:
            raise in_doubt_error(
                path, f"it is missing or empty, but its anchor `{named}` remembers entries"
            )
    if anchor is not None and anchor != usual and anchor.exists():
        raise in_doubt_error(path, f"`{anchor}` is the anchor of another ledger")


@contextmanager
def removed_if_empty(path: Path) -> Iterator[None]:
    """Remove a new file that stayed empty, so it does not look like a lost ledger."""
    is_new = not path.exists()
    try:
        yield
    finally:
        if is_new and path.is_file() and not path.stat().st_size:
            path.unlink()


def in_doubt_error(path: Path, why: str) -> LedgerError:
    """The error for a ledger that cannot be trusted."""
    return LedgerError.about("ledger-in-doubt", path=path, why=why)


def unusable_error(path: Path, error: OSError) -> LedgerError:
    """The error for a ledger that the operating system does not allow to use."""
    why, fix = describe_system_error(error)
    return LedgerError.about("ledger-unusable", path=path, why=why, fix=fix)


@contextmanager
def translated_os_errors(path: Path) -> Iterator[None]:
    """Turn each OSError in the block into a LedgerError."""
    try:
        yield
    except OSError as error:
        raise unusable_error(path, error) from None


def missing_error(path: Path) -> LedgerError:
    """The error for a named ledger that does not exist, or is not a file."""
    code = "ledger-unusable.no-file" if path.exists() else "ledger-missing"
    return LedgerError.about(code, path=path)
