"""Which bytes of a text are in quoted cells, 64 bytes in one operation.

A flag of each byte is one bit of a word. So the number of quotes before each byte is counted for 64
bytes by six shifts, modulo two (Langdale and Lemire 2019).
"""

from __future__ import annotations

from dpcli.numeric.arrays import Array, np

WORD = 8
"""Bytes of a word."""


def packed(flags: Array) -> Array:
    """Flags as bits of words (uint64), the first one in the lowest bit.

    The bits after the last flag are zeros.
    """
    words = np.zeros(-(-len(flags) // (8 * WORD)), "<u8")
    bits = np.packbits(flags, bitorder="little")
    words.view(np.uint8)[: len(bits)] = bits
    return words


def unpacked(words: Array, count: int) -> Array:
    """The first `count` flags of packed words."""
    return np.unpackbits(words.view(np.uint8), count=count, bitorder="little").view(bool)


def quoted_bytes(quotes: Array) -> Array:
    """The bytes of quoted cells, from the quote that opens each on.

    The quote that ends a cell is left out. All arrays are `packed`.
    """
    within = quotes.copy()
    for shift in (1, 2, 4, 8, 16, 32):
        within ^= within << np.uint64(shift)
    is_odd = within >> np.uint64(63)
    # Whether the bytes before each word have an odd number of quotes.
    begins = np.bitwise_xor.accumulate(is_odd) ^ is_odd
    within ^= np.negative(begins)
    return within
