"""Reads the section `columns`, each column by the class of its type."""

from __future__ import annotations

import unicodedata
from contextlib import suppress

from dpcli.data import kinds
from dpcli.data.candidate_bounds import ChosenBoundsModel
from dpcli.data.column import Column
from dpcli.data.declared_texts import is_invisible
from dpcli.data.grid_columns import require_numeric
from dpcli.data.sections import section_of
from dpcli.fields.section import SectionModel
from dpcli.fields.tree import MappingNode, Node, ScalarNode, attempt
from dpcli.fields.values import AlreadyReportedError
from dpcli.problems.messages import quoted_list
from dpcli.specification.captions import stated_caption
from dpcli.specification.context import SpecContext
from dpcli.specification.model import Caption

MAX_COLUMNS = 10_000
MAX_NAME_LENGTH = 1000

TYPE_SYNONYMS = {
    "int": "integer",
    "float": "number",
    "decimal": "number",
    "bool": "boolean",
    "string": "category",
    "str": "category",
    "text": "category",
    "enum": "category",
    "datetime": "date",
}
"""The names of types in other tools."""


def declare_columns(section: MappingNode | None, context: SpecContext) -> None:
    """Adds every declared column to the context; a column with problems is None."""
    context.declared = section is not None
    pairs = section.pairs if section else {}
    if section and len(pairs) > MAX_COLUMNS:
        section.span.report("too-many-columns", count=len(pairs), most=MAX_COLUMNS)
    normalized_names: dict[str, ScalarNode] = {}
    for name, (key, value) in pairs.items():
        context.spans[name], context.columns[name] = key.span, None
        check_name = attempt(require_name, key)
        first = normalized_names.setdefault(unicodedata.normalize("NFC", name), key)
        if first is not key:
            key.span.report("twin-names", column=name, line=first.span.line)
        column = attempt(_read_column, key, value, context)
        with suppress(AlreadyReportedError):
            check_name.require()
            context.columns[name] = column.value


def require_name(key: ScalarNode) -> None:
    """Checks that a key can be the name of a column."""
    code, name = "", key.text
    if not name:
        code = "empty-text.column"
    elif len(name) > MAX_NAME_LENGTH:
        code = "name-too-long"
    elif is_invisible(name):
        code = "control-character"
    if code:
        arguments = {"what": "column name", "text": name, "count": len(name)}
        raise key.span.report(code, column=name, most=MAX_NAME_LENGTH, **arguments)


def add_stated_choice(section: SectionModel, column: Column, context: SpecContext) -> None:
    """Adds to the context that noisy counts choose the bounds of a column."""
    bounds, stated = getattr(section, "bounds", None), section.node.value("bounds")
    if isinstance(bounds, ChosenBoundsModel) and stated:
        from dpcli.specification.chosen_bounds import add_choice
        from dpcli.statistics.bounds.chosen_bounds import BoundsChoice

        add_choice(bounds, BoundsChoice, require_numeric(column), stated.span, context)


def _read_column(key: ScalarNode, node: Node, context: SpecContext) -> Column:
    types = kinds.COLUMNS
    if not isinstance(node, MappingNode):
        line = f"`{{type: {node.text if node.text in types.names else '...'}}}`"
        arguments = {"found": node.shown, "form": "a mapping", "line": line}
        raise node.span.report("wrong-shape", name=f"the column {key.shown}", **arguments)
    kind = node.value("type")
    if kind is None:
        line = f"`type: ...`: {quoted_list(types.names, 'or')}"
        owner = f"the column {key.shown}"
        raise key.span.report("missing-field", owner=owner, key="type", line=line)
    column_class = types.named(kind.text)
    if column_class is None:
        arguments = {"name": "`type`", "found": kind.shown}
        word = TYPE_SYNONYMS.get(kind.text.casefold(), kind.text)
        raise kind.span.report("unknown-choice", word=word, choices=types.names, **arguments)
    if column_class.has_codes:
        from dpcli.specification.code_list import with_code_list

        node = with_code_list(node, context)
    section = section_of(column_class).read(node)
    column = column_class.declared(key.text, section)
    section.require()
    if section.has("missing"):
        context.may_be_blank.add(key.text)
    caption = stated_caption(section)
    if caption != Caption():
        context.captions[key.text] = caption
    column = section.with_options(column, context.decimal)
    add_stated_choice(section, column, context)
    return column
