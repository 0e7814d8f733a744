"""The section `privacy`: who is protected, against what, and how far."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from dpcli.columns import IdColumn
from dpcli.composition import COMPOSITIONS
from dpcli.composition.base import Composition
from dpcli.privacy.concentrated import zcdp_epsilon
from dpcli.privacy.loss import Loss
from dpcli.privacy.relation import Neighbors, PersonUnit, RowUnit, Unit
from dpcli.spec.columns import Scope
from dpcli.spec.fit import Part, fit
from dpcli.spec.model import Privacy
from dpcli.spec.nodes import Mapping, Word
from dpcli.values import (
    MOST_BUDGET,
    Choice,
    Exact,
    Forms,
    Shape,
    Text,
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


def read_privacy(node: Mapping, scope: Scope) -> Privacy | None:
    """The guarantee, or None after its problems are recorded; the scope learns of it first."""
    part = fit(PrivacyShape, node, "`privacy`", scope.findings)
    values = part.values
    scope.unit = _unit(part, scope)
    scope.neighbors = values.neighbors or ""
    rules = {rule.name: rule for rule in COMPOSITIONS}
    scope.composition = None if "composition" in part.bad else rules[values.composition]
    budget = _budget(part, scope.composition)
    if part.bad or scope.unit is None or scope.composition is None or budget is None:
        return None
    return Privacy(scope.unit, Neighbors(values.neighbors), budget, scope.composition)


def _unit(part: Part[PrivacyShape], scope: Scope) -> Unit | None:
    unit, node = part.values.unit, part.node.get("unit")
    column = _ids(node.word("column"), scope) if isinstance(node, Mapping) else None
    if not isinstance(unit, UnitShape):
        return RowUnit() if unit else None
    per_group = unit.max_rows_per_group or unit.max_rows
    if per_group > unit.max_rows:
        path, facts = ("unit", "max_rows_per_group"), {"limit": per_group, "rows": unit.max_rows}
        part.report_key("limit-idle", *path, **facts)
        return None
    if column is None:
        return None
    groups = unit.max_groups or unit.max_rows
    return PersonUnit(column.name, per_group, groups, unit.max_rows, column.each)


def _ids(word: Word | None, scope: Scope) -> IdColumn | None:
    if word is None or not scope.known(word):
        return None
    column = scope.columns[word.text]
    if column is None or isinstance(column, IdColumn):
        return column
    facts = {"column": column.name, "kind": column.kind}
    scope.findings.report("wrong-column-type.unit", word.span, **facts)
    return None


def _budget(part: Part[PrivacyShape], composition: Composition | None) -> Loss | None:
    """The budget in epsilon and delta, or in rho at a delta; None after problems."""
    budget = part.values.budget
    if "budget" in part.bad or budget is None:
        return None
    epsilon, rho, delta = budget.epsilon, budget.rho, budget.delta
    if epsilon is None and rho is None:
        part.report("missing-field.budget-epsilon", "budget")
    elif epsilon is not None and rho is not None:
        part.report_key("price-twice.budget", "budget", "rho")
    elif composition is None:
        pass
    elif rho is not None and composition.name != "zcdp":
        part.report_key("rho-not-taken.budget", "budget", "rho", composition=composition.name)
    elif composition.needs_delta and not delta:
        part.report("delta-required.budget", "budget", composition=composition.name)
    elif epsilon is not None:
        return Loss(epsilon, delta)
    elif rho is not None:
        return Loss(zcdp_epsilon(rho, delta), delta, rho)
    return None
