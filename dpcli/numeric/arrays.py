"""numpy and the types of its arrays, loaded at the first use: plans need none.

Whole numbers are exact: machine words where these hold every result, else Python integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

__all__ = [
    "SAFE", "Array", "Bools", "Floats", "Ints", "clipped", "largest", "np", "plus", "quotients",
    "repeated", "roomy", "times", "whole",
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

SAFE = 1 << 62
"""Two machine words that are smaller add up to one."""


def whole(numbers: Sequence[int] | Array) -> Array:
    """Whole numbers as machine words if they are safe there, else as Python integers."""
    if not isinstance(numbers, np.ndarray) or numbers.dtype != np.int64:
        numbers = np.asarray(numbers, dtype=object)
    small = largest(numbers) < SAFE
    return numbers.astype(np.int64 if small else object, copy=False)


def repeated(number: int, count: int) -> Array:
    """One whole number several times."""
    return whole([number]).repeat(count)


def largest(numbers: Array) -> int:
    """The size of the largest of some whole numbers; zero of none."""
    return max(-int(numbers.min()), int(numbers.max())) if numbers.size else 0


def roomy(numbers: Array, most: int) -> Array:
    """Whole numbers from which results as large as `most` can be computed."""
    return numbers if most < SAFE else numbers.astype(object)


def times(numbers: Array, factor: int) -> Array:
    """The products of whole numbers with another one."""
    return roomy(numbers, max(largest(numbers), 1) * abs(factor)) * factor


def plus(numbers: Array, more: Array | int) -> Array:
    """The sums of whole numbers with others."""
    size = abs(more) if isinstance(more, int) else largest(more)
    total: Array = roomy(numbers, largest(numbers) + size) + more
    return total


def quotients(above: Array, below: Array, factor: int) -> Array:
    """Quotients times a factor, cut off towards zero; what is `below` is positive."""
    size, rest = abs(above) // below, abs(above) % below
    size = times(size, factor) + times(rest, factor) // below
    signed: Array = np.where(above < 0, -size, size)
    return signed


def clipped(numbers: Array, low: int | None, high: int | None) -> Array:
    """The nearest whole numbers that lie in a range."""
    if low is not None:
        numbers = np.maximum(roomy(numbers, abs(low)), low)
    return numbers if high is None else np.minimum(roomy(numbers, abs(high)), high)
