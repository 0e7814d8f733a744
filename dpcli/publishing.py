"""Files appear whole or not at all, and never replace an input or a ledger."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import secrets
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from dpcli.errors import OutputError, UsageError, make_problem

DATABASE = b"SQLite format 3\0"
"""The first bytes of files that no output may replace."""


def require_writable(
    targets: Sequence[Path],
    inputs: Sequence[Path],
    *,
    force: bool,
    twice: bool = False,
    known: Mapping[Path, bytes] | None = None,
) -> None:
    """Raise UsageError, before anything is spent, for outputs that must be a mistake.

    An output must not be an input, must not exist already unless `force`, and must
    lie in a folder that exists; no two outputs may be the same file. One that holds
    what is `known` to belong there may exist, and no database may be replaced.
    """
    codes = [("output-twice", Path())] if twice else []
    protected = {path.resolve() for path in inputs if not _is_odd(path)}
    seen: set[Path] = set()
    for target in targets:
        if _is_odd(target):
            codes.append(("output-folder.odd", target))
            continue
        resolved = target.resolve()
        if resolved in protected:
            codes.append(("output-is-input", target))
        elif resolved in seen:
            codes.append(("output-twice.named", target))
        elif code := _mistake(target, force=force, known=(known or {}).get(target)):
            codes.append((code, target))
        seen.add(resolved)
    if codes:
        raise UsageError(make_problem(code, output=target) for code, target in codes)


def _mistake(target: Path, *, force: bool, known: bytes | None) -> str | None:
    """The code for a target that cannot be written, or may not be replaced."""
    if target.is_dir():
        return "output-folder.itself"
    if not target.resolve().parent.is_dir():
        return "output-folder"
    if not target.is_file():
        return None
    with contextlib.suppress(OSError):
        with target.open("rb") as file:
            if file.read(len(DATABASE)) == DATABASE:
                return "output-is-input.database"
        if known is not None and target.read_bytes() == known:
            return None
    return None if force else "output-exists"


def publish(files: Mapping[Path, bytes]) -> None:
    """Write every file under a temporary name, sync it, and rename it into place.

    Nothing is renamed before all are written. Devices and pipes, which cannot be
    renamed, are written to last. Raises OutputError.
    """
    target = Path()
    try:
        with contextlib.ExitStack() as written:
            devices = [target for target in files if is_device(target)]
            placed = []
            for target, content in files.items():
                if target not in devices:
                    # A link is replaced in the place that it points to, as a shell would.
                    final = target.resolve()
                    temporary = written.enter_context(_beside(final, io.BytesIO(content)))
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
def _beside(final: Path, source: BinaryIO, mode: int = 0o666) -> Iterator[Path]:
    """A new file on disk next to the final one, with its content until it is renamed.

    It has the permissions of the mode that the user's mask allows.
    """
    temporary = final.with_name(f".{final.name[:200]}.{secrets.token_hex(4)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    try:
        with open(os.open(temporary, flags, mode), "wb") as file:
            shutil.copyfileobj(source, file)
            file.flush()
            os.fsync(file.fileno())
        yield temporary
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def _is_odd(path: Path) -> bool:
    try:
        path.resolve()
        path.exists()
    except (OSError, ValueError, RuntimeError):
        return True
    return not path.name or len(os.fsencode(path.name)) > 200


def is_device(path: Path) -> bool:
    """Whether a path is something that takes bytes, but is no file to be replaced."""
    try:
        return path.exists() and not path.is_file() and not path.is_dir()
    except OSError:
        return False


def publish_to_stdout(content: bytes) -> None:
    """Write to standard output, all of it. Raises OutputError."""
    try:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except OSError as error:
        again = "run the command again, or name a file with -o"
        raise OutputError.from_system("standard output", error, again) from None


def _sync_folder(folder: Path) -> None:
    """Have renames in `folder` on disk, where folders can be synced."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def publish_file(waiting: Path, target: Path | None, *, force: bool) -> None:
    """Publish a file that waits under another name: at once, or to a device or stdout.

    Without `force` it takes the place of nothing, whatever has appeared there by now. It is
    removed from where it waits when it is safe elsewhere. Raises OutputError.
    """
    try:
        _require_file(waiting)
        if target is None or is_device(target):
            stdout = contextlib.nullcontext(sys.stdout.buffer)
            opened = stdout if target is None else target.open("wb")
            with opened as sink, waiting.open("rb") as file:
                shutil.copyfileobj(file, sink)
                sink.flush()
                # Only a regular file can be synced, not a pipe.
                with contextlib.suppress(OSError):
                    os.fsync(sink.fileno())
            waiting.unlink()
            return
        mask = os.umask(0)
        os.umask(mask)
        waiting.chmod(0o666 & ~mask)
        final = target.resolve()
        try:
            _place(waiting, final, force=force)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            # From another disk a file cannot be renamed.
            with waiting.open("rb") as file, _beside(final, file) as copy:
                _place(copy, final, force=force)
        waiting.unlink(missing_ok=True)
        _sync_folder(final.parent)
    except OSError as error:
        name = "standard output" if target is None else f"`{target}`"
        raise OutputError.from_system(name, error, "run the command again") from None


def write_private(content: bytes, target: Path) -> None:
    """Write a new file that its owner alone may read, in the place of nothing.

    Raises OutputError.
    """
    try:
        final = target.resolve()
        with _beside(final, io.BytesIO(content), 0o600) as waiting:
            _place(waiting, final, force=False)
        _sync_folder(final.parent)
    except OSError as error:
        raise OutputError.from_system(f"`{target}`", error, "run the command again") from None


def _require_file(waiting: Path) -> None:
    if waiting.is_symlink():
        raise OSError(errno.ELOOP, "the file that waits is a link")


def _place(source: Path, final: Path, *, force: bool) -> None:
    """Have the file at its final place; without `force` only if nothing is there."""
    if force:
        source.replace(final)
        return
    try:
        os.link(source, final)
    except FileExistsError:
        raise
    except OSError as error:
        # Some disks have no second names.
        if error.errno not in {errno.EPERM, errno.ENOTSUP} or final.exists():
            raise
        source.replace(final)
