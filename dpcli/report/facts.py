"""What a privacy report says, as plain data: the one source of every format.

A function of the spec, the released values, the version, and the release's name
and date. No row counts, no digests of the data, no timings.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dpcli import __version__
from dpcli.columns import CategoryColumn, NumericColumn
from dpcli.ledger.balance import DAYS_A_YEAR
from dpcli.plan import Part, Plan, PlannedEntry
from dpcli.privacy.loss import Loss
from dpcli.privacy.relation import RowUnit, Unit
from dpcli.queries import Condition
from dpcli.report.notes import bounding, limits, post_processing, selections, unprotected
from dpcli.report.numbers import exact_or_up, root_up
from dpcli.report.table import RAW, cells
from dpcli.statistics.base import Request

if TYPE_CHECKING:
    from dpcli.ledger.ledger import Standing
    from dpcli.release import Release, Released


class Number(str):
    """A plain decimal that JSON shows as a number, digit for digit."""

    __slots__ = ()


Fact = None | bool | int | str | Number | list["Fact"] | dict[str, "Fact"]


def facts(release: Release) -> dict[str, Fact]:
    """Everything that the report of a release tells."""
    plan = release.plan
    statistics: list[Fact] = [
        {**_statistic(released.planned, plan.spec.confidence), "cells": _cells(released)}
        for released in release.entries
    ]
    return {
        "dpcli_version": __version__,
        "release_id": release.release_id,
        "created": release.created,
        **_guarantee(plan, release.standing.balance.remaining),
        "statistics": statistics,
        **_notes(plan),
        "ledger": _ledger(release.standing),
    }


def plan_facts(plan: Plan, left: Loss | None) -> dict[str, Fact]:
    """What is known of a release before any row is read."""
    return {
        "dpcli_version": __version__,
        **_guarantee(plan, left),
        "fits": plan.fits,
        "statistics": [_statistic(planned, plan.spec.confidence) for planned in plan.entries],
        **_notes(plan),
    }


def _notes(plan: Plan) -> dict[str, Fact]:
    """What is said in sentences."""
    return {
        "bounding": list(bounding(plan)),
        "selections": list(selections(plan)),
        "post_processing": list(post_processing(plan)),
        "unprotected": list(unprotected(plan)),
        "limits": list(limits(plan)),
    }


def _ledger(standing: Standing) -> dict[str, Fact]:
    """Where the release is recorded, and what its account has spent with it."""
    told: dict[str, Fact] = {
        "name": standing.ledger,
        "entry": standing.entry,
        "head": standing.head,
    }
    if standing.terms.window is not None:
        told["window"] = window_facts(standing)
    return told


def window_facts(standing: Standing) -> dict[str, Fact]:
    """What a window protects and what not, with the loss of each span of time."""
    window = standing.terms.window or 1
    return {
        "periods": window,
        "period": standing.period,
        "per_window": _loss(standing.balance.spent),
        "per_year_at_most": _loss(a_year_at_most(standing)),
        "lifetime": _loss(standing.balance.lifetime),
        "protects": (
            f"what anybody did within any {window} consecutive days, whatever is known of "
            "the other days, provided that the data of each release hold only what was done on "
            "the day that it names"
        ),
        "does_not_protect": (
            "somebody who is in the data in every window: what they reveal adds up over "
            "windows, to the loss per year and for ever"
        ),
    }


def a_year_at_most(standing: Standing) -> Loss:
    """What the budget of a window allows in a year: so many windows cover it."""
    windows, budget = -(-DAYS_A_YEAR // (standing.terms.window or 1)), standing.terms.budget
    return Loss(budget.epsilon * windows, budget.delta * windows)


def _guarantee(plan: Plan, left: Loss | None) -> dict[str, Fact]:
    """The spec, what it asks for, what that costs, and what is left if it is known."""
    spec, privacy = plan.spec, plan.spec.privacy
    return {
        "spec": {"dataset": spec.dataset, "digest": spec.digest, "text": spec.text},
        "privacy": {
            "unit": _unit(privacy.unit),
            "neighbors": privacy.neighbors.value,
            "composition": privacy.composition.name,
            "asked": _loss(plan.asked),
            "spent": _loss(plan.spent),
            "budget": _loss(privacy.budget),
            "remaining": _loss(left) if left else None,
        },
        "confidence": _number(spec.confidence),
    }


def _unit(unit: Unit) -> Fact:
    """Who is protected, as a spec says it."""
    if isinstance(unit, RowUnit):
        return "row"
    return {
        "column": unit.column,
        "max_rows": unit.rows,
        "max_groups": unit.cells,
        "max_rows_per_group": unit.rows_per_cell,
    }


def _number(value: Fraction) -> Number:
    """A rational as a decimal: exact if short, else rounded up."""
    return Number(exact_or_up(value))


def _loss(loss: Loss) -> dict[str, Fact]:
    """Epsilon and delta; rho where the composition counts in it."""
    return {"epsilon": _number(loss.epsilon), "delta": _number(loss.delta), "rho": None}


def _statistic(planned: PlannedEntry, confidence: Fraction) -> dict[str, Fact]:
    """One entry: what is asked, and how it is answered."""
    entry = planned.entry
    request = entry.request
    first = planned.parts[0]
    joint = len(planned.parts) > 1 and entry.mechanism.needs_delta
    return {
        "name": request.name,
        "statistic": entry.statistic.name,
        "column": request.column.name if request.column else None,
        "columns": list(columns_of(request)),
        **options(request),
        "by": [key.column.name for key in request.by],
        "where": [condition_text(condition) for condition in request.where],
        "mechanism": _mechanism(first),
        "sensitivity": _sensitivity(first),
        "epsilon": _number(entry.target.epsilon),
        "delta": _number(entry.target.delta),
        "error95": _error(planned, confidence),
        "parts": [_part(part, confidence, joint=joint) for part in planned.parts],
        "bounds": _bounds(planned),
        "post": [step.told for step in entry.post],
        "raw": entry.raw,
        "keys": _keys(planned),
    }


def _cells(released: Released) -> list[Fact]:
    """The published numbers of an entry, with the digits of the table."""
    return [
        {
            **({"raw": True} if cell.statistic.endswith(RAW) else {}),
            "keys": dict(cell.keys),
            "item": cell.item or None,
            "value": Number(cell.value) if cell.value else None,
            "lower": Number(cell.lower) if cell.lower else None,
            "upper": Number(cell.upper) if cell.upper else None,
        }
        for cell in cells(released)
    ]


def _part(part: Part, confidence: Fraction, *, joint: bool) -> Fact:
    """One question of a statistic and its share of the price.

    Shares of a joint answer mean something only in sum.
    """
    return {
        "role": part.question.role,
        "joint": joint,
        "cells": part.question.query.cells,
        "influence": _influence(part),
        "mechanism": _mechanism(part),
        "sensitivity": _sensitivity(part),
        "epsilon": _number(part.loss.epsilon),
        "delta": _number(part.loss.delta),
        "error95": _number(part.error(confidence)),
    }


def _influence(part: Part) -> Fact:
    """The least and the most that one row adds to one cell."""
    influence = part.question.query.influence
    return [_number(step * part.question.unit) for step in (influence.low, influence.high)]


def _mechanism(part: Part) -> Fact:
    """The noise of a part, in the answer's own unit."""
    unit = part.question.unit
    return {
        "kind": mechanism_text(part),
        "scale": _number(part.noise.scale * unit),
        "grid": _number(unit),
    }


def mechanism_text(part: Part) -> str:
    """How a part is answered, in a word."""
    if part.public:
        return "exact"
    kind = part.noise.kind
    return part.mechanism.name.replace("_", "-") if kind == "choice" else f"discrete-{kind}"


def options(request: Request) -> dict[str, Fact]:
    """What else an entry says of its question; nothing where it says nothing."""
    told: dict[str, Fact] = {
        "quantiles": [_number(quantile) for quantile in request.quantiles] or None,
        "utility": request.utility or None,
        "label": request.label.name if request.label else None,
        "k": request.picks if request.picks > 1 else None,
        "ways": request.ways if request.margins else None,
        "method": request.method or None,
        "ridge": None if request.ridge is None else _number(request.ridge),
        "rows": request.rows or None,
        "candidates": len(request.candidates) or None,
    }
    return {key: fact for key, fact in told.items() if fact is not None}


def columns_of(request: Request) -> tuple[str, ...]:
    """The names of several columns that an entry asks about together."""
    related = [column.name for column in request.columns]
    return (*related, *(key.column.name for key in request.margins))


def _sensitivity(part: Part) -> Fact:
    """How far one unit can move the answer, in the answer's own unit."""
    unit, moved = part.question.unit, part.sensitivity
    return {
        "l0": moved.l0,
        "l1": _number(moved.l1 * unit),
        "l2": _number(root_up(moved.l2_squared * unit**2)),
        "linf": _number(moved.linf * unit),
    }


def _error(planned: PlannedEntry, confidence: Fraction) -> Fact:
    """The half-width of a single answer; several make it depend on the values."""
    if len(planned.parts) > 1:
        return None
    return _number(planned.parts[0].error(confidence))


def _keys(planned: PlannedEntry) -> Fact:
    """Where groups are private: which entry selects them, and its rule."""
    if planned.entry.keys is None:
        return None
    rule = planned.parts[0].selection
    return {
        "selected_by": planned.entry.keys,
        "threshold": rule.threshold if rule else None,
        "delta": _number(rule.delta) if rule else None,
    }


def _bounds(planned: PlannedEntry) -> Fact:
    """The declared bounds of the column as they are written."""
    column = planned.entry.request.column
    if not isinstance(column, NumericColumn) or column.bounds is None:
        return None
    texts = [column.text(bound) for bound in column.bounds]
    return list(texts) if column.kind == "date" else [Number(text) for text in texts]


def condition_text(condition: Condition) -> str:
    """A filter in plain words, such as `income from 100000 to 200000`."""
    column = condition.column
    if isinstance(column, CategoryColumn):
        labels = [
            label
            for position, label in enumerate(column.labels)
            if any(low <= position <= high for low, high in condition.ranges)
        ]
        return f"{column.name} is {' or '.join(labels)}"
    spans = [
        column.text(low) if low == high else f"from {column.text(low)} to {column.text(high)}"
        for low, high in condition.ranges
    ]
    return f"{column.name} {' or '.join(spans)}"
