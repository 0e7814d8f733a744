"""A random order of all rows, every order equally likely, in bounded memory."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from typing import BinaryIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpcli.errors import DataError
from dpcli.sampling.entropy import random_bytes
from dpcli.sampling.vectorised import uniforms

HEAP = 1 << 25
"""Bytes of the data file for each heap: about as much is in memory at a time."""

MOST_HEAPS = 200
"""Files that are open at a time; for immense data, heaps grow instead."""


def in_random_order(frames: Iterator[pl.DataFrame], size: int) -> Iterator[pl.DataFrame]:
    """All rows of `frames` in an order drawn uniformly; `size` is that of the data file.

    Rows are dealt to heaps, each to any of them alike, and each heap is put in a random
    order: every order of all rows is then equally likely (Rao 1961; Sandelius 1962). Heaps
    lie in files without a name.
    """
    with ExitStack() as stack:
        heaps = [
            stack.enter_context(tempfile.TemporaryFile(prefix="dpcli-"))
            for _ in range(min(size // HEAP + 1, MOST_HEAPS))
        ]
        lengths: list[list[int]] = [[] for _ in heaps]
        for frame in frames:
            dealt = uniforms(len(heaps), len(frame))
            for place, heap in enumerate(heaps):
                buffer = io.BytesIO()
                frame.filter(pl.Series(dealt == place)).write_ipc_stream(buffer)
                lengths[place].append(_written(heap, buffer))
        for heap, parts in zip(heaps, lengths, strict=True):
            heap.seek(0)
            read = [pl.read_ipc_stream(heap.read(length)) for length in parts]
            if read:
                whole = pl.concat(read)
                yield whole[random_order(len(whole))]


def _written(heap: BinaryIO, rows: io.BytesIO) -> int:
    """How many bytes were added to a heap; DataError if there is no room for them."""
    try:
        return heap.write(rows.getbuffer())
    except OSError:
        raise DataError.of(
            "no-space",
            "there is no room for a temporary copy of the responses",
            "free space in the temporary folder, or set TMPDIR to a roomier one",
        ) from None


def random_order(count: int) -> NDArray[np.int64]:
    """The places from 0 on in an order drawn uniformly.

    Sorted by random words, which are drawn anew if two of them are the same.
    """
    while True:
        words = np.frombuffer(random_bytes(8 * count), np.uint64)
        order = np.argsort(words, kind="stable")
        if count < 2 or (np.diff(words[order]) > 0).all():
            return order
