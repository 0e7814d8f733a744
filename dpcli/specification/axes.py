"""Reads keys, bins and candidates, in whole steps of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from dpcli.data.axis import Axis
from dpcli.data.column import ValuedColumn
from dpcli.data.derivations import FirstTrue
from dpcli.data.filters import InRanges
from dpcli.data.ids import PrivatePartitionColumn
from dpcli.data.labels import FORMULA_STARTS, CategoryColumn
from dpcli.data.numeric import NumericColumn
from dpcli.fields.section import SectionModel
from dpcli.fields.tree import (
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    node_at,
    read_all,
    scalars_of,
)
from dpcli.numeric.exact import readable_text
from dpcli.queries.scores import Points
from dpcli.specification.context import SpecContext
from dpcli.specification.grid import read_number, read_on_grid, read_within_bounds

MAX_BINS = 10_001
"""Enough for one bin per value of a column of ten thousand steps."""

MAX_VALUES_AS_BINS = 200
"""Whole numbers with at most this number of values need no `bins`: a month, an age, a year."""

RESERVED_COLUMNS = ("statistic", "item", "value", "lower", "upper")
"""The columns that every published table has."""

ESTIMATE_COLUMNS = (
    "column",
    "estimate",
    "item",
    "records",
    "value",
    "standard_error",
    "lower",
    "upper",
)
"""The columns of the table of estimates that are not keys."""


def read_keys(section: SectionModel, field: str, context: SpecContext) -> tuple[Axis, ...]:
    """Reads the keys of a list such as `by`."""
    section.require(field)
    seen: set[str] = set()

    def read(item: Node) -> Axis:
        scalar = node_at(item, "column")
        assert isinstance(scalar, ScalarNode)
        if scalar.text in seen:
            raise scalar.span.report("duplicate-key-column", column=scalar.text, field=field)
        seen.add(scalar.text)
        column = context.groupable_column(scalar, section.subject)
        if column.name in RESERVED_COLUMNS:
            raise scalar.span.report("reserved-name", column=column.name, reserved=RESERVED_COLUMNS)
        bins = item.get("bins") if isinstance(item, MappingNode) else None
        return read_axis(column, bins, scalar, "missing-bins")

    listing = section.node.sequence(field)
    return tuple(read_all(read, listing.items if listing else ()))


def read_axis(
    column: ValuedColumn | PrivatePartitionColumn,
    bins: Node | None,
    scalar: ScalarNode,
    missing_code: str,
) -> Axis:
    """One axis: the labels of a category, or the bins of a number.

    Without `bins`, each value is a bin if a column of whole numbers has few. `missing_code` is the
    problem of another numeric column without bins.
    """
    facts = {"column": column.name, "kind": column.kind}
    if column.name.startswith(FORMULA_STARTS):
        raise scalar.span.report("formula-label.key", first=column.name[0], **facts)
    if isinstance(column, NumericColumn):
        if bins is not None:
            return Axis(column, read_bin_starts(column, bins))
        values = range(column.lower, column.upper + 1)
        if column.kind != "integer" or len(values) > MAX_VALUES_AS_BINS:
            raise scalar.span.report(missing_code, most=MAX_VALUES_AS_BINS, **facts)
        return Axis(column, tuple(values))
    if bins is not None:
        raise bins.span.report("bins-not-taken", **facts)
    return Axis(column)


def two_values(column: ValuedColumn, places: Sequence[int]) -> Axis:
    """The axis of the rows that have one of two labels or values; others are on no place."""
    names = (column.text(place) for place in places)
    tests = tuple(InRanges(column, ((place, place),)) for place in places)
    values = tuple((name, name) for name in names)
    return Axis(CategoryColumn(column.name, values, derivation=FirstTrue(tests)))


def read_bin_starts(column: NumericColumn, bins: Node) -> tuple[int, ...]:
    """The starts of the bins of a mapping with `width` or `edges`, in steps."""
    width, edges = node_at(bins, "width"), node_at(bins, "edges")
    if isinstance(width, ScalarNode) == isinstance(edges, SequenceNode):
        raise bins.span.report("bins-form.both" if isinstance(width, ScalarNode) else "bins-form")
    if isinstance(width, ScalarNode):
        starts = _starts_by_width(column, width)
    else:
        starts = _starts_by_edges(column, scalars_of(edges))
    if len(starts) > MAX_BINS:
        span = width.span if isinstance(width, ScalarNode) else edges.span
        raise span.report("too-many-bins", count=len(starts), most=MAX_BINS)
    return tuple(starts)


def _starts_by_width(column: NumericColumn, scalar: ScalarNode) -> Sequence[int]:
    """Bins of equal width from the lower bound; the last may be narrower.

    A bin of whole numbers or days is a range of `width` values, so the upper bound may be a bin of
    its own. For finer numbers, the last interval includes the upper bound instead.
    """
    steps = read_number(scalar, "`width`") / column.step
    if steps <= 0 or steps.denominator != 1:
        code = "width-not-positive" if steps <= 0 else "off-grid.width"
        nearest = readable_text(max(1, ceil(steps)) * column.step)
        raise scalar.span.report(code, width=scalar.text, unit=column.grid_words, nearest=nearest)
    end = column.upper + 1 if column.whole else column.upper
    return range(column.lower, end, steps.numerator)


def _starts_by_edges(column: NumericColumn, scalars: Sequence[ScalarNode]) -> Sequence[int]:
    """Bins between the given edges, which increase from the lower to the upper bound.

    Each edge but the last begins a bin. The last edge is the upper bound, which the last bin
    includes. For whole numbers and days it may also be the next value, where another bin would
    begin.
    """
    edges = read_all(lambda scalar: read_on_grid(column, scalar, "the edge"), scalars)
    for place in range(1, len(edges)):
        if edges[place] <= edges[place - 1]:
            facts = {"edge": scalars[place].text, "before": scalars[place - 1].text}
            raise scalars[place].span.report("edges-order", **facts)
    ends = (0, "first", "lower", column.lower), (-1, "last", "upper", column.upper)
    for place, which, side, bound in ends:
        after = column.whole and place == -1 and edges[place] == bound + 1
        if edges[place] != bound and not after:
            within_bounds = column.lower <= edges[place] <= column.upper
            code = "edges-bounds" if within_bounds else "edges-bounds.beyond"
            facts = {"edge": scalars[place].text, "bound": column.text(bound)}
            raise scalars[place].span.report(code, place=which, side=side, **facts)
    return edges[:-1]


def read_candidates(node: Node | None, column: NumericColumn) -> Points:
    """The candidates of a list, or at a step; by default all values of the column."""
    if isinstance(node, SequenceNode):
        return _read_increasing(scalars_of(node), column)
    scalar = node.scalar("step") if isinstance(node, MappingNode) else None
    if scalar is None:
        return range(column.lower, column.upper + 1)
    # A step between dates is a number of days.
    steps = read_number(scalar, "`step`") / column.step
    if steps <= 0 or steps.denominator != 1:
        facts = {"value": scalar.text, "step": readable_text(column.step)}
        raise scalar.span.report("off-grid.candidates", **facts)
    return range(column.lower, column.upper + 1, steps.numerator)


def _read_increasing(scalars: Sequence[ScalarNode], column: NumericColumn) -> tuple[int, ...]:
    points: list[int] = []
    for scalar in scalars:
        point = read_within_bounds(column, scalar, "the candidate")
        if points and point <= points[-1]:
            raise scalar.span.report("candidates-order", value=scalar.text)
        points.append(point)
    return tuple(points)
