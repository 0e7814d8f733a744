"""Files that a spec names: lists of codes, and tables of probabilities.

What they hold is published, or decides a status, so it must be public. A list is a regular file,
and none of the data files, under any name: device and inode decide that before a byte is read. The
contents are never compared, because whether they are equal is a fact about records.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from dpcli.fields.tree import ScalarNode
from dpcli.problems.errors import SpecError, make_problem
from dpcli.specification.context import SpecContext
from dpcli.specification.model import FileIdentity, SpecFile

STDIN = "-"

OPEN_FILES = "/proc/"
"""The folder of Linux with links to the open files of processes, such as standard input."""


def identities(names: Iterable[str]) -> frozenset[FileIdentity]:
    """The data files, by device and inode; of a folder, also the files in it."""
    found: set[FileIdentity] = set()
    for name in names:
        with suppress(OSError, ValueError):
            if name == STDIN:
                found.add(_identity(os.fstat(0)))
                continue
            path = Path(name.removeprefix("file://").removeprefix("file:"))
            found.add(_identity(path.stat()))
            if path.is_dir():
                found |= {_identity(inner.stat()) for inner in path.iterdir()}
    return frozenset(found)


def require_public(files: Sequence[SpecFile], data: Iterable[str]) -> None:
    """Raise SpecError for each of the files of a spec that is one of the data files."""
    found = identities(data)
    names = [file.name for file in files if file.identity in found]
    if names:
        raise SpecError(make_problem("named-file", file=name) for name in names)


def read_named_file(
    scalar: ScalarNode, context: SpecContext, max_bytes: int, code: str
) -> tuple[bytes, SpecFile]:
    """The content of the file that a scalar names, cut off after `max_bytes` and one more.

    Raises `AlreadyReportedError` after a problem is recorded: `code` if the file cannot be read.
    """
    span, path = scalar.span, context.folder / scalar.text
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            status = os.fstat(file.fileno())
            if _identity(status) in identities(context.data):
                raise span.report("named-file", file=scalar.text)
            if not stat.S_ISREG(status.st_mode) or _is_link_to_open_file(path):
                raise span.report("named-file.kind", file=scalar.text)
            raw = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:
        kind = "named-file.kind" if isinstance(error, IsADirectoryError) else code
        raise span.report(kind, file=scalar.text) from None
    digest = hashlib.sha256(raw).hexdigest()
    return raw, SpecFile(scalar.text, path, digest, _identity(status))


def _open_at_once(path: str, flags: int) -> int:
    """Open a file; a pipe would wait for another process without this flag."""
    return os.open(path, flags | os.O_NONBLOCK)


def _identity(status: os.stat_result) -> FileIdentity:
    return status.st_dev, status.st_ino


def _is_link_to_open_file(path: Path) -> bool:
    """Whether a path leads to a file by a link such as `/dev/stdin`."""
    while True:
        path = Path(os.path.realpath(path.parent)) / path.name
        if str(path).startswith(OPEN_FILES):
            return True
        if not path.is_symlink():
            return False
        path = path.parent / path.readlink()
