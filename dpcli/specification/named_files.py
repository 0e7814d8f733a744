"""Files that a spec names: lists of codes, and tables of probabilities.

What they hold is published, or decides a status. So each is a regular file and none of the data
files, under any name: device and inode decide that before a byte is read. The contents are never
compared, because whether they are equal is a fact about records.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from dpcli.fields.tree import ScalarNode
from dpcli.problems.errors import SpecError, make_problem
from dpcli.specification.context import SpecContext
from dpcli.specification.model import FileIdentity, SpecFile

OPEN_FILES = "/(dev/(stdin|fd/)|proc/)"
"""Paths of the open files of a process: a regular file, if standard input is one."""


def identities(data: Iterable[str]) -> set[FileIdentity]:
    """The data files, by device and inode, and what is in folders that are named."""
    found: set[FileIdentity] = set()
    for name in data:
        path = Path(re.sub("^file:(//)?", "", name))
        with suppress(OSError, ValueError):
            found.add(_identity(os.fstat(0) if name == "-" else path.stat()))
            found |= {_identity(file.stat()) for file in path.glob("*") if file.exists()}
    return found


def require_public(files: Sequence[SpecFile], data: Iterable[str]) -> None:
    """Raise SpecError for each of the files of a spec that is one of the data files."""
    found = identities(data)
    names = [file.name for file in files if file.identity in found]
    if names:
        raise SpecError(make_problem("named-file", file=name) for name in names)


def read_named_file(
    scalar: ScalarNode, context: SpecContext, max_bytes: int, code: str
) -> tuple[bytes, SpecFile]:
    """The content of the file that a scalar names, up to one byte too many.

    Raises `AlreadyReportedError` after a problem is recorded: `code` if the file cannot be read.
    """
    span, path = scalar.span, context.folder / scalar.text
    try:
        status = path.stat()
        if _identity(status) in identities(context.data):
            raise span.report("named-file", file=scalar.text)
        if not stat.S_ISREG(status.st_mode) or re.match(OPEN_FILES, str(path), re.IGNORECASE):
            raise span.report("named-file.kind", file=scalar.text)
        with path.open("rb") as file:
            raw = file.read(max_bytes + 1)
    except (OSError, ValueError):
        raise span.report(code, file=scalar.text) from None
    digest = hashlib.sha256(raw).hexdigest()
    return raw, SpecFile(scalar.text, path, digest, _identity(status))


def _identity(status: os.stat_result) -> FileIdentity:
    return status.st_dev, status.st_ino
