"""Sealed sums: exact sums of periods that later answers of a series need.

They are as confidential as the data. A file of them is a magic word, the SHA-256 of all that
follows, and blocks: the tokens of periods, then their sums, and their public estimates.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from dpcli.engine.sums.blocks import pack_blocks, unpack_blocks
from dpcli.numeric.arrays import Array, integer_array, np
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import Query
from dpcli.queries.series import EarlierSums, SeriesQuery

MARK = b"dpcli sums 1\n"

DIGEST_BYTES = hashlib.sha256().digest_size

WIDE = 32
"""Bytes of a number that does not fit 64 bits."""

LARGE = 1 << 31
"""If rows can add this much, sums may not fit 64 bits, and each number is `WIDE`.

So the size of a file, and whether a disk has room for it, depends on no sum.
"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SealedPeriod:
    """The exact sums of a period, named by a token, and their public estimates."""

    token: str
    sums: Array
    estimates: Array


class SealedSums:
    """The earlier sums of the series of a release, and those of its own period.

    Privacy: the sums are used in answers before noise, and packed. Nothing else sees them.
    """

    def __init__(self, earlier: Mapping[int, tuple[EarlierSums, int]] | None = None) -> None:
        # By identity: two entries may ask equal queries.
        self.__earlier = dict(earlier or {})
        self.__own: dict[int, Array] = {}

    def answer(self, query: Query, *parts: Array) -> Array:
        """The exact answer to a query of a series, from the answers to its parts.

        The sums of the period are kept.
        """
        asked = cast("SeriesQuery", query)
        earlier, period = self.__earlier.get(id(query), ((), 0))
        sums = self.__own[id(query)] = asked.of.combined(*parts)
        return asked.with_earlier(sums, earlier, period)

    def packed(
        self, query: Query, token: str, estimates: Array, kept: Iterable[SealedPeriod]
    ) -> bytes:
        """The bytes of a file with the sums of this period and of those that are `kept`."""
        own = SealedPeriod(token, self.__own[id(query)], estimates)
        row = cast("SeriesQuery", query).of.row_contribution
        return pack_sums([own, *kept], wide=row.max_abs >= LARGE)


def pack_sums(periods: Sequence[SealedPeriod], *, wide: bool = False) -> bytes:
    """The bytes of a file with the sums of some periods, the last one first."""
    header = " ".join(period.token for period in periods).encode()
    arrays = [part for period in periods for part in (period.sums, period.estimates)]
    body = pack_blocks([header, *(_packed(numbers, wide=wide) for numbers in arrays)])
    return MARK + hashlib.sha256(body).digest() + body


def unpack_sums(content: bytes, cells: int) -> list[SealedPeriod]:
    """The periods that `pack_sums` wrote, with this number of cells.

    It is empty if the bytes were changed. ValueError if they are those of something else.
    """
    body = content[len(MARK) + DIGEST_BYTES :]
    digest = content[len(MARK) :][:DIGEST_BYTES]
    if not content.startswith(MARK) or hashlib.sha256(body).digest() != digest:
        return []
    header, *blocks = unpack_blocks(body)
    arrays = [_unpacked(block, cells) for block in blocks]
    pairs = zip(arrays[::2], arrays[1::2], strict=True)
    tokens = header.decode().split()
    return [SealedPeriod(token, *pair) for token, pair in zip(tokens, pairs, strict=True)]


def _packed(numbers: Array, *, wide: bool) -> bytes:
    """Whole numbers as words of 64 bits, or longer if `wide` or if they do not fit."""
    if numbers.dtype == np.int64 and not wide:
        return numbers.astype("<i8").tobytes()
    return b"".join(int(number).to_bytes(WIDE, "little", signed=True) for number in numbers)


def _unpacked(block: bytes, cells: int) -> Array:
    if len(block) == 8 * cells:
        return integer_array(np.frombuffer(block, "<i8").astype(np.int64))
    words = [block[start : start + WIDE] for start in range(0, len(block), WIDE)]
    if len(block) != WIDE * cells:
        raise ValueError("another number of cells")
    return integer_array([int.from_bytes(word, "little", signed=True) for word in words])
