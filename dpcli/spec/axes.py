"""Keys and bins: the axes of an answer, in whole steps of their columns."""

from __future__ import annotations

from math import ceil

from dpcli.columns import FORMULA, CategoryColumn, NumericColumn, OpenColumn
from dpcli.privacy.decimals import readable_text
from dpcli.queries import Key
from dpcli.spec.columns import Scope
from dpcli.spec.findings import Findings
from dpcli.spec.grid import in_steps, on_grid
from dpcli.spec.nodes import Listing, Mapping, Node, Word, at, words_of

MOST_BINS = 10_001
"""A column of ten thousand steps has one value more."""

RESERVED = ("statistic", "item", "value", "lower", "upper")
"""The columns that every output has."""


def groups(node: Node | None, user: str, scope: Scope, field: str = "by") -> tuple[Key, ...] | None:
    """The keys of a list such as `by`, or None after their problems are recorded."""
    items = node.items if isinstance(node, Listing) else ()
    found: dict[str, Key] = {}
    seen: set[str] = set()
    for item in items:
        word = at(item, "column")
        if not isinstance(word, Word):
            continue
        if word.text in seen:
            scope.findings.report("duplicate-key-column", word.span, column=word.text, field=field)
            continue
        seen.add(word.text)
        column = scope.key(word, user)
        if column is not None and column.name in RESERVED:
            facts = {"column": column.name, "reserved": RESERVED}
            scope.findings.report("reserved-name", word.span, **facts)
        elif column is not None:
            bins = item.get("bins") if isinstance(item, Mapping) else None
            key = axis(column, bins, word, scope.findings, "missing-bins")
            if key is not None:
                found[word.text] = key
    return tuple(found.values()) if len(found) == len(items) else None


def axis(
    column: CategoryColumn | NumericColumn | OpenColumn,
    bins: Node | None,
    word: Word,
    findings: Findings,
    missing: str,
) -> Key | None:
    """The labels of a category, or the bins of a number; `missing` says that it has none."""
    facts = {"column": column.name, "kind": column.kind}
    if column.name.startswith(FORMULA):
        findings.report("formula-label.key", word.span, first=column.name[0], **facts)
    elif not isinstance(column, NumericColumn):
        if bins is None:
            return Key(column)
        findings.report("bins-not-taken", bins.span, **facts)
    elif bins is None:
        findings.report(missing, word.span, **facts)
    else:
        starts = _starts(column, bins, findings)
        return Key(column, starts) if starts else None
    return None


def _starts(column: NumericColumn, bins: Node, findings: Findings) -> tuple[int, ...] | None:
    width, edges = at(bins, "width"), at(bins, "edges")
    if isinstance(width, Word) == isinstance(edges, Listing):
        code = "bins-form.both" if isinstance(width, Word) else "bins-form"
        findings.report(code, bins.span)
    elif isinstance(width, Word):
        return _by_width(column, width, findings)
    elif isinstance(edges, Listing):
        return _by_edges(column, edges, findings)
    return None


def _by_width(column: NumericColumn, word: Word, findings: Findings) -> tuple[int, ...] | None:
    """Bins of one width from the lower bound; the last may be narrower.

    Bins of whole numbers and days are ranges of that many values, so the upper bound may
    be a bin of its own. The last interval of finer numbers includes it instead.
    """
    # The width of a date's bins is a number of days: the step of a date is one.
    steps = in_steps(NumericColumn("", "number", column.step), word, "`width`", findings)
    if steps is None:
        return None
    if steps <= 0 or steps.denominator != 1:
        code = "width-not-positive" if steps <= 0 else "off-grid.width"
        unit = "a whole number of days" if column.kind == "date" else "a multiple of the step"
        nearest = readable_text(max(1, ceil(steps)) * column.step)
        findings.report(code, word.span, width=word.text, unit=unit, nearest=nearest)
        return None
    end = column.upper + 1 if column.whole else column.upper
    starts = range(column.lower, end, steps.numerator)
    return None if _are_too_many(len(starts), word, findings) else tuple(starts)


def _by_edges(column: NumericColumn, node: Listing, findings: Findings) -> tuple[int, ...] | None:
    """Given edges: on the grid, rising, from bound to bound.

    Each edge but the last begins a bin. The last is the upper bound, which the last bin
    includes; or, for whole numbers and days, the value after it, where the next bin would
    begin.
    """
    words = words_of(node)
    read = [on_grid(column, word, "the edge", findings) for word in words]
    edges = [edge for edge in read if edge is not None]
    if len(edges) < len(node.items) or _are_too_many(len(edges) - 1, node, findings):
        return None
    for place in range(1, len(edges)):
        if edges[place] <= edges[place - 1]:
            facts = {"edge": words[place].text, "before": words[place - 1].text}
            findings.report("edges-order", words[place].span, **facts)
            return None
    for place, bound in ((0, column.lower), (-1, column.upper)):
        after = column.whole and place == -1 and edges[place] == bound + 1
        if edges[place] != bound and not after:
            beyond = not column.lower <= edges[place] <= column.upper
            ends = (
                {"place": "last", "side": "upper"} if place else {"place": "first", "side": "lower"}
            )
            code = "edges-bounds.beyond" if beyond else "edges-bounds"
            edge, text = words[place], column.text(bound)
            findings.report(code, edge.span, edge=edge.text, bound=text, **ends)
            return None
    return tuple(edges[:-1])


def _are_too_many(count: int, node: Node, findings: Findings) -> bool:
    if count > MOST_BINS:
        findings.report("too-many-bins", node.span, count=count, most=MOST_BINS)
    return count > MOST_BINS
