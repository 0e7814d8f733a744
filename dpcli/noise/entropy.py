"""The one source of randomness: the operating system's generator.

There is no seed, no environment variable and no other generator. Every sampler
draws from here, and nothing else in dpcli calls `os.urandom`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Final

from dpcli.problems.system import run_after_fork

source: Final[Callable[[int], bytes]] = os.urandom
"""Returns n random bytes for n; only tests replace it, for repeatable samples."""

CHUNK = 4096
"""Bytes fetched at a time for small requests, because a system call is expensive."""


class _Buffer(threading.local):
    """Fetched bytes not used yet, for each thread, so that none is used twice."""

    def __init__(self) -> None:
        self.filled_by: Callable[[int], bytes] | None = None
        self.data = b""
        self.used = 0

    def take(self, count: int) -> bytes:
        """The next `count` bytes; no byte is returned twice."""
        if self.filled_by is not source or self.used + count > len(self.data):
            self.data = _fetch(CHUNK)
            self.filled_by, self.used = source, 0
        start, self.used = self.used, self.used + count
        return self.data[start : self.used]


def _fetch(count: int) -> bytes:
    data = source(count)
    if len(data) != count:
        raise OSError("the source of randomness gave too few bytes")
    return data


_buffer = _Buffer()


def _drop_buffer() -> None:
    """Forget fetched bytes: after a fork, parent and child hold the same bytes."""
    global _buffer  # noqa: PLW0603 - a forked child starts without bytes
    _buffer = _Buffer()


run_after_fork(_drop_buffer)


def random_bytes(count: int) -> bytes:
    """Independent uniform bytes; OSError if the operating system gives too few."""
    return _buffer.take(count) if count <= CHUNK // 8 else _fetch(count)


def random_bits(count: int) -> int:
    """A uniform whole number of `count` bits: 0 <= value < 2^count."""
    octets = (count + 7) // 8
    return int.from_bytes(random_bytes(octets), "big") >> (8 * octets - count)


def uniform_below(limit: int) -> int:
    """A uniform whole number with 0 <= value < `limit`, by rejection.

    Raises ValueError unless `limit` is above zero.
    """
    if limit <= 0:
        raise ValueError("nothing lies below this limit")
    count = (limit - 1).bit_length()
    while (value := random_bits(count)) >= limit:
        pass
    return value
