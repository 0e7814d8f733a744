"""Inspection of files that native readers read in place."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import BinaryIO

from dpcli.engine.files.content import pread_blocks
from dpcli.engine.files.csv_normalizer import BLOCK, PlainText

SAMPLE, SAMPLES = 1 << 9, 1 << 9
"""Bytes of a sample, and how many of them there are."""

ODD_SHARE = 50
"""Fewer odd line ends than one in as many bytes cost little."""

ODD_END = re.compile(rb"\n\r?\n|\r[^\n]")
"""The end of a blank line, or a CR alone."""


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
        """Whether native readers read the file correctly; waits until all bytes are inspected."""
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


def has_odd_ends(file: BinaryIO, size: int) -> bool:
    """Whether samples of a file have more odd line ends than one in `ODD_SHARE` bytes.

    Native readers take a blank line for a row, and lines that end in CR for one line.
    """
    step, odd = max(SAMPLE, size // SAMPLES), 0
    for number, start in enumerate(range(0, size, step)):
        # The positions of the samples in each step differ, so that regular text is sampled evenly.
        sample = os.pread(file.fileno(), SAMPLE, start + number * SAMPLE % step)
        odd += len(ODD_END.findall(sample))
    return odd * ODD_SHARE > SAMPLE * SAMPLES
