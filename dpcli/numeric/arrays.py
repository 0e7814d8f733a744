"""numpy, its array types, and exact arithmetic on arrays of whole numbers.

numpy is loaded at the first use, because plans need none. Whole numbers are int64 where int64 holds
every result, otherwise Python integers (dtype object).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

__all__ = [
    "GOLDEN_GAMMA",
    "SAFE_INTEGER",
    "Array",
    "Bools",
    "Floats",
    "Ints",
    "Words",
    "add_exact",
    "clip_exact",
    "divide_exact",
    "integer_array",
    "largest_magnitude",
    "multiply_exact",
    "np",
    "scramble",
    "widened",
]  # fmt: skip

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Words = NDArray[np.uint64]
else:
    Array = Bools = Floats = Ints = Words = Any

    class _Numpy:
        def __getattr__(self, name: str) -> Any:
            import numpy

            setattr(self, name, getattr(numpy, name))
            return getattr(numpy, name)

    np = _Numpy()

SAFE_INTEGER = 1 << 62
"""The bound on numbers in int64 arrays: the sum of two smaller ones fits int64."""


def integer_array(numbers: Sequence[int] | Array) -> Array:
    """Whole numbers as int64 if all are below `SAFE_INTEGER`, else Python integers."""
    if not isinstance(numbers, np.ndarray) or numbers.dtype != np.int64:
        numbers = np.asarray(numbers, dtype=object)
    small = largest_magnitude(numbers) < SAFE_INTEGER
    return numbers.astype(np.int64 if small else object, copy=False)


def largest_magnitude(numbers: Array) -> int:
    """The largest absolute value of an array; zero for an empty one."""
    return max(-int(numbers.min()), int(numbers.max())) if numbers.size else 0


def widened(numbers: Array, largest: int) -> Array:
    """The numbers, as Python integers unless results up to `largest` fit int64."""
    return numbers if largest < SAFE_INTEGER else numbers.astype(object)


def multiply_exact(numbers: Array, factor: int) -> Array:
    """Exact products of whole numbers and a factor."""
    return widened(numbers, max(largest_magnitude(numbers), 1) * abs(factor)) * factor


def add_exact(numbers: Array, more: Array | int) -> Array:
    """Exact sums of whole numbers."""
    size = abs(more) if isinstance(more, int) else largest_magnitude(more)
    total: Array = widened(numbers, largest_magnitude(numbers) + size) + more
    return total


def divide_exact(above: Array, below: Array, factor: int) -> Array:
    """above / below * factor, rounded toward zero exactly; `below` is positive."""
    size, remainder = abs(above) // below, abs(above) % below
    size = multiply_exact(size, factor) + multiply_exact(remainder, factor) // below
    signed: Array = np.where(above < 0, -size, size)
    return signed


def clip_exact(numbers: Array, low: int | None, high: int | None) -> Array:
    """Whole numbers clamped to a range; a side with the limit None is not clamped."""
    if low is not None:
        numbers = np.maximum(widened(numbers, abs(low)), low)
    return numbers if high is None else np.minimum(widened(numbers, abs(high)), high)


GOLDEN_GAMMA = 0x9E3779B97F4A7C15
"""2^64 over the golden ratio: its multiples are spread evenly over all words."""


def scramble(words: Words) -> Words:
    """A bijection that makes similar words unrelated: SplitMix64.

    See Steele, Lea and Flood 2014. Words are uint64. It is reproducible, and never used for noise.
    """
    mixed = words ^ (words >> np.uint64(30))
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed
