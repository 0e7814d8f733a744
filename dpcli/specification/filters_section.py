"""Reads filters: the `where` mapping of a statistic, as a tree of tests."""

from __future__ import annotations

from typing import Annotated

from dpcli.data.filters import AllOf, AnyOf, Filter, Not, implied_ranges
from dpcli.fields.section import SectionModel
from dpcli.fields.tree import MappingNode, Node, ScalarNode, SequenceNode, read_all
from dpcli.fields.values import ByForm, Text, Texts
from dpcli.light_dataclasses import dataclass
from dpcli.reference import variant_code
from dpcli.specification.conditions import ConditionModel, ConditionReader
from dpcli.specification.context import SpecContext

MAX_FILTER_DEPTH = 8
"""Operators within operators. No one follows more of them."""

MAX_TESTS = 1_000
"""Tests within the operators of one filter."""

OPERATORS = ("not", "any", "all")


class ConditionsModel(SectionModel):
    """Conditions by column."""

    where: dict[str, Annotated[Text | Texts | ConditionModel, ByForm]]


def read_where(
    section: SectionModel, context: SpecContext, key: str = "where"
) -> tuple[Filter, ...]:
    """The filters of a mapping of conditions, all of which must be true."""
    section.require(key)
    where = section.node.mapping(key)
    if where is None:
        return ()
    filters = _Reader(section, context, key).conjuncts(where, 0)
    if implied_ranges(AllOf(filters)) is None:
        raise section.report_key("impossible-condition.together", key)
    return filters


@dataclass(frozen=True)
class _Reader:
    section: SectionModel
    context: SpecContext
    field: str

    def conjuncts(self, node: MappingNode, depth: int) -> tuple[Filter, ...]:
        """The filters of a mapping, all of which must be true."""
        operators = {
            name for name, (key, value) in node.pairs.items() if self._is_operator(key, value)
        }
        conditions = {name: pair for name, pair in node.pairs.items() if name not in operators}
        self._require_forms(MappingNode(conditions, node.span))

        reader = ConditionReader(self.section.subject, self.context)

        def read(name: str) -> tuple[Filter, ...]:
            key, value = node.pairs[name]
            if name in operators:
                return (self._operator(key, value, depth + 1),)
            return reader.tests(key, value)

        return tuple(test for tests in read_all(read, node.pairs) for test in tests)

    def _is_operator(self, key: ScalarNode, value: Node) -> bool:
        """Whether a key is an operator, although a column may have the same name."""
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
                raise value.span.report("filter-form", operator=key.text, found=found)
            parts = tuple(read_all(lambda item: self._all_of(key, item, depth), items))
            result = AnyOf(parts) if key.text == "any" else AllOf(parts)
        if depth == 1 and (count := _tests(result)) > MAX_TESTS:
            raise key.span.report("filter-too-large", count=count, most=MAX_TESTS)
        return result

    def _all_of(self, key: ScalarNode, node: Node, depth: int) -> Filter:
        """The filter of a mapping within an operator."""
        if not isinstance(node, MappingNode) or not node.pairs:
            found = "an empty mapping" if isinstance(node, MappingNode) else node.form
            code = variant_code("filter-form", "not" if key.text == "not" else "item")
            raise node.span.report(code, operator=key.text, found=found)
        tests = self.conjuncts(node, depth)
        return tests[0] if len(tests) == 1 else AllOf(tests)


def _tests(test: Filter) -> int:
    match test:
        case Not(inner):
            return _tests(inner)
        case AllOf(parts) | AnyOf(parts):
            return sum(map(_tests, parts))
    return 1
