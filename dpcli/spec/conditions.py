"""Conditions and candidates: declared values, in whole steps of their column."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, floor

from dpcli.columns import CategoryColumn, NumericColumn
from dpcli.messages import inline, listed, shown
from dpcli.privacy.decimals import readable_text
from dpcli.queries import Condition
from dpcli.scores import Points
from dpcli.spec.columns import Scope
from dpcli.spec.findings import a_column
from dpcli.spec.grid import in_kind, on_column
from dpcli.spec.nodes import Listing, Mapping, Node, Word, words_of

Ranges = tuple[tuple[int, int], ...]


def conditions(node: Node | None, user: str, scope: Scope) -> tuple[Condition, ...] | None:
    """All conditions of a `where` mapping, or None after their problems are recorded."""
    if not isinstance(node, Mapping):
        return ()
    found: list[Condition] = []
    for name, (key, value) in node.pairs.items():
        column = scope.usable(name, key.span, user)
        ranges: Ranges | None = None
        if isinstance(column, CategoryColumn):
            ranges = _labels(column, value, scope)
        elif column is not None and isinstance(value, Mapping):
            ranges = _range(column, value, scope)
        elif column is not None:
            ranges = _values(column, value, scope)
        if column is not None and ranges:
            found.append(Condition(column, ranges))
    return tuple(found) if len(found) == len(node.pairs) else None


def _labels(column: CategoryColumn, node: Node, scope: Scope) -> Ranges | None:
    if isinstance(node, Mapping):
        message = f"{shown(column.name)} is {a_column(column.kind)}, expected a label or several"
        hint = f"write `{{{inline(column.name)}: [{inline(column.labels[0])}]}}`"
        scope.findings.add("condition-form", message, hint, node.span)
        return None
    words = words_of(node)
    found = []
    for word in words:
        if word.text in column.positions:
            found.append(column.positions[word.text])
        elif scope.findings.full:
            break
        else:
            _unknown_label(column, word, scope)
    return merged(found) if len(found) == len(words) else None


def _unknown_label(column: CategoryColumn, word: Word, scope: Scope) -> None:
    """Records a text that is no label, and the label of a text in the file."""
    label, name = column.label_of.get(word.text), shown(column.name)
    message = f"{shown(word.text)} is not a label of {name}, expected {listed(column.labels, 'or')}"
    if label is not None:
        hint = f"{shown(word.text)} is the text in the file; its label is {shown(label)}"
        scope.findings.add("unknown-label", message, hint, word.span)
        return
    hint = f"declare it in the `values` of {name}"
    if column.kind == "boolean":
        hint = "write `true` or `false`"
    scope.findings.unknown(
        "unknown-label", message, word.text, column.labels, word.span, otherwise=hint
    )


def _values(column: NumericColumn, node: Node, scope: Scope) -> Ranges | None:
    found: list[int] = []
    words = words_of(node)
    for word in words:
        what = f"the value of {shown(column.name)}"
        value = on_column(column, word, what, scope.findings)
        if value is None:
            continue
        if not column.lower <= value <= column.upper:
            scope.findings.add(
                "out-of-bounds",
                f"{what} is {shown(word.text)}, expected one from "
                f"{shown(column.text(column.lower))} to {shown(column.text(column.upper))}",
                "values beyond the bounds are read as the nearest bound",
                word.span,
            )
            continue
        found.append(value)
    return merged(found) if len(found) == len(words) else None


def _range(column: NumericColumn, node: Mapping, scope: Scope) -> Ranges | None:
    words, name = (node.word("min"), node.word("max")), shown(column.name)
    if words == (None, None):
        message = f"the condition on {name} has neither `min` nor `max`"
        scope.findings.add("condition-form", message, "give at least one of them", node.span)
        return None
    read = [
        None if word is None else in_kind(column, word, f"`{side}`", scope.findings)
        for word, side in zip(words, ("min", "max"), strict=True)
    ]
    if any(word and value is None for word, value in zip(words, read, strict=True)):
        return None
    low, high = (None if value is None else value / column.step for value in read)
    if low is not None and high is not None and low > high:
        message = f"`min` is above `max` in the condition on {name}"
        scope.findings.add("impossible-condition", message, "swap them", node.span)
        return None
    first = column.lower if low is None else max(column.lower, ceil(low))
    last = column.upper if high is None else min(column.upper, floor(high))
    if first <= last:
        return ((first, last),)
    steps = "" if column.kind == "date" else f" in steps of {shown(readable_text(column.step))}"
    scope.findings.add(
        "impossible-condition",
        f"no value of {name} satisfies the condition",
        f"its values go from {shown(column.text(column.lower))} to "
        f"{shown(column.text(column.upper))}{steps}",
        node.span,
    )
    return None


def merged(positions: Iterable[int]) -> Ranges:
    """Distinct whole numbers as the fewest inclusive ranges, in order."""
    ranges: list[tuple[int, int]] = []
    for position in sorted(set(positions)):
        if ranges and ranges[-1][1] == position - 1:
            ranges[-1] = (ranges[-1][0], position)
        else:
            ranges.append((position, position))
    return tuple(ranges)


def candidates(node: Node | None, column: NumericColumn, scope: Scope) -> Points | None:
    """The points of a list, or of a step; else the whole grid. None after a problem."""
    if isinstance(node, Listing):
        return _listed(node, column, scope)
    if isinstance(node, Mapping):
        return _stepped(node, column, scope)
    return range(column.lower, column.upper + 1)


def _listed(node: Listing, column: NumericColumn, scope: Scope) -> Points | None:
    """Declared values: on the grid, within the bounds, rising."""
    points: list[int] = []
    for word in words_of(node):
        point = on_column(column, word, "the candidate", scope.findings)
        if point is None:
            return None
        within = column.lower <= point <= column.upper
        if not within or (points and point <= points[-1]):
            low, high = column.text(column.lower), column.text(column.upper)
            scope.findings.add(
                "candidates-order" if within else "out-of-bounds",
                f"the candidate {shown(word.text)} is not "
                + ("above the one before" if within else f"within {low} to {high}"),
                "list candidates from the lowest to the highest, each once"
                if within
                else "name candidates within the bounds, or widen the bounds of the column",
                word.span,
            )
            return None
        points.append(point)
    return tuple(points)


def _stepped(node: Mapping, column: NumericColumn, scope: Scope) -> Points | None:
    """Values at equal distances, from the lower bound."""
    word = node.word("step")
    value = None if word is None else in_kind(column, word, "`step`", scope.findings)
    if word is None or value is None:
        return None
    steps = value / column.step
    if value > 0 and steps.denominator == 1:
        return range(column.lower, column.upper + 1, steps.numerator)
    message = (
        f"`step` is {shown(word.text)}, expected a multiple of {shown(readable_text(column.step))}"
    )
    hint = f"write `candidates: {{step: {readable_text(column.step)}}}` or a multiple of it"
    scope.findings.add("off-grid", message, hint, word.span)
    return None
