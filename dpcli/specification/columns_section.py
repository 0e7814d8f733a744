"""Reads the section `columns`."""

from __future__ import annotations

import unicodedata
from contextlib import suppress

from dpcli.data.column import Column
from dpcli.data.declared_texts import is_invisible
from dpcli.data.numeric import NumericColumn
from dpcli.fields.tree import MappingNode, Node, ScalarNode, attempt
from dpcli.fields.values import AlreadyReportedError
from dpcli.specification.choice import ChosenBoundsModel
from dpcli.specification.code_lists import with_code_list
from dpcli.specification.column_types import COLUMN_TYPES, CategoryColumnModel
from dpcli.specification.context import SpecContext
from dpcli.specification.declarations import stated_caption
from dpcli.specification.model import Caption
from dpcli.statistics.bounds_choice import BoundsChoice

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
    """Adds every declared column to the context, or None for one with problems."""
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
            check_name()
            context.columns[name] = column()


def require_name(key: ScalarNode) -> None:
    """Checks that a column can have the name of a key."""
    code, name = "", key.text
    if not name:
        code = "empty-text.column"
    elif len(name) > MAX_NAME_LENGTH:
        code = "name-too-long"
    elif is_invisible(name):
        code = "control-character.column"
    if code:
        raise key.span.report(code, column=name, count=len(name), most=MAX_NAME_LENGTH)


def _read_column(key: ScalarNode, node: Node, context: SpecContext) -> Column:
    types = {model.kind: model for model in COLUMN_TYPES}
    if not isinstance(node, MappingNode):
        proposed = node.text if node.text in types else "..."
        facts = {"found": node.shown, "proposed": proposed}
        raise node.span.report("wrong-shape.column", column=key.text, **facts)
    kind = node.get("type")
    if kind is None:
        raise key.span.report("missing-field.type", column=key.text, choices=types)
    text = kind.text
    if text not in types:
        facts = {"name": "`type`", "found": kind.shown}
        word = TYPE_SYNONYMS.get(text.casefold(), text)
        raise kind.span.report("unknown-choice", word=word, choices=types, **facts)
    if text == CategoryColumnModel.kind:
        node = with_code_list(node, context.folder, context.files)
    section = types[text].read(node.plain(("columns", key.text)))
    column = section.column(key.text)
    section.require()
    caption = stated_caption(section)
    if caption != Caption():
        context.captions[key.text] = caption
    column = section.with_options(column, context.decimal)
    bounds, place = getattr(section, "bounds", None), section.node.get("bounds")
    if isinstance(bounds, ChosenBoundsModel) and isinstance(column, NumericColumn) and place:
        bounds.add_choice(BoundsChoice, column, place.span, context)
    return column
