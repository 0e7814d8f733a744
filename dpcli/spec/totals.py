"""`bound` and `unit_bounds`: limiting a person's rows, or their total."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpcli.columns import Column, NumericColumn
from dpcli.privacy.relation import RowUnit
from dpcli.spec.nodes import Listing, Mapping, Word
from dpcli.spec.scope import Scope, read_whole_steps
from dpcli.spec.wording import listed, shown
from dpcli.statistics.base import Request, Statistic

BOUNDS = ("rows", "sum")

MOST_STEPS = 1 << 62


class Totals:
    """What an entry says of a person's total, once it has been read.

    `clamp` is the range of the total in steps, if one is given; `summed` says whether
    the entry uses it. `good` is false after a problem was recorded.
    """

    def __init__(
        self, node: Mapping, statistic: Statistic, column: Column | None, scope: Scope, user: str
    ) -> None:
        self._node, self._scope, self._user = node, scope, user
        self.good = True
        self.clamp = self._clamp(column)
        self.summed = self._bound(statistic)
        if self.summed and node.get("unit_bounds") is None:
            self._problem(
                "unit-bounds-required",
                f"{user} adds up what a person has, and no bounds say how much that can be",
                "add `unit_bounds: [0, ...]`: what one person's total in a group is clamped to",
                "bound",
            )

    def rival(self, request: Request) -> Request | None:
        """The same with the other bound, where either fits: for the plan to compare."""
        if self.clamp is None:
            return None
        return replace(request, totals=None if self.summed else self.clamp)

    def _bound(self, statistic: Statistic) -> bool:
        """Whether a person's rows are added up before they are clamped."""
        word = self._node.get("bound")
        if not isinstance(word, Word):
            if self._node.get("unit_bounds") is not None:
                self._problem(
                    "bound-required",
                    f"{self._user} has `unit_bounds`, and does not say whether they are used",
                    "add `bound: sum` to use them, or `bound: rows` to compare both in the plan",
                    "unit_bounds",
                )
            return False
        if word.text not in BOUNDS:
            self.good = False
            self._scope.findings.unknown(
                "unknown-bound",
                f"`bound` is {shown(word.text)}, expected {listed(BOUNDS, 'or')}",
                word.text,
                BOUNDS,
                word.span,
            )
            return False
        if "bound" not in statistic.fields.all:
            self._problem(
                "bound-not-taken",
                f"{shown(statistic.name)} takes no `bound`: it is made of the rows that are kept",
                "remove `bound`; a `sum` or `count` takes one",
                "bound",
            )
        elif isinstance(self._scope.unit, RowUnit):
            self._problem(
                "bound-needs-person",
                f"{self._user} says `bound: {word.text}`, but `unit` is `row`",
                "remove `bound`, or protect people by `unit: {column: ..., max_rows: ...}`",
                "bound",
            )
        return word.text == "sum"

    def _clamp(self, column: Column | None) -> tuple[int, int] | None:
        """The bounds of a person's total, in steps."""
        node = self._node.get("unit_bounds")
        if not isinstance(node, Listing):
            return None
        numeric = isinstance(column, NumericColumn) and column.kind != "date"
        step = column.step if isinstance(column, NumericColumn) and numeric else Fraction(1)
        read = [
            read_whole_steps(word, f"the {side} bound", "number", step, self._scope.findings)
            for word, side in zip(node.items, ("lower", "upper"), strict=True)
            if isinstance(word, Word)
        ]
        if len(read) < 2 or read[0] is None or read[1] is None:
            self.good = False
            return None
        low, high = read[0], read[1]
        if low >= high:
            self._problem(
                "bounds-order",
                "the lower one of `unit_bounds` is not below the upper one",
                "write the least and the most that one person's total can be",
                "unit_bounds",
            )
        elif max(abs(low), abs(high)) >= MOST_STEPS:
            self._problem(
                "grid-too-fine",
                f"`unit_bounds` are 2^62 steps of {shown(str(step))} or more from zero",
                "use narrower bounds, or a larger step of the column",
                "unit_bounds",
            )
        return low, high

    def _problem(self, code: str, message: str, hint: str, key: str) -> None:
        """Records what is wrong with a field."""
        self.good = False
        self._scope.findings.add(code, message, hint, self._node.key_span(key))
