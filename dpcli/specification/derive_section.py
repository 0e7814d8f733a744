"""Reads the section `derive`: columns that are computed from other columns.

A column can use declared columns, and those that are derived before it, so there are no cycles.
"""

from __future__ import annotations

from contextlib import suppress

from dpcli.data.column import Column
from dpcli.fields.tree import MappingNode, Node, ScalarNode, attempt
from dpcli.fields.values import AlreadyReportedError
from dpcli.specification.columns_section import MAX_COLUMNS, require_name
from dpcli.specification.context import SpecContext
from dpcli.specification.derived_columns import DERIVED


def declare_derived(section: MappingNode, context: SpecContext) -> None:
    """Adds every derived column to the context, or None for one with problems."""
    pairs = section.pairs
    if len(pairs) > MAX_COLUMNS:
        section.span.report("too-many-columns", count=len(pairs), most=MAX_COLUMNS)
    context.later |= pairs.keys() - context.columns.keys()
    for name, (key, node) in pairs.items():
        if name in context.columns:
            line = context.spans[name].line
            key.span.report("twin-names.derived", column=name, line=line)
            continue
        check_name = attempt(require_name, key)
        column = attempt(_read_derived, key, node, context)
        context.later.discard(name)
        context.spans[name], context.columns[name] = key.span, None
        with suppress(AlreadyReportedError):
            check_name()
            context.columns[name] = column()


def _read_derived(key: ScalarNode, node: Node, context: SpecContext) -> Column:
    models = {model.kind: model for model in DERIVED}
    if not isinstance(node, MappingNode):
        raise node.span.report("derived-form", column=key.text, found=node.shown, choices=models)
    kinds = [kind for kind in models if kind in node.pairs]
    if len(kinds) != 1:
        code = "derived-form.several" if kinds else "derived-form"
        raise node.span.report(code, column=key.text, found=node.shown, choices=models, kinds=kinds)
    section = models[kinds[0]].read(node, "derive", key.text)
    section.require()
    return section.column(key.text, context)
