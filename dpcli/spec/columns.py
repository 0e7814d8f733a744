"""The columns of a spec: one model per type, and the declared columns by name."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field

from dpcli.columns import CategoryColumn, Column, IdColumn, NumericColumn, OpenColumn
from dpcli.composition.base import Composition
from dpcli.messages import shown
from dpcli.privacy.relation import Neighbors, Relation, RowUnit, Unit
from dpcli.spec.column_types import COLUMN_TYPES, is_invisible
from dpcli.spec.findings import Findings
from dpcli.spec.fit import fit
from dpcli.spec.grid import proposed_step
from dpcli.spec.model import Cell
from dpcli.spec.nodes import Mapping, Node, Span, Word, described

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
class Scope:
    """Declared columns, where each is declared, and the problems so far.

    A column that was declared wrongly is None, and what uses it is silent; so is everything
    when the section is absent, and nothing is `declared`. `taken` are names that no statistic
    may have, each with what has it.
    """

    findings: Findings
    declared: bool = True
    columns: dict[str, Column | None] = field(default_factory=dict)
    spans: dict[str, Span] = field(default_factory=dict)
    unbounded: set[str] = field(default_factory=set)
    unit: Unit | None = None
    neighbors: str = ""
    composition: Composition | None = None
    taken: dict[str, str] = field(default_factory=dict)

    @property
    def relation(self) -> Relation:
        """Who is protected, and how neighbours differ: a guess where that cannot be read."""
        neighbors = Neighbors(self.neighbors) if self.neighbors else Neighbors.ADD_REMOVE
        return Relation(self.unit or RowUnit(), neighbors)

    def known(self, word: Word) -> bool:
        """Whether a column of that name is declared; recorded if not."""
        if word.text in self.columns or not self.declared:
            return word.text in self.columns
        self.findings.report_unknown("unknown-column", word.text, self.columns, word.span)
        return False

    def key(self, word: Word, user: str) -> Cell | OpenColumn | None:
        """The column of that name if rows may be grouped by it."""
        name = word.text
        column = self.columns[name] if self.known(word) else None
        if isinstance(column, IdColumn):
            self.findings.report("id-column", word.span, column=name)
            return None
        if isinstance(column, NumericColumn) and column.bounds is None:
            if name not in self.unbounded:
                self.unbounded.add(name)
                code = "missing-bounds.date" if column.kind == "date" else "missing-bounds"
                self.findings.report(code, self.spans[name], column=name, user=user)
            return None
        return column

    def usable(self, word: Word, user: str) -> Cell | None:
        """The column of that name if a statistic may read its values."""
        column = self.key(word, user)
        if not isinstance(column, OpenColumn):
            return column
        self.findings.report("values-required", self.spans[word.text], column=word.text, user=user)
        return None

    def of_kind(self, word: Word, user: str, kinds: Sequence[str], who: str) -> Column | None:
        """The column of that name if it is of one of these kinds, as `who` needs it."""
        column = self.columns.get(word.text)
        if not (isinstance(column, IdColumn) and "id" in kinds):
            column = self.usable(word, user)
        if column is None or column.kind in kinds:
            return column
        is_category = isinstance(column, CategoryColumn)
        code = "wrong-column-type.labels" if is_category else "wrong-column-type"
        facts = {"column": word.text, "kind": column.kind, "kinds": kinds, "who": who}
        self.findings.report(code, word.span, **facts)
        return None


def declare(section: Mapping | None, findings: Findings) -> Scope:
    """Every declared column; those declared wrongly are held as None."""
    scope = Scope(findings, declared=section is not None)
    if section is None:
        return scope
    if len(section.pairs) > MOST_COLUMNS:
        facts = {"count": len(section.pairs), "most": MOST_COLUMNS}
        findings.report("too-many-columns", section.span, **facts)
    twins: dict[str, Word] = {}
    for name, (key, value) in section.pairs.items():
        if findings.full:
            scope.declared = False
            break
        scope.spans[name] = key.span
        good = _good_name(key, findings)
        twin = twins.setdefault(unicodedata.normalize("NFC", name), key)
        if twin is not key:
            findings.report("twin-names", key.span, column=name, line=twin.span.line)
        column = _column(key, value, findings)
        scope.columns[name] = column if good else None
    return scope


def _good_name(key: Word, findings: Findings) -> bool:
    """Whether a text can be the name of a column."""
    code, name = "", key.text
    if not name:
        code = "empty-text.column"
    elif len(name) > LONGEST_NAME:
        code = "name-too-long"
    elif is_invisible(name):
        code = "control-character.column"
    if code:
        findings.report(code, key.span, column=name, count=len(name), most=LONGEST_NAME)
    return not code


def _column(key: Word, node: Node, findings: Findings) -> Column | None:
    """One declared column, or None after its problems are recorded."""
    types = {shape.kind: shape for shape in COLUMN_TYPES}
    facts = {"column": key.text}
    if not isinstance(node, Mapping):
        text = node.text if isinstance(node, Word) else ""
        proposed = text if text in types else "..."
        found = shown(text) if text else described(node)
        findings.report("wrong-shape.column", node.span, found=found, proposed=proposed, **facts)
        return None
    kind = node.get("type")
    text = kind.text if isinstance(kind, Word) else ""
    if kind is None:
        findings.report("missing-field.type", key.span, choices=types, **facts)
        return None
    if text not in types:
        meant, found = (
            ELSEWHERE.get(text.casefold(), text),
            shown(text) if text else described(kind),
        )
        findings.report_unknown(
            "unknown-choice", meant, types, kind.span, name="`type`", found=found
        )
        return None
    lines = {"step": f"`step: {proposed_step(node)}`: values are rounded to multiples of it"}
    article = "an" if text.startswith("i") else "a"
    part = fit(types[text], node, f"{article} `{text}` column", findings, lines=lines)
    fields = types[text].model_fields
    if any(fields[field].is_required() for field in part.bad & fields.keys()):
        return None
    column = part.values.column(key.text, part)
    return None if part.bad else column
