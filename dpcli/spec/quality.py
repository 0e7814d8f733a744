"""The section `quality:`: the check that comes before all statistics."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from pydantic import Field

from dpcli.columns import without_constant
from dpcli.privacy.relation import PersonUnit
from dpcli.spec.answering import MechanismName, read_answering
from dpcli.spec.columns import Scope
from dpcli.spec.fit import Part, fit
from dpcli.spec.model import Entry, Quality
from dpcli.spec.nodes import Mapping
from dpcli.statistics.base import Request
from dpcli.statistics.quality import QUALITY
from dpcli.values import Delta, Epsilon, Exact, Forms, Rho, Shape

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


def read_quality(node: Mapping | None, scope: Scope) -> Quality | None:
    """The check, or None after its problems are recorded, or if there is none."""
    if node is None:
        return None
    scope.taken[QUALITY.name] = "the section `quality:`"
    part = fit(QualityShape, node, "`quality`", scope.findings)
    if node.pairs and not node.pairs.keys() & QualityShape.model_fields.keys():
        # Another thing than a quality check; that has been recorded.
        return None
    if not part.has("min_rows") and not part.has("min_readable"):
        part.report("quality-without-minimum")
    shares = _shares(part, scope)
    answering = read_answering(part, scope, QUALITY, keys=False, absent="price-required.quality")
    if part.bad or answering is None:
        return None
    columns = (scope.columns.get(name) for name in shares)
    checked = tuple(without_constant(column) for column in columns if column is not None)
    entry = Entry(Request(QUALITY.name, checked=checked), QUALITY, *answering)
    return Quality(entry, part.values.min_rows, shares)


def _shares(part: Part[QualityShape], scope: Scope) -> dict[str, Fraction]:
    """The least share of readable cells of each column that is checked."""
    unit = scope.unit.column if isinstance(scope.unit, PersonUnit) else None
    readable, node = part.values.min_readable, part.node.get("min_readable")
    if isinstance(node, Mapping):
        names = [name for name, (key, _) in node.pairs.items() if scope.known(key)]
        if unit in names:
            # Rows without a readable id are left out of everything.
            scope.findings.report("id-column.quality", node.key_span(str(unit)), column=unit)
        return {name: readable[name] for name in names} if isinstance(readable, dict) else {}
    able = [name for name, column in scope.columns.items() if column and name != unit]
    nothing = not able and None not in scope.columns.values()
    if node is not None and nothing and not part.has("min_rows"):
        part.report_key("quality-without-minimum.columns", "min_readable")
    return dict.fromkeys(able, readable) if isinstance(readable, Fraction) else {}
