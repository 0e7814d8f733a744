"""Keys and bins: the axes of an answer, in whole steps of their columns."""

from __future__ import annotations

from math import ceil

from dpcli.columns import FORMULA, CategoryColumn, NumericColumn, OpenColumn
from dpcli.messages import inline, listed, shown
from dpcli.privacy.decimals import readable_text
from dpcli.queries import Key
from dpcli.spec.columns import Scope
from dpcli.spec.findings import a_column, misread
from dpcli.spec.grid import in_kind, on_column
from dpcli.spec.nodes import Listing, Mapping, Node, Word, at

MOST_BINS = 10_001
"""A column of ten thousand steps has one value more."""

RESERVED = ("statistic", "item", "value", "lower", "upper")
"""The columns that every output has."""


def groups(node: Node | None, user: str, scope: Scope, field: str = "by") -> tuple[Key, ...] | None:
    """The keys of a list such as `by`, or None after their problems are recorded."""
    found: list[Key | None] = []
    seen: set[str] = set()
    for item in node.items if isinstance(node, Listing) else ():
        word = at(item, "column")
        if not isinstance(word, Word):
            found.append(None)
        elif word.text in seen:
            message = f"{shown(word.text)} is in `{field}` twice"
            scope.findings.add("duplicate-key-column", message, "keep one of them", word.span)
            found.append(None)
        else:
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
        message = f"{shown(column.name)} cannot be a key: the output has a column of that name"
        hint = f"rename the column in the data file; reserved are {listed(RESERVED)}"
        scope.findings.add("reserved-name", message, hint, word.span)
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
    name, add = shown(column.name), scope.findings.add
    if column.name.startswith(FORMULA):
        message = (
            f"the key column {name} begins with {shown(column.name[0])}: "
            f"{misread(column.name, 'its heading')}"
        )
        add("formula-label", message, "rename the column in the data file", word.span)
        return None
    if isinstance(column, CategoryColumn | OpenColumn):
        if bins is None:
            return Key(column)
        message = f"{name} is {a_column(column.kind)}, its labels are the bins"
        hint = "omit `bins`: each label is a group of its own"
        add("bins-not-taken", message, hint, bins.span)
        return None
    if bins is None:
        message = f"{name} is {a_column(column.kind)}, expected `bins` that cut it"
        add("missing-bins", message, f"write `{example}`", word.span)
        return None
    width, edges = at(bins, "width"), at(bins, "edges")
    has_width, has_edges = isinstance(width, Word), isinstance(edges, Listing)
    if has_width == has_edges:
        message = "has both `width` and" if has_width else "has neither `width` nor"
        add(
            "bins-form",
            f"`bins` {message} `edges`, expected one of them",
            "write `bins: {width: ...}` or `bins: {edges: [...]}`",
            bins.span,
        )
        return None
    starts = (
        _by_width(column, width, scope)
        if isinstance(width, Word)
        else _by_edges(column, edges, scope)
        if isinstance(edges, Listing)
        else None
    )
    return Key(column, starts) if starts else None


def _by_width(column: NumericColumn, word: Word, scope: Scope) -> tuple[int, ...] | None:
    """Bins of one width from the lower bound; the last may be narrower.

    Bins of whole numbers and days are ranges of that many values, so the upper bound may
    be a bin of its own. The last interval of finer numbers includes it instead.
    """
    # The width of a date's bins is a number of days: the step of a date is one.
    number = NumericColumn("", "number", column.step)
    value = in_kind(number, word, "`width`", scope.findings)
    if value is None:
        return None
    steps = value / column.step
    if value <= 0 or steps.denominator != 1:
        unit = "a whole number of days" if column.kind == "date" else "a multiple of the step"
        nearest = max(1, ceil(steps)) * column.step
        scope.findings.add(
            "width-not-positive" if value <= 0 else "off-grid",
            f"`width` is {shown(word.text)}, expected {unit} above zero",
            f"write `width: {readable_text(nearest)}`",
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
    read = [on_column(column, word, "the edge", scope.findings) for word in words]
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
                f"begin and end with the bounds: leave out edges beyond {column.text(bound)}, or "
                "widen the bounds"
                if beyond
                else f"add the edge {shown(column.text(bound))}",
                words[position].span,
            )
            return None
    return tuple(edges[:-1])


def _too_many(count: int, node: Node, scope: Scope) -> bool:
    """Whether there are more bins than anyone reads; recorded if so."""
    if count > MOST_BINS:
        message = f"there are {count:,} bins, at most {MOST_BINS:,} are possible"
        hint = "use wider bins; the noise of each bin is the same however narrow it is"
        scope.findings.add("too-many-bins", message, hint, node.span)
    return count > MOST_BINS
