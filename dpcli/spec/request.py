"""What an entry asks: the fields of its statistic, with names resolved."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dpcli.columns import CategoryColumn, Column, NumericColumn
from dpcli.fields import MOST_TOGETHER, OfAxes, OfBins, OfColumn, OfColumns, OfGrid, role_of
from dpcli.messages import shown
from dpcli.privacy.relation import Relation, RowUnit
from dpcli.queries import Condition, Key
from dpcli.spec.axes import axis, groups
from dpcli.spec.columns import Scope
from dpcli.spec.conditions import candidates
from dpcli.spec.fit import Part
from dpcli.spec.grid import whole_steps
from dpcli.spec.nodes import Listing, Word, at
from dpcli.statistics.base import Request, Statistic

MOST_STEPS = 1 << 62


class RequestReader:
    """The fields that one statistic takes, by what each of them means."""

    def __init__(self, part: Part[Any], statistic: Statistic, scope: Scope, user: str) -> None:
        self._part, self._node = part, part.node
        self._statistic, self._scope, self._user = statistic, scope, user

    def request(
        self, name: str | None, by: tuple[Key, ...] | None, where: tuple[Condition, ...] | None
    ) -> Request | None:
        """What is asked: every field of the statistic by what it means."""
        found: dict[str, Any] = {}
        good = by is not None and where is not None
        for key, field in self._statistic.fields.model_fields.items():
            if key in ("bound", "unit_bounds", "keys"):
                continue
            value = getattr(self._part.values, key)
            role = None if key in self._part.bad else role_of(field)
            column = found.get("column")
            match role:
                case OfColumn() if value is not None:
                    span, who = at(self._node, key).span, shown(self._statistic.name)
                    value = self._scope.of_kind(value, span, self._user, role.kinds, who)
                    good = good and value is not None
                case OfColumns() if value is not None:
                    value = self._columns(key, role)
                    good = good and value is not None
                case OfAxes():
                    value = self._axes(key, by or ())
                    good = good and value is not None
                case OfBins() if isinstance(column, CategoryColumn | NumericColumn):
                    value = self._bins(column, by or ())
                    good = good and value is not None
                case OfGrid() if isinstance(column, NumericColumn):
                    value = self._candidates(key, column, by or ())
                    good = good and value is not None
                case OfBins() | OfGrid():
                    good = False
                case _:
                    pass
            found[key] = value
        if not good or self._part.bad or name is None:
            return None
        return self._statistic.request(Request(name, by=by or (), where=where or ()), found)

    def _columns(self, key: str, role: OfColumns) -> tuple[Column, ...] | None:
        listing = self._node.get(key)
        found: dict[str, Column] = {}
        words = listing.items if isinstance(listing, Listing) else ()
        for word in words:
            assert isinstance(word, Word)
            who = shown(self._statistic.name)
            column = self._scope.of_kind(word.text, word.span, self._user, role.kinds, who)
            if word.text in found:
                message = f"{shown(word.text)} is in `{key}` twice"
                self._scope.findings.add("column-twice", message, "keep one of them", word.span)
            elif column is not None:
                found[word.text] = column
        if len(found) < len(words) or not self._enough(key, len(found), role.least):
            return None
        return tuple(found.values())

    def _enough(self, key: str, count: int, least: int) -> bool:
        """Whether there are not too few columns, nor too many; recorded if not."""
        good = least <= count <= MOST_TOGETHER
        if not good:
            columns = "column" if count == 1 else "columns"
            message = f"`{key}` has {count} {columns}, expected {least} to {MOST_TOGETHER}"
            hint = "name the columns that belong together; the fewer, the less noise"
            self._part.refuse_key("columns-count", message, hint, key)
        return good

    def _axes(self, key: str, by: tuple[Key, ...]) -> tuple[Key, ...] | None:
        """The axes of tables: declared labels or bins, none of them in `by`."""
        axes = groups(self._node.get(key), self._user, self._scope, key)
        if axes is None or not self._enough(key, len(axes), 1):
            return None
        grouped = {one.column.name for one in by}
        for one in axes:
            name = shown(one.column.name)
            if one.column.name in grouped:
                code, message = "duplicate-key-column", f"{name} is in `{key}` and in `by` at once"
                self._part.refuse_key(code, message, "keep it in one of them", key)
            elif one.open:
                code, message = "values-required", f"{name} has no declared `values`"
                hint = "add `values: [...]`: tables are made of declared labels"
                self._part.refuse_key(code, message, hint, key)
            else:
                continue
            return None
        return axes

    def _bins(self, column: CategoryColumn | NumericColumn, by: tuple[Key, ...]) -> Key | None:
        word = self._node.word("column")
        assert word is not None
        if any(key.column is column for key in by):
            message = f"{shown(column.name)} is counted and in `by` at once"
            hint = "omit it from `by`: the histogram already counts each of its labels or bins"
            self._part.refuse("duplicate-key-column", message, hint, "column")
            return None
        return axis(column, self._node.get("bins"), word, self._scope, "bins: {width: ...}")

    def _candidates(self, key: str, column: NumericColumn, by: tuple[Key, ...]) -> Any:
        node, private = self._node.get(key), any(one.open for one in by)
        points = candidates(node, column, self._user, self._scope, private=private)
        if isinstance(points, str):
            hint = "write `candidates: {step: ...}`, or a list of the values that are useful"
            self._part.refuse_key("too-many-candidates", points, hint, key if node else "column")
            return None
        return points

    def without_faults(self, request: Request, relation: Relation) -> bool:
        """Whether the statistic finds its fields right together; what is not is recorded."""
        good = True
        for fault in self._statistic.faults(request, relation):
            good = False
            report = self._part.report if fault.at_value else self._part.report_key
            report(fault.code, fault.key, **fault.facts)
        return good

    def totals(self, column: Column | None) -> tuple[bool, tuple[int, int] | None] | None:
        """Whether a person's total is clamped instead of rows, and to what, in steps.

        None after problems are recorded.
        """
        part, values = self._part, self._part.values
        if "bound" not in type(values).model_fields:
            return False, None
        summed, clamp = values.bound == "sum", None
        if part.bad & {"bound", "unit_bounds"}:
            return None
        if values.unit_bounds is not None:
            clamp = self._clamp(column, values.unit_bounds)
            if clamp is None:
                return None
        code = message = hint = ""
        key = "bound"
        if values.bound is None and clamp is not None:
            code, key = "bound-required", "unit_bounds"
            message = f"{self._user} has `unit_bounds`, and does not say whether they are used"
            hint = "add `bound: sum` to use them, or `bound: rows` to compare both in the plan"
        elif values.bound is not None and isinstance(self._scope.unit, RowUnit):
            code = "bound-needs-person"
            message = f"{self._user} says `bound: {values.bound}`, but `unit` is `row`"
            hint = "omit `bound`, or protect people by `unit: {column: ..., max_rows: ...}`"
        elif summed and clamp is None:
            code = "unit-bounds-required"
            message = f"{self._user} adds up the rows of a person, and no bounds limit the total"
            hint = "add `unit_bounds: [0, ...]`: what one person's total in a group is clamped to"
        if code:
            part.refuse_key(code, message, hint, key)
            return None
        return summed, clamp

    def _clamp(self, column: Column | None, bounds: Sequence[Fraction]) -> tuple[int, int] | None:
        part = self._part
        numeric = isinstance(column, NumericColumn) and column.kind != "date"
        step = column.step if isinstance(column, NumericColumn) and numeric else Fraction(1)
        found = [
            whole_steps(
                value,
                step,
                f"the {side} bound",
                part.text("unit_bounds", place),
                part.report,
                "unit_bounds",
                place,
            )
            for place, (value, side) in enumerate(zip(bounds, ("lower", "upper"), strict=True))
        ]
        low, high = found
        if low is None or high is None:
            return None
        if low >= high:
            message = "the lower one of `unit_bounds` is not below the upper one"
            hint = "write the least and the most that one person's total can be"
            part.refuse_key("bounds-order", message, hint, "unit_bounds")
            return None
        if max(abs(low), abs(high)) >= MOST_STEPS:
            message = f"`unit_bounds` are 2^62 steps of {shown(str(step))} or more from zero"
            hint = "use narrower bounds, or a larger step of the column"
            part.refuse_key("grid-too-fine", message, hint, "unit_bounds")
            return None
        return low, high
