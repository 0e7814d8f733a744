"""Reads the section `privacy`: the guarantee."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import astuple
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from dpcli.data.candidate_bounds import MAX_LIMIT, ChosenLimitModel
from dpcli.fields.section import SectionModel
from dpcli.fields.tree import MappingNode, ScalarNode, attempt, node_at
from dpcli.fields.values import (
    MAX_BUDGET,
    AlreadyReportedError,
    ByForm,
    Choice,
    ExactNumber,
    Text,
    limited_epsilon,
    limited_rho,
    summaries_by_name,
)
from dpcli.privacy.accounting import COMPOSITIONS
from dpcli.privacy.loss import Loss
from dpcli.privacy.unit import Neighbors, PersonUnit, RowUnit, Unit
from dpcli.specification.context import SpecContext
from dpcli.specification.model import Privacy

if TYPE_CHECKING:
    from dpcli.data.labels import IdColumn

Limit = Annotated[int, ExactNumber("limit-not-whole", min_value=1, max_value=MAX_LIMIT, whole=True)]


class UnitModel(SectionModel):
    """All rows of one person are protected together, within enforced limits."""

    missing_lines: ClassVar[Mapping[str, str]] = {
        "max_rows": "`max_rows: ...`: the maximum number of rows used of one person"
    }

    column: Text
    max_rows: Annotated[Limit | ChosenLimitModel, ByForm]
    max_groups: Limit | None = None
    max_rows_per_group: Limit | None = None


class BudgetModel(SectionModel):
    """The most that all releases from the dataset may reveal together."""

    epsilon: Annotated[Fraction, limited_epsilon(MAX_BUDGET)] | None = None
    rho: Annotated[Fraction, limited_rho(MAX_BUDGET)] | None = None
    delta: Annotated[
        Fraction, ExactNumber("delta-out-of-range", min_value=0, below=1, least="at least 0")
    ] = Fraction(0)


class PrivacyModel(SectionModel):
    """The guarantee: the privacy unit, its neighbors, the budget and the composition."""

    missing_lines: ClassVar[Mapping[str, str]] = {
        "unit": "`unit: row` if no person has two rows, else `unit: {column: ..., max_rows: ...}`",
        "neighbors": "`neighbors: add-remove`, or `change-one` if the number of rows is public",
        "budget": "`budget: {epsilon: ...}`: the most that all releases may reveal",
    }

    unit: Annotated[Annotated[str, Choice("unknown-unit", ("row",))] | UnitModel, ByForm]
    neighbors: Annotated[str, Choice("unknown-choice", ("add-remove", "change-one"))]
    budget: BudgetModel
    composition: Annotated[
        str,
        Choice(
            "unknown-composition",
            lambda: summaries_by_name(COMPOSITIONS),
            names=lambda: COMPOSITIONS.names,
        ),
    ] = "sequential"


def resolve_privacy(section: PrivacyModel, context: SpecContext) -> Privacy:
    """The guarantee that the section states.

    Unit, neighbors and composition are stored in the context as soon as each is valid, so that
    later sections are checked even if another part is wrong. Raises `AlreadyReportedError` after
    all problems are recorded.
    """
    with suppress(AlreadyReportedError):
        context.unit = _read_unit(section, context)
    with suppress(AlreadyReportedError):
        context.neighbors = section.neighbors
    with suppress(AlreadyReportedError):
        context.composition = COMPOSITIONS[section.composition]
    budget, composition = section.budget, context.composition
    epsilon, rho, delta = budget.epsilon, budget.rho, budget.delta
    if epsilon is None and rho is None:
        line = "`epsilon: ...`, such as `epsilon: 0.5`; smaller protects more"
        raise section.report("missing-field", "budget", owner="`budget`", key="epsilon", line=line)
    if epsilon is not None and rho is not None:
        given = {"given": ["epsilon", "rho"], "first": "epsilon"}
        raise section.report_key("price-twice", "budget", "rho", subject="`budget`", **given)
    if composition is None:
        raise AlreadyReportedError
    name = composition.name
    if rho is not None and name != "zcdp":
        whose = {"subject": "the budget", "composition": name}
        raise section.report_key("rho-not-taken", "budget", "rho", **whose)
    if composition.needs_delta and not delta:
        raise section.report("delta-required.budget", "budget", composition=name)
    if epsilon is None:
        from dpcli.privacy.zcdp_conversion import zcdp_epsilon

        epsilon = zcdp_epsilon(rho, delta)
    loss = Loss(epsilon, delta, rho)
    section.require()
    if context.unit is None:
        raise AlreadyReportedError
    place = node_at(section.node, "budget").span.place
    return Privacy(context.unit, Neighbors(section.neighbors), loss, composition, place)


def _read_unit(section: PrivacyModel, context: SpecContext) -> Unit:
    node = section.node.value("unit")
    scalar = node.scalar("column") if isinstance(node, MappingNode) else None
    column = attempt(_read_id_column, scalar, context) if scalar else None
    unit = section.unit
    if column is None or not isinstance(unit, UnitModel):
        return RowUnit()
    rows, per_group = unit.max_rows, unit.max_rows_per_group
    if isinstance(rows, ChosenLimitModel):
        from dpcli.specification.chosen_bounds import add_choice
        from dpcli.statistics.bounds.chosen_bounds import MAX_ROWS, LimitChoice

        node, outermost = node_at(section.node, "unit", MAX_ROWS), LimitChoice.rows(rows.up_to)
        groups = unit.max_groups
        add_choice(rows, LimitChoice, outermost, node.span, context, max_groups=groups)
        rows = rows.up_to
    if per_group and per_group > rows:
        path, arguments = ("unit", "max_rows_per_group"), {"limit": per_group, "rows": rows}
        raise section.report_key("limit-idle", *path, **arguments)
    id_column = column.value
    options: tuple[Any, ...] = id_column.options
    return PersonUnit(
        id_column.name,
        min(per_group or rows, rows),
        unit.max_groups or rows,
        rows,
        id_column.singletons_without_id,
        id_column.source,
        tuple((option.key, *astuple(option)) for option in options),
    )


def _read_id_column(scalar: ScalarNode, context: SpecContext) -> IdColumn:
    from dpcli.data.labels import IdColumn

    column = context.column(scalar)
    if isinstance(column, IdColumn):
        return column
    arguments = {"column": column.name, "kind": column.kind}
    raise scalar.span.report("wrong-column-type.unit", **arguments)
