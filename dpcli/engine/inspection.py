"""Inspection of files that native readers read in place."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import BinaryIO

from dpcli.engine.csv_normalizer import BLOCK
from dpcli.engine.file_content import pread_blocks
from dpcli.engine.plain_bytes import PlainText


class Inspection:
    """Inspects every byte of a file on a separate thread, while others read it in place.

    `quoted` states whether it is read as text with quoted cells. The inspection does not search for
    blank lines; `has_blank_lines` does.
    """

    def __init__(self, plain: PlainText, blocks: Iterable[bytes], *, quoted: bool) -> None:
        self.quoted = quoted
        self._plain, self._blocks, self._is_right = plain, blocks, False
        self._thread = threading.Thread(target=self._inspect, daemon=True)
        self._thread.start()

    def is_right(self) -> bool:
        """Whether native readers read the file alike; waits until all bytes are inspected."""
        self._thread.join()
        return self._is_right

    def _inspect(self) -> None:
        # A file that cannot be read to its end is not right. To read it again fails with a message.
        with suppress(BaseException):
            examine = self._plain.are_well_quoted if self.quoted else self._plain.are_plain
            self._is_right = examine(self._blocks)


def has_blank_lines(file: BinaryIO) -> bool:
    """Whether some line is empty."""
    end = b""
    for block in pread_blocks(file, BLOCK):
        text = end + block
        if b"\n\n" in text or b"\n\r\n" in text:
            return True
        end = text[-2:]
    return False
