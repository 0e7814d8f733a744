"""Blocks of bytes, each after its length, as sealed files hold them."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import BinaryIO

import polars as pl

LENGTH_BYTES = 8
"""Bytes of the length before each block."""


def pack_blocks(blocks: Iterable[bytes | pl.DataFrame]) -> bytes:
    """Blocks after their lengths, with frames as Arrow files."""
    packed: list[bytes] = []
    for block in blocks:
        if isinstance(block, pl.DataFrame):
            buffer = io.BytesIO()
            block.write_ipc(buffer)
            block = buffer.getvalue()  # noqa: PLW2901 - the same block in bytes
        packed += len(block).to_bytes(LENGTH_BYTES), block
    return b"".join(packed)


def unpack_blocks(content: bytes) -> list[bytes]:
    """The blocks that `pack_blocks` joined, in their order."""
    blocks, start = [], 0
    while start < len(content):
        begin = start + LENGTH_BYTES
        start = begin + int.from_bytes(content[start:begin])
        blocks.append(content[begin:start])
    return blocks


def read_block(file: BinaryIO) -> bytes:
    """The next block that `pack_blocks` wrote; empty at the end of the file."""
    return file.read(int.from_bytes(file.read(LENGTH_BYTES)))
