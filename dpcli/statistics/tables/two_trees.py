"""Numbers of the pairs of parts of two trees, which agree in both directions.

If the variance of each pair of levels is a product of one for each tree, as it is for rows and
shares that are products, least squares are those of the first tree, and then of the second one for
each number of the first: the normal equations are a Kronecker product. For other variances, the
products that are nearest in the logarithm give the weights.

A known table has all numbers of a pair of levels. What it adds is a projection for each tree: the
number of each part of the level, and its share for all parts below. Projections of one tree
commute, because each is within the next. So least squares with several known tables are the sums
and differences of these projections that inclusion and exclusion give (`_corners`).

Numbers that are not negative are found from the top down. The number of each pair of parts is
within one block, of the parts of one number in each tree. The sums of its rows and columns are
numbers that were found before. So each block is a transportation problem, which always has a
solution, in whole numbers too.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import isqrt

from dpcli.numeric.arrays import Array, Bools, Floats, Ints, np
from dpcli.statistics.tables.additive import FIT_BITS
from dpcli.statistics.tables.agreement import NEAR_ZERO
from dpcli.statistics.tables.families import Families, exact_floats, yields
from dpcli.statistics.tables.fitting import STEPS
from dpcli.statistics.tables.rounding import whole_table
from dpcli.statistics.tables.tree import RANK_BITS, TreeFit

CLOSE = 0.01
"""A block meets both sums if projections to them differ by less than this."""

FINE = 1 << 20
"""Parts of a printed unit, in which numbers are moved to known ones."""

Pair = tuple[int, int]
"""A level of each tree."""

Numbers = dict[Pair, Array]
"""The numbers of pairs of levels, shape (groups, first parts, second parts)."""


class ProductFit:
    """The least squares estimate of numbers of pairs of levels, the top first.

    `noises` are variances and fourth cumulants by pair, shape (2, levels, levels). A variance of
    zero is that of a known table, whose measured numbers are the known ones. So are all sums of it.

    Attributes:
        variances: Those of the estimates, by pair of levels.
        fourth_cumulants: About those of the estimates, by pair of levels.
    """

    def __init__(self, parents: Sequence[Sequence[Sequence[int]]], noises: Floats) -> None:
        self._sizes = [[max(own[0]) + 1, *map(len, own)] for own in parents]
        rows, columns = map(range, noises[0].shape)
        self._pairs: list[Pair] = [*product(rows, columns)]
        # Without any noise, nothing is known but by measuring.
        self._known: Bools = (noises[0] == 0) & noises[0].any()
        noises = np.maximum(noises, NEAR_ZERO)
        factors = _factors(noises[0], ~self._known)
        self._trees = [
            TreeFit(own, [np.array([[one], [one**2]]).repeat(size, 1) for one, size in each])
            for own, each in zip(parents, map(zip, factors, self._sizes), strict=True)
        ]
        unknown = _corners(~self._known)
        first, second = (
            _Projections(tree, own, sizes, factor, {pair[at] for pair in unknown})
            for at, (tree, own, sizes, factor) in enumerate(
                zip(self._trees, parents, self._sizes, factors, strict=True)
            )
        )
        variances: Floats = sum(
            one * other * first.covariances(pair[0], less[0]).T
            @ noises[0] @ second.covariances(pair[1], less[1])
            for (pair, one), (less, other) in product(unknown.items(), repeat=2)
        )  # fmt: skip
        plain = first.moments[:, 0].T @ noises[0] @ second.moments[:, 0]
        fourth = first.moments[:, 1].T @ noises[1] @ second.moments[:, 1]
        variances = np.maximum(variances, NEAR_ZERO)
        # What is known leaves the shape of the noise about as it is.
        fourth = fourth * (variances / np.maximum(plain, NEAR_ZERO)) ** 2
        self.variances, self.fourth_cumulants = [], []
        for pair in self._pairs:
            own = np.ix_(first.places(pair[0]), second.places(pair[1]))
            least, times = (NEAR_ZERO, 0.0) if self._known[pair] else (0.0, 1.0)
            self.variances.append(least + times * variances[own].ravel())
            self.fourth_cumulants.append(times * fourth[own].ravel())
        # The last part of each number of the second tree has what rounding leaves.
        self.rounding = 1 + isqrt(4 * max(int(np.bincount(own).max()) for own in parents[1]))

    def rounded(self, measured: Sequence[Array], units: Fraction) -> list[Array]:
        """All estimates times `units`, rounded so that they agree, by pair of levels.

        Each of `measured` has the shape (groups, numbers of the pair).
        """
        found = Numbers()
        for (at, to), (numbers, below) in self._estimates(measured, units).items():
            one, other = self._families((at, to))
            down, ranked = numbers // below, numbers % below
            ranks = ((ranked << RANK_BITS) // below).astype(np.int64)
            if self._known[at, to]:
                whole = down
            elif one:
                above = found[at - 1, to]
                whole = _turned(one.whole(_turned(down), _turned(ranks), _turned(above)))
                if other:
                    lasts = np.append(other.starts[1:], len(other.of)) - 1
                    whole[..., lasts] += found[at, to - 1] - other.sums(whole)
            elif other:
                whole = other.whole(down, ranks, found[at, to - 1])
            else:
                whole = (2 * numbers + below) // (2 * below)
            found[at, to] = whole
        return self._flat(found)

    def nonnegative(self, measured: Sequence[Array], units: Fraction) -> list[Array]:
        """Whole numbers that agree and meet known ones, without negative ones.

        They are near the estimates times `units`: the nearest non-negative numbers with the sums
        that are found before, rounded up or down, in a block mostly within one.
        """
        estimates = self._estimates(measured, units)
        numbers, below = estimates[0, 0]
        tops = np.maximum((2 * numbers + below) // (2 * below), 0)
        unit = 1 << max(0, int(tops.max(initial=0)).bit_length() - FIT_BITS)
        found = {(0, 0): (tops // unit).astype(np.int64)}
        for (at, to), (numbers, below) in [*estimates.items()][1:]:
            if self._known[at, to]:
                found[at, to] = (numbers // below // unit).astype(np.int64)
                continue
            wanted = (numbers / (below * unit)).astype(np.float64)
            one, other = self._families((at, to))
            variances = self.variances[self._pairs.index((at, to))].reshape(wanted.shape[1:])
            each = yields(wanted, variances * float(units / unit) ** 2)
            if one and other:
                sums = found[at, to - 1], found[at - 1, to]
                near = _transported(wanted, each, *sums, one, other)
                found[at, to] = _rounded_blocks(near, *sums, one, other)
            elif other:
                found[at, to] = _parts(wanted, each, found[at, to - 1], other)
            elif one:
                above = _turned(found[at - 1, to])
                found[at, to] = _turned(_parts(_turned(wanted), _turned(each), above, one))
        if unit > 1:
            # The first part of each top has what is less than a unit.
            firsts = [tree.firsts for tree in self._trees]
            for (at, to), whole in found.items():
                found[at, to] = whole.astype(object) * unit
                found[at, to][:, firsts[0][at][:, None], firsts[1][to]] += tops % unit
        return self._flat(found)

    def _families(self, pair: Pair) -> list[Families | None]:
        """The families of parts at these levels; none at the top."""
        trees = zip(self._trees, pair, strict=True)
        return [tree.families[at - 1] if at else None for tree, at in trees]

    def _flat(self, found: Numbers) -> list[Array]:
        return [found[pair].reshape(len(found[pair]), -1) for pair in self._pairs]

    def _estimates(
        self, measured: Sequence[Array], units: Fraction
    ) -> dict[Pair, tuple[Array, int]]:
        """The estimates times `units`, as whole numbers of one part of a scale."""
        (one, other), (rows, columns) = self._trees, self._sizes
        groups = max(map(len, measured))
        tables = {
            (at, to): np.broadcast_to(
                numbers.reshape(-1, rows[at], columns[to]), (groups, rows[at], columns[to])
            )
            for (at, to), numbers in zip(self._pairs, measured, strict=True)
        }
        first = [
            one.estimates([_turned(tables[at, to]) for at in range(len(rows))])
            for to in range(len(columns))
        ]
        found = dict[Pair, tuple[Array, int]]()
        for at in range(len(rows)):
            row = other.estimates([_turned(own[at][0]) for own in first])
            for to, (numbers, scale) in enumerate(row):
                below = first[0][at][1] * scale * units.denominator
                found[at, to] = numbers * units.numerator, below
        moved = {pair: np.zeros(table.shape) for pair, table in tables.items()}
        known = {pair: tables[pair] * units.numerator for pair in self._pairs if self._known[pair]}
        for pair, times in _corners(self._known).items():
            numbers, below = found[pair]
            exact = known[pair] * (below // units.denominator) - numbers
            away = (exact / below).astype(np.float64)
            for at, part in enumerate(one.carried(_turned(away), pair[0])):
                for to, change in enumerate(other.carried(_turned(part), pair[1])):
                    moved[at, to] += times * change
        for pair, (numbers, below) in found.items():
            if pair in known:
                found[pair] = known[pair], units.denominator
            elif known:
                more = exact_floats(np.rint(moved[pair] * FINE)) * below // FINE
                found[pair] = numbers + more, below
        return found


class _Projections:
    """The noise of a tree under its projections to the levels that corners need.

    A projection to a level keeps the numbers of it and above, and each number below is its share of
    that of its part of the level.

    Attributes:
        moments: By level that is measured, shape (levels, 2, numbers of all levels).
    """

    def __init__(
        self,
        tree: TreeFit,
        parents: Sequence[Sequence[int]],
        sizes: Sequence[int],
        variances: Sequence[float],
        corners: set[int],
    ) -> None:
        self._ends = np.cumsum([0, *sizes])
        self.moments = self._by_level(tree, sizes)
        self._parts, self._with = dict[int, tuple[Ints, Floats]](), dict[int, Floats]()
        for level in corners:
            own: list[Ints] = [*map(self.places, range(level + 1))]
            for families in tree.families[level:]:
                own.append(own[-1][families.of])
            ones = tree.carried(np.ones(sizes[level]), level)
            shares = np.hstack([*map(np.ones, sizes[: level + 1]), *ones[level + 1 :]])
            self._parts[level] = np.hstack(own), shares**2
            at, squares = self._parts[level]
            plain: Floats = self.moments[:, 0]
            if level == len(sizes) - 1:
                self._with[level] = plain
                continue
            # The noise of a number and of its projection have a covariance that follows from the
            # variance of their difference, which is that of estimates where the level is known.
            noises = [np.array([[one], [one**2]]).repeat(size, 1)
                      for one, size in zip(variances, sizes, strict=True)]  # fmt: skip
            noises[level] = np.full((2, sizes[level]), NEAR_ZERO)
            rest = self._by_level(TreeFit(parents, noises), sizes)[:, 0]
            rest[level] = 0.0
            self._with[level] = (plain + squares * plain[:, at] - rest) / 2

    def places(self, level: int) -> Ints:
        """The indexes of the numbers of a level among all."""
        return np.arange(self._ends[level], self._ends[level + 1])

    def covariances(self, one: int, other: int) -> Floats:
        """Of two projections of each number, by level that is measured."""
        low, high = sorted((one, other))
        at, squares = self._parts[high]
        own: Floats = self.moments[:, 0] if low == high else self._with[low]
        return squares * own[:, at]

    @staticmethod
    def _by_level(tree: TreeFit, sizes: Sequence[int]) -> Floats:
        levels = (
            [np.full((2, n), one) for n, one in zip(sizes, row, strict=True)]
            for row in np.eye(len(sizes))
        )
        return np.array([np.hstack(tree.moments(level)) for level in levels])


def _factors(variances: Floats, unknown: Bools) -> list[list[float]]:
    """For each tree, the factors whose products are nearest to what is unknown."""
    at, to = np.nonzero(unknown)
    own = [np.eye(size)[index] for size, index in zip(variances.shape, (at, to), strict=True)]
    logs = np.log(variances[at, to])
    fit = np.exp(np.linalg.lstsq(np.hstack(own), logs, rcond=None)[0])
    return [part.tolist() for part in np.split(fit, [len(variances)])]


def _corners(covered: Bools) -> dict[Pair, int]:
    """The projections of which that to the covered pairs of levels is the sum.

    Each pair has what lies at its levels alone, which is a difference of projections.
    """
    ends = np.pad(covered.astype(np.int64), (0, 1))
    times = ends[:-1, :-1] - ends[1:, :-1] - ends[:-1, 1:] + ends[1:, 1:]
    return {(int(at), int(to)): int(times[at, to]) for at, to in np.argwhere(times)}


def _turned(table: Array) -> Array:
    return table.swapaxes(-1, -2)


def _parts(wanted: Floats, each: Floats, totals: Ints, families: Families) -> Ints:
    near = families.projected(wanted, totals, each)
    return families.rounded_parts(near, totals).astype(np.int64)


def _transported(
    wanted: Floats, each: Floats, rows: Ints, columns: Ints, one: Families, other: Families
) -> Floats:
    """The nearest tables without negative numbers that have these sums in each block.

    Alternating projections, with the corrections of Boyle and Dykstra (1986).
    """
    near, more = wanted, np.zeros(wanted.shape)
    less: Floats = np.zeros(wanted.shape)
    for _ in range(STEPS):
        across = other.projected(near + more, rows, each)
        more += near - across
        down = _turned(one.projected(*map(_turned, (across + less, columns, each))))
        less += across - down
        near = down
        if np.abs(across - down).max(initial=0.0) < CLOSE:
            break
    return near


def _rounded_blocks(
    near: Floats, rows: Ints, columns: Ints, one: Families, other: Families
) -> Ints:
    """Whole numbers with these sums in each block; blocks of zeros are left out."""
    found: Ints = np.zeros(near.shape, np.int64)
    totals = one.sums(_turned(rows))
    edges = [[*own.starts, len(own.of)] for own in (one, other)]
    for group, to, at in np.argwhere(totals):
        across = slice(edges[0][at], edges[0][at + 1])
        down = slice(edges[1][to], edges[1][to + 1])
        own = near[group, across, down]
        sums = rows[group, across, to], columns[group, at, down]
        found[group, across, down] = whole_table(own, *sums)
    return found
