"""Limits on what one statistic, or all of them together, may ask."""

from __future__ import annotations

from math import prod
from typing import Any

from dpcli.columns import CategoryColumn
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


def check_sizes(part: Part[Any], scope: Scope, statistic: Statistic, request: Request) -> bool:
    """Whether there are not too many numbers, nor too large ones; recorded if so."""
    for code, count, most in (
        ("too-many-cells.joint", _joint(request), MOST_JOINT),
        ("too-many-cells", _numbers(statistic, request), MOST_CELLS),
        ("too-many-cells.scores", _scores(request), MOST_SCORES),
    ):
        if count > most:
            part.report(code, count=count, most=most)
            return False
    if statistic.chooses:
        return True
    items = statistic.items(request) if request.columns or request.margins else ()
    if len(set(items)) < len(items):
        part.report("ambiguous-items")
        return False
    queries = [question.query for question in statistic.questions(request, scope.relation)]
    parts = [
        one
        for query in queries
        for one in (query.moments if isinstance(query, MinimiserQuery) else [query])
    ]
    if all(one.influence.big < MOST_PRODUCT for one in parts if isinstance(one, LinearQuery)):
        return True
    part.report("grid-too-fine.product")
    return False


def _joint(request: Request) -> int:
    """How many places the engine may distinguish, nowhere along each axis included."""
    axes = [*request.by, *request.margins, *([request.bins] if request.bins else [])]
    sizes = [len(key) for key in axes if not key.open]
    columns = (request.column, request.label)
    sizes += [len(one.labels) for one in columns if isinstance(one, CategoryColumn)]
    return prod(size + 1 for size in sizes) * (2 * len(request.candidates) + 3)


def _scores(request: Request) -> int:
    """How many scores of candidates an entry needs; in each private group, if those are."""
    return _groups(request) * len(request.candidates)


def _numbers(statistic: Statistic, request: Request) -> int:
    """How many numbers an entry publishes; in each private group, if those are private."""
    return _groups(request) * statistic.size(request)


def _groups(request: Request) -> int:
    return prod(len(key) for key in request.by if not key.open)


class Sizes:
    """What all statistics have together; each limit is reported where it is passed."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._cells = self._scores = self._queries = 0

    def add(self, entry: Entry, node: Mapping) -> bool:
        """Whether the limits hold with one more entry."""
        request, statistic = entry.request, entry.statistic
        if not any(key.open for key in request.by):
            self._cells += _numbers(statistic, request)
        self._scores += _scores(request)
        self._queries += len(statistic.questions(request, self._scope.relation))
        for code, count, most in (
            ("too-many-cells.all", self._cells, MOST_CELLS_IN_ALL),
            ("too-many-cells.all_scores", self._scores, MOST_SCORES_IN_ALL),
            ("too-many-queries", self._queries, MOST_QUERIES_IN_ALL),
        ):
            if count > most:
                self._scope.findings.report(code, node.span, count=count, most=most)
                return False
        return True
