"""The conditions of `where`, as inclusive ranges of whole numbers."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, floor

from dpcli.columns import CategoryColumn, NumericColumn
from dpcli.queries import Condition
from dpcli.spec.nodes import Listing, Mapping, Node, Word
from dpcli.spec.scope import Scope, read_steps, read_whole_steps
from dpcli.spec.wording import a_column, inline, listed, shown

Ranges = tuple[tuple[int, int], ...]


def conditions(node: Node | None, user: str, scope: Scope) -> tuple[Condition, ...] | None:
    """All conditions of a `where` mapping, or None after their problems are recorded."""
    if not isinstance(node, Mapping):
        return ()
    found: list[Condition] = []
    for name, (key, value) in node.pairs.items():
        column = scope.usable(name, key.span, user)
        if column is None:
            continue
        if isinstance(column, CategoryColumn):
            ranges = _labels(column, value, scope)
        elif isinstance(value, Mapping):
            ranges = _range(column, value, scope)
        else:
            ranges = _values(column, value, scope)
        if ranges:
            found.append(Condition(column, ranges))
    return tuple(found) if len(found) == len(node.pairs) else None


def _words(node: Node) -> list[Word]:
    """A value, or each value of a list."""
    if isinstance(node, Word):
        return [node]
    if isinstance(node, Listing):
        return [item for item in node.items if isinstance(item, Word)]
    return []


def _labels(column: CategoryColumn, node: Node, scope: Scope) -> Ranges | None:
    """The positions of labels."""
    if isinstance(node, Mapping):
        scope.findings.add(
            "condition-form",
            f"{shown(column.name)} is {a_column(column.kind)}, expected a label or several",
            f"write `{{{inline(column.name)}: [{inline(column.labels[0])}]}}`",
            node.span,
        )
        return None
    words = _words(node)
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
    label = column.label_of.get(word.text)
    message = (
        f"{shown(word.text)} is not a label of {shown(column.name)}, "
        f"expected {listed(column.labels, 'or')}"
    )
    if label is None:
        otherwise = f"declare it in the `values` of {shown(column.name)}"
        if column.kind == "boolean":
            otherwise = "write `true` or `false`"
        scope.findings.unknown(
            "unknown-label", message, word.text, column.labels, word.span, otherwise=otherwise
        )
        return
    scope.findings.add(
        "unknown-label",
        message,
        f"{shown(word.text)} is the text in the file; its label is {shown(label)}",
        word.span,
    )


def _values(column: NumericColumn, node: Node, scope: Scope) -> Ranges | None:
    """Single numbers or dates, on the grid and within the bounds."""
    found: list[int] = []
    words = _words(node)
    for word in words:
        what = f"the value of {shown(column.name)}"
        value = read_whole_steps(word, what, column.kind, column.step, scope.findings)
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
    """The steps from `min` to `max` within the bounds."""
    low_word, high_word = node.get("min"), node.get("max")
    if low_word is None and high_word is None:
        scope.findings.add(
            "condition-form",
            f"the condition on {shown(column.name)} has neither `min` nor `max`",
            "give at least one of them",
            node.span,
        )
        return None
    low, high = (
        read_steps(word, f"`{side}`", column.kind, column.step, scope.findings)
        if isinstance(word, Word)
        else None
        for word, side in ((low_word, "min"), (high_word, "max"))
    )
    if (low_word is not None and low is None) or (high_word is not None and high is None):
        return None
    if low is not None and high is not None and low > high:
        scope.findings.add(
            "impossible-condition",
            f"`min` is above `max` in the condition on {shown(column.name)}",
            "swap them",
            node.span,
        )
        return None
    first = column.lower if low is None else max(column.lower, ceil(low))
    last = column.upper if high is None else min(column.upper, floor(high))
    if first > last:
        scope.findings.add(
            "impossible-condition",
            f"no value of {shown(column.name)} satisfies the condition",
            f"its values go from {shown(column.text(column.lower))} to "
            f"{shown(column.text(column.upper))}{_steps(column)}",
            node.span,
        )
        return None
    return ((first, last),)


def _steps(column: NumericColumn) -> str:
    """How the values of a column are spaced, for a hint."""
    if column.kind == "date":
        return ""
    return f" in steps of {shown(NumericColumn('', 'number', column.step).text(1))}"


def merged(positions: Iterable[int]) -> Ranges:
    """Distinct whole numbers as the fewest inclusive ranges, in order."""
    ranges: list[tuple[int, int]] = []
    for position in sorted(set(positions)):
        if ranges and ranges[-1][1] == position - 1:
            ranges[-1] = (ranges[-1][0], position)
        else:
            ranges.append((position, position))
    return tuple(ranges)
