"""A look at files that are taken for plain text."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import BinaryIO

from dpcli.engine.csv_normalizer import BLOCK, CsvNormalizer, whole_lines
from dpcli.engine.file_content import pread_blocks


class Inspection:
    """A look at every byte of a file, on a thread of its own, while others read it as plain text.

    Blank lines are not looked for here, but by `has_blank_lines`.
    """

    def __init__(self, text: CsvNormalizer, blocks: Iterable[bytes]) -> None:
        self._text, self._blocks, self._plain = text, blocks, False
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def is_plain(self) -> bool:
        """Whether quotes mean nothing in the file, and all line ends are those of plain text."""
        self._thread.join()
        return self._plain

    def _look(self) -> None:
        # What cannot be seen to its end is not plain: to read it again fails with a message.
        with suppress(BaseException):
            self._plain = all(map(self._text.is_plain, whole_lines(self._blocks, b"\n")))


def has_blank_lines(file: BinaryIO) -> bool:
    """Whether some line holds nothing at all."""
    end = b""
    for block in pread_blocks(file, BLOCK):
        text = end + block
        if b"\n\n" in text or b"\n\r\n" in text:
            return True
        end = text[-2:]
    return False
