"""Reads the section `derive`: columns that are computed from other columns.

A column can use declared columns, and those that are derived before it, so there are no cycles.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import get_args

from dpcli.data import derived
from dpcli.data.column import Column
from dpcli.data.derived.calendar import PartName
from dpcli.data.derived.declared import DeclaredDerivation, DerivedSection, derived_section
from dpcli.fields.tree import MappingNode, Node, ScalarNode, attempt
from dpcli.fields.values import AlreadyReportedError
from dpcli.problems.messages import closest_match, quote
from dpcli.problems.registry import Classes
from dpcli.specification.columns import MAX_COLUMNS, add_stated_choice, require_name
from dpcli.specification.context import SpecContext

OTHER_KEYS = ("bounds", "step", "missing", "where", "by", "labels", "one_row")
"""Keys that do not say how a column is computed."""

OTHER_WORDS = {
    "mode": "most", "average": "mean", "avg": "mean", "maximum": "max", "minimum": "min",
    "earliest": "first", "latest": "last", "total": "sum", "number": "count", "n": "count",
    "unique": "distinct", "nunique": "distinct", "ever": "any", "always": "all",
    "change": "difference", "bin": "bands", "decade": "bands", "if": "is",
}  # fmt: skip
"""Words of other tools, and the keys that mean the same."""


def choose_derived(key: ScalarNode | None, node: Node) -> type[DerivedSection]:
    """The model of a derived column, by the key that says how it is computed."""
    codes = ("derived-form", "derived-form.near", "derived-form.several")
    return choose_computed(derived.DERIVED, codes, key, node)


def choose_computed(
    declared: Classes[DeclaredDerivation],
    codes: tuple[str, str, str],
    key: ScalarNode | None,
    node: Node,
) -> type[DerivedSection]:
    """The model of one of some kinds; `codes` are for none, one like it, several."""
    none, like, several = codes
    models, name = {kind.key: kind for kind in declared}, key.text if key else ""
    if not isinstance(node, MappingNode):
        raise node.span.report(none, column=name, found=node.shown, choices=models)
    kinds = [kind for kind in models if kind in node.pairs]
    if len(kinds) != 1:
        arguments = {"column": name, "choices": models, "kinds": kinds}
        if kinds:
            raise node.span.report(several, found=node.shown, **arguments)
        tried = next((key for key in node.pairs if key not in OTHER_KEYS), None)
        found = node.shown if tried is None else f"computed by {quote(tried)}"
        if tried and tried in get_args(PartName) and "part" in models:
            date = node.scalar(tried)
            of = date.text if date else "DATE"
            raise node.span.report("derived-form.part", found=found, part=tried, of=of, **arguments)
        near = OTHER_WORDS.get(tried or "") or closest_match(tried or "", models)
        if near in models:
            raise node.span.report(like, found=found, meant=near, tried=tried, **arguments)
        raise node.span.report(none, found=found, **arguments)
    return derived_section(models[kinds[0]])


def declare_computed(
    section: MappingNode, models: Mapping[str, DerivedSection | None], context: SpecContext
) -> None:
    """Adds every computed column to the context; a column with problems is None."""
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
    if model.has("missing"):
        context.may_be_blank.add(str(model.path[-1]))
    column = model.derivation.declared(str(model.path[-1]), model, context)
    add_stated_choice(model, column, context)
    return column
