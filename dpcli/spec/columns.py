"""The columns of a spec: one model per type, and the declared columns by name."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field

from dpcli.columns import CategoryColumn, Column, IdColumn, NumericColumn, OpenColumn
from dpcli.composition.base import Composition
from dpcli.messages import listed, shown
from dpcli.privacy.relation import Neighbors, Relation, RowUnit, Unit
from dpcli.spec.column_types import COLUMN_TYPES
from dpcli.spec.findings import Findings, a_column
from dpcli.spec.fit import fit
from dpcli.spec.grid import ADD_BOUNDS, proposed_step
from dpcli.spec.labels import invisible
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

    def known(self, name: str, span: Span) -> bool:
        """Whether a column of that name is declared; recorded if not."""
        if name in self.columns or not self.declared:
            return name in self.columns
        message = f"{shown(name)} is not a declared column"
        self.findings.unknown("unknown-column", message, name, self.columns, span)
        return False

    def usable(self, name: str, span: Span, user: str) -> CategoryColumn | NumericColumn | None:
        """The column of that name if a statistic may read its values."""
        column = self.key(name, span, user)
        if isinstance(column, OpenColumn):
            message = f"{shown(name)} has no declared `values`, and {user} needs them"
            hint = "add `values: [...]`; without them the column can only stand in `by`"
            self.findings.add("values-required", message, hint, self.spans[name])
            return None
        return column

    def key(
        self, name: str, span: Span, user: str
    ) -> CategoryColumn | NumericColumn | OpenColumn | None:
        """The column of that name if rows may be grouped by it."""
        column = self.columns[name] if self.known(name, span) else None
        if isinstance(column, IdColumn):
            self.findings.add(
                "id-column",
                f"{shown(name)} is an `id` column, expected one that a statistic can read",
                "ids say whose row it is; they are never published, and only "
                "`count_distinct` can count them",
                span,
            )
            return None
        if isinstance(column, NumericColumn) and column.bounds is None:
            if column.name not in self.unbounded:
                self.unbounded.add(column.name)
                example = "[2010-01-01, 2024-12-31]" if column.kind == "date" else "[0, 100]"
                message = f"{shown(column.name)} has no bounds, and {user} uses it"
                hint = f"add `bounds: {example}` {ADD_BOUNDS}"
                self.findings.add("missing-bounds", message, hint, self.spans[column.name])
            return None
        return column

    def of_kind(
        self, name: str, span: Span, user: str, kinds: Sequence[str], who: str
    ) -> Column | None:
        """The column of that name if it is of one of these kinds, as `who` needs it."""
        column: Column | None = self.columns.get(name)
        if not (isinstance(column, IdColumn) and "id" in kinds):
            column = self.usable(name, span, user)
        if column is None or column.kind in kinds:
            return column
        self.findings.add(
            "wrong-column-type",
            f"{shown(name)} is {a_column(column.kind)}, {who} needs one of type "
            f"{listed(kinds, 'or')}",
            "a `histogram` counts the rows of each label"
            if isinstance(column, CategoryColumn)
            else "name a column of that type, or choose another statistic",
            span,
        )
        return None


def declare(section: Mapping | None, findings: Findings) -> Scope:
    """Every declared column; those declared wrongly are held as None."""
    scope = Scope(findings, declared=section is not None)
    if section is None:
        return scope
    if len(section.pairs) > MOST_COLUMNS:
        findings.add(
            "too-many-columns",
            f"{len(section.pairs):,} columns are declared, at most {MOST_COLUMNS:,} are possible",
            "declare only those that the statistics use",
            section.span,
        )
    twins: dict[str, Word] = {}
    for name, (key, value) in section.pairs.items():
        if findings.full:
            scope.declared = False
            break
        scope.spans[name] = key.span
        good = _good_name(key, findings)
        twin = twins.setdefault(unicodedata.normalize("NFC", name), key)
        if twin is not key:
            findings.add(
                "twin-names",
                f"{shown(name)} looks the same as the column on line {twin.span.line}, "
                "but is made of other characters",
                "rename one of them in the data file and here",
                key.span,
            )
        column = _column(key, value, findings)
        scope.columns[name] = column if good else None
    return scope


def _good_name(key: Word, findings: Findings) -> bool:
    """Whether a text can be the name of a column."""
    code, message, hint = "", "", "rename the column in the data file"
    if not key.text:
        code, message = "empty-text", "a column has an empty name"
        hint = "give the column a name in the data file"
    elif len(key.text) > LONGEST_NAME:
        code, hint = "name-too-long", "shorten the name in the data file"
        message = f"a column name has {len(key.text):,} characters, at most {LONGEST_NAME:,} fit"
    elif invisible(key.text):
        code = "control-character"
        message = f"the column name {shown(key.text)} holds an invisible character"
    if code:
        findings.add(code, message, hint, key.span)
    return not code


def _column(key: Word, node: Node, findings: Findings) -> Column | None:
    """One declared column, or None after its problems are recorded."""
    types = {shape.kind: shape for shape in COLUMN_TYPES}
    name = shown(key.text)
    if not isinstance(node, Mapping):
        text = node.text if isinstance(node, Word) else ""
        findings.add(
            "wrong-shape",
            f"the declaration of {name} is {shown(text) if text else described(node)}, "
            "expected a mapping",
            f"write `{{type: {text if text in types else '...'}}}`",
            node.span,
        )
        return None
    kind = node.get("type")
    text = kind.text if isinstance(kind, Word) else ""
    if kind is None:
        message = f"the column {name} has no `type`"
        findings.add("missing-field", message, f"add `type: ...`: {listed(types, 'or')}", key.span)
    elif text not in types:
        findings.unknown(
            "unknown-choice",
            f"`type` is {shown(text) if text else described(kind)}, expected {listed(types, 'or')}",
            ELSEWHERE.get(text.casefold(), text),
            types,
            kind.span,
            otherwise="write one of these, spelled exactly so",
        )
    else:
        advice = {"step": f"`step: {proposed_step(node)}`: values are rounded to multiples of it"}
        part = fit(types[text], node, a_column(text), findings, advice=advice)
        fields = types[text].model_fields
        if not any(fields[key].is_required() for key in part.bad & fields.keys()):
            column = part.values.column(key.text, part)
            return None if part.bad else column
    return None
