"""A tree of counts along an axis: its levels, errors, and quantiles.

The leaves are the classes of values. A node counts the rows of consecutive leaves (Hay, Rastogi,
Miklau and Suciu 2010).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from math import ceil, log10, prod, sqrt

from dpcli.data.kinds import Axis
from dpcli.noise.distribution import Noise, blended_half_width, normal_quantile
from dpcli.numeric.arrays import Array, Bools, Floats, Ints, np
from dpcli.problems.light_dataclasses import dataclass

MIN_VARIANCE = 1e-9
"""The variance of a count without noise."""

SHARE_RATIO = Fraction(4, 5)
"""The noise of a level over the noise of the level below.

Counts of single classes may be noisier: they are needed only where rows share values.
"""


@dataclass(frozen=True)
class CountTree:
    """A tree with this number of leaves, and about ten children for each node.

    That is near the best number (Qardaji, Yang and Li 2013). Nodes at the end have fewer children.
    Levels are numbered from the top, which has several nodes: there is no root.
    """

    leaves: int

    @cached_property
    def levels(self) -> int:
        """How many levels there are, the leaves included."""
        return max(1, round(log10(self.leaves)))

    @cached_property
    def fan_out(self) -> int:
        """The least number of children of a node for which the levels hold all leaves."""
        fan_out_below: int = max(1, ceil(self.leaves ** (1 / self.levels)) - 1)
        return fan_out_below + (prod([fan_out_below] * self.levels) < self.leaves)

    @cached_property
    def node_leaves(self) -> tuple[int, ...]:
        """How many leaves a node of each level has."""
        return tuple(self.fan_out**level for level in reversed(range(self.levels)))

    @cached_property
    def top_nodes(self) -> int:
        """How many nodes the first level has."""
        return -(-self.leaves // self.node_leaves[0])

    def axes(self, classes: Axis) -> tuple[Axis, ...]:
        """For each level, the axis whose bins are its nodes; leaves are the classes."""
        return tuple(Axis(classes.column, classes.starts[::leaves]) for leaves in self.node_leaves)

    def shares(self, power: int) -> tuple[Fraction, ...]:
        """The share of each level in the loss: in epsilon with power 1, in rho with 2."""
        parts = [SHARE_RATIO ** (power * level) for level in range(self.levels)]
        return tuple(part / sum(parts) for part in parts)

    def precisions(self, variances: Sequence[float]) -> tuple[float, ...]:
        """The precision of each level: the sum of s / v over this level and all below.

        A node has s leaves, and the variance of its count is v; `variances` has v for each level.
        """
        parts = [
            leaves / variance for leaves, variance in zip(self.node_leaves, variances, strict=True)
        ]
        return tuple(reversed(list(accumulate(reversed(parts)))))

    def usual_error(self, quantile: float, errors: Sequence[float]) -> float:
        """About the error of a rank in rows, if values lie evenly.

        `errors` has the error of a count in each level. The variance is that of `RankErrors`, on
        average over evenly spaced ends. In the first level, squared weights sum to q (1 - q) per
        node, for the quantile q. In a lower level, only the children of one node differ in weight:
        x of its b children lie below the end. Their squares sum to at most x - x^2/b, on average
        nearly b/6.
        """
        variances = [max(error**2, MIN_VARIANCE) for error in errors]
        first, *lower = self.precisions(variances)
        squared = self.top_nodes * quantile * (1 - quantile) * self.node_leaves[0] / first
        for leaves, precision in zip(self.node_leaves, lower, strict=False):
            squared += leaves / precision / 6
        return sqrt(squared)


TEST_SHARE = Fraction(17, 20)
"""The part of an interval's error probability that each of its two tests of single ranks has.

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
        """The largest allowed errors of mean ranks in windows; by default, of single ranks.

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
        variances: Floats = window.least_variances[part] + added / self.precisions[0]
        return variances

    @lru_cache(maxsize=128)  # noqa: B019 - few objects, of one release each
    def _excess(self, quantile: float) -> float:
        """The mean excess kurtosis of noisy ranks, over a sample of ends."""
        if not any(noise.fourth_cumulant(1) for noise in self.noises):
            return 0.0
        step = max(1, self.tree.leaves // SAMPLED_ENDS)
        ends = np.arange(step // 2, self.tree.leaves, step)
        squares = self.rank_variances(quantile)[ends] ** 2
        return float((self.fourth_cumulants(ends, quantile) / squares).mean())

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
    """The sum, over nodes with this number of leaves, of the squared mean weight of the leaves.

    The weight of a leaf is the part of the ends in a window that lie above it.
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
    def least_variances(self) -> Floats:
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


CHUNK = 1 << 13
"""Variances are computed for this number of windows at once, so that arrays stay in caches."""

CLEAR = 2
"""Single ranks beyond this number of margins decide by themselves: no window is tried."""


@dataclass(frozen=True, slots=True)
class _Curve:
    """The rows below each end of a class, and the `sums` over all ends before; by group."""

    rows: Floats
    sums: Floats

    @classmethod
    def of(cls, rows: Floats) -> _Curve:
        return cls(rows, np.cumsum(np.pad(rows, ((0, 0), (1, 0))), axis=1))


@dataclass(frozen=True, slots=True)
class _RankTests:
    """The ranks that two tests use: of single ends, or means over windows of ends.

    Exact ranks increase from end to end. So if the rank at an end is not negative, neither is the
    mean rank of a window above it, which has less noise. If it is not positive, neither is the mean
    rank of a window below it.
    """

    errors: RankErrors
    confidence: Fraction
    noisy: _Curve
    likely: _Curve

    def ranks(self, quantile: float, wanted: Floats, margins: Floats, *, is_above: bool) -> Floats:
        """Ranks with their allowed errors added, or subtracted for windows below.

        Each end has the window, or none, whose margin and likely rise are least in sum: there, the
        test is likely to exclude most. Larger windows are tried while they help. `wanted` are the
        rows below the quantile, of the shape (groups, 1), and `margins` those of single ranks.
        """
        single, clear, sign = self.noisy.rows - wanted, CLEAR * margins, 1 if is_above else -1
        chosen: Floats = single + sign * margins
        unclear = np.flatnonzero(~((single < -clear).all(axis=0) | (single > clear).all(axis=0)))
        if not len(unclear):
            return chosen
        part = slice(int(unclear[0]), int(unclear[-1]) + 1)
        inner, expected = chosen[:, part], self.likely.rows[:, part]
        least = np.broadcast_to(margins[part], inner.shape).copy()
        for window in self.errors.windows[0 if is_above else 1]:
            margin = self.errors.margins(quantile, self.confidence, window, part)
            cost = margin + sign * (window.means(self.likely.sums, part) - expected)
            better = cost < least
            if not better.any():
                break
            means = window.means(self.noisy.sums, part) - wanted + sign * margin
            np.copyto(inner, means, where=better)
            np.copyto(least, cost, where=better)
        return chosen


BLOCK = 1 << 18
"""The number of leaves, over groups, that are processed at once, to bound memory."""

EVEN_WEIGHT = 5
"""The weight of a class without rows, over the mean number of rows per class."""


@dataclass(frozen=True, slots=True)
class ClassOfQuantile:
    """The class of a quantile in each group, and the range of plausible classes.

    All arrays have the shape (groups,); classes are given by index. `in_first_half` says whether at
    most half of the rows of the class lie below the quantile.
    """

    index: Ints
    in_first_half: Bools
    lowest: Ints
    highest: Ints


def classes_of_quantiles(
    tree: CountTree,
    counts: Sequence[Array],
    noises: Sequence[Noise],
    quantiles: Sequence[Fraction],
    confidence: Fraction,
) -> list[ClassOfQuantile]:
    """The class of each quantile in each group, from the noisy counts of a tree.

    `counts` has an array of shape (groups, nodes) for each level.

    The class is where the likely counts of `_Levels.likely` reach the quantile. The plausible
    classes are those that two tests do not exclude. The tests use unbiased least squares. They
    exclude a class if the rows up to its end fall short of the quantile, or if the rows below its
    start exceed it. Where counts rise slowly, they use means of several ranks (`_RankTests`).

    The plausible classes contain the class of the exact quantile with about this confidence,
    whatever the data. Exact ranks increase from class to class. So noisy ranks are made isotonic
    first: otherwise one extreme noise would decide. If noise hides whether a group has rows, every
    class is plausible.
    """
    errors = RankErrors(tree, tuple(noises))
    levels, hidden = _Levels.of(tree, errors.variances), errors.rows_margin(confidence)
    margins = [errors.margins(float(quantile), confidence) for quantile in quantiles]
    groups, size = len(counts[0]), max(1, BLOCK // tree.leaves)
    parts: list[list[ClassOfQuantile]] = [[] for _ in quantiles]
    for start in range(0, max(groups, 1), size):
        block = [level[start : start + size].astype(np.float64) for level in counts]
        totals = levels.from_below(block)
        (plausible, rows), likely = levels.unbiased(totals), levels.likely(totals)
        weights, is_shown = _weights(likely), rows[:, 0] > hidden
        curves = (plausible, np.pad(likely, ((0, 0), (1, 0))))
        tests = _RankTests(errors, confidence, *(_Curve.of(rows[is_shown]) for rows in curves))
        for part, quantile, margin in zip(parts, quantiles, margins, strict=True):
            index, half = _likely_class(float(quantile), likely)
            lowest, highest = np.zeros_like(index), np.full_like(index, tree.leaves - 1)
            if is_shown.any():
                wanted = float(quantile) * rows[is_shown]
                above, below = (
                    tests.ranks(float(quantile), wanted, margin, is_above=is_above)
                    for is_above in (True, False)
                )
                lowest[is_shown], highest[is_shown] = _plausible_classes(
                    above, below, weights[is_shown]
                )
            ends = np.minimum(lowest, index), np.maximum(highest, index)
            part.append(ClassOfQuantile(index, half, *ends))
    return [
        ClassOfQuantile(
            *(
                np.concatenate([getattr(block, name) for block in part])
                for name in ("index", "in_first_half", "lowest", "highest")
            )
        )
        for part in parts
    ]


def _likely_class(quantile: float, likely: Floats) -> tuple[Ints, Bools]:
    """The class of a quantile, and whether it lies in the first half of its rows.

    `likely` has the likely number of rows up to the end of each class, shape (groups, classes).
    """
    last, groups = likely.shape[1] - 1, np.arange(len(likely))
    wanted = quantile * likely[:, -1]
    index = np.minimum((likely < wanted[:, None]).sum(axis=1), last)
    below = np.where(index > 0, likely[groups, index - 1], 0.0)
    return index, 2 * (wanted - below) <= likely[groups, index] - below


def _plausible_classes(above: Floats, below: Floats, weights: Floats) -> tuple[Ints, Ints]:
    """The first and the last class that neither of two tests excludes.

    `above` and `below` have mean ranks of windows above and below each end, with allowed errors;
    their shape is (groups, ends). `weights` are those of the classes in the isotonic regressions of
    both tests.
    """
    fall_short = _below_zero(above[:, 1:], weights)
    do_not_exceed = _below_zero(below[:, :-1], weights)
    return np.minimum(fall_short, weights.shape[1] - 1), np.maximum(do_not_exceed - 1, 0)


def _below_zero(numbers: Floats, weights: Floats) -> Ints:
    """How many numbers of a row are below zero after weighted isotonic regression.

    The regression reaches zero where the weighted sum of the numbers before is least (Groeneboom
    1985). So columns at the start with only negative numbers, and columns at the end with none,
    need no sum.
    """
    negative, last = numbers < 0, numbers.shape[1] - 1
    start = int(negative.all(axis=0).argmin())
    end = max(start, last - int(negative[:, ::-1].any(axis=0).argmax())) + 1
    sums = np.cumsum(numbers[:, start:end] * weights[:, start:end], axis=1)
    lowest = sums.argmin(axis=1)
    return start + np.where(sums[np.arange(len(sums)), lowest] < 0, lowest + 1, 0)


def _weights(likely: Floats) -> Floats:
    """The weight of each class in an isotonic regression, from likely rows.

    The weight is the likely rows of the class plus a constant (`EVEN_WEIGHT`). So ranks in empty
    ranges hardly change the ranks of classes with many rows nearby, and noise in empty ranges
    averages out.
    """
    even = EVEN_WEIGHT * np.maximum(likely[:, -1:], 1.0) / likely.shape[1]
    weights: Floats = np.diff(likely, axis=1, prepend=0.0) + even
    return weights


@dataclass(frozen=True, slots=True)
class _Levels:
    """The levels of a tree, with the variance of a count in each of them.

    The best estimate of a node uses its own count and all counts below; its variance is `combined`.
    """

    tree: CountTree
    variances: tuple[float, ...]
    combined: tuple[float, ...]

    @classmethod
    def of(cls, tree: CountTree, variances: Sequence[float]) -> _Levels:
        combined = [variances[-1]]
        for own in reversed(variances[:-1]):
            combined.append(1 / (1 / own + 1 / (tree.fan_out * combined[-1])))
        return cls(tree, tuple(variances), tuple(reversed(combined)))

    def from_below(self, counts: Sequence[Floats]) -> list[Floats]:
        """For each level, the best estimate of each node from its count and all below.

        Each array has the shape (groups, nodes). Nodes without leaves are added as zeros, so that
        all nodes have the same number of children.
        """
        tree, totals = self.tree, []
        for level, own in enumerate(counts):
            nodes = tree.top_nodes * tree.fan_out**level
            totals.append(np.pad(own, ((0, 0), (0, nodes - own.shape[1]))))
        for level in reversed(range(tree.levels - 1)):
            children = self._children(totals[level + 1]).sum(axis=2)
            share = self.combined[level] / self.variances[level]
            totals[level] = share * totals[level] + (1 - share) * children
        return totals

    def unbiased(self, totals: Sequence[Floats]) -> tuple[Floats, Floats]:
        """Rows below each end of a class by least squares, and the number of all rows.

        The shapes are (groups, classes + 1) and (groups, 1). Least squares as in Hay, Rastogi,
        Miklau and Suciu 2010. The number of all rows is the sum of the first level, with the noise
        of leaves that do not exist: otherwise, the variance would exceed that in the margins.
        """
        found = totals[0]
        for below in totals[1:]:
            children = self._children(below)
            missing = found[:, :, None] - children.sum(axis=2, keepdims=True)
            found = (children + missing / self.tree.fan_out).reshape(len(found), -1)
        below = np.concatenate([np.zeros((len(found), 1)), self._up_to(found)], axis=1)
        return below, totals[0].sum(axis=1, keepdims=True)

    def likely(self, totals: Sequence[Floats]) -> Floats:
        """Rows up to the end of each class, from likely counts, which are never negative.

        From the top, the total of a node is divided among its children: first, in proportion to the
        number of their leaves. Then the differences of the noisy counts from this division are
        added, multiplied by the part of their variance that is not noise (Efron and Morris 1973).
        So counts are even where noise hides differences. The variance that is not noise is taken to
        be at least that of random counts. Last, the nearest counts are taken that are not negative
        and sum to the total.
        """
        found = np.maximum(totals[0].sum(axis=1, keepdims=True), 0.0)
        for (below, variance), leaves in zip(
            zip(totals, self.combined, strict=True), self._leaves(), strict=True
        ):
            children = below.reshape(len(below), found.shape[1], -1)
            present = leaves > 0
            count = np.maximum(present.sum(axis=2, keepdims=True), 1)
            parts = leaves / np.maximum(leaves.sum(axis=2, keepdims=True), 1)
            total = found[:, :, None]
            even = total * parts
            change = np.where(present, children - even, 0.0)
            change -= np.where(present, change.sum(axis=2, keepdims=True) / count, 0.0)
            spread = (change**2).sum(axis=2, keepdims=True) / np.maximum(count - 1, 1)
            signal = np.maximum(spread - variance, total / count)
            wanted = even + signal / (signal + variance) * change
            found = _nearest(np.where(present, wanted, -np.inf), total).reshape(len(below), -1)
        return self._up_to(found)

    def _leaves(self) -> Iterator[Ints]:
        """By level, leaf counts of each node's children: shape (1, nodes, children).

        The nodes of the first level are the children of one root.
        """
        tree = self.tree
        for level, leaves_of_node in enumerate(tree.node_leaves):
            starts = np.arange(tree.top_nodes * tree.fan_out**level) * leaves_of_node
            leaves = np.clip(tree.leaves - starts, 0, leaves_of_node)
            yield leaves.reshape(1, -1, tree.top_nodes if level == 0 else tree.fan_out)

    def _children(self, nodes: Floats) -> Floats:
        return nodes.reshape(len(nodes), -1, self.tree.fan_out)

    def _up_to(self, leaves: Floats) -> Floats:
        up_to: Floats = np.cumsum(leaves[:, : self.tree.leaves], axis=1)
        return up_to


def _nearest(wanted: Floats, total: Floats) -> Floats:
    """Nearest numbers along the last axis that are not negative and sum to `total`.

    A threshold is subtracted from all numbers above it, and all other numbers become zero (Held,
    Wolfe and Crowder 1974).
    """
    ordered = -np.sort(-wanted, axis=2)
    ranks = np.arange(1, wanted.shape[2] + 1)
    known = np.isfinite(ordered)
    thresholds = (np.cumsum(np.where(known, ordered, 0.0), axis=2) - total) / ranks
    active = np.maximum((known & (ordered > thresholds)).sum(axis=2, keepdims=True), 1)
    nearest: Floats = np.maximum(wanted - np.take_along_axis(thresholds, active - 1, axis=2), 0.0)
    return nearest
