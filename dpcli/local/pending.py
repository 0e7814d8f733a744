"""Responses on disk that are not published yet: charged for first, then renamed.

The ledger keeps only their digest. Whoever finds the bytes of a charged release under
their temporary name can publish them; nobody can make them again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from dpcli.errors import OutputError

ENDING = ".responses"


class Pending:
    """A file of responses beside the place where they will be published.

    Only its owner may read it. It is removed on the way out unless it was kept.
    """

    def __init__(self, place: Path, release_id: str) -> None:
        token = secrets.token_hex(4)
        self.path = place.with_name(f".{place.name}.{release_id}.{token}{ENDING}")
        self._kept = False
        self._digest = hashlib.sha256()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        with _told(self.path):
            # It gets its name when it is locked, so that nobody else takes it for left over.
            nameless = place.with_name(f".{place.name}.{token}.tmp")
            self._file = open(os.open(nameless, flags, 0o600), "wb")  # noqa: SIM115 - until exit
            _lock(self._file.fileno())
            nameless.rename(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(OSError):
            self._file.close()
        if not self._kept:
            with contextlib.suppress(OSError):
                self.path.unlink()

    @property
    def digest(self) -> str:
        """SHA-256 of what was written."""
        return self._digest.hexdigest()

    def write(self, content: bytes) -> None:
        """More of the responses. Raises OutputError."""
        self._digest.update(content)
        with _told(self.path):
            self._file.write(content)

    def settle(self) -> None:
        """Have all of it on disk. Raises OutputError."""
        with _told(self.path):
            self._file.flush()
            os.fsync(self._file.fileno())
        # Its name must last as well: once it is charged, nothing else holds it.
        with contextlib.suppress(OSError):
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def keep(self) -> None:
        """Leave the file where it is: it is charged for."""
        self._kept = True


def sweep(place: Path, release_id: str) -> None:
    """Remove responses of a release that was never charged, if nobody is writing them."""
    for path in _left(place, release_id):
        with contextlib.suppress(OSError), open(path, "rb+") as file:
            _lock(file.fileno())
            path.unlink()


def find(digest: str, release_id: str, places: Iterable[Path]) -> Path | None:
    """A file with just these responses that waits beside one of the places."""
    for place in places:
        for path in _left(place, release_id):
            if digest_of(path) == digest:
                return path
    return None


def digest_of(path: Path) -> str | None:
    """SHA-256 of a regular file; None if it is none or cannot be read."""
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


@contextlib.contextmanager
def _told(what: Path) -> Iterator[None]:
    """Errors of the system as OutputError."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or "input or output error"
        raise OutputError.of(
            "output-failed",
            f"`{what}` could not be written: {reason.lower()}",
            "free space or fix the permissions, then run the command again",
        ) from None


def _left(place: Path, release_id: str) -> list[Path]:
    """Pending files of a release that are still there."""
    start = f".{place.name}.{release_id}."
    with contextlib.suppress(OSError):
        return [
            path
            for path in sorted(place.parent.iterdir())
            if path.name.startswith(start) and path.name.endswith(ENDING)
        ]
    return []


def _lock(descriptor: int) -> None:
    """Hold the file while it is being written; OSError if somebody else does."""
    with contextlib.suppress(ImportError):
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
