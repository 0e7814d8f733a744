"""The outbox: responses on disk that are charged, or about to be charged.

Before the charge the file has no name, so that an attempt that dies leaves nothing behind. The
ledger stores only the digest of the responses. The file of a charged release is the only copy of
its responses: it can be published, but not generated again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from dpcli.problems import system
from dpcli.problems.errors import OutputError

ENDING = ".responses"


def waiting_path(ledger: Path, entry_name: str) -> Path:
    """The path where the charged responses of an entry wait, next to their ledger."""
    ledger = ledger.resolve()
    digest = hashlib.sha256(entry_name.encode()).hexdigest()[:24]
    return ledger.with_name(f".{ledger.name}-{digest}{ENDING}")


def remove_uncharged(ledger: Path, charged: Iterable[str]) -> None:
    """Remove waiting files of no `charged` entry, as far as the system allows it.

    The caller holds the write lock of the ledger, so that no other process can charge.
    """
    ledger = ledger.resolve()
    charged_paths = {waiting_path(ledger, name) for name in charged}
    with contextlib.suppress(OSError):
        for path in ledger.parent.iterdir():
            is_waiting = path.name.startswith(f".{ledger.name}-") and path.name.endswith(ENDING)
            if is_waiting and path not in charged_paths:
                with contextlib.suppress(OSError):
                    path.unlink()


class Outbox(contextlib.AbstractContextManager["Outbox"]):
    """A file of responses without a name, in the folder where they will wait.

    Only its owner may read it. If the file system requires names, the file has a temporary name
    and is removed at the end. Raises OutputError if the file cannot be created.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.waiting = folder, Path()
        self._digest = hashlib.sha256()
        self._is_named = False
        with _output_errors(folder):
            descriptor = system.nameless_file(folder)
            self._temporary: Path | None = None
            if descriptor is None:
                self._temporary = folder / f".dpcli-{secrets.token_hex(8)}.tmp"
                descriptor = os.open(self._temporary, system.NEW_FILE, 0o600)
        self._file = open(descriptor, "wb")  # noqa: SIM115 - until exit

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._file.close()
        if self._temporary is not None:
            with contextlib.suppress(OSError):
                self._temporary.unlink()

    @property
    def digest(self) -> str:
        """The SHA-256 of all bytes that were written so far."""
        return self._digest.hexdigest()

    def write(self, content: bytes) -> None:
        """Append bytes of responses. Raises OutputError."""
        self._digest.update(content)
        with _output_errors(self.folder):
            self._file.write(content)

    def sync(self) -> None:
        """Flush all bytes to the disk. Raises OutputError."""
        with _output_errors(self.folder):
            self._file.flush()
            system.sync(self._file.fileno())

    def name(self, waiting: Path) -> None:
        """Give the file its waiting name, in the same folder. Raises OutputError.

        Call it while no other process can charge for this release. Another file with this name
        was then never charged for, and is removed.
        """
        self.waiting = waiting
        with _output_errors(self.folder):
            self.waiting.unlink(missing_ok=True)
            folder = os.open(self.folder, os.O_RDONLY)
            try:
                if self._temporary is None:
                    # With a folder descriptor, the link is followed to the file itself.
                    source = system.descriptor_path(self._file.fileno())
                    os.link(source, self.waiting.name, dst_dir_fd=folder)
                else:
                    self._temporary.rename(self.waiting)
                    self._temporary = None
                self._is_named = True
                # The name must be on disk before the charge is.
                system.sync(folder)
            finally:
                os.close(folder)

    def unname(self) -> None:
        """Remove the waiting name, if it still belongs to this file."""
        if self._is_named:
            with contextlib.suppress(OSError):
                if os.path.samestat(self.waiting.lstat(), os.fstat(self._file.fileno())):
                    self.waiting.unlink()


def digest_of(path: Path) -> str | None:
    """The SHA-256 of a regular file; None for other files and unreadable ones."""
    try:
        if path.is_file():
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        pass
    return None


def _output_errors(folder: Path) -> contextlib.AbstractContextManager[None]:
    return OutputError.translated(f"a file of responses in `{folder}`")
