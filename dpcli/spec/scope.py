"""What the statistics of a spec may refer to: its columns, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor

from dpcli.columns import CategoryColumn, Column, IdColumn, NumericColumn, OpenColumn
from dpcli.composition.base import Composition
from dpcli.privacy.relation import Unit
from dpcli.spec.findings import Findings
from dpcli.spec.nodes import Span, Word
from dpcli.spec.numbers import NotReadable, day, number
from dpcli.spec.wording import plain, shown


@dataclass
class Scope:
    """Declared columns, where each is declared, and the problems so far.

    A column that was declared wrongly is None: its users are not blamed. Nor is
    anybody when the whole section is absent, and nothing is `declared`. `taken` are names
    that no statistic may have, each with what has it.
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

    def usable(self, name: str, span: Span, user: str) -> CategoryColumn | NumericColumn | None:
        """The column of that name if a statistic may read its values."""
        column = self.key(name, span, user)
        if isinstance(column, OpenColumn):
            self.findings.add(
                "values-required",
                f"{shown(name)} has no declared `values`, and {user} needs them",
                "add `values: [...]`; without them the column can only stand in `by`",
                self.spans[name],
            )
            return None
        return column

    def key(
        self, name: str, span: Span, user: str
    ) -> CategoryColumn | NumericColumn | OpenColumn | None:
        """The column of that name if rows may be grouped by it."""
        if name not in self.columns:
            if not self.declared:
                return None
            self.findings.unknown(
                "unknown-column",
                f"{shown(name)} is not a declared column",
                name,
                self.columns,
                span,
            )
            return None
        column = self.columns[name]
        if isinstance(column, IdColumn):
            self.findings.add(
                "id-column",
                f"{shown(name)} is an `id` column, expected one that may be asked about",
                "ids say whose row it is; they are never published, and only "
                "`count_distinct` can count them",
                span,
            )
            return None
        if isinstance(column, NumericColumn) and column.bounds is None:
            self._demand_bounds(column, user)
            return None
        return column

    def _demand_bounds(self, column: NumericColumn, user: str) -> None:
        """Records, once, that a column in use has no bounds."""
        if column.name in self.unbounded:
            return
        self.unbounded.add(column.name)
        example = "[2010-01-01, 2024-12-31]" if column.kind == "date" else "[0, 100]"
        self.findings.add(
            "missing-bounds",
            f"{shown(column.name)} has no bounds, and {user} uses it",
            f"add `bounds: {example}` with the limits of what is possible; "
            "bounds are public facts, never read from the data",
            self.spans[column.name],
        )


def read_number(node: Word, name: str, findings: Findings) -> Fraction | None:
    """The exact number that a word says."""
    return _read("not-a-number", number, "a number", node=node, name=name, findings=findings)


def read_steps(
    node: Word, name: str, kind: str, step: Fraction, findings: Findings
) -> Fraction | None:
    """The number or date that a word says, in steps of a grid; maybe between two."""
    if kind == "date":
        days = _read("not-a-date", day, "a date", node=node, name=name, findings=findings)
        return None if days is None else Fraction(days)
    value = read_number(node, name, findings)
    return None if value is None else value / step


def read_whole_steps(
    node: Word, name: str, kind: str, step: Fraction, findings: Findings
) -> int | None:
    """The number or date that a word says, on the grid."""
    steps = read_steps(node, name, kind, step, findings)
    if steps is None:
        return None
    if steps.denominator != 1:
        below, above = floor(steps) * step, (floor(steps) + 1) * step
        findings.add(
            "off-grid",
            f"{name} is {shown(node.text)}, expected a multiple of the step {shown(plain(step))}",
            f"the nearest are {shown(plain(below))} and {shown(plain(above))}",
            node.span,
        )
        return None
    return steps.numerator


def _read(
    code: str,
    reader: Callable[[str], Fraction | int],
    expected: str,
    *,
    node: Word,
    name: str,
    findings: Findings,
) -> Fraction | None:
    """What a reader makes of a word, or nothing after its refusal is recorded."""
    try:
        return Fraction(reader(node.text))
    except NotReadable as refusal:
        findings.add(
            code, f"{name} is {shown(node.text)}, expected {expected}", refusal.advice, node.span
        )
        return None
