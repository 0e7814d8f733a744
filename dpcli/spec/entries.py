"""The section `statistics`: its entries, and groups that they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dpcli.messages import inline
from dpcli.queries import Key
from dpcli.spec.columns import Scope
from dpcli.spec.entry import EntryReader
from dpcli.spec.findings import readable
from dpcli.spec.model import Entry
from dpcli.spec.nodes import Listing, Mapping, Node, Word, described
from dpcli.spec.request import numbers_of, scores_of
from dpcli.values import Unreadable

MOST_STATISTICS = 1_000
MOST_CELLS_IN_ALL, MOST_SCORES_IN_ALL = 2_000_000, 10_000_000
MOST_QUERIES_IN_ALL = 10_000

Placed = tuple[Entry, Mapping]
"""An entry and where it stands."""


EMPTY = {"statistics": "no-statistics", "responses": "no-responses"}


def entries_of(section: Listing | None, name: str, example: str) -> list[Mapping]:
    """The entries of a section that are mappings; others are recorded, as is an empty section."""
    if section is None:
        return []
    if not section.items:
        section.span.report(EMPTY[name])

    def read(node: Node) -> Mapping:
        if isinstance(node, Mapping):
            return node
        facts = {"name": f"an entry of `{name}`", "found": described(node)}
        raise node.span.report("wrong-shape.one-entry", example=example, **facts)

    return readable(read, section.items)


def resolve_entries(section: Listing | None, scope: Scope) -> tuple[Entry, ...]:
    """Every entry without problems; those with problems are recorded."""
    nodes = entries_of(section, "statistics", "{name: ..., statistic: ..., epsilon: ...}")
    if len(nodes) > MOST_STATISTICS:
        span = nodes[MOST_STATISTICS].span
        raise span.report("too-many-statistics", count=len(nodes), most=MOST_STATISTICS)
    names: dict[str, Word] = {}
    found: list[Placed] = []
    cells = scores = queries = 0
    for node in nodes:
        try:
            entry = EntryReader(node, scope).entry(names)
        except Unreadable:
            continue
        found.append((entry, node))
        request = entry.request
        if not any(key.open for key in request.by):
            cells += numbers_of(entry.statistic, request)
        scores += scores_of(request)
        queries += len(entry.statistic.questions(request, scope.relation))
        for code, count, most in (
            ("too-many-cells.all", cells, MOST_CELLS_IN_ALL),
            ("too-many-cells.all_scores", scores, MOST_SCORES_IN_ALL),
            ("too-many-queries", queries, MOST_QUERIES_IN_ALL),
        ):
            if count > most:
                raise node.span.report(code, count=count, most=most)
    whole = section is not None and len(found) == len(section.items)
    return _share_selections(found, whole=whole)


def _share_selections(placed: Sequence[Placed], *, whole: bool) -> tuple[Entry, ...]:
    """The entries, each with the entry that selects its groups, if keys are private.

    Unless these are the `whole` section, a missing selection may be in an entry that has
    problems of its own, and is not reported.
    """
    selectors: dict[tuple[Key, ...], Entry] = {}
    for entry, node in placed:
        first = selectors.setdefault(entry.request.by, entry) if entry.selects else entry
        if first is not entry:
            facts = {"statistic": entry.request.name, "other": first.request.name}
            node.key_span("keys").report("keys-twice", **facts)
    found = []
    for entry, node in placed:
        selector = selectors.get(entry.request.by)
        private = [key.column.name for key in entry.request.by if key.open]
        if private and selector is None and whole:
            by = ", ".join(inline(key.column.name) for key in entry.request.by)
            span, name = node.key_span("by"), entry.request.name
            span.report("keys-required", by=by, statistic=name, private=private)
        found.append(replace(entry, keys=selector.request.name) if selector else entry)
    return tuple(found)
