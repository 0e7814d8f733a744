"""The logistic function 1/(1 + exp(-m)) of arrays, in whole numbers alone.

Numbers are multiples of a power of two. Near one of many nodes, the function is a polynomial whose
coefficients come from a table, so that it takes a few multiplications and no division.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from dpcli.numeric.arrays import Array, np
from dpcli.numeric.interval_arithmetic import exp_down

WORD_BITS = 57
"""Bits of a margin after the point for which all products fit machine words."""

EXTRA_BITS = 4
"""Bits of a value beyond those of a margin."""

NODE_BITS = 6
"""Nodes are 2^-6 apart, so that a margin is at most 2^-7 from the nearest one."""


def farthest(bits: int) -> int:
    """The margin from which on the function is one, within one unit: e^(-far + 1) is below that."""
    return 7 * (bits + EXTRA_BITS) // 10 + 2


def logistic(margins: Array, bits: int) -> Array:
    """1/(1 + exp(-m)) for margins in units of 2^-bits, in units of 2^-(bits + `EXTRA_BITS`).

    Results are within 8 units, for |m| up to `farthest(bits)`. Arrays are of int64 if `bits` are
    `WORD_BITS`, else of Python integers.

    The error: let c_n be the coefficients at a node. The function is at most 1.1 in absolute value
    where the imaginary part of its argument is at most 2, so |c_n| is at most 1.1/2^n (Cauchy).
    The distance d from the node is at most 2^-7. So all terms beyond those of the table add up to
    at most 1.2 units. Each step of the scheme of Horner has an error of at most one unit from its
    coefficient, 4 from its product, and 2^-7 of the error before it. This is 5.1 units.
    """
    table = _table(bits)
    size: Array = np.abs(margins)
    places: Array = (size + (1 << bits - NODE_BITS - 1)) >> bits - NODE_BITS
    distance = size - (places << bits - NODE_BITS)
    index = places.astype(np.int64)
    value = table[-1][index]
    for coefficients in reversed(table[:-1]):
        value = coefficients[index] + _product(value, distance, bits)
    # The function of -m is one minus that of m.
    signed: Array = np.where(margins < 0, (1 << bits + EXTRA_BITS) - value, value)
    return signed


def _product(value: Array, distance: Array, bits: int) -> Array:
    """value * distance / 2^bits, from which at most 4 are missing.

    In words, |value| is at most 2^60 and |distance| at most 2^50. Both are split in two, so that
    each partial product is at most 2^55.
    """
    product: Array
    if bits != WORD_BITS:
        product = value * distance >> bits
        return product
    high, low = value >> 30, value & (1 << 30) - 1
    above, below = distance >> 25, distance & (1 << 25) - 1
    # The last of the four partial products is below a quarter of a unit.
    product = (high * above >> 2) + (high * below >> 27) + (low * above >> 32)
    return product


@lru_cache(maxsize=4)
def _table(bits: int) -> list[Array]:
    """For each power of the distance, its coefficient at every node from zero on.

    With s' = s - s^2 for the function s, (n + 1) c_{n+1} = c_n - sum c_i c_{n-i}. Errors grow at
    most 4-fold with n: if that of c_i is at most 4^i e, the right side has at most (1 + 2.52) 4^n e
    plus one for rounding, for e at least 5. So 2 bits for each coefficient and 16 more make every
    coefficient exact to half a unit and a little more.
    """
    degree = -(-(bits + EXTRA_BITS) // 8) - 1
    guard = 2 * degree + 16
    fine = bits + EXTRA_BITS + guard
    one = 1 << fine
    nodes = range((farthest(bits) << NODE_BITS) + 2)
    powers = (exp_down(Fraction(-node, 1 << NODE_BITS), fine + 8) for node in nodes)
    first = [one * one // (one + int(power * one)) for power in powers]
    table = [np.array(first, object)]
    for n in range(degree):
        products = sum(table[i] * table[n - i] for i in range(n + 1))
        table.append((table[n] - (products >> fine)) // (n + 1))
    rounded = [(numbers + (1 << guard - 1)) >> guard for numbers in table]
    return [numbers.astype(np.int64 if bits == WORD_BITS else object) for numbers in rounded]
