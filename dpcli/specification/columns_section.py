"""The columns of a spec: one model per type, and the declared columns by name."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from dpcli.columns import CategoryColumn, Column, IdColumn, NumericColumn, PrivatePartitionColumn
from dpcli.privacy.accounting.composition import Composition
from dpcli.privacy.neighboring import Neighbors, Relation
from dpcli.privacy.unit import RowUnit, Unit
from dpcli.reference import variant_code
from dpcli.spec_values import AlreadyReportedError
from dpcli.specification.column_types import COLUMN_TYPES, is_invisible
from dpcli.specification.grid import proposed_step
from dpcli.specification.model import ValuedColumn
from dpcli.specification.tree import Findings, MappingNode, Node, ScalarNode, Span, attempt
from dpcli.specification.validation import read_section

MOST_COLUMNS = 10_000
LONGEST_NAME = 1000

ELSEWHERE = {
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
"""What other tools call these types."""


@dataclass
class SpecContext:
    """What readers share: declared columns, who is protected, and the problems so far.

    A column that was declared wrongly is None, and what uses it is silent; so is everything
    when the section is absent, and nothing is `declared`. `names` are those of statistics, and
    `taken` those that no statistic may have, each with what has it; `tables` are read from
    files in `folder`.
    """

    findings: Findings
    folder: Path = Path()
    declared: bool = True
    columns: dict[str, Column | None] = field(default_factory=dict)
    spans: dict[str, Span] = field(default_factory=dict)
    unit: Unit | None = None
    neighbors: str = ""
    composition: Composition | None = None
    names: dict[str, Span] = field(default_factory=dict)
    taken: dict[str, str] = field(default_factory=dict)
    tables: list[tuple[Path, bytes]] = field(default_factory=list)

    @property
    def relation(self) -> Relation:
        """Who is protected, and how neighbours differ: a guess where that cannot be read."""
        neighbors = Neighbors(self.neighbors) if self.neighbors else Neighbors.ADD_REMOVE
        return Relation(self.unit or RowUnit(), neighbors)

    def known(self, word: ScalarNode) -> str:
        """The name of a column that is declared, rightly or wrongly."""
        if word.text in self.columns:
            return word.text
        if self.declared:
            word.span.report("unknown-column", word=word.text, choices=self.columns)
        raise AlreadyReportedError

    def column(self, word: ScalarNode) -> Column:
        """The declared column of that name."""
        column = self.columns[self.known(word)]
        if column is None:
            raise AlreadyReportedError
        return column

    def key(self, word: ScalarNode, subject: str) -> ValuedColumn | PrivatePartitionColumn:
        """The column of that name if rows may be grouped by it."""
        column = self.column(word)
        if isinstance(column, IdColumn):
            raise word.span.report("id-column", column=word.text)
        if isinstance(column, NumericColumn) and column.bounds is None:
            code = variant_code("missing-bounds", column.kind)
            raise self.spans[word.text].report_and_suppress(code, column=word.text, subject=subject)
        return column

    def usable(self, word: ScalarNode, subject: str) -> ValuedColumn:
        """The column of that name if a statistic may read its values."""
        column = self.key(word, subject)
        if isinstance(column, PrivatePartitionColumn):
            raise self.spans[word.text].report("values-required", column=word.text, subject=subject)
        return column

    def of_kind(self, word: ScalarNode, subject: str, kinds: Sequence[str], who: str) -> Column:
        """The column of that name if it is of one of these kinds, as `who` needs it."""
        column = self.column(word)
        if not (isinstance(column, IdColumn) and "id" in kinds):
            column = self.usable(word, subject)
        if column.kind not in kinds:
            is_category = isinstance(column, CategoryColumn)
            code = "wrong-column-type.labels" if is_category else "wrong-column-type"
            facts = {"column": word.text, "kind": column.kind, "kinds": kinds, "who": who}
            raise word.span.report(code, **facts)
        return column


def declare_columns(section: MappingNode | None, scope: SpecContext) -> None:
    """Adds every declared column to the scope."""
    scope.declared = section is not None
    pairs = section.pairs if section else {}
    if section and len(pairs) > MOST_COLUMNS:
        section.span.report("too-many-columns", count=len(pairs), most=MOST_COLUMNS)
    normalized_names: dict[str, ScalarNode] = {}
    for name, (key, value) in pairs.items():
        scope.spans[name], scope.columns[name] = key.span, None
        good = attempt(_require_name, key)
        twin = normalized_names.setdefault(unicodedata.normalize("NFC", name), key)
        if twin is not key:
            key.span.report("twin-names", column=name, line=twin.span.line)
        column = attempt(_column, key, value)
        with suppress(AlreadyReportedError):
            good()
            scope.columns[name] = column()


def _require_name(key: ScalarNode) -> None:
    code, name = "", key.text
    if not name:
        code = "empty-text.column"
    elif len(name) > LONGEST_NAME:
        code = "name-too-long"
    elif is_invisible(name):
        code = "control-character.column"
    if code:
        raise key.span.report(code, column=name, count=len(name), most=LONGEST_NAME)


def _column(key: ScalarNode, node: Node) -> Column:
    types = {shape.kind: shape for shape in COLUMN_TYPES}
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
        word = ELSEWHERE.get(text.casefold(), text)
        raise kind.span.report("unknown-choice", word=word, choices=types, **facts)
    lines = {"step": f"`step: {proposed_step(node)}`: values are rounded to multiples of it"}
    article = "an" if text.startswith("i") else "a"
    part = read_section(types[text], node, f"{article} `{text}` column", lines=lines)
    column = part.values.column(key.text, part)
    part.require()
    return column
