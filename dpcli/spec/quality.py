"""The section `quality:`: the check that comes before all statistics."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from pydantic import Field

from dpcli.columns import without_constant
from dpcli.privacy.relation import PersonUnit
from dpcli.spec.answering import MechanismName, read_answering
from dpcli.spec.columns import Scope
from dpcli.spec.findings import attempt, readable
from dpcli.spec.model import Entry, Quality
from dpcli.spec.nodes import Mapping
from dpcli.spec.part import Part, read_shape
from dpcli.statistics.base import Request
from dpcli.statistics.quality import QUALITY
from dpcli.values import Delta, Epsilon, Exact, Forms, Rho, Shape, Unreadable

MOST_ROWS = 10**15
"""More rows than any file has."""

ROWS = Exact("bad-minimum", least=1, most=MOST_ROWS, whole=True)
Share = Annotated[Fraction, Exact("bad-minimum.share", above=0, most=1)]


class QualityShape(Shape):
    """One charged query on rows and readable cells, before all statistics."""

    epsilon: Epsilon | None = None
    rho: Rho | None = None
    delta: Delta | None = None
    mechanism: MechanismName | None = None

    min_rows: Annotated[int, ROWS] | None = None
    min_readable: (
        Annotated[Share | Annotated[dict[str, Share], Field(min_length=1)], Forms] | None
    ) = None


def read_quality(node: Mapping, scope: Scope) -> Quality:
    """The check, after all of its problems are recorded."""
    scope.taken[QUALITY.name] = "the section `quality:`"
    part = read_shape(QualityShape, node, "`quality`")
    if node.pairs and not node.pairs.keys() & QualityShape.model_fields.keys():
        # Another thing than a quality check; that has been recorded.
        raise Unreadable
    if not part.has("min_rows") and not part.has("min_readable"):
        part.report("quality-without-minimum")
    shares = attempt(_shares, part, scope)
    answering = read_answering(part, scope, QUALITY, lambda: False, "price-required.quality")
    part.require()
    columns = (scope.columns.get(name) for name in shares())
    checked = tuple(without_constant(column) for column in columns if column is not None)
    entry = Entry(Request(QUALITY.name, checked=checked), QUALITY, *answering)
    return Quality(entry, part.values.min_rows, shares())


def _shares(part: Part[QualityShape], scope: Scope) -> dict[str, Fraction]:
    """The least share of readable cells of each column that is checked."""
    unit = scope.unit.column if isinstance(scope.unit, PersonUnit) else None
    node = part.node.get("min_readable")
    if isinstance(node, Mapping):
        names = readable(scope.known, [key for key, _ in node.pairs.values()])
        if unit in names:
            # Rows without a readable id are left out of everything.
            node.key_span(str(unit)).report("id-column.quality", column=unit)
        shares = part.values.min_readable
        return {name: shares[name] for name in names} if isinstance(shares, dict) else {}
    able = [name for name, column in scope.columns.items() if column and name != unit]
    nothing = not able and None not in scope.columns.values()
    if node is not None and nothing and not part.has("min_rows"):
        part.report_key("quality-without-minimum.columns", "min_readable")
    share = part.values.min_readable
    return dict.fromkeys(able, share) if isinstance(share, Fraction) else {}
