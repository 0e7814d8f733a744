"""Reads filters: the `where` mapping of a statistic, as a tree of tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from math import ceil, floor
from operator import contains
from typing import Annotated, Any

from dpcli.data.column import Column, Ranges, ValuedColumn, as_ranges
from dpcli.data.declared_columns import DeclaredColumns
from dpcli.data.declared_texts import require_text
from dpcli.data.derived.positions import PositionAmong
from dpcli.data.filters import (
    AllOf,
    AnyOf,
    Compared,
    ComparisonSign,
    Filter,
    InRanges,
    IsMissing,
    Not,
)
from dpcli.data.grid_columns import NumericColumn, require_numeric
from dpcli.data.labels import CategoryColumn, require_labeled
from dpcli.data.possible_values import possible_values
from dpcli.fields.section import SectionModel
from dpcli.fields.tree import (
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    Span,
    node_at,
    read_all,
    scalars_of,
)
from dpcli.fields.values import Boolean, ByForm, Text, Texts
from dpcli.numeric.exact import readable_text
from dpcli.problems.light_dataclasses import dataclass

COMPARISONS: dict[str, ComparisonSign] = {
    "min": ">=",
    "above": ">",
    "max": "<=",
    "below": "<",
    "equals": "=",
}
"""The keys that limit a number or day, as comparisons."""

SIDES = (("min", "above"), ("max", "below"))
"""The keys of the lower and of the upper end of a range: inclusive, exclusive."""

MATCHES: dict[str, Callable[[str, str], bool]] = {
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "contains": contains,
}
"""The keys that compare labels with a text."""


class ComparedColumnModel(SectionModel):
    """A column whose value in the same row is the limit."""

    column: Text


Limit = Annotated[Text | ComparedColumnModel, ByForm]


class ConditionModel(SectionModel):
    """A range of numbers or dates, a comparison, a match of labels, or a test of missing cells."""

    min: Limit | None = None
    above: Limit | None = None
    max: Limit | None = None
    below: Limit | None = None
    equals: ComparedColumnModel | None = None
    missing: Boolean | None = None
    starts_with: Text | None = None
    ends_with: Text | None = None
    contains: Text | None = None


def _stated_texts(column: Column, scalars: Iterable[ScalarNode]) -> InRanges:
    """A test whether a cell has one of these texts, which are never published."""

    def read(scalar: ScalarNode) -> str:
        require_text(scalar, "value", published=False)
        return scalar.text

    texts = tuple(dict.fromkeys(read_all(read, scalars)))
    # No text is empty, so this label stands for all other texts.
    values = tuple((text, text) for text in (*texts, ""))
    view = CategoryColumn(column.name, values, derivation=PositionAmong(column, texts))
    return InRanges(view, ((0, len(texts) - 1),))


def _matching_labels(column: ValuedColumn, node: MappingNode) -> InRanges:
    """A test for the labels that match all texts of a condition; at least one must."""
    matches = {key: node_at(node, key).text for key in node.pairs}
    positions = [
        position
        for position, label in enumerate(column.labels)
        if all(MATCHES[key](label, text) for key, text in matches.items())
    ]
    if not positions:
        arguments = {"column": column.name, "labels": column.labels}
        raise node.span.report("impossible-condition.labels", **arguments)
    return InRanges(column, as_ranges(positions))


def read_positions(column: ValuedColumn, scalars: Iterable[ScalarNode]) -> Ranges:
    """The positions of labels, or the values in steps, as merged ranges."""
    return as_ranges(read_all(partial(read_position, column), scalars))


def read_position(column: ValuedColumn, scalar: ScalarNode) -> int:
    """The position of a label, or a value in steps."""
    if not column.labels:
        what = f"the value of `{column.name}`"
        return require_numeric(column).read_within_bounds(scalar, what)
    column = require_labeled(column)
    if scalar.text in column.positions:
        return column.positions[scalar.text]
    arguments = {"column": column.name}
    if scalar.text in column.label_of:
        arguments |= {"text": scalar.text, "label": column.label_of[scalar.text]}
        raise scalar.span.report("unknown-label.text", labels=column.labels, **arguments)
    raise scalar.span.report(
        column.unknown_label, word=scalar.text, choices=column.labels, **arguments
    )


def _range_test(column: NumericColumn, limits: dict[str, ScalarNode], span: Span) -> InRanges:
    def read(key: str) -> Fraction:
        return column.read_in_steps(limits[key], f"`{key}`")

    ends = dict(zip(limits, read_all(read, limits), strict=True))
    low, high = ends.get("min", ends.get("above")), ends.get("max", ends.get("below"))
    if low is not None and high is not None and low > high:
        lower, upper = (next(key for key in keys if key in ends) for keys in SIDES)
        raise span.report(
            "impossible-condition.order", column=column.name, lower=lower, upper=upper
        )
    first, last = column.limits
    for key, end in ends.items():
        match key:
            case "min":
                first = max(first, ceil(end))
            case "above":
                first = max(first, floor(end) + 1)
            case "max":
                last = min(last, floor(end))
            case "below":
                last = min(last, ceil(end) - 1)
    if first <= last:
        stated = low is not None, high is not None
        open_ends = (
            end for end, is_stated in zip(column.limits, stated, strict=True) if not is_stated
        )
        return InRanges(column, ((first, last),), tuple(open_ends))
    arguments = {"low": column.text(column.lower), "high": column.text(column.upper)}
    arguments |= {"column": column.name, "step": readable_text(column.step)}
    raise span.report("impossible-condition", **arguments)


MAX_FILTER_DEPTH = 8
"""The most levels of operators within operators."""

MAX_TESTS = 1_000
"""The most tests within the operators of one filter."""

OPERATORS = ("not", "any", "all")


class ConditionsModel(SectionModel):
    """Conditions by column."""

    where: dict[str, Annotated[Text | Texts | ConditionModel, ByForm]]


def read_where(
    section: SectionModel, context: DeclaredColumns, key: str = "where"
) -> tuple[Filter, ...]:
    """The filters of a mapping of conditions, all of which must be true."""
    section.require(key)
    where = section.node.mapping(key)
    if where is None:
        return ()
    filters = read_tests(section, context, key, where)
    if possible_values(filters) is None:
        raise section.report_key("impossible-condition.together", key)
    return filters


def read_tests(
    section: SectionModel, context: DeclaredColumns, key: str, node: MappingNode
) -> tuple[Filter, ...]:
    """The filters of a mapping of conditions within the field `key`."""
    return _Reader(section, context, key).conjuncts(node, 0)


@dataclass(frozen=True)
class _Reader:
    """Reads the conditions in a field of a section as filters."""

    section: SectionModel
    context: DeclaredColumns
    field: str

    def conjuncts(self, node: MappingNode, depth: int) -> tuple[Filter, ...]:
        """The filters of a mapping, all of which must be true; `depth` is its nesting."""
        operators = {
            name for name, (key, value) in node.pairs.items() if self._is_operator(key, value)
        }
        conditions = {name: pair for name, pair in node.pairs.items() if name not in operators}
        self._require_forms(MappingNode(conditions, node.span))

        def read(name: str) -> tuple[Filter, ...]:
            key, value = node.pairs[name]
            if name in operators:
                return (self._operator(key, value, depth + 1),)
            return self._condition(key, value)

        return tuple(test for tests in read_all(read, node.pairs) for test in tests)

    def _is_operator(self, key: ScalarNode, value: Node) -> bool:
        """Whether a key is an operator, and not a column of the same name, by its value."""
        if key.text not in OPERATORS or key.text not in self.context.columns:
            return key.text in OPERATORS
        if isinstance(value, SequenceNode):
            return not all(isinstance(item, ScalarNode) for item in value.items)
        if isinstance(value, ScalarNode):
            return False
        keys = set(value.pairs)
        if not keys <= set(ConditionModel.model_fields):
            return True
        if keys <= {"min", "max"} or not keys <= set(self.context.columns):
            return False
        raise key.span.report("ambiguous-condition", column=key.text, keys=sorted(keys))

    def _require_forms(self, conditions: MappingNode) -> None:
        """Checks the forms of conditions, before their columns are considered."""
        outer = self.section.node.pairs[self.field][0]
        node = MappingNode({"where": (outer, conditions)}, conditions.span)
        ConditionsModel.read(node).require()

    def _operator(self, key: ScalarNode, value: Node, depth: int) -> Filter:
        if depth > MAX_FILTER_DEPTH:
            raise key.span.report("filter-too-large.deep", most=MAX_FILTER_DEPTH)
        if key.text == "not":
            result: Filter = Not(self._all_of(key, value, depth))
        else:
            items = value.items if isinstance(value, SequenceNode) else ()
            if not items:
                found = "an empty list" if isinstance(value, SequenceNode) else value.form
                form = "a list of mappings"
                raise value.span.report("filter-form", operator=key.text, found=found, form=form)
            parts = tuple(read_all(lambda item: self._all_of(key, item, depth), items))
            result = AnyOf(parts) if key.text == "any" else AllOf(parts)
        if depth == 1 and (count := len(result.single_tests)) > MAX_TESTS:
            raise key.span.report("filter-too-large", count=count, most=MAX_TESTS)
        return result

    def _all_of(self, key: ScalarNode, node: Node, depth: int) -> Filter:
        """True if all conditions in a mapping below the operator `key` are true."""
        if not isinstance(node, MappingNode) or not node.pairs:
            found = "an empty mapping" if isinstance(node, MappingNode) else node.form
            form = "mappings with conditions"
            raise node.span.report("filter-form", operator=key.text, found=found, form=form)
        tests = self.conjuncts(node, depth)
        return tests[0] if len(tests) == 1 else AllOf(tests)

    def _condition(self, key: ScalarNode, node: Node) -> tuple[Filter, ...]:
        """The tests of a column, all of which must be true; `node` has a valid form."""
        subject = self.section.subject
        if isinstance(node, MappingNode) and "missing" in node.pairs:
            return (self._missing(key, node),)
        column = self.context.groupable_column(key, subject)
        if column.is_private and not isinstance(node, MappingNode):
            return (_stated_texts(column, scalars_of(node)),)
        valued = self.context.valued_column(key, subject)
        if not isinstance(node, MappingNode):
            return (InRanges(valued, read_positions(valued, scalars_of(node))),)
        self._require_keys(valued, node)
        if valued.labels:
            return (_matching_labels(valued, node),)
        return self._limits(require_numeric(valued), node)

    def _require_keys(self, column: ValuedColumn, node: MappingNode) -> None:
        """Checks that a mapping has keys, and that they suit the type of the column."""
        arguments: dict[str, Any] = {"column": column.name, "kind": column.kind}
        if not column.labels:
            if wrong := [key for key in node.pairs if key in MATCHES]:
                code = "condition-form.match"
                raise node.key_span(wrong[0]).report(code, key=wrong[0], **arguments)
        elif not node.pairs or not set(node.pairs) <= set(MATCHES) or column.is_truth:
            code, arguments["label"] = "condition-form.labels", column.labels[0]
            raise node.span.report(code, **arguments)
        if not node.pairs:
            raise node.span.report("condition-form", **arguments)

    def _missing(self, key: ScalarNode, node: MappingNode) -> Filter:
        """A test for cells that are missing before a constant replaces them."""
        column = self.context.column(key)
        if column.is_id:
            raise key.span.report("id-column", column=key.text)
        if len(node.pairs) > 1:
            raise node.span.report("condition-form.missing", column=key.text)
        test = IsMissing(column.without_missing_constant())
        return test if node_at(node, "missing").text == "true" else Not(test)

    def _limits(self, column: NumericColumn, node: MappingNode) -> tuple[Filter, ...]:
        """The tests of numbers or dates: a range, and comparisons with other columns."""
        for pair in SIDES:
            if set(pair) <= set(node.pairs):
                arguments = {"column": column.name, "inclusive": pair[0], "exclusive": pair[1]}
                raise node.key_span(pair[1]).report("condition-form.both", **arguments)

        def compared(key: str) -> Filter:
            scalar = node_at(node, key, "column")
            assert isinstance(scalar, ScalarNode)
            return self._compared(column, COMPARISONS[key], scalar)

        constants = {key: scalar for key in node.pairs if (scalar := node.scalar(key))}
        tests = read_all(compared, [key for key in node.pairs if key not in constants])
        if constants:
            tests.insert(0, _range_test(column, constants, node.span))
        return tuple(tests)

    def _compared(self, column: NumericColumn, how: ComparisonSign, scalar: ScalarNode) -> Filter:
        second: Column = self.context.valued_column(scalar, self.section.subject)
        arguments = {"column": column.name, "kind": column.kind}
        arguments |= {"other": second.name, "other_kind": second.kind}
        if second == column:
            raise scalar.span.report("compared-columns.same", **arguments)
        if not column.is_like(second):
            raise scalar.span.report("compared-columns", **arguments)
        try:
            return Compared(column, how, require_numeric(second))
        except ValueError:
            raise scalar.span.report("compared-columns.steps", **arguments) from None
