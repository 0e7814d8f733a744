"""Reads the section `privacy`: the guarantee."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import astuple, replace
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from dpcli.data.candidate_bounds import MAX_LIMIT, ChosenLimitModel
from dpcli.fields.section import SectionModel
from dpcli.fields.tree import MappingNode, Node, ScalarNode, attempt, node_at, read_all, scalars_of
from dpcli.fields.values import (
    MAX_BUDGET,
    AlreadyReportedError,
    ByForm,
    Choice,
    ExactNumber,
    Text,
    Texts,
    limited_epsilon,
    limited_rho,
    positive_number,
    summaries_by_name,
    whole_number,
)
from dpcli.privacy.accounting import COMPOSITIONS
from dpcli.privacy.loss import Loss
from dpcli.privacy.unit import Limits, Neighbors, PersonUnit, RowUnit, Unit
from dpcli.problems.messages import quote
from dpcli.specification.context import SpecContext
from dpcli.specification.dataset_names import dataset_name_fault
from dpcli.specification.model import Possible, Privacy

if TYPE_CHECKING:
    from dpcli.data.labels import IdColumn

Limit = Annotated[int, ExactNumber("limit-not-whole", min_value=1, max_value=MAX_LIMIT, whole=True)]


MAX_WINDOW = 36_500
"""The most days of a window: a hundred years."""

Share = Annotated[Fraction, ExactNumber("bad-minimum.share", above=0, max_value=1)]

MOST_PARTS = 8
"""The most columns that are one id together."""


class UnitModel(SectionModel):
    """All rows of one person are protected together, within enforced limits."""

    column: Text | None = None
    columns: Annotated[Texts, Field(min_length=2, max_length=MOST_PARTS)] | None = None
    max_rows: Annotated[Limit | ChosenLimitModel, ByForm] | None = None
    max_groups: Limit | None = None
    max_rows_per_group: Limit | None = None
    possible_rows: Limit | None = None
    possible_groups: Limit | None = None


class BudgetModel(SectionModel):
    """The most that all releases, or those of a window, may reveal together."""

    epsilon: Annotated[Fraction, limited_epsilon(MAX_BUDGET)] | None = None
    rho: Annotated[Fraction, limited_rho(MAX_BUDGET)] | None = None
    delta: Annotated[
        Fraction, ExactNumber("delta-out-of-range", min_value=0, below=1, least="at least 0")
    ] = Fraction(0)
    window: Annotated[int, whole_number(MAX_WINDOW, "consecutive days it bounds")] | None = None
    recipients: (
        Annotated[
            dict[str, Annotated[Fraction, positive_number("1", int(MAX_BUDGET))]],
            Field(min_length=1),
        ]
        | None
    ) = None
    warn_below: Share | None = None


class PrivacyModel(SectionModel):
    """The guarantee: the privacy unit, its neighbors, the budget and the composition."""

    missing_lines: ClassVar[Mapping[str, str]] = {
        "unit": "`unit: row` if no person has two rows, else `unit: {column: ...}`",
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
    for name in budget.recipients or {}:
        if fault := dataset_name_fault(name):
            shown = {"name": quote("recipients"), "found": quote(name)}
            section.report_key("bad-name", "budget", "recipients", name, **shown, **fault)
    section.require()
    if context.unit is None:
        raise AlreadyReportedError
    place = node_at(section.node, "budget").span.place
    neighbors = Neighbors(section.neighbors)
    return Privacy(
        context.unit, neighbors, loss, composition, context.limits, budget.window,
        tuple(sorted((budget.recipients or {}).items())), budget.warn_below, place,
    )  # fmt: skip


def _read_unit(section: PrivacyModel, context: SpecContext) -> Unit:
    node = section.node.value("unit")
    ids = attempt(_read_id_columns, node, context)
    unit = section.unit
    if not isinstance(unit, UnitModel) or not isinstance(node, MappingNode):
        return RowUnit()
    if unit.has("column") == unit.has("columns"):
        raise section.report("unit-columns", "unit")
    context.possible = Possible(unit.possible_rows, unit.possible_groups)
    rows, per_group = unit.max_rows, unit.max_rows_per_group
    if isinstance(rows, ChosenLimitModel):
        from dpcli.specification.chosen_bounds import add_choice
        from dpcli.statistics.bounds.chosen_bounds import MAX_ROWS, LimitChoice

        node, outermost = node_at(section.node, "unit", MAX_ROWS), LimitChoice.rows(rows.up_to)
        of_unit = Limits(None, unit.max_groups, per_group)
        add_choice(rows, LimitChoice, outermost, node.span, context, declared=of_unit)
        rows = rows.up_to
    context.limits_rows = rows is not None
    if per_group and rows and per_group > rows:
        path, arguments = ("unit", "max_rows_per_group"), {"limit": per_group, "rows": rows}
        raise section.report_key("limit-idle", *path, **arguments)
    context.limits = Limits(rows, unit.max_groups, per_group)
    parts = tuple((one.name, one.source, _plain_options(one)) for one in ids.value)
    names = ", ".join(name for name, *_ in parts)
    if len(parts) > 1 and (names in context.columns or len({*ids.value}) < len(parts)):
        raise section.report("unit-columns", "unit")
    _, source, options = parts[0] if len(parts) == 1 else ("", None, ())
    alone = all(one.singletons_without_id for one in ids.value)
    if not alone and any(one.singletons_without_id for one in ids.value):
        raise section.report("unit-columns.missing", "unit")
    person = PersonUnit(names, 1, 1, 1, alone, source, options)
    return context.limits.of(replace(person, parts=parts) if len(parts) > 1 else person)


def _plain_options(column: IdColumn) -> tuple[Any, ...]:
    options: tuple[Any, ...] = column.options
    return tuple((option.key, *astuple(option)) for option in options)


def _read_id_columns(node: Node | None, context: SpecContext) -> list[IdColumn]:
    """The column of ids, or those that are the id together."""
    pairs = node.pairs if isinstance(node, MappingNode) else {}
    named = [scalars_of(pairs[key][1]) for key in ("column", "columns") if key in pairs]
    return read_all(lambda scalar: _read_id_column(scalar, context), [*chain(*named)])


def _read_id_column(scalar: ScalarNode, context: SpecContext) -> IdColumn:
    from dpcli.data.labels import IdColumn

    if context.declared and scalar.text not in context.columns:
        # A column of another type would be no better.
        ids = [name for name, column in context.columns.items() if column and column.is_id]
        raise scalar.span.report("unknown-column.unit", word=scalar.text, choices=ids)
    column = context.column(scalar)
    if isinstance(column, IdColumn):
        return column
    arguments = {"column": column.name, "kind": column.kind}
    raise scalar.span.report("wrong-column-type.unit", **arguments)
