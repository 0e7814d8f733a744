"""Families of numbers, which are the parts of one: their sums and roundings."""

from __future__ import annotations

from collections.abc import Sequence

from dpcli.numeric.arrays import Array, Bools, Floats, Ints, np

LARGEST = 2.0**62
"""Floats below this fit in the whole numbers of an array."""


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

    def projected(self, numbers: Floats, totals: Array) -> Floats:
        """The nearest numbers with these totals that are not negative (Michelot 1986)."""
        wanted = totals.astype(np.float64)
        sizes = np.diff(self.starts, append=len(self.of))
        shift, counts = (self.sums(numbers) - wanted) / sizes, sizes
        positive: Bools = np.ones(numbers.shape, np.bool_)
        while True:
            # A number that was left out stays out: rounding might let it in and out without end.
            positive &= numbers > shift[..., self.of]
            above, counts = counts, self.sums(positive.astype(np.int64))
            if (counts == above).all():
                break
            excess = self.sums(np.where(positive, numbers, 0.0)) - wanted
            shift = np.where(counts > 0, excess / np.maximum(counts, 1), shift)
        kept: Floats = np.maximum(numbers - shift[..., self.of], 0.0)
        found = self.sums(kept)
        scale = np.where(found > 0, wanted / np.where(found > 0, found, 1.0), 0.0)
        return np.asarray(kept * scale[..., self.of])
