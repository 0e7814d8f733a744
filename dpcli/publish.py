"""Files appear whole or not at all, and never in the place of something precious."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from dpcli.errors import OutputError, Problem, UsageError


def require_writable(
    targets: Sequence[Path], inputs: Sequence[Path], *, force: bool, twice: bool = False
) -> None:
    """Raise UsageError, before anything is spent, for outputs that cannot be meant.

    An output must not be an input, must not exist already unless `force`, and must
    lie in a folder that exists; no two outputs may be the same file.
    """
    problems = []
    if twice:
        problems.append(
            Problem(
                "output-twice",
                "two reports would be written to the same file",
                "give every output a name of its own",
            )
        )
    precious = {path.resolve() for path in inputs}
    seen: set[Path] = set()
    for target in targets:
        resolved = target.resolve()
        if resolved in precious:
            problem = ("output-is-input", f"`{target}` is an input of this release")
            hint = "name another file for the output"
        elif resolved in seen:
            problem = ("output-twice", f"two outputs would be written to `{target}`")
            hint = "give every output a name of its own"
        elif target.is_dir():
            problem = ("output-folder", f"`{target}` is a folder")
            hint = "name a file in it"
        elif not resolved.parent.is_dir():
            problem = ("output-folder", f"the folder of `{target}` does not exist")
            hint = "make the folder first"
        elif _is_device(target):
            continue
        elif target.exists() and not force:
            problem = ("output-exists", f"`{target}` exists already")
            hint = "use --force to replace it"
        else:
            seen.add(resolved)
            continue
        problems.append(Problem(*problem, hint))
    if problems:
        raise UsageError(problems)


def publish(files: Mapping[Path, bytes]) -> None:
    """Write every file under a temporary name, sync it, and rename it into place.

    Nothing is renamed before all are written. Devices and pipes, which cannot be
    renamed, are written to last. Raises OutputError.
    """
    written: list[tuple[Path, Path]] = []
    target = Path()
    try:
        devices = [target for target in files if _is_device(target)]
        for target, content in files.items():
            if target in devices:
                continue
            # A link is replaced in the place that it points to, as a shell would.
            final = target.resolve()
            temporary = final.with_name(f".{final.name}.{secrets.token_hex(4)}.tmp")
            written.append((temporary, final))
            _write(temporary, content)
        for temporary, target in written:
            temporary.replace(target)
        for folder in {final.parent for _, final in written}:
            _sync_folder(folder)
        for target in devices:
            with target.open("wb") as device:
                device.write(files[target])
    except OSError as error:
        reason = error.strerror or "input or output error"
        raise OutputError.of(
            "output-failed",
            f"`{target}` could not be written: {reason.lower()}",
            "free space or fix the permissions, then run the release again",
        ) from None
    finally:
        for temporary, _ in written:
            with contextlib.suppress(OSError):
                temporary.unlink()


def _is_device(path: Path) -> bool:
    """Whether a path is something that takes bytes, but is no file to be replaced."""
    return path.exists() and not path.is_file() and not path.is_dir()


def publish_to_stdout(content: bytes) -> None:
    """Write to standard output, all of it. Raises OutputError."""
    try:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except OSError as error:
        reason = error.strerror or "input or output error"
        raise OutputError.of(
            "output-failed",
            f"standard output could not be written: {reason.lower()}",
            "name a file with -o, or read the whole of standard output",
        ) from None


def _write(path: Path, content: bytes) -> None:
    """A new file with `content`, on disk; with the permissions the user's mask allows."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    with open(os.open(path, flags, 0o666), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Make renames in `folder` last, where folders can be synced."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
