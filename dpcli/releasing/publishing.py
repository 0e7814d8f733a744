"""Output files: complete or absent, and never over an input or a ledger."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from dpcli.data.formats import TAB_ENDINGS
from dpcli.engine.files.dataset import ENDINGS, GZIP_ENDING, PARQUET_ENDINGS, ZIP_ENDING
from dpcli.problems import system
from dpcli.problems.errors import OutputError, UsageError, make_problem
from dpcli.report.formats import FORMATS

DATABASE = b"SQLite format 3\0"
"""The first bytes of SQLite files, which no output may replace."""

RANDOM_BYTES = 4

MAX_START_BYTES = 200
"""Bytes of a name at the start of a temporary name; names have at most 255."""


def require_writable(
    targets: Sequence[Path],
    inputs: Sequence[Path],
    *,
    force: bool,
    twice: bool = False,
    expected: Mapping[Path, Collection[bytes]] | None = None,
) -> None:
    """Raise UsageError, before anything is spent, for outputs that must be mistakes.

    An output must not be an input or a database, nor be given `twice`. It must not exist, unless
    with `force` or if it holds some of the `expected` bytes. Its folder must take a new file, a
    device must take bytes, and no two outputs may be the same file.
    """
    codes = [("output-twice", Path())] if twice else []
    protected = {key for path in inputs if not _is_unusable(path) for key in _keys(path)}
    seen: set[object] = set()
    for target in targets:
        if _is_unusable(target):
            codes.append(("output-folder.odd", target))
            continue
        keys = _keys(target)
        if keys & protected:
            codes.append(("output-is-input", target))
        elif keys & seen:
            codes.append(("output-twice.named", target))
        elif code := _mistake(target, force=force, expected=(expected or {}).get(target, ())):
            codes.append((code, target))
        seen |= keys
    if codes:
        raise UsageError(make_problem(code, output=target) for code, target in codes)


PACKED_ENDINGS = (GZIP_ENDING, ZIP_ENDING, ".bz2", ".xz", ".zst", ".7z")

OTHER_ENDINGS = (*TAB_ENDINGS, *ENDINGS, ".xls", ".xlsb", ".ods", ".arrow", ".feather", ".orc")


def require_table_name(path: Path, *others: str) -> None:
    """Raise UsageError for a table whose file name has the ending of another format.

    The endings in `others`, such as those of Parquet, are accepted.
    """
    name, code = path.name.lower(), "table-format"
    if name.endswith(tuple(others)):
        return
    if name.endswith(tuple(ending for report in FORMATS for ending in report.endings)):
        code = "table-format.report"
    elif not name.endswith((*PACKED_ENDINGS, *OTHER_ENDINGS)):
        return
    endings = [".csv", *([PARQUET_ENDINGS[0]] if PARQUET_ENDINGS[0] in others else [])]
    ending = path.suffix
    raise UsageError.about(code, path=path, ending=ending, endings=endings)


def _keys(path: Path) -> set[object]:
    """What all paths of one file share: also in a folder that is mounted twice."""
    keys: set[object] = {system.name_key(path)}
    if path.is_file():
        status = path.stat()
        keys.add((status.st_dev, status.st_ino))
    return keys


def _mistake(target: Path, *, force: bool, expected: Collection[bytes]) -> str | None:
    """Error code of a target that cannot be written or must not be replaced, or None."""
    if target.is_dir():
        return "output-folder.itself"
    if not target.resolve().parent.is_dir():
        return "output-folder"
    if is_device(target):
        return None if _takes_bytes(target) else "output-device"
    if not _takes_file(target.resolve()):
        return "output-folder.refused"
    if not target.is_file():
        return None
    with contextlib.suppress(OSError):
        with target.open("rb") as file:
            if file.read(len(DATABASE)) == DATABASE:
                return "output-is-input.database"
        if expected and target.read_bytes() in expected:
            return None
    return None if force else "output-exists"


def _takes_file(final: Path) -> bool:
    """Whether a temporary file can be made next to `final`, as `publish` makes it."""
    temporary = _temporary_name(final)
    try:
        os.close(os.open(temporary, system.NEW_FILE, 0o600))
        # A run with the same output may have removed it: it looked like one that was left.
        temporary.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _takes_bytes(device: Path) -> bool:
    """Whether a device opens to write; a pipe, which waits for readers, is not tried."""
    if device.is_fifo():
        return os.access(device, os.W_OK)
    try:
        flags = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
        os.close(os.open(device, os.O_WRONLY | flags))
    except OSError:
        return False
    return True


def publish(files: Mapping[Path, bytes]) -> None:
    """Write every file under a temporary name, sync it, and rename it.

    Files are renamed only after all are written. Devices and pipes cannot be renamed: they are
    written last. Raises OutputError.
    """
    target = Path()
    try:
        with contextlib.ExitStack() as written:
            devices = [target for target in files if is_device(target)]
            placed = []
            for target, content in files.items():
                if target not in devices:
                    # The target of a link is replaced, as a shell would do.
                    final = target.resolve()
                    temporary = written.enter_context(_temporary_file(final, io.BytesIO(content)))
                    placed.append((temporary, final))
            for temporary, target in placed:
                temporary.replace(target)
            for folder in {final.parent for _, final in placed}:
                _sync_folder(folder)
            for target in devices:
                with target.open("wb") as device:
                    device.write(files[target])
    except OSError as error:
        raise OutputError.from_system(f"`{target}`", error, "run the release again") from None


@contextlib.contextmanager
def _temporary_file(final: Path, source: BinaryIO, mode: int = 0o666) -> Iterator[Path]:
    """A synced temporary file next to the final one; it is deleted unless renamed.

    Its permissions are those of `mode` that the umask of the user allows. While it is used, it is
    locked: temporary files without a lock were left by killed processes, and are removed.
    """
    _remove_left_files(final)
    with contextlib.ExitStack() as opened:
        temporary, descriptor = _new_file(final, mode)
        file = opened.enter_context(open(descriptor, "wb"))
        try:
            shutil.copyfileobj(source, file)
            file.flush()
            system.sync(file.fileno())
            yield temporary
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()


def _new_file(final: Path, mode: int) -> tuple[Path, int]:
    """A new temporary file, with a descriptor that locks it where a file system can."""
    while True:
        temporary = _temporary_name(final)
        descriptor = os.open(temporary, system.NEW_FILE, mode)
        with contextlib.suppress(OSError):
            system.lock(descriptor, wait=True)
        # Another process may have removed it before the lock: it looked like one that was left.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(temporary.stat(), os.fstat(descriptor)):
                return temporary, descriptor
        os.close(descriptor)


def _start_of(final: Path) -> str:
    start = os.fsencode(final.name)[:MAX_START_BYTES].decode(errors="ignore")
    return f".{start}."


def _remove_left_files(final: Path) -> None:
    """Remove temporary files of this output that killed processes of this user left.

    Only regular files with the name of a temporary file are removed, and none that is locked.
    """
    pattern = re.compile(rf"{re.escape(_start_of(final))}[0-9a-f]{{{2 * RANDOM_BYTES}}}\.tmp")
    with contextlib.suppress(OSError):
        for path in final.parent.iterdir():
            if pattern.fullmatch(path.name):
                _remove_unless_locked(path)


def _remove_unless_locked(left: Path) -> None:
    flags = os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_NOFOLLOW", 0)
    with contextlib.suppress(OSError), open(os.open(left, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
            system.lock(file.fileno(), wait=False)
            left.unlink()


def _temporary_name(final: Path) -> Path:
    return final.with_name(f"{_start_of(final)}{secrets.token_hex(RANDOM_BYTES)}.tmp")


def _is_unusable(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError):
        # A chain of links without an end is one: `resolve` accepts it from Python 3.13 on.
        return True
    return not path.name or len(os.fsencode(path.name)) > 200


def is_device(path: Path) -> bool:
    """Whether a path exists but is neither a regular file nor a folder."""
    try:
        return path.exists() and not path.is_file() and not path.is_dir()
    except OSError:
        return False


def publish_to_stdout(content: bytes) -> None:
    """Write to standard output, all of it. Raises OutputError."""
    again = "run the command again, or name a file with -o"
    with OutputError.translated("standard output", again):
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


def _sync_folder(folder: Path) -> None:
    """Sync renames in a folder to the disk, if the system can."""
    with contextlib.suppress(OSError):
        system.sync_folder(folder)


def publish_file(waiting: Path, target: Path | None, *, force: bool) -> None:
    """Publish a waiting file by a rename, or copy it to a device or standard output.

    Without `force` it replaces no file, even one that has just appeared. The waiting file is
    removed once its content is safe elsewhere. Raises OutputError.
    """
    with OutputError.translated("standard output" if target is None else f"`{target}`"):
        if waiting.is_symlink():
            raise OSError(errno.ELOOP, "the file that waits is a link")
        if target is None or is_device(target):
            stdout = contextlib.nullcontext(sys.stdout.buffer)
            output = stdout if target is None else target.open("wb")
            with output as sink, waiting.open("rb") as file:
                shutil.copyfileobj(file, sink)
                sink.flush()
                # A pipe cannot be synced.
                with contextlib.suppress(OSError):
                    system.sync(sink.fileno())
            waiting.unlink()
            return
        mask = os.umask(0)
        os.umask(mask)
        waiting.chmod(0o666 & ~mask)
        final = target.resolve()
        try:
            _move_or_link(waiting, final, force=force)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            # A file cannot be renamed onto another disk.
            with waiting.open("rb") as file, _temporary_file(final, file) as copy:
                _move_or_link(copy, final, force=force)
        waiting.unlink(missing_ok=True)
        _sync_folder(final.parent)


def write_private(content: bytes, target: Path, *, force: bool = False) -> None:
    """Write a file that only its owner may read; a link is no file to write to.

    Raises OSError, also if the target exists, unless `force` replaces it.
    """
    final = target.parent.resolve() / target.name
    with _temporary_file(final, io.BytesIO(content), 0o600) as waiting:
        _move_or_link(waiting, final, force=force)
    _sync_folder(final.parent)


def _move_or_link(source: Path, final: Path, *, force: bool) -> None:
    """Move or link the file to its final path; without `force` only if that is free."""
    if force:
        source.replace(final)
        return
    try:
        os.link(source, final)
    except FileExistsError:
        raise
    except OSError as error:
        # Some file systems have no hard links.
        if error.errno not in {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP} or final.exists():
            raise
        source.replace(final)
