"""How far the ranks that noisy counts of a tree give may be off."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from math import sqrt

from dpcli.light_dataclasses import dataclass
from dpcli.noise.distribution import Noise, normal_quantile
from dpcli.noise.tails import blended_half_width
from dpcli.numeric.arrays import Floats, Ints, np
from dpcli.statistics.count_tree import LEAST_VARIANCE, CountTree

TEST_SHARE = Fraction(9, 10)
"""The part of the error probability of an interval that each of its two tests has.

More than half: a class that holds rows is hardly at risk in both tests.
`python -m tests.benchmarks.quantile_intervals` shows which coverage follows.
"""

EMPTY_SHARE = Fraction(1, 5)
"""The part of the error probability of an interval with which noise looks like rows, or like fewer
than none: one in 200 intervals of empty groups says more than all classes at 95%."""

SAMPLED_ENDS = 256
"""From about this number of ends of classes follows how heavy the tails of errors are."""


@dataclass(frozen=True)
class RankErrors:
    """The errors of ranks by least squares from noisy counts of a tree.

    `noises` are those of a count in each level. A rank is the number of rows below the end of a
    class, less the quantile of all rows. The sum over all nodes of the first level, also of those
    with few leaves, is the number of all rows.

    A rank is the sum of leaves with weights g: one below the end, zero above, less the quantile.
    With P(k) the mean over the leaves of each node of level k, and s(k) leaves in a node, the
    parts P(k) g - P(k-1) g are orthogonal, and least squares divides each by its precision, which
    is the sum of s(l) / variance(l) over the levels l from k on. The variance is the sum of
    their squares over their precisions.
    """

    tree: CountTree
    noises: tuple[Noise, ...]

    @cached_property
    def variances(self) -> tuple[float, ...]:
        """The variance of a count in each level."""
        return tuple(max(noise.discrete_variance, LEAST_VARIANCE) for noise in self.noises)

    @cached_property
    def precisions(self) -> tuple[float, ...]:
        """For each level the sum of leaves / variance from it on."""
        return self.tree.precisions(self.variances)

    def margins(self, quantile: float, confidence: Fraction) -> Floats:
        """How far each noisy rank may be off in a test, for the ends of no, one, and all classes.

        A range of classes that two such tests leave has the class of a quantile with this
        confidence.
        """
        outside = min(2 * TEST_SHARE * (1 - confidence), Fraction(1))
        width = blended_half_width(self._excess(quantile), 1.0, 1 - outside)
        margins: Floats = max(width, 0.0) * np.sqrt(self.rank_variances(quantile))
        return margins

    def rows_margin(self, confidence: Fraction) -> float:
        """The noisy number of all rows from which on there are rows, more surely than most."""
        variance = self.tree.top_nodes * self.tree.node_leaves[0] / self.precisions[0]
        return normal_quantile(float(EMPTY_SHARE * (1 - confidence))) * sqrt(variance)

    def rank_variances(self, quantile: float) -> Floats:
        """The variance of the rank of each end."""
        whole, part = self._first
        above = np.maximum(self.tree.top_nodes - whole - 1, 0) * quantile**2
        squares = whole * (1 - quantile) ** 2 + above
        squares += np.where(whole < self.tree.top_nodes, (part - quantile) ** 2, 0.0)
        variances: Floats = squares * self.tree.node_leaves[0] / self.precisions[0] + self._inside
        return variances

    @cached_property
    def _ends(self) -> Ints:
        return np.arange(self.tree.leaves + 1)

    @cached_property
    def _first(self) -> tuple[Floats, Floats]:
        whole, rest = np.divmod(self._ends, self.tree.node_leaves[0])
        return whole.astype(np.float64), rest / self.tree.node_leaves[0]

    @cached_property
    def _inside(self) -> Floats:
        """The variance that levels below the first add: their parts depend on the end alone."""
        added, fan_out = np.zeros(self.tree.leaves + 1), self.tree.fan_out
        leaves = self.tree.node_leaves
        for above, own, precision in zip(leaves, leaves[1:], self.precisions[1:], strict=False):
            whole, rest = np.divmod(self._ends % above, own)
            part = rest / own
            added += own / precision * (whole + part**2 - (whole + part) ** 2 / fan_out)
        return added

    def _excess(self, quantile: float) -> float:
        """The mean excess kurtosis of ranks, from a sample of ends."""
        if not any(noise.fourth_cumulant(1) for noise in self.noises):
            return 0.0
        step = max(1, self.tree.leaves // SAMPLED_ENDS)
        ends = self._ends[step // 2 : -1 : step]
        squares = self.rank_variances(quantile)[ends] ** 2
        return float((self.fourth_cumulants(ends, quantile) / squares).mean())

    def fourth_cumulants(self, ends: Ints, quantile: float) -> Floats:
        """Those of the ranks of some ends, which are not the last.

        With h the sum of the parts of g over their precisions, the count of a node has the weight
        leaves / variance times the mean of h in it. That is the same in all nodes of a level
        below one which the end does not divide.
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
            others = whole * before**4 + (children - whole - 1) * after**4
            total = total + subtree * others + own * divided**4
            above = leaves
        return total
