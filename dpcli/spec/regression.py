"""Fields of a regression: its method, its ridge, and the public number of rows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpcli.privacy.relation import RowUnit
from dpcli.spec.asking import Asking
from dpcli.spec.scope import read_number
from dpcli.spec.wording import listed, shown
from dpcli.statistics.base import Request
from dpcli.statistics.linear_regression import METHODS

RIDGES = (Fraction(1, 10**9), Fraction(1000))
"""The least and the greatest ridge: beyond, nothing is penalised, or everything."""

MOST_ROWS = 10**12


def read_method(asking: Asking, request: Request) -> Request | None:
    """`method`, with `ridge` and `rows` where it needs them."""
    if not asking.takes("method"):
        return request
    word = asking.node.word("method")
    method = METHODS[0] if word is None else word.text
    if word is not None and method not in METHODS:
        asking.scope.findings.unknown(
            "unknown-method",
            f"`method` is {shown(method)}, expected {listed(METHODS, 'or')}",
            method,
            METHODS,
            word.span,
        )
        return None
    ridge, good = _ridge(asking)
    rows = asking.whole("rows", MOST_ROWS, "rows the file has: a public number")
    if not good or (rows is None and asking.node.get("rows") is not None):
        return None
    if method == "moments" and rows is not None:
        asking.problem(
            "rows-not-taken",
            "`method: moments` takes no `rows`: it counts them, with noise",
            "remove `rows`, or use `method: output`",
            "rows",
        )
        return None
    if method == "output" and not _output(asking, request, ridge, rows):
        return None
    return replace(request, method=method, ridge=ridge, rows=rows or 0)


def _ridge(asking: Asking) -> tuple[Fraction | None, bool]:
    """The ridge, if there is one, and whether it is good."""
    word = asking.node.word("ridge")
    if word is None:
        return None, True
    value = read_number(word, "`ridge`", asking.scope.findings)
    if value is None or RIDGES[0] <= value <= RIDGES[1]:
        return value, value is not None
    asking.scope.findings.add(
        "not-in-range",
        f"`ridge` is {shown(word.text)}, expected a number from `1e-9` to `1000`",
        "write `0.1` or so: a part of the squared half-width of each column",
        word.span,
    )
    return None, False


def _output(asking: Asking, request: Request, ridge: Fraction | None, rows: int | None) -> bool:
    """Whether noise for the minimiser itself is possible; why not is recorded."""
    scope = asking.scope
    for key, missing in (("ridge", ridge is None), ("rows", rows is None)):
        if missing:
            asking.problem(
                "missing-field",
                f"`method: output` needs `{key}`, and {asking.user} has none",
                "add `ridge: 0.1` or so: without it one row can move the minimiser without limit"
                if key == "ridge"
                else "add `rows: ...`, the number of rows, which is public under change-one",
                "method",
            )
    reasons = (
        (scope.neighbors != "change-one", "`neighbors` are not `change-one`"),
        (not isinstance(scope.unit, RowUnit), "the unit is not `row`"),
        (bool(request.by or request.where), "it has `by` or `where`"),
        (
            any(column.missing is None for column in request.columns),
            "a cell may be missing, and its row skipped",
        ),
    )
    for holds, reason in reasons:
        if holds:
            asking.problem(
                "output-needs-fixed-rows",
                f"`method: output` needs a fixed number of rows, but {reason}",
                "use `method: moments`; or `neighbors: change-one`, `unit: row`, no groups or "
                "filters, and `missing:` constants for all columns",
                "method",
            )
    return ridge is not None and rows is not None and not any(holds for holds, _ in reasons)
