"""The privacy unit: rows, or people with limits on what one of them can do."""

from __future__ import annotations

from dpcli.columns import IdColumn
from dpcli.privacy.relation import PersonUnit, RowUnit, Unit
from dpcli.spec.nodes import Mapping, Node, Word
from dpcli.spec.scope import Scope, read_number
from dpcli.spec.wording import a_column, shown

MOST_ROWS = 1_000_000
"""A limit on rows that large protects nobody better than none."""


def read_unit(node: Node | None, scope: Scope) -> Unit | None:
    """Who is protected, or None after its problems are recorded."""
    findings = scope.findings
    if isinstance(node, Word):
        if node.text == "row":
            return RowUnit()
        findings.unknown(
            "unknown-unit",
            f"`unit` is {shown(node.text)}, expected `row` or `{{column: ..., max_rows: ...}}`",
            node.text,
            ["row"],
            node.span,
        )
        return None
    return _person(node, scope) if isinstance(node, Mapping) else None


def _person(node: Mapping, scope: Scope) -> Unit | None:
    """A person, by the column of ids and the limits."""
    column = _ids(node.get("column"), scope)
    rows = _limit(node, "max_rows", scope)
    given = [_limit(node, key, scope) for key in ("max_groups", "max_rows_per_group")]
    present = [node.get(key) is not None for key in ("max_groups", "max_rows_per_group")]
    if column is None or rows is None:
        return None
    if any(there and limit is None for there, limit in zip(present, given, strict=True)):
        return None
    groups, per_group = (rows if limit is None else limit for limit in given)
    if per_group > rows:
        scope.findings.add(
            "limit-idle",
            f"`max_rows_per_group` is {per_group:,}, but `max_rows` keeps {rows:,} rows in all",
            "lower it, raise `max_rows`, or leave it out",
            node.key_span("max_rows_per_group"),
        )
        return None
    return PersonUnit(column.name, per_group, groups, rows, column.each)


def _ids(word: Node | None, scope: Scope) -> IdColumn | None:
    """The column that says whose row it is."""
    if not isinstance(word, Word):
        return None
    column = scope.columns.get(word.text)
    if isinstance(column, IdColumn):
        return column
    if word.text not in scope.columns and scope.declared:
        scope.findings.unknown(
            "unknown-column",
            f"{shown(word.text)} is not a declared column",
            word.text,
            scope.columns,
            word.span,
        )
    elif column is not None:
        scope.findings.add(
            "wrong-column-type",
            f"{shown(word.text)} is {a_column(column.kind)}, `unit` needs one of type `id`",
            f"declare {shown(word.text)} as `{{type: id}}`",
            word.span,
        )
    return None


def _limit(node: Mapping, key: str, scope: Scope) -> int | None:
    """A limit on a person's rows or groups: a whole number above zero."""
    word = node.get(key)
    if not isinstance(word, Word):
        return None
    value = read_number(word, f"`{key}`", scope.findings)
    if value is None:
        return None
    if not 1 <= value <= MOST_ROWS or value.denominator != 1:
        scope.findings.add(
            "limit-not-whole",
            f"`{key}` is {shown(word.text)}, expected a whole number from 1 to {MOST_ROWS:,}",
            f"write `{key}: 1` or more, the fewer the less noise",
            word.span,
        )
        return None
    return value.numerator
