"""Reads the groups of a comparison: labels, periods, or rows that pass filters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations

from dpcli.data.column import ValuedColumn, as_ranges
from dpcli.data.conditions import read_position, read_tests
from dpcli.data.declared_texts import require_text
from dpcli.data.derived.positions import FirstTrue
from dpcli.data.filters import AllOf, Filter, InRanges
from dpcli.data.kinds import Axis
from dpcli.data.labels import CategoryColumn
from dpcli.data.possible_values import possible_values
from dpcli.fields.tree import MappingNode, Node, ScalarNode, read_all, scalars_of
from dpcli.fields.values import is_year
from dpcli.specification.context import SpecContext
from dpcli.specification.entry_fields import EntryModel
from dpcli.statistics.means.compared import PREVIOUS


def read_groups(
    section: EntryModel, context: SpecContext, by: Sequence[Axis], where: Sequence[Filter]
) -> Axis:
    """The axis of the groups in `between`, the reference first.

    The groups are all labels or values of a column that `where` allows, those that are listed, or
    the rows that pass named filters. No row is in two of them, by the spec alone.
    """
    node = section.node.value("between")
    pairs = list(node.pairs.values()) if isinstance(node, MappingNode) else []
    if any(isinstance(value, MappingNode) for _, value in pairs):
        return _filtered(section, context, pairs, where)
    name = pairs[0][0] if len(pairs) == 1 else node
    if not isinstance(name, ScalarNode) or (pairs and not scalars_of(pairs[0][1])):
        raise (node or section.node).span.report("comparison-form.two")
    column = context.valued_column(name, section.subject)
    if any(key.column.name == column.name for key in by):
        arguments = {"column": column.name, "key": "between"}
        raise name.span.report("duplicate-key-column.both", **arguments)
    read = partial(read_position, column)
    # Earlier versions accepted labels that `where` excludes.
    known = () if context.published else where
    positions = _listed(column, pairs[0][1], known) if pairs else _all(column, name, where)
    if reference := section.node.scalar("reference"):
        if reference.text == PREVIOUS and PREVIOUS not in map(column.text, positions):
            return compared_values(column, positions)
        first = read(reference)
        if first not in positions:
            raise reference.span.report("comparison-form.reference", column=column.name)
        positions.sort(key=lambda position: position != first)
    return compared_values(column, positions)


def _listed(column: ValuedColumn, listed: Node, where: Sequence[Filter]) -> list[int]:
    """The positions of different labels or values that rows can have, two or more."""
    labels = scalars_of(listed)
    if len(labels) == 1:
        raise listed.span.report("comparison-form.one", column=column.name)
    years = [scalar.text for scalar in labels if is_year(scalar.text)]
    if column.is_date and len(years) > 1:
        arguments = {"column": column.name, "first": years[0], "second": years[1]}
        raise listed.span.report("not-a-date.years", **arguments)
    positions = read_all(partial(read_position, column), labels)
    for index, scalar in enumerate(labels):
        if positions[index] in positions[:index]:
            raise scalar.span.report("comparison-form.twice", column=column.name)
        position = positions[index]
        if possible_values((InRanges(column, ((position, position),)), *where)) is None:
            raise scalar.span.report("comparison-form.empty", group=scalar.text)
    return positions


def _all(column: ValuedColumn, name: ScalarNode, where: Sequence[Filter]) -> list[int]:
    """The positions of all labels, or of all few values, that rows can have."""
    axis, values = Axis(column, column.read_starts(None, name)), possible_values(where)
    possible = axis if values is None else values.axis(axis)
    at = range(len(axis)) if possible.chosen is None else possible.chosen
    if len(at) == 1:
        raise name.span.report("comparison-form.one", column=column.name)
    return [axis.starts[index] if axis.starts else index for index in at]


def compared_values(column: ValuedColumn, positions: Sequence[int]) -> Axis:
    """The axis of labels or values at these `positions`; other rows lie outside."""
    tests = [InRanges(column, ((position, position),)) for position in positions]
    missing = column.missing
    if missing is not None:
        # If each row has one of the labels, each row counts.
        is_whole = as_ranges(positions) == column.declared_ranges
        missing = list(positions).index(missing) if is_whole else None
    return _axis(column.name, [column.text(position) for position in positions], tests, missing)


def _axis(
    name: str, labels: Sequence[str], tests: Sequence[Filter], missing: int | None = None
) -> Axis:
    values = tuple((label, label) for label in labels)
    return Axis(CategoryColumn(name, values, missing, derivation=FirstTrue(tuple(tests))))


def _filtered(
    section: EntryModel,
    context: SpecContext,
    pairs: Sequence[tuple[ScalarNode, Node]],
    where: Sequence[Filter],
) -> Axis:
    """The axis of the rows that pass named filters.

    Two groups overlap unless no row can pass both filters: the values that the filters allow have
    none in common in some column.
    """
    names = [name for name, _ in pairs]

    def read(pair: tuple[ScalarNode, Node]) -> Filter:
        name, node = pair
        require_text(name, "name of a group", published=True)
        if not isinstance(node, MappingNode) or not node.pairs:
            raise node.span.report("comparison-form.two")
        tests = read_tests(section, context, "between", node)
        if possible_values((*tests, *where)) is None:
            raise name.span.report("comparison-form.empty", group=name.text)
        return tests[0] if len(tests) == 1 else AllOf(tests)

    tests = read_all(read, pairs)
    if len(pairs) == 1:
        raise names[0].span.report("comparison-form.filter")
    for (first, one), (second, other) in combinations(zip(names, tests, strict=True), 2):
        if possible_values((one, other, *where)) is not None:
            arguments = {"first": first.text, "second": second.text}
            raise second.span.report("comparison-form.overlap", **arguments)
    reference = section.node.scalar("reference")
    labels = [name.text for name in names]
    if reference is not None and reference.text not in (*labels, PREVIOUS):
        raise reference.span.report("comparison-form.reference", column="between")
    base = 0 if reference is None or reference.text == PREVIOUS else labels.index(reference.text)
    pairs_of_group = sorted(zip(labels, tests, strict=True), key=lambda one: one[0] != labels[base])
    ordered, filters = zip(*pairs_of_group, strict=True)
    return _axis(f"groups of {section.name}", ordered, filters)
