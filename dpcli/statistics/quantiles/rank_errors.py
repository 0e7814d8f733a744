"""The errors of ranks from noisy counts, and the ranks that tests of classes use.

A test may use the mean of several neighboring ranks, which has less noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from math import sqrt

from dpcli.noise.distribution import Noise, normal_quantile
from dpcli.noise.sums import blended_half_width
from dpcli.numeric.arrays import Floats, Ints, np
from dpcli.problems.light_dataclasses import dataclass
from dpcli.statistics.choices.candidates import FLAG_CONFIDENCE
from dpcli.statistics.quantiles.tree import MIN_VARIANCE, CountTree

TEST_SHARE = Fraction(17, 20)
"""The most of an error probability that a test of single ranks has (`end_risk`).

`tests/laws/test_quantile_intervals.py` shows which coverage follows.
"""

WINDOW_PART = Fraction(3, 8)
"""The risk of a test with means of several ranks, over that with single ranks.

The isotonic regression removes less of their noise, and the least of several margins is taken. With
four fifths, intervals of 100 to 300 rows are about a tenth narrower, but 8% miss the value before a
wide gap at 95%.
"""

WINDOW_RATIO = 6
"""The number of ranks in a window over that in the next smaller one.

With 4, intervals are 1% narrower, and take a sixth more time.
"""

SAMPLED_ENDS = 256
"""About how many ends of classes are sampled for the kurtosis of rank errors."""

CHUNK = 1 << 13
"""The number of windows whose variances are computed at once, to stay in caches."""

CLEAR = 2
"""No window is tried where single ranks are beyond this number of margins."""


def end_risk(most: Fraction, confidence: Fraction) -> Fraction:
    """The risk of one end of an interval that may miss in 1 - `confidence` of cases.

    Half of it would be safe. But where a class or range has many rows, hardly more than one end is
    at risk, so each may have up to `most` of it: less where more is allowed, because then both ends
    miss more often. In simulations, intervals of 50% to 99% held as often as stated.
    """
    outside = 1 - confidence
    return outside * max(2 * most / 3, most - outside)


def confidence_of_ends(risk: float, most: Fraction = TEST_SHARE) -> Fraction:
    """The confidence of an interval whose ends each have this `end_risk`, rounded up.

    Errors of a sample put both ends of an interval at risk.
    """
    share = float(most)
    small = (share - sqrt(max(share**2 - 4 * risk, 0.0))) / 2
    outside = small if small < share / 3 else 3 * risk / (2 * share)
    return 1 - Fraction(int(outside * 10**12), 10**12)


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

    Of a sample, the rows below the quantile q of the population have the variance q (1 - q) times
    `sampled`, the rows with the finite population correction (Woodruff 1952).
    """

    tree: CountTree
    noises: tuple[Noise, ...]
    sampled: float = 0.0

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
        return Window(self, 1)

    @cached_property
    def windows(self) -> list[Window]:
        """Windows of several ends, the smallest first."""
        count = 0
        while WINDOW_RATIO ** (count + 1) <= self.tree.leaves:
            count += 1
        return [Window(self, WINDOW_RATIO ** (number + 1)) for number in range(count)]

    def margins(self, quantile: float, confidence: Fraction) -> Floats:
        """The allowed errors of single ranks, for each end.

        With these margins, or those of windows, the classes that two tests leave contain the class
        of the quantile with this confidence.
        """
        width = self.width(quantile, confidence)
        return width * np.sqrt(self.rank_variances(quantile))

    def width(self, quantile: float, confidence: Fraction, part: Fraction = Fraction(1)) -> float:
        """The allowed error in deviations, for a part of the risk of single ranks."""
        outside = 2 * part * end_risk(TEST_SHARE, confidence)
        return blended_half_width(self._excess(quantile), 1.0, 1 - outside)

    def rows_margin(self, confidence: Fraction) -> float:
        """The margin for an empty group: more noisy rows than this show that it has rows."""
        variance = self.tree.top_nodes * self.tree.node_leaves[0] / self.precisions[0]
        outside = 2 * (1 - max(confidence, FLAG_CONFIDENCE))
        return normal_quantile(float(outside)) * sqrt(variance)

    def rank_variances(
        self, quantile: float, window: Window | None = None, part: slice | None = None
    ) -> Floats:
        """The variances of mean noisy ranks in windows; by default, of single ranks.

        There is one for each run in a `part`; by default, for each end. Only the squares in the
        first level depend on the quantile.
        """
        window, part = window or self._single, part or slice(0, self.tree.leaves + 1)
        leaves = self.tree.top_nodes * self.tree.node_leaves[0]
        variances = np.empty(part.stop - part.start)
        # Chunks stay in caches.
        for start in range(part.start, part.stop, CHUNK):
            chunk = slice(start, min(start + CHUNK, part.stop))
            starts, stops = window.ends(chunk)
            added = variances[start - part.start : chunk.stop - part.start]
            np.subtract(quantile**2 * leaves, quantile * (starts + stops - 1), out=added)
            added /= self.precisions[0]
            added += window.rows_variances(chunk)
        variances += self.sampled * quantile * (1 - quantile)
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
    # Whole numbers are divided faster.
    low, high = ((ends // leaves).astype(np.float64) for ends in (starts, stops - 1))

    def sums(inside: Floats) -> Floats:
        """The sum of weights up to this number of leaves within the window."""
        return first + inside * (2 * size - 1 - inside) / (2 * size)

    in_low = (sums(np.minimum((low + 1) * leaves, last) - first) - low * leaves) / leaves
    in_high = (first + (size - 1) / 2 - sums(np.maximum(high * leaves - first, 0))) / leaves
    squares: Floats = low + in_low**2 + np.where(low < high, in_high**2, 0.0)
    # Between the nodes of both ends, mean weights fall by equal steps.
    between = np.maximum(high - low - 1, 0)
    if between.any():
        highest, step = (last - (low + 1.5) * leaves + 0.5) / size, leaves / size
        squares += between * highest**2 - step * highest * between * (between - 1)
        squares += step**2 * between * (between - 1) * (2 * between - 1) / 6
    return squares


@dataclass(frozen=True)
class Window:
    """Runs of `size` neighboring ends, of which tests take the mean rank.

    Of the run with the index i, the last end is i: the first run is the first end alone. Runs over
    the first or the last end are cut there.
    """

    errors: RankErrors
    size: int

    def ends(self, part: slice) -> tuple[Ints, Ints]:
        """The first end of each run in a `part`, and the end after the last."""
        stops = np.arange(part.start + 1, part.stop + 1)
        starts = np.maximum(stops - self.size, 0)
        return starts, np.minimum(stops, self.errors.tree.leaves + 1, out=stops)

    def rows_variances(self, part: slice) -> Floats:
        """The variances of the noise in the mean rows below the ends in each run."""
        known = self._known_variances
        for chunk in range(part.start // CHUNK, -(-part.stop // CHUNK)):
            if chunk not in self._known_chunks:
                self._known_chunks.add(chunk)
                start = chunk * CHUNK
                whole = slice(start, min(start + CHUNK, len(known)))
                known[whole] = self._variances(whole)
        return known[part]

    @cached_property
    def _known_variances(self) -> Floats:
        return np.empty(self.errors.tree.leaves + self.size)

    @cached_property
    def _known_chunks(self) -> set[int]:
        return set()

    def _variances(self, part: slice) -> Floats:
        starts, stops = self.ends(part)
        variances = above = np.zeros(len(starts))
        levels = zip(self.errors.tree.node_leaves, self.errors.precisions, strict=True)
        for leaves, precision in levels:
            squares = leaves * _squared_weights(starts, stops, leaves)
            variances = variances + (squares - above) / precision
            above = squares
        return variances

    def means(self, sums: Floats, part: slice) -> Floats:
        """Means of numbers in runs, from sums over all ends before, in columns."""
        starts, stops = self.ends(part)
        means = np.take(sums, stops, axis=1)
        means -= np.take(sums, starts, axis=1)
        means /= stops - starts
        return means


@dataclass(frozen=True)
class RankTests:
    """The ranks that two tests use: of single ends, or means over windows of ends.

    Exact ranks increase from end to end. So if the rank at an end is not negative, neither is the
    mean rank of a window above it, which has less noise. If it is not positive, neither is the mean
    rank of a window below it.

    `margins` has the allowed errors of single ranks for each quantile. `noisy` and `likely` have
    the rows below each end; their shape is (groups, ends). `rows` are all rows, (groups, 1).
    """

    errors: RankErrors
    confidence: Fraction
    quantiles: Sequence[float]
    margins: Sequence[Floats]
    noisy: Floats
    rows: Floats
    likely: Floats

    def ranks(self, *, is_above: bool) -> Iterator[Floats]:
        """For each quantile, the ranks of one test, with allowed errors.

        Errors are added for windows above ends, and subtracted for those below. Each end has the
        window, or none, whose margin and likely rise are least in sum: there, the test is likely to
        exclude most. Larger windows are tried while they help.
        """
        some = [part for part in self._parts if part.start < part.stop]
        first = min((part.start for part in some), default=0)
        span = slice(first, max((part.stop for part in some), default=0))
        side = _Side(self, 1 if is_above else -1, span)
        for quantile, margins, part in zip(self.quantiles, self.margins, self._parts, strict=True):
            yield side.ranks(quantile, margins, part)

    @cached_property
    def _parts(self) -> list[slice]:
        """For each quantile, from the first to the last end that is not clear."""
        parts = []
        for quantile, margins in zip(self.quantiles, self.margins, strict=True):
            single, clear = self.noisy - quantile * self.rows, CLEAR * margins
            is_clear = (single.max(axis=0) < -clear) | (single.min(axis=0) > clear)
            unclear = np.flatnonzero(~is_clear)
            ends = (int(unclear[0]), int(unclear[-1]) + 1) if len(unclear) else (0, 0)
            parts.append(slice(*ends))
        return parts


@dataclass(frozen=True)
class _Side:
    """The windows above each end, or below it, and what all quantiles share of them.

    Those above start at the end, and `sign` is 1; those below stop at it, and `sign` is -1. Means
    are needed of the ends in the `span`.
    """

    tests: RankTests
    sign: int
    span: slice

    def _runs(self, part: slice, window: Window) -> slice:
        """The indices of the runs for the ends in `part`."""
        shift = window.size - 1 if self.sign > 0 else 0
        return slice(part.start + shift, part.stop + shift)

    def ranks(self, quantile: float, margins: Floats, part: slice) -> Floats:
        """Ranks of the best windows, with allowed errors, as in `RankTests.ranks`."""
        tests = self.tests
        chosen = tests.noisy + self.sign * margins
        inside = slice(part.start - self.span.start, part.stop - self.span.start)
        width = tests.errors.width(quantile, tests.confidence, WINDOW_PART)
        # Single precision is enough to compare windows, and faster. Large arrays are used again,
        # because the system first clears the memory of new ones.
        single = margins[None, part].astype(np.float32)
        ranks, least = chosen[:, part], np.repeat(single, len(chosen), axis=0)
        cost = np.empty_like(least)
        for number, window in enumerate(tests.errors.windows if least.size else ()):
            margin = tests.errors.rank_variances(quantile, window, self._runs(part, window))
            np.sqrt(margin, out=margin)
            margin *= width
            means, rises = self._means_and_rises(number)
            np.add(margin.astype(np.float32), rises[:, inside], out=cost)
            better = cost < least
            if not better.any():
                break
            np.minimum(least, cost, out=least)
            margin *= self.sign
            np.add(margin, means[:, inside], out=ranks, where=better)
        chosen -= quantile * tests.rows
        return chosen

    @cached_property
    def _sums(self) -> tuple[Floats, Floats]:
        noisy, likely = (
            np.cumsum(np.pad(rows, ((0, 0), (1, 0))), axis=1)
            for rows in (self.tests.noisy, self.tests.likely)
        )
        return noisy, likely

    @cached_property
    def _known(self) -> list[tuple[Floats, Floats]]:
        return []

    def _means_and_rises(self, number: int) -> tuple[Floats, Floats]:
        """Noisy means in windows, and how far likely ones are from their ends."""
        if number == len(self._known):
            noisy, likely = self._sums
            window = self.tests.errors.windows[number]
            runs = self._runs(self.span, window)
            rises = window.means(likely, runs)
            rises -= self.tests.likely[:, self.span]
            rises *= self.sign
            self._known.append((window.means(noisy, runs), rises.astype(np.float32)))
        return self._known[number]
