"""Reads the section `derive`: columns that are computed from other columns.

A column can use declared columns, and those that are derived before it, so there are no cycles.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from dpcli.data import derived
from dpcli.data.column import Column
from dpcli.data.derived.declared import DerivedSection, derived_section
from dpcli.fields.tree import MappingNode, Node, ScalarNode, attempt
from dpcli.fields.values import AlreadyReportedError
from dpcli.specification.columns import MAX_COLUMNS, require_name
from dpcli.specification.context import SpecContext


def choose_derived(key: ScalarNode | None, node: Node) -> type[DerivedSection]:
    """The model of a derived column, by the key that says how it is computed."""
    models, name = {kind.key: kind for kind in derived.DERIVED}, key.text if key else ""
    if not isinstance(node, MappingNode):
        raise node.span.report("derived-form", column=name, found=node.shown, choices=models)
    kinds = [kind for kind in models if kind in node.pairs]
    if len(kinds) != 1:
        code = "derived-form.several" if kinds else "derived-form"
        raise node.span.report(code, column=name, found=node.shown, choices=models, kinds=kinds)
    return derived_section(models[kinds[0]])


def declare_derived(
    section: MappingNode, models: Mapping[str, DerivedSection | None], context: SpecContext
) -> None:
    """Adds every derived column to the context; a column with problems is None."""
    pairs = section.pairs
    if len(pairs) > MAX_COLUMNS:
        section.span.report("too-many-columns", count=len(pairs), most=MAX_COLUMNS)
    context.later |= pairs.keys() - context.columns.keys()
    for name, model in models.items():
        key = pairs[name][0]
        if name in context.columns:
            line = context.spans[name].line
            key.span.report("twin-names.derived", column=name, line=line)
            continue
        check_name = attempt(require_name, key)
        column = attempt(_derived_column, model, context)
        context.later.discard(name)
        context.spans[name], context.columns[name] = key.span, None
        with suppress(AlreadyReportedError):
            check_name.require()
            context.columns[name] = column.value


def _derived_column(model: DerivedSection | None, context: SpecContext) -> Column:
    if model is None:
        raise AlreadyReportedError
    model.require()
    return model.derivation.declared(str(model.path[-1]), model, context)
