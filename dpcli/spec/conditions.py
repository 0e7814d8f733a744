"""Conditions and candidates: declared values, in whole steps of their column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, floor

from dpcli.columns import CategoryColumn, NumericColumn
from dpcli.privacy.decimals import readable_text
from dpcli.queries import Condition
from dpcli.scores import Points
from dpcli.spec.columns import Scope
from dpcli.spec.findings import Findings
from dpcli.spec.grid import in_steps, within
from dpcli.spec.nodes import Listing, Mapping, Node, Word, words_of

Ranges = tuple[tuple[int, int], ...]


def conditions(node: Node | None, user: str, scope: Scope) -> tuple[Condition, ...] | None:
    """All conditions of a `where` mapping, or None after their problems are recorded."""
    if not isinstance(node, Mapping):
        return ()
    found: list[Condition] = []
    for key, value in node.pairs.values():
        column = scope.usable(key, user)
        if column is not None:
            ranges = _ranges(column, value, scope.findings)
            found += [Condition(column, ranges)] if ranges else []
    return tuple(found) if len(found) == len(node.pairs) else None


def _ranges(
    column: CategoryColumn | NumericColumn, node: Node, findings: Findings
) -> Ranges | None:
    """The values of a column that satisfy a condition."""
    if isinstance(node, Mapping):
        if isinstance(column, NumericColumn):
            return _between(column, node, findings)
        facts = {"column": column.name, "kind": column.kind, "label": column.labels[0]}
        findings.report("condition-form.labels", node.span, **facts)
        return None
    words, found = words_of(node), []
    for word in words:
        if findings.full:
            break
        if isinstance(column, NumericColumn):
            position = within(column, word, f"the value of `{column.name}`", findings)
        else:
            position = _label(column, word, findings)
        found += [] if position is None else [position]
    return merged(found) if len(found) == len(words) else None


def _label(column: CategoryColumn, word: Word, findings: Findings) -> int | None:
    """The position of a label; another text is recorded, with the label of a text in the file."""
    if word.text in column.positions:
        return column.positions[word.text]
    facts = {"column": column.name}
    if word.text in column.label_of:
        facts |= {"word": word.text, "label": column.label_of[word.text]}
        findings.report("unknown-label.text", word.span, choices=column.labels, **facts)
    else:
        code = "unknown-label.boolean" if column.kind == "boolean" else "unknown-label.of"
        findings.report_unknown(code, word.text, column.labels, word.span, **facts)
    return None


def _between(column: NumericColumn, node: Mapping, findings: Findings) -> Ranges | None:
    """The values from `min` to `max`."""
    words, facts = {side: node.word(side) for side in ("min", "max")}, {"column": column.name}
    if not any(words.values()):
        findings.report("condition-form", node.span, **facts)
        return None
    read = {
        side: in_steps(column, word, f"`{side}`", findings) for side, word in words.items() if word
    }
    if None in read.values():
        return None
    low, high = read.get("min"), read.get("max")
    if low is not None and high is not None and low > high:
        findings.report("impossible-condition.order", node.span, **facts)
        return None
    first = column.lower if low is None else max(column.lower, ceil(low))
    last = column.upper if high is None else min(column.upper, floor(high))
    if first <= last:
        return ((first, last),)
    code = "impossible-condition.date" if column.kind == "date" else "impossible-condition"
    ends = {"low": column.text(column.lower), "high": column.text(column.upper)}
    findings.report(code, node.span, step=readable_text(column.step), **ends, **facts)
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


def candidates(node: Node | None, column: NumericColumn, findings: Findings) -> Points | None:
    """The points of a list, or of a step; else the whole grid. None after a problem."""
    if isinstance(node, Listing):
        return _rising(words_of(node), column, findings)
    word = node.word("step") if isinstance(node, Mapping) else None
    if word is None:
        return range(column.lower, column.upper + 1) if node is None else None
    steps = in_steps(column, word, "`step`", findings)
    if steps is None:
        return None
    if steps > 0 and steps.denominator == 1:
        return range(column.lower, column.upper + 1, steps.numerator)
    facts = {"value": word.text, "step": readable_text(column.step)}
    findings.report("off-grid.candidates", word.span, **facts)
    return None


def _rising(
    words: Sequence[Word], column: NumericColumn, findings: Findings
) -> tuple[int, ...] | None:
    """Declared values: on the grid, within the bounds, rising."""
    points: list[int] = []
    for word in words:
        point = within(column, word, "the candidate", findings)
        if point is None:
            return None
        if points and point <= points[-1]:
            findings.report("candidates-order", word.span, value=word.text)
            return None
        points.append(point)
    return tuple(points)
