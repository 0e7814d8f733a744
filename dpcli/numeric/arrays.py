"""numpy and the types of its arrays, loaded at the first use: plans need none.

Whole numbers are exact: machine words where these hold every result, else Python integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

__all__ = [
    "SAFE_INTEGER",
    "Array",
    "Bools",
    "Floats",
    "Ints",
    "add_exact",
    "clip_exact",
    "divide_exact",
    "integer_array",
    "largest_magnitude",
    "multiply_exact",
    "np",
    "repeated_integer",
    "widened",
]  # fmt: skip

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
else:
    Array = Bools = Floats = Ints = Any

    class _Numpy:
        def __getattr__(self, name: str) -> Any:
            import numpy

            setattr(self, name, getattr(numpy, name))
            return getattr(numpy, name)

    np = _Numpy()

SAFE_INTEGER = 1 << 62
"""Two machine words that are smaller add up to one."""


def integer_array(numbers: Sequence[int] | Array) -> Array:
    """Whole numbers as machine words if they are safe there, else as Python integers."""
    if not isinstance(numbers, np.ndarray) or numbers.dtype != np.int64:
        numbers = np.asarray(numbers, dtype=object)
    small = largest_magnitude(numbers) < SAFE_INTEGER
    return numbers.astype(np.int64 if small else object, copy=False)


def repeated_integer(number: int, count: int) -> Array:
    """One whole number several times."""
    return integer_array([number]).repeat(count)


def largest_magnitude(numbers: Array) -> int:
    """The size of the largest of some whole numbers; zero of none."""
    return max(-int(numbers.min()), int(numbers.max())) if numbers.size else 0


def widened(numbers: Array, most: int) -> Array:
    """Whole numbers from which results as large as `most` can be computed."""
    return numbers if most < SAFE_INTEGER else numbers.astype(object)


def multiply_exact(numbers: Array, factor: int) -> Array:
    """The products of whole numbers with another one."""
    return widened(numbers, max(largest_magnitude(numbers), 1) * abs(factor)) * factor


def add_exact(numbers: Array, more: Array | int) -> Array:
    """The sums of whole numbers with others."""
    size = abs(more) if isinstance(more, int) else largest_magnitude(more)
    total: Array = widened(numbers, largest_magnitude(numbers) + size) + more
    return total


def divide_exact(above: Array, below: Array, factor: int) -> Array:
    """Quotients times a factor, cut off towards zero; what is `below` is positive."""
    size, rest = abs(above) // below, abs(above) % below
    size = multiply_exact(size, factor) + multiply_exact(rest, factor) // below
    signed: Array = np.where(above < 0, -size, size)
    return signed


def clip_exact(numbers: Array, low: int | None, high: int | None) -> Array:
    """The nearest whole numbers that lie in a range."""
    if low is not None:
        numbers = np.maximum(widened(numbers, abs(low)), low)
    return numbers if high is None else np.minimum(widened(numbers, abs(high)), high)
