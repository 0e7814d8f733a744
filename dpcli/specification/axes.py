"""Keys, bins, conditions and candidates, in whole steps of their columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, floor
from typing import Any

from dpcli.columns import FORMULA_STARTS, Key, NumericColumn, PrivatePartitionColumn
from dpcli.numeric.exact import readable_text
from dpcli.queries import Condition
from dpcli.reference import variant_code
from dpcli.scores import Points
from dpcli.specification.columns_section import SpecContext
from dpcli.specification.grid import in_steps, on_grid, read_number, within
from dpcli.specification.model import ValuedColumn
from dpcli.specification.tree import (
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    node_at,
    read_all,
    scalars_of,
)
from dpcli.specification.validation import Section

MOST_BINS = 10_001
"""A column of ten thousand steps has one value more."""

RESERVED = ("statistic", "item", "value", "lower", "upper")
"""The columns that every output has."""

ESTIMATED = ("column", "estimate", "item", "records", "value", "standard_error", "lower", "upper")
"""The columns of the table of estimates that are not keys."""

Ranges = tuple[tuple[int, int], ...]


def read_keys(part: Section[Any], field: str, scope: SpecContext) -> tuple[Key, ...]:
    """The keys of a list such as `by`."""
    part.require(field)
    seen: set[str] = set()

    def read(item: Node) -> Key:
        word = node_at(item, "column")
        assert isinstance(word, ScalarNode)
        if word.text in seen:
            raise word.span.report("duplicate-key-column", column=word.text, field=field)
        seen.add(word.text)
        column = scope.key(word, part.subject)
        if column.name in RESERVED:
            raise word.span.report("reserved-name", column=column.name, reserved=RESERVED)
        bins = item.get("bins") if isinstance(item, MappingNode) else None
        return read_axis(column, bins, word, "missing-bins")

    listing = part.node.listing(field)
    return tuple(read_all(read, listing.items if listing else ()))


def read_axis(
    column: ValuedColumn | PrivatePartitionColumn, bins: Node | None, word: ScalarNode, missing: str
) -> Key:
    """The labels of a category, or the bins of a number; `missing` says that it has none."""
    facts = {"column": column.name, "kind": column.kind}
    if column.name.startswith(FORMULA_STARTS):
        raise word.span.report("formula-label.key", first=column.name[0], **facts)
    if isinstance(column, NumericColumn):
        if bins is None:
            raise word.span.report(missing, **facts)
        return Key(column, _starts(column, bins))
    if bins is not None:
        raise bins.span.report("bins-not-taken", **facts)
    return Key(column)


def _starts(column: NumericColumn, bins: Node) -> tuple[int, ...]:
    width, edges = node_at(bins, "width"), node_at(bins, "edges")
    if isinstance(width, ScalarNode) == isinstance(edges, SequenceNode):
        raise bins.span.report("bins-form.both" if isinstance(width, ScalarNode) else "bins-form")
    if isinstance(width, ScalarNode):
        starts = _by_width(column, width)
    else:
        starts = _by_edges(column, scalars_of(edges))
    if len(starts) > MOST_BINS:
        span = width.span if isinstance(width, ScalarNode) else edges.span
        raise span.report("too-many-bins", count=len(starts), most=MOST_BINS)
    return tuple(starts)


def _by_width(column: NumericColumn, word: ScalarNode) -> Sequence[int]:
    """Bins of one width from the lower bound; the last may be narrower.

    Bins of whole numbers and days are ranges of that many values, so the upper bound may
    be a bin of its own. The last interval of finer numbers includes it instead.
    """
    steps = read_number(word, "`width`") / column.step
    if steps <= 0 or steps.denominator != 1:
        code = "width-not-positive" if steps <= 0 else "off-grid.width"
        unit = "a whole number of days" if column.kind == "date" else "a multiple of the step"
        nearest = readable_text(max(1, ceil(steps)) * column.step)
        raise word.span.report(code, width=word.text, unit=unit, nearest=nearest)
    end = column.upper + 1 if column.whole else column.upper
    return range(column.lower, end, steps.numerator)


def _by_edges(column: NumericColumn, words: Sequence[ScalarNode]) -> Sequence[int]:
    """Given edges: on the grid, rising, from bound to bound.

    Each edge but the last begins a bin. The last is the upper bound, which the last bin
    includes; or, for whole numbers and days, the value after it, where the next bin would
    begin.
    """
    edges = read_all(lambda word: on_grid(column, word, "the edge"), words)
    for place in range(1, len(edges)):
        if edges[place] <= edges[place - 1]:
            facts = {"edge": words[place].text, "before": words[place - 1].text}
            raise words[place].span.report("edges-order", **facts)
    ends = (0, "first", "lower", column.lower), (-1, "last", "upper", column.upper)
    for place, which, side, bound in ends:
        after = column.whole and place == -1 and edges[place] == bound + 1
        if edges[place] != bound and not after:
            within_bounds = column.lower <= edges[place] <= column.upper
            code = "edges-bounds" if within_bounds else "edges-bounds.beyond"
            facts = {"edge": words[place].text, "bound": column.text(bound)}
            raise words[place].span.report(code, place=which, side=side, **facts)
    return edges[:-1]


def read_conditions(part: Section[Any], scope: SpecContext) -> tuple[Condition, ...]:
    """All conditions of a `where` mapping."""
    part.require("where")

    def read(pair: tuple[ScalarNode, Node]) -> Condition:
        column = scope.usable(pair[0], part.subject)
        return Condition(column, _ranges(column, pair[1]))

    where = part.node.mapping("where")
    return tuple(read_all(read, where.pairs.values() if where else ()))


def _ranges(column: ValuedColumn, node: Node) -> Ranges:
    if not isinstance(node, MappingNode):
        return merged(read_all(lambda word: _position(column, word), scalars_of(node)))
    if isinstance(column, NumericColumn):
        return _between(column, node)
    facts = {"column": column.name, "kind": column.kind, "label": column.labels[0]}
    raise node.span.report("condition-form.labels", **facts)


def _position(column: ValuedColumn, word: ScalarNode) -> int:
    if isinstance(column, NumericColumn):
        return within(column, word, f"the value of `{column.name}`")
    if word.text in column.positions:
        return column.positions[word.text]
    facts = {"column": column.name}
    if word.text in column.label_of:
        facts |= {"text": word.text, "label": column.label_of[word.text]}
        raise word.span.report("unknown-label.text", labels=column.labels, **facts)
    code = "unknown-label.boolean" if column.kind == "boolean" else "unknown-label.of"
    raise word.span.report(code, word=word.text, choices=column.labels, **facts)


def _between(column: NumericColumn, node: MappingNode) -> Ranges:
    sides = [(side, word) for side in ("min", "max") if (word := node.word(side))]
    if not sides:
        raise node.span.report("condition-form", column=column.name)
    found = read_all(lambda one: in_steps(column, one[1], f"`{one[0]}`"), sides)
    read = dict(zip((side for side, _ in sides), found, strict=True))
    low, high = read.get("min", column.lower), read.get("max", column.upper)
    if len(read) == 2 and low > high:
        raise node.span.report("impossible-condition.order", column=column.name)
    first, last = max(column.lower, ceil(low)), min(column.upper, floor(high))
    if first <= last:
        return ((first, last),)
    code, step = variant_code("impossible-condition", column.kind), readable_text(column.step)
    ends = {"low": column.text(column.lower), "high": column.text(column.upper)}
    raise node.span.report(code, column=column.name, step=step, **ends)


def merged(positions: Iterable[int]) -> Ranges:
    """Distinct whole numbers as the fewest inclusive ranges, in order."""
    ranges: list[tuple[int, int]] = []
    for position in sorted(set(positions)):
        if ranges and ranges[-1][1] == position - 1:
            ranges[-1] = (ranges[-1][0], position)
        else:
            ranges.append((position, position))
    return tuple(ranges)


def read_candidates(node: Node | None, column: NumericColumn) -> Points:
    """The points of a list, or of a step; else the whole grid."""
    if isinstance(node, SequenceNode):
        return _rising(scalars_of(node), column)
    word = node.word("step") if isinstance(node, MappingNode) else None
    if word is None:
        return range(column.lower, column.upper + 1)
    steps = in_steps(column, word, "`step`")
    if steps <= 0 or steps.denominator != 1:
        facts = {"value": word.text, "step": readable_text(column.step)}
        raise word.span.report("off-grid.candidates", **facts)
    return range(column.lower, column.upper + 1, steps.numerator)


def _rising(words: Sequence[ScalarNode], column: NumericColumn) -> tuple[int, ...]:
    points: list[int] = []
    for word in words:
        point = within(column, word, "the candidate")
        if points and point <= points[-1]:
            raise word.span.report("candidates-order", value=word.text)
        points.append(point)
    return tuple(points)
