"""The anchor: a second file that records the entries of the ledger.

One line is appended after every entry: its number and seal. A ledger that lacks an
anchored entry, or has another one in its place, was restored from a backup or
changed. A ledger may be ahead of its anchor: a crash can come between the two.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

MARK = "dpcli-anchor"
ELSEWHERE = "dpcli-anchor-elsewhere"
_LINE = re.compile(r"([0-9]{1,18}) ([0-9a-f]{64})")


class ForeignAnchor(Exception):
    """The file is no anchor, or that of another ledger; the message says which."""


def usual_anchor(path: Path) -> Path:
    """Where the anchor of a ledger is unless another place is chosen."""
    return path.with_name(path.name + ".anchor")


def read_anchor(path: Path, identity: str | None) -> tuple[str | None, dict[int, str]]:
    """The ledger that an anchor belongs to, and its seals by number; nothing without a file.

    A line that a crash cut short is ignored. Raises ForeignAnchor unless the anchor
    belongs to the ledger `identity`; None accepts any.
    """
    if path.exists() and not path.is_file():
        raise ForeignAnchor("is no regular file")
    try:
        first, *lines = path.read_text(encoding="ascii", errors="replace").split("\n")
    except FileNotFoundError:
        return None, {}
    if not first.startswith(f"{MARK} "):
        raise ForeignAnchor("is not an anchor")
    found = first.removeprefix(f"{MARK} ")
    if identity not in (None, found):
        raise ForeignAnchor("belongs to another ledger")
    seals = (match for line in lines if (match := _LINE.fullmatch(line)))
    return found, {int(match[1]): match[2] for match in seals}


def follow(path: Path) -> Path:
    """Where the anchor is that the file at its usual place points to, if it does so."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    first = text.partition("\n")[0]
    return Path(first.removeprefix(f"{ELSEWHERE} ")) if first.startswith(f"{ELSEWHERE} ") else path


def begin_anchor(path: Path, identity: str) -> None:
    """Make an anchor without entries, in place of none or of one without entries."""
    _write(path, f"{MARK} {identity}\n")


def point_elsewhere(path: Path, anchor: Path) -> None:
    """Write, where an anchor usually is, that it is in another folder.

    Without that, a ledger that is lost would be taken for one that never existed.
    """
    if not path.exists():
        _write(path, f"{ELSEWHERE} {anchor}\n")


def append_anchor(path: Path, entries: dict[int, str]) -> None:
    """Remember entries; each line is written whole or ignored when it is read.

    Without entries it only shows that the file can be written.
    """
    lines = "".join(f"{number} {seal}\n" for number, seal in sorted(entries.items()))
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        if lines:
            # A line that was cut short must not become part of the next one.
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
