"""Limits on what one statistic, or all of them together, may ask."""

from __future__ import annotations

from math import prod
from typing import Any

from dpcli.columns import CategoryColumn
from dpcli.privacy.relation import Neighbors, Relation, RowUnit
from dpcli.queries import LinearQuery
from dpcli.spec.columns import Scope
from dpcli.spec.fit import Part
from dpcli.spec.model import Entry
from dpcli.spec.nodes import Mapping
from dpcli.statistics.base import Request, Statistic
from dpcli.vector_queries import MinimiserQuery

MOST_CELLS, MOST_CELLS_IN_ALL = 1_000_000, 2_000_000
MOST_SCORES, MOST_SCORES_IN_ALL = 2_000_000, 10_000_000
MOST_QUERIES_IN_ALL = 10_000
MOST_JOINT = 1 << 58
MOST_PRODUCT = 1 << 80
"""Products of steps stay below it, so that the sums of any file fit 128 bits."""


def can_be_answered(part: Part[Any], statistic: Statistic, request: Request, user: str) -> bool:
    """Whether there are not too many numbers, nor too large ones."""
    cells, scores = numbers_of(statistic, request), scores_of(request)
    code = message = hint = ""
    if _joint(request) > MOST_JOINT:
        code, hint = "too-many-cells", "omit keys; those with a single label add nothing"
        message = (
            f"the keys of {user} have too many combinations, each counted with a place "
            "for what lies nowhere"
        )
    elif cells > MOST_CELLS:
        code, hint = "too-many-cells", "use wider bins, or fewer keys in `by`"
        message = f"{user} has {cells:,} cells, at most {MOST_CELLS:,} can be released"
    elif scores > MOST_SCORES:
        code, hint = "too-many-cells", "use fewer candidates, or fewer keys in `by`"
        message = (
            f"{user} has {scores:,} scores of candidates, at most {MOST_SCORES:,} can be released"
        )
    elif not statistic.chooses:
        items = statistic.items(request) if request.columns or request.margins else ()
        if len(set(items)) < len(items):
            code = "ambiguous-items"
            message = f"two numbers of {user} would have the same item"
            hint = "rename columns or labels that look like two, such as `a:b` or `x; b=1`"
        elif not _fine_enough(statistic, request):
            code, hint = "grid-too-fine", "use narrower bounds, or larger steps"
            message = f"{user} multiplies columns, and a product can be 2^80 steps or more"
    if code:
        part.refuse(code, message, hint)
    return not code


def _fine_enough(statistic: Statistic, request: Request) -> bool:
    """Whether products of columns are small enough to be summed."""
    relation = Relation(RowUnit(), Neighbors.ADD_REMOVE)
    queries = [question.query for question in statistic.questions(request, relation)]
    parts = [
        part
        for query in queries
        for part in (query.moments if isinstance(query, MinimiserQuery) else [query])
    ]
    sums = (part for part in parts if isinstance(part, LinearQuery))
    return max((part.influence.big for part in sums), default=0) < MOST_PRODUCT


def _joint(request: Request) -> int:
    """How many places the engine may distinguish, nowhere along each axis included."""
    axes = [*request.by, *request.margins, *([request.bins] if request.bins else [])]
    sizes = [len(key) for key in axes if not key.open]
    sizes += [
        len(one.labels)
        for one in (request.column, request.label)
        if isinstance(one, CategoryColumn)
    ]
    return prod(size + 1 for size in sizes) * (2 * len(request.candidates) + 3)


def scores_of(request: Request) -> int:
    """How many scores of candidates an entry needs; in each private group, if those are."""
    return prod(len(key) for key in request.by if not key.open) * len(request.candidates)


def numbers_of(statistic: Statistic, request: Request) -> int:
    """How many numbers an entry publishes; in each private group, if those are private."""
    return prod(len(key) for key in request.by if not key.open) * statistic.size(request)


class Sizes:
    """What all statistics have together; each limit is reported where it is passed."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._relation = Relation(scope.unit or RowUnit(), Neighbors.ADD_REMOVE)
        self._cells = self._scores = self._queries = 0

    def add(self, entry: Entry, node: Mapping) -> bool:
        """Whether the limits hold with one more entry."""
        request, statistic = entry.request, entry.statistic
        if not any(key.open for key in request.by):
            self._cells += numbers_of(statistic, request)
        self._scores += scores_of(request)
        self._queries += len(statistic.questions(request, self._relation))
        for code, count, most, what, hint in (
            ("too-many-cells", self._cells, MOST_CELLS_IN_ALL, "cells",
             "use wider bins, fewer keys in `by`, or several specs"),
            ("too-many-cells", self._scores, MOST_SCORES_IN_ALL, "scores of candidates",
             "use fewer candidates, as in `candidates: {step: ...}`, or several specs"),
            ("too-many-queries", self._queries, MOST_QUERIES_IN_ALL, "queries",
             "name fewer columns in each entry, or split the spec"),
        ):  # fmt: skip
            if count > most:
                message = (
                    f"the statistics up to here have {count:,} {what}, at most {most:,} can be "
                    "released in all"
                )
                self._scope.findings.add(code, message, hint, node.span)
                return False
        return True
