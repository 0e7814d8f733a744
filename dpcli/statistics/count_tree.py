"""A tree of counts along an axis: its levels, their shares and its errors.

The leaves are the classes of values. A node counts the rows of consecutive leaves (Hay, Rastogi,
Miklau and Suciu 2010). `count_tree_estimates` reads quantiles from noisy counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import ceil, log10, prod, sqrt

from dpcli.data.axis import Axis
from dpcli.light_dataclasses import dataclass

LEAST_VARIANCE = 1e-9
"""The variance of a count without noise."""

SHARE_RATIO = Fraction(4, 5)
"""The noise of a level has this share of that of the level below: counts of single classes are
needed only where rows share values."""


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
        """The children of a node: the least number for which the levels reach all leaves."""
        least: int = max(1, ceil(self.leaves ** (1 / self.levels)) - 1)
        return least + (prod([least] * self.levels) < self.leaves)

    @cached_property
    def node_leaves(self) -> tuple[int, ...]:
        """How many leaves a node of each level has."""
        return tuple(self.fan_out**level for level in reversed(range(self.levels)))

    @cached_property
    def top_nodes(self) -> int:
        """How many nodes the first level has."""
        return -(-self.leaves // self.node_leaves[0])

    def axes(self, classes: Axis) -> tuple[Axis, ...]:
        """The axis of each level, for leaves that are these classes."""
        return tuple(Axis(classes.column, classes.starts[::leaves]) for leaves in self.node_leaves)

    def shares(self, power: int) -> tuple[Fraction, ...]:
        """The share of each level: of epsilon with power 1, of rho with power 2."""
        parts = [SHARE_RATIO ** (power * level) for level in range(self.levels)]
        return tuple(part / sum(parts) for part in parts)

    def precisions(self, variances: Sequence[float]) -> tuple[float, ...]:
        """For each level the sum of leaves / variance of a count from it on."""
        parts = [
            leaves / variance for leaves, variance in zip(self.node_leaves, variances, strict=True)
        ]
        return tuple(reversed(list(accumulate(reversed(parts)))))

    def usual_error(self, quantile: float, errors: Sequence[float]) -> float:
        """About the error of a rank if values lie evenly, from the errors of the counts.

        It is as in `RankErrors`. For even ends, the first level has weights whose squares sum to
        q (1 - q) for each node. Below it, one node at most has different children: x of b are
        below the end, with x - x^2 / b for a whole x and less in between, nearly b / 6 on average.
        """
        variances = [max(error**2, LEAST_VARIANCE) for error in errors]
        first, *others = self.precisions(variances)
        squared = self.top_nodes * quantile * (1 - quantile) * self.node_leaves[0] / first
        for leaves, precision in zip(self.node_leaves, others, strict=False):
            squared += leaves / precision / 6
        return sqrt(squared)
