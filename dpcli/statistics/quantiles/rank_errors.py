"""The errors of ranks from noisy counts, and the ranks that tests of classes use.

A test may use the mean of several neighboring ranks, which has less noise.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from math import sqrt

from dpcli.noise.distribution import Noise, blended_half_width, normal_quantile
from dpcli.numeric.arrays import Floats, Ints, np
from dpcli.problems.light_dataclasses import dataclass
from dpcli.statistics.quantiles.tree import MIN_VARIANCE, CountTree

TEST_SHARE = Fraction(17, 20)
"""The part of an error probability that each of two tests of single ranks has.

More than half: a class that holds rows is hardly at risk in both tests.
`python -m tests.benchmarks.quantile_intervals` shows which coverage follows.
"""

EMPTY_SHARE = Fraction(1, 5)
"""The part of the error probability for noise beyond an empty group's margin.

The margin has two sides: at 95%, one in 200 intervals of empty groups excludes some class.
"""

WINDOW_SHARE = Fraction(1, 3)
"""`TEST_SHARE` for means of several ranks.

The isotonic regression removes less of their noise, and the least of several margins is taken.
"""

WINDOW_RATIO = 4
"""The number of ranks in a window over that in the next smaller one."""

SAMPLED_ENDS = 256
"""About how many ends of classes are sampled for the kurtosis of rank errors."""

CHUNK = 1 << 13
"""The number of windows whose variances are computed at once, to stay in caches."""

CLEAR = 2
"""No window is tried where single ranks are beyond this number of margins."""


@dataclass(frozen=True)
class RankErrors:
    """The errors of ranks by least squares from the noisy counts of a tree.

    `noises` has the noise of a count in each level. The rank of an end of a class is the number of
    rows below the end, minus the quantile q times the number of all rows. The number of all rows is
    the sum over all nodes of the first level, also over nodes with few leaves.

    A rank is a weighted sum of leaves, with weights g: 1 - q below the end, and -q above it. Let
    P(k) g be g averaged within each node of level k, and P(-1) g be zero. The differences P(k) g -
    P(k-1) g are orthogonal. Least squares divides the k-th by the precision of level k
    (`CountTree.precisions`). So the variance of a rank is the sum over k of |P(k) g - P(k-1) g|^2 /
    precision(k).
    """

    tree: CountTree
    noises: tuple[Noise, ...]

    @cached_property
    def variances(self) -> tuple[float, ...]:
        """The variance of a count in each level."""
        return tuple(max(noise.discrete_variance, MIN_VARIANCE) for noise in self.noises)

    @cached_property
    def precisions(self) -> tuple[float, ...]:
        """The precision of each level, as in `CountTree.precisions`."""
        return self.tree.precisions(self.variances)

    @cached_property
    def _single(self) -> Window:
        ends = np.arange(self.tree.leaves + 1)
        return Window(self, ends, ends + 1)

    @cached_property
    def windows(self) -> tuple[list[Window], list[Window]]:
        """Windows of several ends, above each end and below it, the smallest first."""
        sides: tuple[list[Window], list[Window]] = [], []
        ends, size = np.arange(self.tree.leaves + 1), WINDOW_RATIO
        while size <= self.tree.leaves:
            stops = np.minimum(ends + size, self.tree.leaves + 1)
            sides[0].append(Window(self, ends, stops))
            sides[1].append(Window(self, np.maximum(ends + 1 - size, 0), ends + 1))
            size *= WINDOW_RATIO
        return sides

    def margins(
        self,
        quantile: float,
        confidence: Fraction,
        window: Window | None = None,
        part: slice = slice(None),
    ) -> Floats:
        """The allowed errors of mean ranks in windows; by default, of single ranks.

        There is one for each end in the `part` of all ends. With these margins, the classes that
        two tests leave contain the class of the quantile with this confidence.
        """
        share = TEST_SHARE if window is None else WINDOW_SHARE
        outside = min(2 * share * (1 - confidence), Fraction(1))
        width = blended_half_width(self._excess(quantile), 1.0, 1 - outside)
        margins: Floats = max(width, 0.0) * np.sqrt(self.rank_variances(quantile, window, part))
        return margins

    def rows_margin(self, confidence: Fraction) -> float:
        """The margin for an empty group: more noisy rows than this show that it has rows."""
        variance = self.tree.top_nodes * self.tree.node_leaves[0] / self.precisions[0]
        return normal_quantile(float(EMPTY_SHARE * (1 - confidence))) * sqrt(variance)

    def rank_variances(
        self, quantile: float, window: Window | None = None, part: slice = slice(None)
    ) -> Floats:
        """The variances of mean noisy ranks in windows; by default, of single ranks.

        There is one for each end in the `part` of all ends. Only the squares in the first level
        depend on the quantile.
        """
        window = window or self._single
        leaves = self.tree.top_nodes * self.tree.node_leaves[0]
        added = quantile**2 * leaves - quantile * (window.starts[part] + window.stops[part] - 1)
        variances: Floats = window.rows_variances[part] + added / self.precisions[0]
        return variances

    @cached_property
    def _excesses(self) -> dict[float, float]:
        return {}

    def _excess(self, quantile: float) -> float:
        """The mean excess kurtosis of noisy ranks, over a sample of ends."""
        if not any(noise.fourth_cumulant(1) for noise in self.noises):
            return 0.0
        if quantile not in self._excesses:
            step = max(1, self.tree.leaves // SAMPLED_ENDS)
            ends = np.arange(step // 2, self.tree.leaves, step)
            squares = self.rank_variances(quantile)[ends] ** 2
            excess = self.fourth_cumulants(ends, quantile) / squares
            self._excesses[quantile] = float(excess.mean())
        return self._excesses[quantile]

    def fourth_cumulants(self, ends: Ints, quantile: float) -> Floats:
        """The fourth cumulants of the noisy ranks at these ends, but for the last end.

        With the g and P(k) of `RankErrors`, let h be the sum over k of (P(k) g - P(k-1) g) /
        precision(k). A rank has the count of a node with the weight s / v times the mean of h in
        the node, for s leaves and the variance v. Below a node that the end does not divide, h has
        one mean in all nodes.
        """
        tree, below = self.tree, 0.0
        owns, subtrees = [], []
        for leaves, noise, variance in zip(
            reversed(tree.node_leaves), reversed(self.noises), reversed(self.variances), strict=True
        ):
            own = noise.fourth_cumulant(leaves / variance)
            below = own + tree.fan_out * below
            owns.append(own)
            subtrees.append(below)
        total = divided = np.zeros(len(ends))
        above, children, mean = tree.leaves + 1, tree.top_nodes, np.full(len(ends), quantile)
        levels = zip(
            tree.node_leaves, self.precisions, reversed(owns), reversed(subtrees), strict=True
        )
        for leaves, precision, own, subtree in levels:
            whole, rest = np.divmod(ends % above, leaves)
            part = rest / leaves
            if above <= tree.leaves:
                children, mean = tree.fan_out, (whole + part) / tree.fan_out
            before = divided + (1 - mean) / precision
            after = divided - mean / precision
            divided = divided + (part - mean) / precision
            siblings = whole * before**4 + (children - whole - 1) * after**4
            total = total + subtree * siblings + own * divided**4
            above = leaves
        return total


def _squared_weights(starts: Ints, stops: Ints, leaves: int) -> Floats:
    """The sum over all nodes of the squared mean weight of their leaves.

    The nodes have this number of leaves. The weight of a leaf is the part of the ends in a window
    that lie above it.
    """
    first, size = starts.astype(np.float64), (stops - starts).astype(np.float64)
    last = first + size - 1
    low, high = first // leaves, last // leaves

    def sums(inside: Floats) -> Floats:
        """The sum of weights up to this number of leaves within the window."""
        return first + inside * (2 * size - 1 - inside) / (2 * size)

    in_low = (sums(np.minimum((low + 1) * leaves, last) - first) - low * leaves) / leaves
    in_high = (first + (size - 1) / 2 - sums(np.maximum(high * leaves - first, 0))) / leaves
    squares: Floats = low + in_low**2 + np.where(low < high, in_high**2, 0.0)
    # Between the nodes of both ends, mean weights fall by equal steps.
    between = np.maximum(high - low - 1, 0)
    if between.any():
        most, step = (last - (low + 1.5) * leaves + 0.5) / size, leaves / size
        squares += between * most**2 - step * most * between * (between - 1)
        squares += step**2 * between * (between - 1) * (2 * between - 1) / 6
    return squares


@dataclass(frozen=True)
class Window:
    """For each end of a class, the ends of which a test takes the mean rank.

    They lie from `starts` to before `stops`: from each end on upward, or up to it. The shape of
    both is (leaves + 1,).
    """

    errors: RankErrors
    starts: Ints
    stops: Ints

    @cached_property
    def rows_variances(self) -> Floats:
        """The variances of the noise in the mean rows below the ends in each window."""
        ends = range(0, len(self.starts), CHUNK)
        return np.concatenate([self._variances(slice(end, end + CHUNK)) for end in ends])

    def _variances(self, part: slice) -> Floats:
        starts, stops = self.starts[part], self.stops[part]
        variances = above = np.zeros(len(starts))
        levels = zip(self.errors.tree.node_leaves, self.errors.precisions, strict=True)
        for leaves, precision in levels:
            squares = leaves * _squared_weights(starts, stops, leaves)
            variances = variances + (squares - above) / precision
            above = squares
        return variances

    def means(self, sums: Floats, part: slice) -> Floats:
        """Means of numbers in the windows of the ends in `part`, from sums of all before."""
        starts, stops = self.starts[part], self.stops[part]
        means: Floats = (sums[:, stops] - sums[:, starts]) / (stops - starts)
        return means


@dataclass(frozen=True, slots=True)
class RankTests:
    """The ranks that two tests use: of single ends, or means over windows of ends.

    Exact ranks increase from end to end. So if the rank at an end is not negative, neither is the
    mean rank of a window above it, which has less noise. If it is not positive, neither is the mean
    rank of a window below it.

    `noisy` and `likely` have the rows below each end; their shape is (groups, ends). The sums are
    those over all ends before.
    """

    errors: RankErrors
    confidence: Fraction
    noisy: Floats
    likely: Floats
    noisy_sums: Floats
    likely_sums: Floats

    @classmethod
    def of(
        cls, errors: RankErrors, confidence: Fraction, noisy: Floats, likely: Floats
    ) -> RankTests:
        """The tests for these rows below each end."""
        sums = (np.cumsum(np.pad(rows, ((0, 0), (1, 0))), axis=1) for rows in (noisy, likely))
        return cls(errors, confidence, noisy, likely, *sums)

    def ranks(self, quantile: float, wanted: Floats, margins: Floats, *, is_above: bool) -> Floats:
        """Ranks with their allowed errors added, or subtracted for windows below.

        Each end has the window, or none, whose margin and likely rise are least in sum: there, the
        test is likely to exclude most. Larger windows are tried while they help. `wanted` are the
        rows below the quantile, of the shape (groups, 1), and `margins` those of single ranks.
        """
        single, clear, sign = self.noisy - wanted, CLEAR * margins, 1 if is_above else -1
        chosen: Floats = single + sign * margins
        unclear = np.flatnonzero(~((single < -clear).all(axis=0) | (single > clear).all(axis=0)))
        if not len(unclear):
            return chosen
        part = slice(int(unclear[0]), int(unclear[-1]) + 1)
        inner, expected = chosen[:, part], self.likely[:, part]
        least = np.broadcast_to(margins[part], inner.shape).copy()
        for window in self.errors.windows[0 if is_above else 1]:
            margin = self.errors.margins(quantile, self.confidence, window, part)
            cost = margin + sign * (window.means(self.likely_sums, part) - expected)
            better = cost < least
            if not better.any():
                break
            means = window.means(self.noisy_sums, part) - wanted + sign * margin
            np.copyto(inner, means, where=better)
            np.copyto(least, cost, where=better)
        return chosen
