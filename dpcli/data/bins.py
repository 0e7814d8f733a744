"""Bins of a numeric column: their starts, from a width or from edges."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil

from dpcli.data.grid_columns import NumericColumn
from dpcli.data.steps import read_number
from dpcli.fields.tree import Node, ScalarNode, SequenceNode, node_at, read_all, scalars_of
from dpcli.fields.values import AlreadyReportedError
from dpcli.numeric.exact import readable_text

MAX_BINS = 10_001
"""The most bins of a column: one per value of a column of ten thousand steps."""


def read_bin_starts(column: NumericColumn, bins: Node) -> tuple[int, ...]:
    """The starts of the bins of a mapping with `width` or `edges`, in steps."""
    width, edges = node_at(bins, "width"), node_at(bins, "edges")
    if isinstance(width, ScalarNode) == isinstance(edges, SequenceNode):
        found = "both" if isinstance(width, ScalarNode) else "neither"
        raise bins.span.report("bins-form", key="bins", found=found)
    if isinstance(width, ScalarNode):
        starts = _starts_by_width(column, width)
    else:
        starts = _starts_by_edges(column, scalars_of(edges))
    if len(starts) > MAX_BINS:
        span = width.span if isinstance(width, ScalarNode) else edges.span
        raise span.report("too-many-bins", count=len(starts), most=MAX_BINS)
    return tuple(starts)


def _starts_by_width(column: NumericColumn, scalar: ScalarNode) -> Sequence[int]:
    """The starts of bins of equal width, in steps; the last bin may be narrower.

    The first bin starts at the lower bound. Closed bins are counted in values, so the upper bound
    may be a bin of its own. Of intervals, the last one includes the upper bound instead.
    """
    steps = read_number(scalar, "`width`") / column.step
    if steps <= 0 or steps.denominator != 1:
        code = "width-not-positive" if steps <= 0 else "off-grid.size"
        raise _off_grid(column, "width", scalar, steps, code)
    end = column.upper + 1 if column.closed_bins else column.upper
    return range(column.lower, end, steps.numerator)


def _starts_by_edges(column: NumericColumn, scalars: Sequence[ScalarNode]) -> Sequence[int]:
    """The starts of bins between edges, which increase from lower to upper bound.

    Each edge but the last starts a bin. The last edge is the upper bound, which the last bin
    includes. For closed bins, the last edge may also be the value after the upper bound.
    """
    edges = read_all(lambda scalar: column.read_on_grid(scalar, "the edge"), scalars)
    for index in range(1, len(edges)):
        if edges[index] <= edges[index - 1]:
            arguments = {"edge": scalars[index].text, "before": scalars[index - 1].text}
            raise scalars[index].span.report("edges-order", **arguments)
    ends = (0, "first", "lower", column.lower), (-1, "last", "upper", column.upper)
    for index, which, side, bound in ends:
        after = column.closed_bins and index == -1 and edges[index] == bound + 1
        if edges[index] != bound and not after:
            within_bounds = column.lower <= edges[index] <= column.upper
            code = "edges-bounds" if within_bounds else "edges-bounds.beyond"
            arguments = {"edge": scalars[index].text, "bound": column.text(bound)}
            raise scalars[index].span.report(code, place=which, side=side, **arguments)
    return edges[:-1]


def _off_grid(
    column: NumericColumn, key: str, scalar: ScalarNode, steps: Fraction, code: str
) -> AlreadyReportedError:
    nearest = readable_text(max(1, ceil(steps)) * column.step)
    arguments = {"value": scalar.text, "unit": column.grid_words, "nearest": nearest}
    return scalar.span.report(code, key=key, **arguments)


def _read_increasing(scalars: Sequence[ScalarNode], column: NumericColumn) -> tuple[int, ...]:
    points: list[int] = []
    for scalar in scalars:
        point = column.read_within_bounds(scalar, "the candidate")
        if points and point <= points[-1]:
            raise scalar.span.report("candidates-order", value=scalar.text)
        points.append(point)
    return tuple(points)
