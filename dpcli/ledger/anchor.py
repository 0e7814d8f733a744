"""The anchor: a second file that records the entries of the ledger.

After each entry, one line is appended: the number and the seal of the entry. A ledger that lacks
an anchored entry, or has another entry in its place, was changed or restored from a backup. A
ledger may be ahead of its anchor: a crash can come between the two writes.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

MARK = "dpcli-anchor"
POINTER = "dpcli-anchor-elsewhere"
_LINE = r"([0-9]{1,18}) ([0-9a-f]{64})"


class ForeignAnchorError(Exception):
    """The file is not an anchor, or belongs to another ledger; the message says which."""


def default_anchor(path: Path) -> Path:
    """The default path of the anchor of a ledger."""
    return path.with_name(path.name + ".anchor")


def read_anchor(path: Path, identity: str | None) -> tuple[str | None, dict[int, str]]:
    """The identity of the ledger that an anchor belongs to, and the seals by number.

    Without a file, these are None and no seals. A line that a crash cut short is ignored. Raises
    ForeignAnchorError unless the anchor belongs to the ledger `identity`; None accepts any ledger.
    """
    if path.exists() and not path.is_file():
        raise ForeignAnchorError("is no regular file")
    try:
        first, *lines = path.read_text(encoding="ascii", errors="replace").split("\n")
    except FileNotFoundError:
        return None, {}
    if not first.startswith(f"{MARK} "):
        raise ForeignAnchorError("is not an anchor")
    owner = first.removeprefix(f"{MARK} ")
    if identity not in (None, owner):
        raise ForeignAnchorError("belongs to another ledger")
    form = re.compile(_LINE)
    seals = (match for line in lines if (match := form.fullmatch(line)))
    return owner, {int(match[1]): match[2] for match in seals}


def resolve_pointer(path: Path) -> Path:
    """The path of the anchor: `path` itself, or the one that the file at `path` points to."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    first = text.partition("\n")[0]
    return Path(first.removeprefix(f"{POINTER} ")) if first.startswith(f"{POINTER} ") else path


def create_anchor(path: Path, identity: str) -> None:
    """Write an anchor without entries, where there is none or one without entries."""
    _write(path, f"{MARK} {identity}\n")


def write_pointer(path: Path, anchor: Path) -> None:
    """Write a pointer to `anchor` at the default path of the anchor.

    Without the pointer, a lost ledger would look like one that never existed.
    """
    if not path.exists():
        _write(path, f"{POINTER} {anchor}\n")


def append_anchor(path: Path, entries: dict[int, str]) -> None:
    """Append entries. A line that is not complete is ignored when the anchor is read.

    Without entries, this only checks that the file can be written. Raises OSError if it cannot.
    """
    lines = "".join(f"{number} {seal}\n" for number, seal in sorted(entries.items()))
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        if lines:
            # The line end comes first: a line that was cut short must not join the next one.
            os.write(descriptor, ("\n" + lines).encode("ascii"))
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(path.name + ".new")
    with temporary.open("w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
