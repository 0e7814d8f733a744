"""What a plan and a report state about the request of a statistic."""

from __future__ import annotations

from typing import Any

from dpcli.columns import CategoryColumn, NumericColumn
from dpcli.report.json_text import Fact, Facts, JsonNumber
from dpcli.statistics.statistic import Request

OPTIONS = (
    "quantiles", "utility", "weight", "label", "k", "ways", "method", "ridge", "rows", "candidates",
    "numerator", "denominator", "values", "between", "max_selected", "per",
)  # fmt: skip
"""Keys of the optional fields of a statistic."""

PARTS = ("numerator", "denominator")
"""The fields of a ratio: a column, or the number of rows."""


def statistic_options(request: Request) -> Facts:
    """The optional fields that a statistic has."""
    own = dict(request.options)
    most = own.get("max_selected")
    facts: Facts = {
        "quantiles": request.quantiles or None,
        "utility": request.utility or None,
        "weight": request.weight.name if request.weight else None,
        "label": request.label.name if request.label else None,
        "k": request.k if request.k > 1 else None,
        "ways": request.ways if len(request.ways) > 1 else next(iter(request.ways), None),
        "method": request.method or None,
        "ridge": request.ridge,
        "rows": request.rows or None,
        "candidates": len(request.candidates) or None,
        **{name: own[name].name if own[name] else "rows" for name in PARTS if name in own},
        "values": _labels(request, own.get("values")),
        "between": _between(own.get("between")),
        "max_selected": most if most and most < len(request.checked) else None,
        "per": own.get("per"),
    }
    return {key: facts[key] for key in OPTIONS if facts.get(key) is not None}


def _labels(request: Request, ranges: Any) -> Fact:
    """The labels at the positions of ranges; None without ranges."""
    if ranges is None:
        return None
    assert isinstance(request.column, CategoryColumn)
    return [label for first, last in ranges for label in request.column.labels[first : last + 1]]


def _between(axis: Any) -> Fact:
    """The column whose two labels are compared; None without one."""
    return axis and {"column": axis.column.name, "labels": list(axis.labels)}


def option_words(name: str, fact: Any) -> str:
    """An optional field in the words of a request."""
    if name == "between":
        return f"between {' and '.join(fact['labels'])} of {fact['column']}"
    return f"with {name} {', '.join(fact) if isinstance(fact, list) else fact}"


def bounds_fact(request: Request) -> Fact:
    """The bounds of the column; None without one."""
    column = request.column
    if not isinstance(column, NumericColumn) or column.bounds is None:
        return None
    texts = [column.text(bound) for bound in column.bounds]
    return texts if column.kind == "date" else [JsonNumber(text) for text in texts]
