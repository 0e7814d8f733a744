"""Families of numbers, which are the parts of one: their sums and roundings."""

from __future__ import annotations

from collections.abc import Sequence

from dpcli.numeric.arrays import Array, Bools, Floats, Ints, np

LARGEST = 2.0**62
"""Floats below this fit in the whole numbers of an array."""


HALF = 3.0
"""A number of so many deviations of its noise yields half as much as zero."""

MIN_YIELD = 0.02
"""What a large number yields, so that a total is always reached."""


def yields(numbers: Floats, variances: float | Floats) -> Floats:
    """How much each linear number yields, next to an empty one, to those below zero.

    What numbers below zero no longer lack is taken from the others. If all gave the same, large
    numbers would be too small by about what an empty one has. That they are large is known from
    noisy numbers alone.
    """
    squares = np.maximum(numbers, 0.0) ** 2 / (HALF**2 * variances)
    return np.asarray(np.maximum(1 / (1 + squares), MIN_YIELD))


def exact_floats(numbers: Floats) -> Array:
    """Whole floats as Python integers."""
    return np.array([int(one) for one in numbers.flat], object).reshape(numbers.shape)


class Families:
    """The parts of each number of the level above, one after another.

    Each number has parts, and `parents`, the index above of each part, does not decrease.
    """

    def __init__(self, parents: Sequence[int]) -> None:
        self.of: Ints = np.asarray(parents, np.int64)
        self.starts: Ints = np.flatnonzero(np.diff(self.of, prepend=-1))

    def sums(self, numbers: Array) -> Array:
        """The sum of each family along the last axis."""
        return np.asarray(np.add.reduceat(numbers, self.starts, axis=-1))

    def ranks(self, numbers: Array) -> Ints:
        """The rank of each number in its family, from the largest down."""
        families = np.broadcast_to(self.of, numbers.shape)
        order = np.lexsort((-numbers, families), axis=-1)
        ranks: Ints = np.empty(numbers.shape, np.int64)
        np.put_along_axis(ranks, order, np.arange(len(self.of)) - self.starts[families], axis=-1)
        return ranks

    def whole(self, down: Array, remainders: Array, totals: Array) -> Array:
        """Whole numbers with these totals: `down`, and one for large remainders."""
        missing = totals - self.sums(down)
        all_parts = np.diff(self.starts, append=len(self.of))
        # Floats may leave more than one for each part.
        each, more = missing // all_parts, (missing % all_parts).astype(np.int64)
        up = self.ranks(remainders) < more[..., self.of]
        return np.asarray(down + each[..., self.of] + up)

    def rounded_parts(self, parts: Floats, totals: Array) -> Array:
        """Whole numbers near `parts`, with these totals and none below zero.

        The largest of each family has what floats of large numbers miss.
        """
        floors = np.floor(parts)
        is_small = floors.max(initial=0.0) < LARGEST
        down = np.asarray(floors.astype(np.int64) if is_small else exact_floats(floors))
        missing = totals - self.sums(down)
        positive = parts > 0
        beyond = (missing < 0) | (missing > self.sums(positive.astype(np.int64)))
        largest = self.ranks(parts) == 0
        down = down + np.where(largest & beyond[..., self.of], missing[..., self.of], 0)
        return self.whole(down, np.where(positive, parts - floors, -1.0), totals)

    def projected(self, numbers: Floats, totals: Array, yielding: float | Floats = 1.0) -> Floats:
        """The nearest numbers with these totals that are not negative (Michelot 1986).

        Squared distances are divided by how much each number is `yielding`.
        """
        wanted, each = totals.astype(np.float64), np.broadcast_to(yielding, numbers.shape)
        positive: Bools = np.ones(numbers.shape, np.bool_)
        shift, is_last = np.zeros(1), False
        while not is_last:
            taken = self.sums(np.where(positive, each, 0.0))
            excess = self.sums(np.where(positive, numbers, 0.0)) - wanted
            shift = np.where(taken > 0, excess / np.where(taken > 0, taken, 1.0), shift)
            # A number that was left out stays out: rounding might let it in and out without end.
            kept = positive & (numbers > shift[..., self.of] * each)
            positive, is_last = kept, bool((kept == positive).all())
        near: Floats = np.maximum(numbers - shift[..., self.of] * each, 0.0)
        found = self.sums(near)
        scale = np.where(found > 0, wanted / np.where(found > 0, found, 1.0), 0.0)
        return np.asarray(near * scale[..., self.of])
