"""The section `privacy`: who is protected, against what, and how far."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from pydantic import Tag

from dpcli.columns import IdColumn
from dpcli.composition import COMPOSITIONS
from dpcli.composition.base import Composition
from dpcli.messages import shown
from dpcli.privacy.concentrated import zcdp_epsilon
from dpcli.privacy.loss import Loss
from dpcli.privacy.relation import Neighbors, PersonUnit, RowUnit, Unit
from dpcli.spec.columns import Scope
from dpcli.spec.findings import a_column
from dpcli.spec.fit import Part, fit
from dpcli.spec.model import Privacy
from dpcli.spec.nodes import Mapping, Word
from dpcli.values import (
    MAPPING_TAG,
    MOST_BUDGET,
    TEXT_TAG,
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

    unit: Annotated[
        Annotated[str, Choice("unknown-unit", ("row",)), Tag(TEXT_TAG)]
        | Annotated[UnitShape, Tag(MAPPING_TAG)],
        Forms,
    ]
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
    unit = part.values.unit
    if unit is None:
        node = part.node.get("unit")
        word = node.word("column") if isinstance(node, Mapping) else None
        if word is not None:
            _ids(word, scope)
        return None
    if isinstance(unit, str):
        return RowUnit()
    node = part.node.get("unit")
    assert isinstance(node, Mapping)
    column = _ids(node.word("column"), scope)
    groups = unit.max_groups or unit.max_rows
    per_group = unit.max_rows_per_group or unit.max_rows
    if per_group > unit.max_rows:
        scope.findings.add(
            "limit-idle",
            f"`max_rows_per_group` is {per_group:,}, but `max_rows` keeps {unit.max_rows:,} rows "
            "in all",
            "lower it, raise `max_rows`, or omit it",
            node.key_span("max_rows_per_group"),
        )
        return None
    if column is None:
        return None
    return PersonUnit(column.name, per_group, groups, unit.max_rows, column.each)


def _ids(word: Word | None, scope: Scope) -> IdColumn | None:
    if word is None or not scope.known(word.text, word.span):
        return None
    column = scope.columns[word.text]
    if column is None or isinstance(column, IdColumn):
        return column
    message = f"{shown(word.text)} is {a_column(column.kind)}, `unit` needs one of type `id`"
    hint = f"declare {shown(word.text)} as `{{type: id}}`"
    scope.findings.add("wrong-column-type", message, hint, word.span)
    return None


def _budget(part: Part[PrivacyShape], composition: Composition | None) -> Loss | None:
    """The budget in epsilon and delta, or in rho at a delta; None after problems."""
    node = part.node.get("budget")
    if "budget" in part.bad or not isinstance(node, Mapping):
        return None
    budget = part.values.budget
    if (budget.epsilon is None) == (budget.rho is None):
        if budget.rho is None:
            message, code = "`budget` has no `epsilon`", "missing-field"
            hint = "add `epsilon: ...`, such as `epsilon: 0.5`; smaller protects more"
            part.refuse(code, message, hint, "budget")
        else:
            message, hint = "`budget` has `epsilon` and `rho`", "keep one of them"
            part.findings.add("price-twice", message, hint, node.key_span("rho"))
        return None
    if composition is None:
        return None
    if budget.rho is not None and composition.name != "zcdp":
        part.findings.add(
            "rho-not-taken",
            f"the budget is a `rho`, which {shown(composition.name)} composition does not bound",
            "use `composition: zcdp`, or give `epsilon`",
            node.key_span("rho"),
        )
        return None
    if composition.needs_delta and not budget.delta:
        part.refuse(
            "delta-required",
            f"{shown(composition.name)} composition needs a `delta`, and the budget has none",
            "add `delta: 1e-6` or so to `budget`, far below one divided by the number of people, "
            "or use `composition: sequential`",
            "budget",
        )
        return None
    if budget.rho is None:
        assert budget.epsilon is not None
        return Loss(budget.epsilon, budget.delta)
    return Loss(zcdp_epsilon(budget.rho, budget.delta), budget.delta, budget.rho)
