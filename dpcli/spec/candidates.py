"""Fields of choices: from what is chosen, by what, and how often."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpcli.columns import CategoryColumn, NumericColumn
from dpcli.spec.asking import Asking
from dpcli.spec.nodes import Listing, Mapping, Word
from dpcli.spec.scope import read_number, read_whole_steps
from dpcli.spec.wording import listed, plain, shown
from dpcli.statistics.base import Request
from dpcli.statistics.choose import UTILITIES
from dpcli.utilities.base import Points

MOST_CANDIDATES = 1_000_001
"""A column of a million steps has one point more."""

MOST_PRIVATE = 10_001
"""In each group whose key is private: how many there will be is not known."""

FINEST = 10**6
"""Quantiles have at most six decimals."""

MOST_QUANTILES = 100


def read_candidates(asking: Asking, request: Request) -> Request | None:
    """`candidates`: a list, or every so many steps; else the whole grid of the column."""
    column = request.column
    if not asking.takes("candidates") or not isinstance(column, NumericColumn):
        return request
    node = asking.node.get("candidates")
    points: Points | None
    if isinstance(node, Listing):
        points = _listed(asking, column, node)
    elif isinstance(node, Mapping):
        points = _stepped(asking, column, node)
    else:
        points = range(column.lower, column.upper + 1)
    if points is None:
        return None
    private = any(key.open for key in request.by)
    most = MOST_PRIVATE if private else MOST_CANDIDATES
    if len(points) > most:
        asking.problem(
            "too-many-candidates",
            f"{asking.user} chooses among {len(points):,} candidates, at most {most:,} can be"
            + (" in groups with private keys" if private else ""),
            "write `candidates: {step: ...}`, or a list of values that would do",
            "candidates" if node else "column",
        )
        return None
    return replace(request, candidates=points)


def _listed(asking: Asking, column: NumericColumn, node: Listing) -> Points | None:
    """Declared values: on the grid, within the bounds, rising."""
    points: list[int] = []
    findings = asking.scope.findings
    for word in node.items:
        if not isinstance(word, Word):
            return None
        point = read_whole_steps(word, "the candidate", column.kind, column.step, findings)
        if point is None:
            return None
        if not column.lower <= point <= column.upper or (points and point <= points[-1]):
            rises = column.lower <= point <= column.upper
            low, high = column.text(column.lower), column.text(column.upper)
            findings.add(
                "candidates-order" if rises else "out-of-bounds",
                f"the candidate {shown(word.text)} "
                + ("is not above the one before" if rises else f"is not within {low} to {high}"),
                "list candidates from the lowest to the highest, each once"
                if rises
                else "remove it, or widen the bounds of the column",
                word.span,
            )
            return None
        points.append(point)
    return tuple(points)


def _stepped(asking: Asking, column: NumericColumn, node: Mapping) -> Points | None:
    """Every so many steps, from the lower bound."""
    word = node.word("step")
    value = None if word is None else read_number(word, "`step`", asking.scope.findings)
    if word is None or value is None:
        return None
    steps = value / column.step
    if value <= 0 or steps.denominator != 1:
        asking.scope.findings.add(
            "off-grid",
            f"`step` is {shown(word.text)}, expected a multiple of {shown(plain(column.step))}",
            f"write `candidates: {{step: {plain(column.step)}}}` or a multiple of it",
            word.span,
        )
        return None
    return range(column.lower, column.upper + 1, steps.numerator)


def read_quantiles(asking: Asking, request: Request) -> Request | None:
    """`quantiles`: one or several parts of the rows, between none and all."""
    if not asking.takes("quantiles"):
        return request
    found: list[Fraction] = []
    findings = asking.scope.findings
    for word in asking.words("quantiles"):
        value = read_number(word, "the quantile", findings)
        if value is None:
            return None
        if not 0 < value < 1 or FINEST % value.denominator or value in found:
            again = value in found
            findings.add(
                "bad-quantile",
                f"the quantile {shown(word.text)} is there twice"
                if again
                else f"the quantile is {shown(word.text)}, expected a number between 0 and 1 "
                "with at most six decimals",
                "keep one of them"
                if again
                else "write `0.5` for the middle; `min` and `max` give the ends",
                word.span,
            )
            return None
        found.append(value)
    if not 1 <= len(found) <= MOST_QUANTILES:
        if found:
            asking.problem(
                "too-many-quantiles",
                f"there are {len(found)} quantiles, at most {MOST_QUANTILES} can be",
                "ask for fewer: they share epsilon",
                "quantiles",
            )
        return None
    return replace(request, quantiles=tuple(found))


def read_utility(asking: Asking, request: Request) -> Request | None:
    """`utility`: what candidates are judged by."""
    word = asking.node.word("utility")
    if word is None or not asking.takes("utility"):
        return request
    if word.text not in UTILITIES:
        asking.scope.findings.unknown(
            "unknown-utility",
            f"`utility` is {shown(word.text)}, expected {listed(UTILITIES, 'or')}",
            word.text,
            UTILITIES,
            word.span,
        )
        return None
    has_label = asking.node.get("label") is not None
    if (word.text == "accuracy") != has_label:
        asking.problem(
            "label-missing" if not has_label else "label-not-taken",
            f"`utility: {word.text}` "
            + ("takes no `label`" if has_label else "needs a `label`: what thresholds should tell"),
            "remove `label`" if has_label else "add `label: ...` with a boolean column",
            "label" if has_label else "utility",
        )
        return None
    points = request.candidates
    if word.text == "revenue" and len(points) and (points[0] < 0 or points[-1] <= 0):
        asking.problem(
            "price-negative",
            "`utility: revenue` needs candidates that are prices: none below zero, one above",
            "name prices that could be asked",
            "candidates",
        )
        return None
    return replace(request, utility=word.text)


def read_picks(asking: Asking, request: Request) -> Request | None:
    """`k`: how many labels are chosen."""
    if not asking.takes("k") or not isinstance(request.column, CategoryColumn):
        return request
    picks = asking.whole("k", len(request.column.labels), "of the labels are chosen")
    return None if picks is None else replace(request, picks=picks)
