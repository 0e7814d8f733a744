"""Responses on disk that are not published yet: named when they are charged for.

Until then the file has no name, so that nothing is left of an attempt that dies. The
ledger keeps only their digest: the bytes of a charged release that are found under their
waiting name can be published; they cannot be made again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Self

from dpcli.errors import OutputError

ENDING = ".responses"


def waiting_path(ledger: Path, release_id: str) -> Path:
    """Where the charged responses of a release wait: next to the ledger that charged them."""
    book = ledger.resolve()
    short = hashlib.sha256(release_id.encode()).hexdigest()[:24]
    return book.with_name(f".{book.name}-{short}{ENDING}")


def remove_uncharged(ledger: Path, charged: Iterable[str]) -> None:
    """Remove what waits for no release that was charged; while no other process can charge."""
    book = ledger.resolve()
    kept = {waiting_path(ledger, release_id) for release_id in charged}
    with contextlib.suppress(OSError):
        for path in book.parent.iterdir():
            ours = path.name.startswith(f".{book.name}-") and path.name.endswith(ENDING)
            if ours and path not in kept:
                with contextlib.suppress(OSError):
                    path.unlink()


class Outbox:
    """A file of responses without a name, in the folder where they will wait.

    Only its owner may read it. Where files cannot be without a name, it has a temporary one
    and is removed at the end.
    """

    def __init__(self, waiting: Path) -> None:
        self.waiting = waiting
        self._digest = hashlib.sha256()
        self._is_named = False
        with _reported(waiting.parent):
            descriptor = _nameless(waiting.parent)
            self._temporary: Path | None = None
            if descriptor is None:
                self._temporary = waiting.with_name(f".dpcli-{secrets.token_hex(8)}.tmp")
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
                descriptor = os.open(self._temporary, flags, 0o600)
        self._file = open(descriptor, "wb")  # noqa: SIM115 - until exit

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._file.close()
        if self._temporary is not None:
            with contextlib.suppress(OSError):
                self._temporary.unlink()

    @property
    def digest(self) -> str:
        """SHA-256 of what was written."""
        return self._digest.hexdigest()

    def write(self, content: bytes) -> None:
        """More of the responses. Raises OutputError."""
        self._digest.update(content)
        with _reported(self.waiting.parent):
            self._file.write(content)

    def sync(self) -> None:
        """Have all of it on disk. Raises OutputError."""
        with _reported(self.waiting.parent):
            self._file.flush()
            os.fsync(self._file.fileno())

    def name(self) -> None:
        """Give the file its waiting name. Raises OutputError.

        To be called while no other process can charge for this release: a file that has the
        name already was never charged for, and is removed.
        """
        with _reported(self.waiting.parent):
            self.waiting.unlink(missing_ok=True)
            folder = os.open(self.waiting.parent, os.O_RDONLY)
            try:
                if self._temporary is None:
                    # With a folder given, the link is followed to the file itself.
                    opened = _opened(self._file.fileno())
                    os.link(opened, self.waiting.name, dst_dir_fd=folder)
                else:
                    self._temporary.rename(self.waiting)
                    self._temporary = None
                self._is_named = True
                # The name must be on disk before the charge is.
                os.fsync(folder)
            finally:
                os.close(folder)

    def unname(self) -> None:
        """Take the waiting name away again, if it is this file that has it."""
        if self._is_named:
            with contextlib.suppress(OSError):
                if os.path.samestat(self.waiting.lstat(), os.fstat(self._file.fileno())):
                    self.waiting.unlink()


def _nameless(folder: Path) -> int | None:
    """A new file without a name that can be given one; None where that is not possible."""
    if not hasattr(os, "O_TMPFILE"):
        return None
    try:
        descriptor = os.open(folder, os.O_WRONLY | os.O_TMPFILE, 0o600)
    except OSError:
        return None
    if Path(_opened(descriptor)).exists():
        return descriptor
    os.close(descriptor)
    return None


def _opened(descriptor: int) -> str:
    return f"/proc/self/fd/{descriptor}"


def digest_of(path: Path) -> str | None:
    """SHA-256 of a regular file; None if it is none or cannot be read."""
    try:
        if path.is_file():
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        pass
    return None


@contextlib.contextmanager
def _reported(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        name = f"a file of responses in `{folder}`"
        raise OutputError.from_system(name, error, "run the command again") from None
