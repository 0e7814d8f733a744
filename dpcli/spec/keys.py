"""The axes of an answer: groups of `by`, and the bins that cut numbers."""

from __future__ import annotations

from math import ceil

from dpcli.columns import FORMULA, CategoryColumn, NumericColumn, OpenColumn
from dpcli.queries import Key
from dpcli.spec.nodes import Listing, Mapping, Node, Word, at
from dpcli.spec.scope import Scope, read_number, read_whole_steps
from dpcli.spec.wording import a_column, inline, listed, misread, plain, shown

MOST_BINS = 10_001
"""A column of ten thousand steps has one value more."""

RESERVED = ("statistic", "item", "value", "lower", "upper")
"""The columns that every output has."""


def groups(node: Node | None, user: str, scope: Scope, field: str = "by") -> tuple[Key, ...] | None:
    """The keys of a list such as `by`, or None after their problems are recorded."""
    if not isinstance(node, Listing):
        return ()
    found: list[Key | None] = []
    seen: set[str] = set()
    for item in node.items:
        word = at(item, "column")
        if not isinstance(word, Word):
            found.append(None)
            continue
        if word.text in seen:
            scope.findings.add(
                "duplicate-key-column",
                f"{shown(word.text)} is in `{field}` twice",
                "keep one of them",
                word.span,
            )
            found.append(None)
            continue
        seen.add(word.text)
        found.append(_group(item, word, user, scope))
    keys = tuple(key for key in found if key is not None)
    return keys if len(keys) == len(found) else None


def _group(item: Node, word: Word, user: str, scope: Scope) -> Key | None:
    """One axis of groups."""
    column = scope.key(word.text, word.span, user)
    if column is None:
        return None
    if column.name in RESERVED:
        scope.findings.add(
            "reserved-name",
            f"{shown(column.name)} cannot be a key: the output has a column of that name",
            f"rename the column in the data file; reserved are {listed(RESERVED)}",
            word.span,
        )
        return None
    bins = item.get("bins") if isinstance(item, Mapping) else None
    return axis(column, bins, word, scope, f"{{column: {inline(word.text)}, bins: {{width: ...}}}}")


def axis(
    column: CategoryColumn | NumericColumn | OpenColumn,
    bins: Node | None,
    word: Word,
    scope: Scope,
    example: str,
) -> Key | None:
    """The labels of a category, or the bins of a number; `example` shows the latter."""
    if column.name.startswith(FORMULA):
        scope.findings.add(
            "formula-label",
            f"the key column {shown(column.name)} begins with {shown(column.name[0])}: "
            f"{misread(column.name, 'its heading')}",
            "rename the column in the data file",
            word.span,
        )
        return None
    if isinstance(column, CategoryColumn | OpenColumn):
        if bins is None:
            return Key(column)
        scope.findings.add(
            "bins-not-taken",
            f"{shown(column.name)} is {a_column(column.kind)}, its labels are the bins",
            "remove `bins`",
            bins.span,
        )
        return None
    if bins is None:
        scope.findings.add(
            "missing-bins",
            f"{shown(column.name)} is {a_column(column.kind)}, expected `bins` that cut it",
            f"write `{example}`",
            word.span,
        )
        return None
    starts = _starts(column, bins, scope)
    return Key(column, starts) if starts else None


def _starts(column: NumericColumn, bins: Node, scope: Scope) -> tuple[int, ...] | None:
    """Where each bin begins, in steps, the first at the lower bound."""
    width, edges = at(bins, "width"), at(bins, "edges")
    has_width, has_edges = isinstance(width, Word), isinstance(edges, Listing)
    if has_width == has_edges:
        scope.findings.add(
            "bins-form",
            "`bins` has both `width` and `edges`, expected one of them"
            if has_width
            else "`bins` has neither `width` nor `edges`, expected one of them",
            "write `bins: {width: ...}` or `bins: {edges: [...]}`",
            bins.span,
        )
        return None
    if isinstance(width, Word):
        return _by_width(column, width, scope)
    assert isinstance(edges, Listing)
    return _by_edges(column, edges, scope)


def _by_width(column: NumericColumn, word: Word, scope: Scope) -> tuple[int, ...] | None:
    """Bins of one width from the lower bound; the last may be narrower.

    Bins of whole numbers and days are ranges of that many values, so the upper bound may
    be a bin of its own. The last interval of finer numbers includes it instead.
    """
    value = read_number(word, "`width`", scope.findings)
    if value is None:
        return None
    # The width of a date's bins is a number of days: the step of a date is one.
    steps = value / column.step
    if value <= 0 or steps.denominator != 1:
        unit = "a whole number of days" if column.kind == "date" else "a multiple of the step"
        nearest = max(1, ceil(steps)) * column.step
        scope.findings.add(
            "width-not-positive" if value <= 0 else "off-grid",
            f"`width` is {shown(word.text)}, expected {unit} above zero",
            f"write `width: {plain(nearest)}`",
            word.span,
        )
        return None
    end = column.upper + 1 if column.whole else column.upper
    starts = range(column.lower, end, steps.numerator)
    return None if _too_many(len(starts), word, scope) else tuple(starts)


def _by_edges(column: NumericColumn, node: Listing, scope: Scope) -> tuple[int, ...] | None:
    """Given edges: on the grid, rising, from bound to bound.

    Each edge but the last begins a bin. The last is the upper bound, which the last bin
    includes; or, for whole numbers and days, the value after it, where the next bin would
    begin.
    """
    words = [word for word in node.items if isinstance(word, Word)]
    read = [
        read_whole_steps(word, "the edge", column.kind, column.step, scope.findings)
        for word in words
    ]
    edges = [edge for edge in read if edge is not None]
    if len(edges) < len(node.items) or _too_many(len(edges) - 1, node, scope):
        return None
    for position in range(1, len(edges)):
        if edges[position] <= edges[position - 1]:
            scope.findings.add(
                "edges-order",
                f"the edge {shown(words[position].text)} follows "
                f"{shown(words[position - 1].text)}, expected a greater one",
                "list the edges from the lowest to the highest, each once",
                words[position].span,
            )
            return None
    for position, bound, side in ((0, column.lower, "lower"), (-1, column.upper, "upper")):
        after = column.whole and side == "upper" and edges[position] == bound + 1
        if edges[position] != bound and not after:
            place = "first" if position == 0 else "last"
            beyond = not column.lower <= edges[position] <= column.upper
            scope.findings.add(
                "edges-bounds",
                f"the {place} edge is {shown(words[position].text)}, "
                f"expected the {side} bound {shown(column.text(bound))}",
                f"remove edges beyond {column.text(bound)}, or widen the bounds"
                if beyond
                else f"add the edge {shown(column.text(bound))}",
                words[position].span,
            )
            return None
    return tuple(edges[:-1])


def _too_many(count: int, node: Node, scope: Scope) -> bool:
    """Whether there are more bins than anybody reads; recorded if so."""
    if count <= MOST_BINS:
        return False
    scope.findings.add(
        "too-many-bins",
        f"there are {count:,} bins, at most {MOST_BINS:,} can be",
        "use wider bins; the noise of each bin is the same however narrow it is",
        node.span,
    )
    return True
