"""A tree of counts along an axis: its levels, and errors of ranks.

The leaves are the classes of values. A node counts the rows of consecutive leaves (Hay, Rastogi,
Miklau and Suciu 2010).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import ceil, log10, prod, sqrt

from dpcli.data.kinds import Axis
from dpcli.numeric.exact import short_up
from dpcli.problems.light_dataclasses import dataclass

MIN_VARIANCE = 1e-9
"""The variance of a count without noise."""

SHARE_RATIO = Fraction(4, 5)
"""The noise of a level over the noise of the level below.

Counts of single classes may be noisier: they are needed only where rows share values.
"""


STATED = Fraction(19, 20)
"""The confidence of the errors that plans state in words."""


def few_rows_sentence(rows: int) -> str:
    """From how many rows on the noise hides no quantile of a group, in words."""
    return (
        f"in groups of fewer than about {int(short_up(Fraction(rows), 2)):,} rows, noise hides at "
        "least one of the quantiles: its interval may reach the first or the last candidate"
    )


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
