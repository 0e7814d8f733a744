"""The section `quality:`: the check that comes before all statistics."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from pydantic import Field, Tag

from dpcli.columns import Column, IdColumn, without_constant
from dpcli.messages import shown
from dpcli.privacy.relation import PersonUnit
from dpcli.spec.answering import Answering, MechanismName
from dpcli.spec.columns import Scope
from dpcli.spec.fit import Part, fit
from dpcli.spec.model import Entry, Quality
from dpcli.spec.nodes import Mapping, Node, Span
from dpcli.statistics.base import Request
from dpcli.statistics.quality import QUALITY
from dpcli.values import MAPPING_TAG, TEXT_TAG, Delta, Epsilon, Exact, Forms, Rho, Shape

MOST_ROWS = 10**15
"""More rows than any file has."""

ROWS = Exact("bad-minimum", least=1, most=MOST_ROWS, whole=True)
SHARE = Exact("bad-minimum.share", above=0, most=1)


class QualityShape(Shape):
    """One charged query on rows and readable cells, before all statistics."""

    epsilon: Epsilon | None = None
    rho: Rho | None = None
    delta: Delta | None = None
    mechanism: MechanismName | None = None

    min_rows: Annotated[int, ROWS] | None = None
    min_readable: (
        Annotated[
            Annotated[Fraction, SHARE, Tag(TEXT_TAG)]
            | Annotated[
                Annotated[dict[str, Annotated[Fraction, SHARE]], Field(min_length=1)],
                Tag(MAPPING_TAG),
            ],
            Forms,
        ]
        | None
    ) = None


def read_quality(node: Node | None, scope: Scope) -> Quality | None:
    """The check, or None after its problems are recorded, or if there is none."""
    if not isinstance(node, Mapping):
        return None
    scope.taken[QUALITY.name] = "the section `quality:`"
    part = fit(QualityShape, node, "`quality`", scope.findings)
    if not part.has("min_rows") and not part.has("min_readable"):
        part.refuse(
            "quality-without-minimum",
            "`quality` has neither `min_rows` nor `min_readable`, expected at least one",
            "add `min_rows: 1000`, the least that a complete file has, and "
            "`min_readable: 0.8`, the least share of readable cells",
        )
    shares = _shares(part, scope)
    if not part.has("epsilon") and not part.has("rho"):
        message = "`quality` has no `epsilon`: its counts are answers about the data as well"
        hint = "add `epsilon: 0.02` or so, a small part of the budget"
        part.refuse("price-required", message, hint)
        return None
    answering = Answering(part, scope, "`quality`", QUALITY, keys=False)
    if part.bad or not answering.mechanisms:
        return None
    if answering.price is None or answering.calibration is None:
        return None
    columns = (scope.columns.get(name) for name in shares)
    checked = tuple(without_constant(column) for column in columns if column is not None)
    entry = Entry(
        Request(QUALITY.name, checked=checked),
        QUALITY,
        answering.mechanisms,
        answering.price,
        answering.calibration,
    )
    return Quality(entry, part.values.min_rows, shares)


def _shares(part: Part[QualityShape], scope: Scope) -> dict[str, Fraction]:
    """The least share of readable cells of each column that is checked."""
    readable, node = part.values.min_readable, part.node.get("min_readable")
    if isinstance(node, Mapping):
        names = [name for name, (key, _) in node.pairs.items() if _is_column(name, key.span, scope)]
        return {name: readable[name] for name in names} if isinstance(readable, dict) else {}
    columns = scope.columns.items()
    able = [name for name, column in columns if column and not _is_unit(column, scope)]
    nothing = node is not None and not able and None not in scope.columns.values()
    if nothing and not part.has("min_rows"):
        message = "`min_readable` has no column to check: only the ids of the unit are declared"
        hint = "write `min_rows` instead, or declare the columns that statistics use"
        part.refuse_key("quality-without-minimum", message, hint, "min_readable")
    return dict.fromkeys(able, readable) if isinstance(readable, Fraction) else {}


def _is_unit(column: Column, scope: Scope) -> bool:
    """Whether rows without a readable cell in the column are left out of everything."""
    unit = scope.unit
    person = isinstance(unit, PersonUnit) and isinstance(column, IdColumn)
    return person and isinstance(unit, PersonUnit) and unit.column == column.name


def _is_column(name: str, span: Span, scope: Scope) -> bool:
    """Whether a name is that of a column whose cells can be counted."""
    column = scope.columns[name] if scope.known(name, span) else None
    if column is not None and _is_unit(column, scope):
        scope.findings.add(
            "id-column",
            f"{shown(name)} says whose row it is, expected another column",
            "rows without an id belong to no person and are not counted; `min_rows` notices "
            "when they are missing",
            span,
        )
        return False
    return column is not None
