"""The anchor: a second file that remembers how far the ledger had come.

One line is appended after every entry: its number and seal. A ledger that lacks an
anchored entry, or has another one in its place, was restored from a backup or
changed. A ledger may be ahead of its anchor: a crash can come between the two.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

MARK = "dpcli-anchor"
_LINE = re.compile(r"([0-9]{1,18}) ([0-9a-f]{64})")


class ForeignAnchor(Exception):
    """The file is no anchor, or that of another ledger."""


def read_anchor(path: Path, identity: str | None) -> dict[int, str]:
    """The seals by number; empty if there is no file.

    A line that a crash cut short is ignored. Raises ForeignAnchor unless the anchor
    belongs to the ledger `identity`; None accepts any.
    """
    try:
        text = path.read_text(encoding="ascii", errors="replace")
    except FileNotFoundError:
        return {}
    first, *lines = text.split("\n")
    if not first.startswith(f"{MARK} ") or identity not in (None, first.removeprefix(f"{MARK} ")):
        raise ForeignAnchor
    found = (match for line in lines if (match := _LINE.fullmatch(line)))
    return {int(match[1]): match[2] for match in found}


def begin_anchor(path: Path, identity: str) -> None:
    """A new anchor without entries, in place of none or of one without entries."""
    temporary = path.with_name(path.name + ".new")
    with temporary.open("w", encoding="ascii") as file:
        file.write(f"{MARK} {identity}\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def append_anchor(path: Path, entries: dict[int, str]) -> None:
    """Remember entries; each line is written whole or ignored when it is read.

    Without entries it only shows that the file can be written.
    """
    lines = "".join(f"{number} {seal}\n" for number, seal in sorted(entries.items()))
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        if lines:
            # A line that was cut short must not swallow the next one.
            os.write(descriptor, ("\n" + lines).encode("ascii"))
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
