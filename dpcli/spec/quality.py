"""The section `quality:`: the check that comes before all statistics."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from pydantic import Discriminator, Field, Tag

from dpcli.columns import Column, IdColumn, without_constant
from dpcli.privacy.relation import PersonUnit
from dpcli.spec.answering import Answering
from dpcli.spec.fit import fit
from dpcli.spec.model import Entry, Quality
from dpcli.spec.nodes import Mapping, Node, Word
from dpcli.spec.scope import Scope, read_number
from dpcli.spec.structure import MAPPING_TAG, TEXT_TAG, Number, Shape, Text, kind_of
from dpcli.spec.wording import shown
from dpcli.statistics.base import Request
from dpcli.statistics.quality import QUALITY

MOST_ROWS = 10**15
"""More rows than any file has."""


class QualityShape(Shape):
    """One charged query on rows and readable cells, before all statistics."""

    epsilon: Number | None = None
    rho: Number | None = None
    delta: Number | None = None
    mechanism: Text | None = None
    min_rows: Number | None = None
    min_readable: (
        Annotated[
            Annotated[Number, Tag(TEXT_TAG)]
            | Annotated[dict[str, Number], Field(min_length=1), Tag(MAPPING_TAG)],
            Discriminator(kind_of),
        ]
        | None
    ) = None


def read_quality(node: Node | None, scope: Scope) -> Quality | None:
    """The check, or None after its problems are recorded, or if there is none."""
    if not isinstance(node, Mapping):
        return None
    scope.taken[QUALITY.name] = "the section `quality:`"
    if fit(QualityShape, node, "`quality`", scope.findings) is None:
        return None
    return _Reader(node, scope).quality()


class _Reader:
    """The section, read key by key; the problems of every key are recorded."""

    def __init__(self, node: Mapping, scope: Scope) -> None:
        self._node, self._scope, self._findings = node, scope, scope.findings

    def quality(self) -> Quality | None:
        """The check, or None after its problems are recorded."""
        node = self._node
        if node.get("min_rows") is None and node.get("min_readable") is None:
            self._findings.add(
                "quality-without-minimum",
                "`quality` has neither `min_rows` nor `min_readable`, expected at least one",
                "add `min_rows: 1000`, the least that a complete file has, and "
                "`min_readable: 0.8`, the least share of readable cells",
                node.span,
            )
        rows = self._rows(node.word("min_rows"))
        shares = self._shares(node.get("min_readable"))
        nothing = not self._checkable and None not in self._scope.columns.values()
        if isinstance(node.get("min_readable"), Word) and nothing and not rows:
            self._findings.add(
                "quality-without-minimum",
                "`min_readable` has no column to check: only the ids of the unit are declared",
                "write `min_rows` instead, or declare the columns that statistics use",
                node.key_span("min_readable"),
            )
        if node.get("epsilon") is None and node.get("rho") is None:
            self._findings.add(
                "price-required",
                "`quality` has no `epsilon`: its counts are answers about the data as well",
                "add `epsilon: 0.02` or so, a small part of the budget",
                node.span,
            )
            return None
        answering = Answering(node, self._scope, "`quality`", QUALITY)
        if not answering.mechanisms or answering.price is None or answering.calibration is None:
            return None
        checked = tuple(
            without_constant(column)
            for name in shares
            if (column := self._scope.columns.get(name)) is not None
        )
        request = Request(QUALITY.name, checked=checked)
        entry = Entry(
            request, QUALITY, answering.mechanisms, answering.price, answering.calibration
        )
        return Quality(entry, rows, shares)

    def _rows(self, word: Word | None) -> int | None:
        """The least number of rows."""
        value = None if word is None else read_number(word, "`min_rows`", self._findings)
        if word is None or value is None:
            return None
        if value.denominator == 1 and 1 <= value <= MOST_ROWS:
            return value.numerator
        self._findings.add(
            "bad-minimum",
            f"`min_rows` is {shown(word.text)}, expected a whole number from 1 to {MOST_ROWS:,}",
            "write the least number of rows that a complete file has, such as `min_rows: 1000`",
            word.span,
        )
        return None

    def _shares(self, node: Node | None) -> dict[str, Fraction]:
        """The least share of readable cells of each column that is checked."""
        if isinstance(node, Word):
            share = self._share(node, "`min_readable`")
            if share is None:
                return {}
            return dict.fromkeys(self._checkable, share)
        found: dict[str, Fraction] = {}
        for name, (word, value) in node.pairs.items() if isinstance(node, Mapping) else ():
            if not self._is_column(name, word):
                continue
            share = self._share(value, shown(name)) if isinstance(value, Word) else None
            if share is not None:
                found[name] = share
        return found

    def _share(self, word: Word, name: str) -> Fraction | None:
        """A share above zero, at most one."""
        value = read_number(word, name, self._findings)
        if value is None or 0 < value <= 1:
            return value
        self._findings.add(
            "bad-minimum",
            f"{name} is {shown(word.text)}, expected a share above 0, at most 1",
            "write `0.8` for 80%",
            word.span,
        )
        return None

    @property
    def _checkable(self) -> list[str]:
        """The columns whose cells can be counted: those of the unit say whose row it is."""
        columns = self._scope.columns.items()
        return [name for name, column in columns if column and not self._is_unit(column)]

    def _is_unit(self, column: Column) -> bool:
        """Whether rows without a readable cell in the column are left out of everything."""
        unit = self._scope.unit
        return (
            isinstance(unit, PersonUnit)
            and isinstance(column, IdColumn)
            and unit.column == column.name
        )

    def _is_column(self, name: str, word: Word) -> bool:
        """Whether a name is that of a column whose cells can be counted."""
        columns = self._scope.columns
        if name not in columns:
            if self._scope.declared:
                self._findings.unknown(
                    "unknown-column",
                    f"{shown(name)} is not a declared column",
                    name,
                    columns,
                    word.span,
                )
            return False
        column = columns[name]
        if column is not None and self._is_unit(column):
            self._findings.add(
                "id-column",
                f"{shown(name)} says whose row it is, expected another column",
                "rows without an id belong to no person and are not counted; `min_rows` notices "
                "when they are missing",
                word.span,
            )
            return False
        return column is not None
