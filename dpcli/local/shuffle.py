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
from dpcli.sampling.bernoulli import uniforms
from dpcli.sampling.entropy import random_bytes

BUCKET = 1 << 25
"""Bytes of the data file for each bucket: about as much is in memory at a time."""

MOST_BUCKETS = 200
"""Files that are open at a time; for very large data, buckets grow instead."""


def in_random_order(frames: Iterator[pl.DataFrame], size: int) -> Iterator[pl.DataFrame]:
    """All rows of `frames` in a uniformly random order; `size` is that of the data file.

    Each row goes to a uniformly random bucket, and each bucket is put in a random order: every
    order of all rows is then equally likely (Rao 1961; Sandelius 1962). Buckets are files
    without a name.
    """
    with ExitStack() as stack:
        buckets = [
            stack.enter_context(tempfile.TemporaryFile(prefix="dpcli-"))
            for _ in range(min(size // BUCKET + 1, MOST_BUCKETS))
        ]
        lengths: list[list[int]] = [[] for _ in buckets]
        for frame in frames:
            chosen = uniforms(len(buckets), len(frame))
            for place, bucket in enumerate(buckets):
                buffer = io.BytesIO()
                frame.filter(pl.Series(chosen == place)).write_ipc_stream(buffer)
                lengths[place].append(_written(bucket, buffer))
        for bucket, parts in zip(buckets, lengths, strict=True):
            bucket.seek(0)
            read = [pl.read_ipc_stream(bucket.read(length)) for length in parts]
            if read:
                whole = pl.concat(read)
                yield whole[random_order(len(whole))]


def _written(bucket: BinaryIO, rows: io.BytesIO) -> int:
    try:
        return bucket.write(rows.getbuffer())
    except OSError:
        raise DataError.about("no-space.responses") from None


def random_order(count: int) -> NDArray[np.int64]:
    """The places from 0 on in a uniformly random order.

    Sorted by random words, which are generated again if two of them are the same.
    """
    while True:
        words = np.frombuffer(random_bytes(8 * count), np.uint64)
        order = np.argsort(words, kind="stable")
        if count < 2 or (np.diff(words[order]) > 0).all():
            return order
