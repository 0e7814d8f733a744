"""The sections `privacy` and `quality`: the guarantee, and the first check."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from typing import Annotated

from pydantic import Field

from dpcli.columns import IdColumn, without_missing_constant
from dpcli.privacy.accounting import COMPOSITIONS
from dpcli.privacy.accounting.composition import Composition
from dpcli.privacy.loss import Loss
from dpcli.privacy.neighboring import Neighbors
from dpcli.privacy.unit import PersonUnit, RowUnit, Unit
from dpcli.privacy.zcdp_conversion import zcdp_epsilon
from dpcli.spec_values import (
    MAX_BUDGET,
    AlreadyReportedError,
    ByForm,
    Choice,
    Delta,
    Epsilon,
    ExactNumber,
    Rho,
    SectionModel,
    Text,
    limited_epsilon,
    limited_rho,
    summaries_by_name,
)
from dpcli.specification.columns_section import SpecContext
from dpcli.specification.mechanism_fields import MechanismName, read_answer_settings
from dpcli.specification.model import Entry, Privacy, QualityCheck
from dpcli.specification.tree import MappingNode, ScalarNode, attempt, node_at, read_valid
from dpcli.specification.validation import Section, read_section
from dpcli.statistics.quality import QUALITY_COUNTS
from dpcli.statistics.statistic import Request

MOST_LIMIT = 1_000_000
"""A limit on rows that large protects no better than none."""

MOST_ROWS = 10**15
"""More rows than any file has."""

Limit = Annotated[int, ExactNumber("limit-not-whole", least=1, most=MOST_LIMIT, whole=True)]


class UnitModel(SectionModel):
    """One person protected with all rows, up to enforced limits."""

    column: Text
    max_rows: Limit
    max_groups: Limit | None = None
    max_rows_per_group: Limit | None = None


class BudgetModel(SectionModel):
    """The most that all releases from the dataset may reveal together."""

    epsilon: Annotated[Fraction, limited_epsilon(MAX_BUDGET)] | None = None
    rho: Annotated[Fraction, limited_rho(MAX_BUDGET)] | None = None
    delta: Annotated[Fraction, ExactNumber("delta-out-of-range.budget", least=0, below=1)] = (
        Fraction(0)
    )


class PrivacyModel(SectionModel):
    """The guarantee: who is protected, against what, and how far."""

    unit: Annotated[Annotated[str, Choice("unknown-unit", ("row",))] | UnitModel, ByForm]
    neighbors: Annotated[str, Choice("unknown-choice", ("add-remove", "change-one"))]
    budget: BudgetModel
    composition: Annotated[
        str, Choice("unknown-composition", lambda: summaries_by_name(COMPOSITIONS))
    ] = "sequential"


def read_privacy(node: MappingNode | None, scope: SpecContext) -> Privacy:
    """The guarantee, after all of its problems are recorded; the scope learns of it first."""
    if node is None:
        raise AlreadyReportedError
    part = read_section(PrivacyModel, node, "`privacy`")
    values, rules = part.values, {rule.name: rule for rule in COMPOSITIONS}
    with suppress(AlreadyReportedError):
        scope.unit = _unit(part, scope)
    with suppress(AlreadyReportedError):
        scope.neighbors = values.neighbors
    with suppress(AlreadyReportedError):
        scope.composition = rules[values.composition]
    budget = _budget(part, scope.composition)
    part.require()
    if scope.unit is None or scope.composition is None:
        raise AlreadyReportedError
    place = node_at(node, "budget").span.place
    return Privacy(scope.unit, Neighbors(values.neighbors), budget, scope.composition, place)


def _unit(part: Section[PrivacyModel], scope: SpecContext) -> Unit:
    node = part.node.get("unit")
    word = node.word("column") if isinstance(node, MappingNode) else None
    column = attempt(_ids, word, scope) if word else None
    unit = part.values.unit
    if column is None or not isinstance(unit, UnitModel):
        return RowUnit()
    per_group = unit.max_rows_per_group or unit.max_rows
    if per_group > unit.max_rows:
        path, facts = ("unit", "max_rows_per_group"), {"limit": per_group, "rows": unit.max_rows}
        raise part.report_key("limit-idle", *path, **facts)
    ids = column()
    return PersonUnit(
        ids.name, per_group, unit.max_groups or unit.max_rows, unit.max_rows, ids.each
    )


def _ids(word: ScalarNode, scope: SpecContext) -> IdColumn:
    column = scope.column(word)
    if isinstance(column, IdColumn):
        return column
    facts = {"column": column.name, "kind": column.kind}
    raise word.span.report("wrong-column-type.unit", **facts)


def _budget(part: Section[PrivacyModel], composition: Composition | None) -> Loss:
    budget = part.values.budget
    epsilon, rho, delta = budget.epsilon, budget.rho, budget.delta
    if epsilon is None and rho is None:
        raise part.report("missing-field.budget-epsilon", "budget")
    if epsilon is not None and rho is not None:
        raise part.report_key("price-twice.budget", "budget", "rho")
    if composition is None:
        raise AlreadyReportedError
    name = composition.name
    if rho is not None and name != "zcdp":
        raise part.report_key("rho-not-taken.budget", "budget", "rho", composition=name)
    if composition.needs_delta and not delta:
        raise part.report("delta-required.budget", "budget", composition=name)
    return Loss(zcdp_epsilon(rho, delta), delta, rho) if epsilon is None else Loss(epsilon, delta)


MinRows = Annotated[int, ExactNumber("bad-minimum", least=1, most=MOST_ROWS, whole=True)]
Share = Annotated[Fraction, ExactNumber("bad-minimum.share", above=0, most=1)]


class QualityModel(SectionModel):
    """One charged query on rows and readable cells, before all statistics."""

    epsilon: Epsilon | None = None
    rho: Rho | None = None
    delta: Delta | None = None
    mechanism: MechanismName | None = None

    min_rows: MinRows | None = None
    min_readable: (
        Annotated[Share | Annotated[dict[str, Share], Field(min_length=1)], ByForm] | None
    ) = None


def read_quality(node: MappingNode | None, scope: SpecContext) -> QualityCheck | None:
    """The check, after all of its problems are recorded; None without the section."""
    if node is None:
        return None
    scope.taken[QUALITY_COUNTS.name] = "the section `quality:`"
    part = read_section(QualityModel, node, "`quality`")
    if node.pairs and not node.pairs.keys() & QualityModel.model_fields.keys():
        # Another thing than a quality check; that has been recorded.
        raise AlreadyReportedError
    if not part.has("min_rows") and not part.has("min_readable"):
        part.report("quality-without-minimum")
    shares = attempt(_shares, part, scope)
    answering = read_answer_settings(
        part, scope, QUALITY_COUNTS, lambda: False, "price-required.quality"
    )
    part.require()
    columns = (scope.columns.get(name) for name in shares())
    checked = tuple(without_missing_constant(column) for column in columns if column is not None)
    entry = Entry(Request(QUALITY_COUNTS.name, checked=checked), QUALITY_COUNTS, *answering)
    return QualityCheck(entry, part.values.min_rows, shares())


def _shares(part: Section[QualityModel], scope: SpecContext) -> dict[str, Fraction]:
    unit = scope.unit.column if isinstance(scope.unit, PersonUnit) else None
    node = part.node.get("min_readable")
    if isinstance(node, MappingNode):
        names = read_valid(scope.known, [key for key, _ in node.pairs.values()])
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
