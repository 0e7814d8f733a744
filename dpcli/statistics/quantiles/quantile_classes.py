"""The class of each quantile by noisy counts, and the classes that noise allows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import repeat

from dpcli.noise.distribution import Noise
from dpcli.numeric.arrays import Array, Bools, Floats, Ints, np
from dpcli.problems.light_dataclasses import dataclass
from dpcli.statistics.quantiles.rank_errors import RankErrors, RankTests
from dpcli.statistics.quantiles.tree import CountTree

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
    sampled: Floats | None = None,
) -> list[ClassOfQuantile]:
    """The class of each quantile in each group, from the noisy counts of a tree.

    `counts` has an array of shape (groups, nodes) for each level. `sampled` has the rows of each
    group as in `RankErrors`, if the population of a sample is meant.

    The class is where the likely counts of `_Levels.likely` reach the quantile. The plausible
    classes are those that two tests do not exclude. The tests use unbiased least squares. They
    exclude a class if the rows up to its end fall short of the quantile, or if the rows below its
    start exceed it. Where counts rise slowly, they use means of several ranks (`RankTests`).

    The plausible classes contain the class of the exact quantile with about this confidence,
    whatever the data. Exact ranks increase from class to class. So noisy ranks are made isotonic
    first: otherwise one extreme noise would decide. If noise hides whether a group has rows, every
    class is plausible.
    """
    errors = RankErrors(tree, tuple(noises))
    levels, hidden = _Levels.of(tree, errors.variances), errors.rows_margin(confidence)
    as_floats = [float(quantile) for quantile in quantiles]
    margins = [errors.margins(quantile, confidence) for quantile in as_floats]
    groups, size = len(counts[0]), 1 if sampled is not None else max(1, BLOCK // tree.leaves)
    parts: list[list[ClassOfQuantile]] = [[] for _ in quantiles]
    for start in range(0, max(groups, 1), size):
        if sampled is not None:
            errors = replace(errors, sampled=float(sampled[start]))
            margins = [errors.margins(quantile, confidence) for quantile in as_floats]
        block = [level[start : start + size].astype(np.float64) for level in counts]
        totals = levels.from_below(block)
        (plausible, rows), likely = levels.unbiased(totals), levels.likely(totals)
        weights, is_shown = _weights(likely), rows[:, 0] > hidden
        expected = np.pad(likely, ((0, 0), (1, 0)))
        shown = (numbers[is_shown] for numbers in (plausible, rows, expected))
        tests = RankTests(errors, confidence, as_floats, margins, *shown)
        found = _plausible_classes(tests, weights[is_shown]) if is_shown.any() else repeat(None)
        for part, quantile, ends_of_shown in zip(parts, as_floats, found, strict=False):
            index, half = _likely_class(quantile, likely)
            lowest, highest = np.zeros_like(index), np.full_like(index, tree.leaves - 1)
            if ends_of_shown:
                lowest[is_shown], highest[is_shown] = ends_of_shown
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


def _plausible_classes(tests: RankTests, weights: Floats) -> Iterator[tuple[Ints, Ints]]:
    """For each quantile, the first and the last class that no test excludes.

    `weights` are those of the classes in the isotonic regressions of both tests.
    """
    last = weights.shape[1] - 1
    lowest = [
        np.minimum(count_below_zero(ranks[:, 1:], weights), last)
        for ranks in tests.ranks(is_above=True)
    ]
    for first, ranks in zip(lowest, tests.ranks(is_above=False), strict=True):
        yield first, np.maximum(count_below_zero(ranks[:, :-1], weights) - 1, 0)


def count_below_zero(numbers: Floats, weights: Floats) -> Ints:
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
