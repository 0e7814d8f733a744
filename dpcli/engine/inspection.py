"""Inspection of files that are read in place, as if they were plain text."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import BinaryIO

from dpcli.engine.csv_normalizer import BLOCK, CsvNormalizer, whole_lines
from dpcli.engine.file_content import pread_blocks


class Inspection:
    """Inspects every byte of a file on a separate thread, while others read it as plain text.

    It does not search for blank lines; `has_blank_lines` does.
    """

    def __init__(self, normalizer: CsvNormalizer, blocks: Iterable[bytes]) -> None:
        self._normalizer, self._blocks, self._is_plain = normalizer, blocks, False
        self._thread = threading.Thread(target=self._inspect, daemon=True)
        self._thread.start()

    def is_plain(self) -> bool:
        """Whether no cell is quoted and all line ends are plain; waits until all bytes are read."""
        self._thread.join()
        return self._is_plain

    def _inspect(self) -> None:
        # A file that cannot be read to its end is not plain. To read it again fails with a message.
        with suppress(BaseException):
            self._is_plain = all(map(self._normalizer.is_plain, whole_lines(self._blocks, b"\n")))


def has_blank_lines(file: BinaryIO) -> bool:
    """Whether some line is empty."""
    end = b""
    for block in pread_blocks(file, BLOCK):
        text = end + block
        if b"\n\n" in text or b"\n\r\n" in text:
            return True
        end = text[-2:]
    return False
