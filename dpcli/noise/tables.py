"""K-norm noise for several tables of the same rows, whose sums are equal."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from itertools import accumulate, pairwise
from math import ceil, comb, prod, sqrt
from operator import mul
from typing import final

from dpcli.noise.bodies import BODIES, FAR, Body, variance_of
from dpcli.noise.entropy import random_bits, uniform_below
from dpcli.noise.radii import draw_radii
from dpcli.numeric.arrays import Array, Floats, np
from dpcli.privacy.norms import TablesNorm, named_tables

PIECES = 16
"""Into how many ranges numbers are divided, of which one is drawn by rejection."""

TYPICAL_SCALE = Fraction(2)
"""The scale at which noise is about as continuous noise."""

FINEST = 50
"""Scale times cells above which tails and variances are those of coarser noise.

Not where its scale would be below half the `TYPICAL_SCALE`: it would have a smaller variance.
"""


@final
class TablesBody(Body):
    """A norm on the cells of several tables with equal sums (`TablesNorm`).

    For a sum s >= 0, the numbers below zero of table b have the sum -Q_b, and those above zero have
    Q_b + s. With all Q_b <= m, the tables are independent, each with `count_tables(size, m, s)`
    possible ones. The points within a radius r are those of a polytope with whole corners that is r
    times as large: their number is a polynomial of r, and its series sum h_j q^j / (1 - q)^(d + 1)
    has whole h_j >= 0 (Stanley 1980). So r is drawn by these, then s, then each table. Draws
    depend on no data.
    """

    def __init__(self, norm: TablesNorm, sizes: tuple[int, ...]) -> None:
        self._norm, self.sizes = norm, sizes

    @cached_property
    def dimension(self) -> int:
        """How many coordinates vary independently."""
        return sum(self.sizes) - len(self.sizes) + (self._norm.total is not None)

    @cached_property
    def widest(self) -> int:
        """The number of cells of the table with the widest noise."""
        return max(sorted({*self.sizes}), key=self.variance_in)

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """The h_j of the series of the numbers of points within each radius."""
        terms = self.dimension + 1
        points = [
            sum(self._weight(radius, total) for total in range(self._last_sum(radius) + 1))
            for radius in range(terms)
        ]
        weights = [
            sum((-1) ** i * comb(terms, i) * points[j - i] for i in range(j + 1))
            for j in range(terms)
        ]
        while not weights[-1]:
            weights.pop()
        return tuple(weights)

    def _last_sum(self, radius: int) -> int:
        return radius // self._norm.total if self._norm.total else 0

    def _decrease(self, radius: int, total: int) -> int:
        """The largest sum of decreases within a radius, for tables with this sum."""
        return (radius - (self._norm.total or 0) * total) // self._norm.decrease

    def _weight(self, radius: int, total: int) -> int:
        """How many points within a radius have this sum, or its negative."""
        return self._bound(radius, total, total)

    def _bound(self, radius: int, low: int, high: int) -> int:
        """A bound on `_weight` from `low` to `high`, as it grows with both arguments."""
        decrease = self._decrease(radius, low)
        counts = (count_tables(size, decrease, high) for size in self.sizes)
        return prod(counts) << bool(high)

    def draw(self, scale: Fraction, size: int, count: int) -> Array:  # noqa: ARG002 - the sum of sizes
        radii = draw_radii(self.weights, self.dimension + 1, scale, count)
        vectors = np.empty((count, sum(self.sizes)), dtype=object)
        vectors[:] = [self._draw_within(int(radius)) for radius in radii]
        return vectors

    def _draw_within(self, radius: int) -> list[int]:
        """All tables, uniformly among those within a radius."""
        bound = partial(self._bound, radius)
        _, total = draw_by_weight([(0, self._last_sum(radius), bound)])
        decrease, sign = self._decrease(radius, total), 1 - 2 * random_bits(1)
        tables = (draw_table(size, decrease, total) for size in self.sizes)
        return [sign * number for table in tables for number in table]

    def coarse(self, scale: Fraction, size: int) -> int:
        return max(1, min(ceil(scale * size / FINEST), ceil(scale / TYPICAL_SCALE)))

    def tails(self, scale: Fraction, size: int) -> Floats:  # noqa: ARG002 - the sum of sizes
        return self.tails_of(scale, self.widest)

    def tails_of_each(self, scale: Fraction, size: int) -> list[Floats]:  # noqa: ARG002 - the sum of sizes
        return [self.tails_of(scale, cells) for cells in self.sizes for _ in range(cells)]

    def tails_of(self, scale: Fraction, cells: int) -> Floats:
        """Those of a coordinate of a table with this number of cells."""
        return _tails(self._norm, self.sizes, scale, cells)

    def covariance(self, scale: Fraction, size: int, variance: float) -> Floats:  # noqa: ARG002 - by table
        """By the variances of cells and of the sum of a table.

        The cells of two tables are independent, given their sum.
        """
        square = _square_of_sum(self._norm, self.sizes, scale)
        sizes = np.repeat(self.sizes, self.sizes)
        covariance: Floats = square / np.multiply.outer(sizes, sizes).astype(np.float64)
        ends = np.cumsum(self.sizes)
        for cells, end in zip(self.sizes, ends, strict=True):
            own, inside = variance_of(self.tails_of(scale, cells)), slice(end - cells, end)
            covariance[inside, inside] = (square / cells - own) / max(cells - 1, 1)
            covariance[inside, inside][np.diag_indices(cells)] = own
        return covariance

    def variance_of_sum(self, scale: Fraction, size: int, count: int, variance: float) -> float:
        return float(self.covariance(scale, size, variance)[:count, :count].sum())

    def correlation(self, size: int) -> float:  # noqa: ARG002 - a bound for any two
        return 1.0

    def variance(self, size: int) -> float:  # noqa: ARG002 - the sum of sizes
        return self.variance_in(self.widest)

    def variance_in(self, cells: int) -> float:
        """About the variance of a cell of a table of this size, for scale one."""
        return variance_of(self.tails_of(TYPICAL_SCALE, cells)) / float(TYPICAL_SCALE) ** 2


@lru_cache(maxsize=64)
def body_named(name: str) -> Body:
    """The body of this name; ValueError if there is none."""
    if name in BODIES:
        return BODIES[name]
    tables = named_tables(name)
    if tables is None:
        raise ValueError("a vector has a known body")
    return TablesBody(*tables)


@lru_cache(maxsize=4096)
def count_tables(size: int, decrease: int, total: int) -> int:
    """How many vectors have the sum `total` >= 0, and decreases of at most this sum.

    The pairs of vectors of whole numbers >= 0 with the sums `decrease` + `total` and `decrease` are
    one or more for each: those above zero and below, with the same vector added to both.
    So the series of pairs by `decrease` is that of this number, times 1 / (1 - z)^(size - 1).
    """
    return sum(
        (-1) ** i
        * comb(size - 1, i)
        * comb(decrease - i + total + size - 1, size - 1)
        * comb(decrease - i + size - 1, size - 1)
        for i in range(min(size - 1, decrease) + 1)
    )


Family = tuple[int, int, Callable[[int, int], int]]
"""The first and the last of some numbers, and a bound on the weights in a range.

The bound of a range of one number is its weight.
"""


def draw_by_weight(families: Sequence[Family]) -> tuple[int, int]:
    """The index of a family, and a number of it, with probabilities by weights.

    A range of numbers is drawn by its bound, a number in it uniformly, and it is accepted with
    the probability weight / bound.
    """
    ranges: list[tuple[int, int, int]] = []
    bounds: list[int] = []
    for index, (first, last, bound) in enumerate(families):
        length = max(1, -(-(last + 1 - first) // PIECES))
        for low in range(first, last + 1, length):
            high = min(low + length - 1, last)
            ranges.append((index, low, high))
            bounds.append(bound(low, high))
    widths = (high + 1 - low for _, low, high in ranges)
    sums = [*accumulate(map(mul, widths, bounds))]
    while True:
        at = bisect_right(sums, uniform_below(sums[-1]))
        index, low, high = ranges[at]
        number = low + uniform_below(high + 1 - low)
        if uniform_below(bounds[at]) < families[index][2](number, number):
            return index, number


def draw_table(size: int, decrease: int, total: int) -> list[int]:
    """One of the vectors that `count_tables` counts, uniformly."""

    def of_rises(rises: int) -> Family:
        """The sums of decreases of vectors with this many increases."""
        falls, ways = size - rises, comb(size, rises)

        def bound(_: int, fall: int) -> int:
            # Compositions of the rise into positive numbers, and of the fall into others.
            of_fall = comb(fall + falls - 1, falls - 1) if falls else 1
            return ways * comb(fall + total - 1, rises - 1) * of_fall

        return max(0, 1 - total), decrease if falls else 0, bound

    # No number is above zero only if none is below: then all are zero.
    zeros: list[Family] = [] if total else [(0, 0, lambda _, __: 1)]
    families = [*zeros, *(of_rises(rises) for rises in range(1, size + 1))]
    index, fall = draw_by_weight(families)
    rises = index + 1 - len(zeros)
    if not rises:
        return [0] * size
    above = draw_subset(rises, size)
    parts = iter(_composition(fall + total - rises, rises))
    others = iter(_composition(fall, size - rises))
    return [next(parts) + 1 if at in above else -next(others) for at in range(size)]


def draw_subset(count: int, limit: int) -> set[int]:
    """A uniformly random set of numbers below a limit (Bentley and Floyd 1987)."""
    chosen: set[int] = set()
    for last in range(limit - count, limit):
        number = uniform_below(last + 1)
        chosen.add(last if number in chosen else number)
    return chosen


def _composition(total: int, count: int) -> list[int]:
    """Whole numbers >= 0 with this sum, uniformly among all such lists."""
    if not count:
        return []
    cuts = [-1, *sorted(draw_subset(count - 1, total + count - 1)), total + count - 1]
    return [cut - before - 1 for before, cut in pairwise(cuts)]


@lru_cache(maxsize=64)
def _counts(size: int, decreases: int, totals: int) -> Floats:
    """About `count_tables`, shape (decreases, totals)."""
    every = np.log(np.arange(1, decreases + totals + size + 2))
    factorials = np.concatenate([[0.0], np.cumsum(every)])

    def binomial(of: Array, below: int) -> Floats:
        terms = factorials[np.maximum(of, 0)] - factorials[below]
        chosen = np.exp(terms - factorials[np.maximum(of - below, 0)])
        return np.array(np.where(of >= below, chosen, 0.0))

    fall, total = np.arange(decreases)[:, None], np.arange(totals)[None, :]
    counted: Floats = np.zeros((decreases, totals))
    for rises in range(1, size + 1):
        falls = size - rises
        of_fall = binomial(fall + falls - 1, falls - 1) if falls else 1.0 * (fall == 0)
        of_rise = binomial(fall + total - 1, rises - 1) * (fall + total > 0)
        counted += comb(size, rises) * of_rise * of_fall
    counted[0, 0] += 1
    return np.array(np.cumsum(counted, axis=0))


@lru_cache(maxsize=64)
def _chances(norm: TablesNorm, sizes: tuple[int, ...], scale: Fraction) -> Floats:
    """The probability of each (m, s) for s >= 0, for s and -s together, shape (m, s).

    All decreases are at most m, with a probability by which the norm has the one of the noise.
    """
    dimension = sum(sizes)
    last = ceil(float(scale) * (dimension + FAR + sqrt(FAR * dimension))) + dimension
    decreases = last // norm.decrease + 1
    totals = last // norm.total + 1 if norm.total else 1
    logarithms = -norm.decrease * np.arange(decreases)[:, None] / float(scale)
    logarithms = logarithms - (norm.total or 0) * np.arange(totals) / float(scale)
    with np.errstate(divide="ignore"):
        for size in sizes:
            logarithms = logarithms + np.log(_counts(size, decreases, totals))
    chances: Floats = np.exp(logarithms - logarithms.max())
    chances[:, 1:] *= 2
    return np.array(chances / chances.sum())


@lru_cache(maxsize=64)
def _square_of_sum(norm: TablesNorm, sizes: tuple[int, ...], scale: Fraction) -> float:
    """The mean square of the sum of all numbers of a table."""
    sums = _chances(norm, sizes, scale).sum(axis=0)
    return float(sums @ np.arange(len(sums)) ** 2.0)


@lru_cache(maxsize=64)
def _tails(norm: TablesNorm, sizes: tuple[int, ...], scale: Fraction, cells: int) -> Floats:
    """P[a coordinate of a table of this size >= v] for v = 0, 1, 2, ...

    With a number v, the others are a table with a cell less, the sum s - v, and the same sum of
    decreases; that is less by v - s if their sum is below zero, and by -v if v is.
    """
    chances = _chances(norm, sizes, scale)
    decreases, totals = chances.shape
    others, widest = _counts(cells - 1, decreases, totals + decreases), decreases + totals
    each = chances / _counts(cells, decreases, totals)
    found = np.zeros(widest)
    for value in range(totals):
        found[value] += (each[:, value:] * others[:, : totals - value]).sum()
    for more in range(1, decreases):
        found[more : more + totals] += others[: decreases - more, more] @ each[more:]
        inner = others[: decreases - more, more : more + totals]
        found[more] += (each[more:] * inner).sum()
    # Both signs of s: each value but zero stands for itself and its negative.
    found[1:] /= 2
    tails = np.cumsum(found[::-1])[::-1]
    tails[0] = 1 - tails[1]
    return tails.copy()
