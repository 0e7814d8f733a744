"""What a report says of each entry: question, mechanism, price and numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dpcli.columns import CategoryColumn, NumericColumn
from dpcli.plan.meaning import protection
from dpcli.plan.model import Part, PlannedEntry, standard_error
from dpcli.plan.notes import counted, left_out
from dpcli.plan.numbers import Fact, Number, brief, exact_or_up, number, plain_short, root_up, short
from dpcli.privacy.noise import CHOICE
from dpcli.queries import Condition, Key
from dpcli.report.table import RAW, cells
from dpcli.spec.model import Response, Spec
from dpcli.statistics.base import Request

if TYPE_CHECKING:
    from dpcli.release import Released


def statistic_facts(planned: PlannedEntry, spec: Spec) -> dict[str, Fact]:
    """One entry: what is asked, and how it is answered."""
    confidence, error = spec.confidence, planned.error(spec.confidence)
    entry = planned.entry
    request = entry.request
    first = planned.parts[0]
    return {
        "name": request.name,
        "statistic": entry.statistic.name,
        "counts": counted(planned, spec),
        "left_out": left_out(planned, spec) or None,
        "column": request.column.name if request.column else None,
        "columns": list(columns_of(request)),
        **options(request),
        "by": [key.column.name for key in request.by],
        "bins": [_bins(key) for key in request.cuts],
        "where": [condition_text(condition) for condition in request.where],
        "mechanism": _mechanism(first),
        "sensitivity": _sensitivity(first),
        "epsilon": number(planned.target.epsilon),
        "delta": number(planned.target.delta),
        "rho": number(planned.rho),
        "error95": None if error is None else number(error),
        "protected": list(protection(planned, spec)),
        "parts": [_part(part, confidence, joint=planned.joint) for part in planned.parts],
        "bounds": _bounds(planned),
        "post": [step.summary for step in entry.post],
        "raw": entry.raw,
        "keys": _keys(planned),
    }


def _bins(key: Key) -> Fact:
    """The bins of a numeric axis: how many, and the names of both ends."""
    return {
        "column": key.column.name,
        "count": len(key),
        "first": key.label(0),
        "last": key.label(len(key) - 1),
    }


def cell_facts(released: Released) -> list[Fact]:
    """The published numbers of an entry, with the digits of the table."""
    return [
        {
            **({"raw": True} if cell.statistic.endswith(RAW) else {}),
            "keys": dict(cell.keys),
            "item": cell.item or None,
            "value": Number(cell.value) if cell.value else None,
            "lower": Number(cell.lower) if cell.lower else None,
            "upper": Number(cell.upper) if cell.upper else None,
            "flag": cell.flag.value or None,
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
        "epsilon": number(part.loss.epsilon),
        "delta": number(part.loss.delta),
        "error95": number(part.error(confidence)),
    }


def _influence(part: Part) -> Fact:
    """The least and the most that one row adds to one cell."""
    influence = part.question.query.influence
    return [number(step * part.question.unit) for step in (influence.low, influence.high)]


def _mechanism(part: Part) -> Fact:
    """The noise of a part, in the answer's own unit."""
    unit = part.question.unit
    return {
        "kind": mechanism_text(part),
        "scale": number(part.noise.scale * unit),
        "grid": number(unit),
    }


def mechanism_text(part: Part) -> str:
    """How a part is answered, in a word."""
    if part.public:
        return "exact"
    if part.noise.distribution == CHOICE:
        return part.mechanism.name.replace("_", "-")
    return f"discrete-{part.noise.kind}".replace("_", "-")


def options(request: Request) -> dict[str, Fact]:
    """What else an entry says of its question; nothing where it says nothing."""
    found: dict[str, Fact] = {
        "quantiles": [number(quantile) for quantile in request.quantiles] or None,
        "utility": request.utility or None,
        "label": request.label.name if request.label else None,
        "k": request.picks if request.picks > 1 else None,
        "ways": request.ways if request.margins else None,
        "method": request.method or None,
        "ridge": None if request.ridge is None else number(request.ridge),
        "rows": request.rows or None,
        "candidates": len(request.candidates) or None,
    }
    return {key: fact for key, fact in found.items() if fact is not None}


def columns_of(request: Request) -> tuple[str, ...]:
    """The names of several columns that an entry asks about together."""
    related = [column.name for column in request.columns]
    return (*related, *(key.column.name for key in request.margins))


def _sensitivity(part: Part) -> Fact:
    """How far one unit can move the answer, in the answer's own unit."""
    unit, moved = part.question.unit, part.sensitivity
    return {
        "l0": moved.l0,
        "l1": number(moved.l1 * unit),
        "l2": number(root_up(moved.l2_squared * unit**2)),
        "linf": number(moved.linf * unit),
    }


def _keys(planned: PlannedEntry) -> Fact:
    """Where groups are private: which entry selects them, and its rule."""
    if planned.entry.keys is None:
        return None
    rule = planned.parts[0].selection
    return {
        "selected_by": planned.entry.keys,
        "threshold": rule.threshold if rule else None,
        "delta": number(rule.delta) if rule else None,
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


def asked(planned: PlannedEntry) -> str:
    """What an entry asks, in a line."""
    entry = planned.entry
    request = entry.request
    words = [entry.statistic.name]
    words += [f"of {request.column.name}"] if request.column else []
    several = [
        name for name in columns_of(request) if not request.column or name != request.column.name
    ]
    words += [f"{'on' if request.column else 'of'} {', '.join(several)}"] if several else []
    words += [f"with {name} {_in_words(fact)}" for name, fact in options(request).items()]
    words += [f"by {', '.join(key.column.name for key in request.by)}"] if request.by else []
    words += [f"where {' and '.join(map(condition_text, request.where))}"] if request.where else []
    return f"Requested: {' '.join(words)}."


def _in_words(fact: Fact) -> str:
    return ", ".join(map(str, fact)) if isinstance(fact, list) else str(fact)


def part_line(part: Part) -> tuple[str, ...]:
    """How one question was answered."""
    unit, moved = part.question.unit, part.sensitivity
    return (
        part.question.role,
        mechanism_text(part).replace("-", " "),
        short(part.noise.scale * unit, 6),
        exact_or_up(moved.l1 * unit),
        short(root_up(moved.l2_squared * unit**2), 6),
        brief(part.loss.epsilon),
        brief(part.loss.delta),
        short(part.guarantee.rho, 6),
    )


def response_facts(response: Response, records: int | None = None) -> dict[str, Fact]:
    """How records respond for one column; with `records`, the expected error too."""
    channel = response.channel
    facts: dict[str, Fact] = {
        "column": response.column.name,
        "collected": list(response.names),
        "mechanism": response.randomizer.name,
        "parameters": {name: _parameter(value) for name, value in channel.record().items()},
        "told": channel.describe(),
        "by": [column.name for column in response.by],
        "post": list(response.steps),
        "epsilon": number(channel.loss.epsilon),
        "delta": number(channel.loss.delta),
        "rho": number(channel.guarantee.rho),
    }
    if records is not None:
        error = standard_error(response, records)
        facts["standard_error"] = None if error is None else Number(plain_short(Fraction(error), 6))
    return facts


def _parameter(value: object) -> Fact:
    if isinstance(value, list):
        return [_parameter(item) for item in value]
    return value if isinstance(value, int) else str(value)
