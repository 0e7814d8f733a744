"""The section `privacy`: who is protected, against what, and how far."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from typing import Annotated

from dpcli.columns import IdColumn
from dpcli.composition import COMPOSITIONS
from dpcli.composition.base import Composition
from dpcli.privacy.concentrated import zcdp_epsilon
from dpcli.privacy.loss import Loss
from dpcli.privacy.relation import Neighbors, PersonUnit, RowUnit, Unit
from dpcli.spec.columns import Scope
from dpcli.spec.findings import attempt
from dpcli.spec.model import Privacy
from dpcli.spec.nodes import Mapping, Word
from dpcli.spec.part import Part, read_shape
from dpcli.values import (
    MOST_BUDGET,
    Choice,
    Exact,
    Forms,
    Shape,
    Text,
    Unreadable,
    described,
    limited_epsilon,
    limited_rho,
)

MOST_ROWS = 1_000_000
"""A limit on rows that large protects no better than none."""


Limit = Annotated[int, Exact("limit-not-whole", least=1, most=MOST_ROWS, whole=True)]


class UnitShape(Shape):
    """One person protected with all rows, up to enforced limits."""

    column: Text
    max_rows: Limit
    max_groups: Limit | None = None
    max_rows_per_group: Limit | None = None


class Budget(Shape):
    """The most that all releases from the dataset may reveal together."""

    epsilon: Annotated[Fraction, limited_epsilon(MOST_BUDGET)] | None = None
    rho: Annotated[Fraction, limited_rho(MOST_BUDGET)] | None = None
    delta: Annotated[Fraction, Exact("delta-out-of-range.budget", least=0, below=1)] = Fraction(0)


class PrivacyShape(Shape):
    """The guarantee: who is protected, against what, and how far."""

    unit: Annotated[Annotated[str, Choice("unknown-unit", ("row",))] | UnitShape, Forms]
    neighbors: Annotated[str, Choice("unknown-choice", ("add-remove", "change-one"))]
    budget: Budget
    composition: Annotated[str, Choice("unknown-composition", lambda: described(COMPOSITIONS))] = (
        "sequential"
    )


def read_privacy(node: Mapping, scope: Scope) -> Privacy:
    """The guarantee, after all of its problems are recorded; the scope learns of it first."""
    part = read_shape(PrivacyShape, node, "`privacy`")
    values, rules = part.values, {rule.name: rule for rule in COMPOSITIONS}
    with suppress(Unreadable):
        scope.unit = _unit(part, scope)
    with suppress(Unreadable):
        scope.neighbors = values.neighbors
    with suppress(Unreadable):
        scope.composition = rules[values.composition]
    budget = _budget(part, scope.composition)
    part.require()
    if scope.unit is None or scope.composition is None:
        raise Unreadable
    return Privacy(scope.unit, Neighbors(values.neighbors), budget, scope.composition)


def _unit(part: Part[PrivacyShape], scope: Scope) -> Unit:
    node = part.node.get("unit")
    word = node.word("column") if isinstance(node, Mapping) else None
    column = attempt(_ids, word, scope) if word else None
    unit = part.values.unit
    if column is None or not isinstance(unit, UnitShape):
        return RowUnit()
    per_group = unit.max_rows_per_group or unit.max_rows
    if per_group > unit.max_rows:
        path, facts = ("unit", "max_rows_per_group"), {"limit": per_group, "rows": unit.max_rows}
        raise part.report_key("limit-idle", *path, **facts)
    ids = column()
    return PersonUnit(
        ids.name, per_group, unit.max_groups or unit.max_rows, unit.max_rows, ids.each
    )


def _ids(word: Word, scope: Scope) -> IdColumn:
    column = scope.column(word)
    if isinstance(column, IdColumn):
        return column
    facts = {"column": column.name, "kind": column.kind}
    raise word.span.report("wrong-column-type.unit", **facts)


def _budget(part: Part[PrivacyShape], composition: Composition | None) -> Loss:
    """The budget in epsilon and delta, or in rho at a delta."""
    budget = part.values.budget
    epsilon, rho, delta = budget.epsilon, budget.rho, budget.delta
    if epsilon is None and rho is None:
        raise part.report("missing-field.budget-epsilon", "budget")
    if epsilon is not None and rho is not None:
        raise part.report_key("price-twice.budget", "budget", "rho")
    if composition is None:
        raise Unreadable
    name = composition.name
    if rho is not None and name != "zcdp":
        raise part.report_key("rho-not-taken.budget", "budget", "rho", composition=name)
    if composition.needs_delta and not delta:
        raise part.report("delta-required.budget", "budget", composition=name)
    return Loss(zcdp_epsilon(rho, delta), delta, rho) if epsilon is None else Loss(epsilon, delta)
