"""Responses on disk that are not published yet: named when they are charged for.

Until then the file has no name, so that nothing is left of an attempt that dies. The
ledger keeps only their digest: whoever finds the bytes of a charged release under their
waiting name can publish them; nobody can make them again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from dpcli.errors import OutputError

ENDING = ".responses"


def waiting_name(ledger: Path, release_id: str) -> Path:
    """Where the charged responses of a release wait: beside the ledger that charged them."""
    short = hashlib.sha256(f"{ledger.name}\0{release_id}".encode()).hexdigest()[:24]
    return ledger.with_name(f".dpcli-{short}{ENDING}")


class Pending:
    """A file of responses without a name, in the folder where they will wait.

    Only its owner may read it. Where files cannot be without a name, it has an odd one
    and is removed on the way out.
    """

    def __init__(self, waiting: Path) -> None:
        self.waiting = waiting
        self._digest = hashlib.sha256()
        self._named: Path | None = None
        folder = waiting.parent
        with _told(folder):
            try:
                descriptor = os.open(folder, os.O_WRONLY | getattr(os, "O_TMPFILE", -1), 0o600)
            except (OSError, OverflowError):
                self._named = folder / f".dpcli-{secrets.token_hex(8)}.tmp"
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
                descriptor = os.open(self._named, flags, 0o600)
        self._file = open(descriptor, "wb")  # noqa: SIM115 - until exit

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
        if self._named is not None:
            with contextlib.suppress(OSError):
                self._named.unlink()

    @property
    def digest(self) -> str:
        """SHA-256 of what was written."""
        return self._digest.hexdigest()

    def write(self, content: bytes) -> None:
        """More of the responses. Raises OutputError."""
        self._digest.update(content)
        with _told(self.waiting.parent):
            self._file.write(content)

    def settle(self) -> None:
        """Have all of it on disk. Raises OutputError."""
        with _told(self.waiting.parent):
            self._file.flush()
            os.fsync(self._file.fileno())

    def name(self) -> None:
        """Give the file its waiting name, for good. Raises OutputError.

        To be called while nobody else can charge for this release: what has the name
        already was never charged for, and goes.
        """
        with _told(self.waiting.parent):
            self.waiting.unlink(missing_ok=True)
            folder = os.open(self.waiting.parent, os.O_RDONLY)
            try:
                if self._named is None:
                    # With a folder given, the link is followed to the file itself.
                    opened = f"/proc/self/fd/{self._file.fileno()}"
                    os.link(opened, self.waiting.name, dst_dir_fd=folder)
                else:
                    self._named.rename(self.waiting)
                    self._named = None
                # The name must be on disk before the charge is.
                os.fsync(folder)
            finally:
                os.close(folder)


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
def _told(folder: Path) -> Iterator[None]:
    """Errors of the system as OutputError."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or "input or output error"
        raise OutputError.of(
            "output-failed",
            f"responses could not be written in `{folder}`: {reason.lower()}",
            "free space or fix the permissions, then run the command again",
        ) from None
