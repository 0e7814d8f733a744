"""What an entry asks: the fields of its statistic, with names resolved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any

from dpcli.columns import CategoryColumn, Column, NumericColumn
from dpcli.fields import MOST_TOGETHER, OfAxes, OfBins, OfColumn, OfColumns, OfGrid, Role, role_of
from dpcli.privacy.relation import RowUnit
from dpcli.queries import Condition, Key, LinearQuery
from dpcli.scores import Points
from dpcli.spec.axes import axis, groups
from dpcli.spec.columns import Scope
from dpcli.spec.conditions import candidates
from dpcli.spec.fit import Part
from dpcli.spec.grid import MOST_STEPS, whole_steps
from dpcli.spec.nodes import Word, at, words_of
from dpcli.statistics.base import Request, Statistic
from dpcli.vector_queries import MinimiserQuery

MOST_CANDIDATES = 1_000_001
"""A column of a million steps has one point more."""

MOST_PRIVATE = 10_001
"""Candidates in each group whose key is private: the number of groups is not known."""

MOST_CELLS, MOST_SCORES = 1_000_000, 2_000_000
MOST_JOINT = 1 << 58
MOST_PRODUCT = 1 << 80
"""Products of steps stay below it, so that the sums of any file fit 128 bits."""


class RequestReader:
    """The fields that one statistic takes, by what each of them means."""

    def __init__(self, part: Part[Any], statistic: Statistic, scope: Scope) -> None:
        self._part, self._node, self._scope = part, part.node, scope
        self._statistic = statistic

    def request(
        self, by: tuple[Key, ...] | None, where: tuple[Condition, ...] | None
    ) -> Request | None:
        """What is asked: every field of the statistic by what it means."""
        fields, part = self._statistic.fields.model_fields, self._part
        found: dict[str, Any] = {}
        good = by is not None and where is not None and not part.bad & {"name", *fields}
        for key, field in fields.items():
            if key in ("bound", "unit_bounds", "keys"):
                continue
            found[key] = getattr(part.values, key)
            role = None if key in part.bad else role_of(field)
            optional = isinstance(role, OfColumn | OfColumns) and found[key] is None
            if role is not None and not optional:
                found[key] = self._resolved(key, role, found.get("column"), by or ())
                good = good and found[key] is not None
        if not good:
            return None
        bare = Request(part.values.name, by=by or (), where=where or ())
        return self._statistic.request(bare, found)

    def _resolved(self, key: str, role: Role, column: Any, by: tuple[Key, ...]) -> Any:
        """What a field means; None after a problem is recorded."""
        word = at(self._node, key)
        match role:
            case OfColumn(kinds) if isinstance(word, Word):
                return self._column(word, kinds)
            case OfColumns():
                return self._columns(key, role)
            case OfAxes():
                return self._axes(key, by)
            case OfBins() if isinstance(column, CategoryColumn | NumericColumn):
                return self._bins(column, by)
            case OfGrid() if isinstance(column, NumericColumn):
                return self._candidates(key, column, by)
        return None

    def _column(self, word: Word, kinds: Sequence[str]) -> Column | None:
        user, what = self._part.user, self._part.what
        return self._scope.of_kind(word, user, kinds, what)

    def _columns(self, key: str, role: OfColumns) -> tuple[Column, ...] | None:
        words = words_of(self._node.get(key))
        found: dict[str, Column] = {}
        for word in words:
            column = self._column(word, role.kinds)
            if word.text in found:
                self._scope.findings.report("column-twice", word.span, column=word.text, key=key)
            elif column is not None:
                found[word.text] = column
        if len(found) < len(words) or not self._enough(key, len(found), role.least):
            return None
        return tuple(found.values())

    def _enough(self, key: str, count: int, least: int) -> bool:
        """Whether there are not too few columns, nor too many; recorded if not."""
        good = least <= count <= MOST_TOGETHER
        if not good:
            facts = {"key": key, "count": count, "least": least, "most": MOST_TOGETHER}
            self._part.report_key("columns-count", key, **facts)
        return good

    def _axes(self, key: str, by: tuple[Key, ...]) -> tuple[Key, ...] | None:
        """The axes of tables: declared labels or bins, none of them in `by`."""
        axes = groups(self._node.get(key), self._part.user, self._scope, key)
        if axes is None or not self._enough(key, len(axes), 1):
            return None
        grouped = [one.column.name for one in by]
        for one in axes:
            name = one.column.name
            if name in grouped or one.open:
                code = "values-required.table" if one.open else "duplicate-key-column.both"
                self._part.report_key(code, key, column=name, key=key)
                return None
        return axes

    def _bins(self, column: CategoryColumn | NumericColumn, by: tuple[Key, ...]) -> Key | None:
        word = self._node.word("column")
        assert word is not None
        if any(key.column is column for key in by):
            self._part.report("duplicate-key-column.histogram", "column", column=column.name)
            return None
        return axis(
            column, self._node.get("bins"), word, self._part.findings, "missing-bins.histogram"
        )

    def _candidates(self, key: str, column: NumericColumn, by: tuple[Key, ...]) -> Points | None:
        node, private = self._node.get(key), any(one.open for one in by)
        points = candidates(node, column, self._part.findings)
        most = MOST_PRIVATE if private else MOST_CANDIDATES
        if points is None or len(points) <= most:
            return points
        code = "too-many-candidates.private" if private else "too-many-candidates"
        facts = {"count": len(points), "most": most}
        self._part.report_key(code, key if node else "column", **facts)
        return None

    def fits_together(self, request: Request) -> bool:
        """Whether fields that are right one by one suit each other; what does not is recorded."""
        part, scope, statistic = self._part, self._scope, self._statistic
        faults = list(statistic.faults(request, scope.relation))
        for fault in faults:
            report = part.report if fault.at_value else part.report_key
            report(fault.code, fault.key, **fault.facts)
        counts_people = statistic.counts_people and request.column is None
        lacks_users = counts_people and isinstance(scope.unit, RowUnit)
        if lacks_users:
            part.report("nobody-to-count")
        return not faults and not lacks_users and self._right_size(request)

    def _right_size(self, request: Request) -> bool:
        """Whether there are not too many numbers, nor too large ones; recorded if so."""
        for code, count, most in (
            ("too-many-cells.joint", _joint(request), MOST_JOINT),
            ("too-many-cells", numbers_of(self._statistic, request), MOST_CELLS),
            ("too-many-cells.scores", scores_of(request), MOST_SCORES),
        ):
            if count > most:
                self._part.report(code, count=count, most=most)
                return False
        if self._statistic.chooses:
            return True
        items = self._statistic.items(request) if request.columns or request.margins else ()
        if len(set(items)) < len(items):
            self._part.report("ambiguous-items")
            return False
        for question in self._statistic.questions(request, self._scope.relation):
            query = question.query
            sums = query.moments if isinstance(query, MinimiserQuery) else [query]
            linear = (one for one in sums if isinstance(one, LinearQuery))
            if any(one.influence.big >= MOST_PRODUCT for one in linear):
                self._part.report("grid-too-fine.product")
                return False
        return True

    def bounded(self, request: Request) -> tuple[Request, Request | None] | None:
        """The request, clamping rows or totals of people, and the one that does the other."""
        part, fields = self._part, self._statistic.fields.model_fields
        if "bound" not in fields:
            return request, None
        bound, limits, code, key = part.values.bound, part.values.unit_bounds, "", "bound"
        clamp = None
        if limits is not None:
            clamp = self._clamp(request.column, limits)
            if clamp is None:
                return None
        if bound is None and clamp is not None:
            code, key = "bound-required", "unit_bounds"
        elif bound is not None and isinstance(self._scope.unit, RowUnit):
            code = "bound-needs-person"
        elif bound == "sum" and clamp is None:
            code = "unit-bounds-required"
        if code:
            part.report_key(code, key, bound=bound)
            return None
        if clamp is None:
            return request, None
        summed = replace(request, totals=clamp)
        return (summed, request) if bound == "sum" else (request, summed)

    def _clamp(self, column: Column | None, bounds: Sequence[Fraction]) -> tuple[int, int] | None:
        """Bounds of one person's total in steps of the column."""
        part, step = self._part, Fraction(1)
        if isinstance(column, NumericColumn) and column.kind != "date":
            step = column.step
        words = words_of(part.node.get("unit_bounds"))
        low, high = (
            whole_steps(value / step, step, word, f"the {side} bound", part.findings)
            for value, word, side in zip(bounds, words, ("lower", "upper"), strict=True)
        )
        if low is None or high is None:
            return None
        if low < high and max(abs(low), abs(high)) < MOST_STEPS:
            return low, high
        code = "grid-too-fine.unit_bounds" if low < high else "bounds-order.unit_bounds"
        part.report_key(code, "unit_bounds", step=str(step))
        return None


def _joint(request: Request) -> int:
    """How many places the engine may distinguish, nowhere along each axis included."""
    axes = [*request.by, *request.margins, *([request.bins] if request.bins else [])]
    sizes = [len(key) for key in axes if not key.open]
    columns = (request.column, request.label)
    sizes += [len(one.labels) for one in columns if isinstance(one, CategoryColumn)]
    return prod(size + 1 for size in sizes) * (2 * len(request.candidates) + 3)


def scores_of(request: Request) -> int:
    """How many scores of candidates an entry needs; in each private group, if those are."""
    return _groups(request) * len(request.candidates)


def numbers_of(statistic: Statistic, request: Request) -> int:
    """How many numbers an entry publishes; in each private group, if those are private."""
    return _groups(request) * statistic.size(request)


def _groups(request: Request) -> int:
    return prod(len(key) for key in request.by if not key.open)
