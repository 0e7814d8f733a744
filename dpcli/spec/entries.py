"""The section `statistics`: its entries, and groups that they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dpcli.messages import inline
from dpcli.queries import Key
from dpcli.spec.columns import Scope
from dpcli.spec.entry import EntryReader
from dpcli.spec.findings import Findings
from dpcli.spec.model import Entry
from dpcli.spec.nodes import Listing, Mapping, Word, described
from dpcli.spec.request import numbers_of, scores_of

MOST_STATISTICS = 1_000
MOST_CELLS_IN_ALL, MOST_SCORES_IN_ALL = 2_000_000, 10_000_000
MOST_QUERIES_IN_ALL = 10_000

Placed = tuple[Entry, Mapping]
"""An entry and where it stands."""


EMPTY = {"statistics": "no-statistics", "responses": "no-responses"}


def entries_of(
    section: Listing | None, name: str, example: str, findings: Findings
) -> tuple[Mapping, ...]:
    """The entries of a section that are mappings; others are recorded, as is an empty section."""
    if section is None:
        return ()
    if not section.items:
        findings.report(EMPTY[name], section.span)
    for node in section.items:
        if not isinstance(node, Mapping):
            facts = {"name": f"an entry of `{name}`", "found": described(node)}
            findings.report("wrong-shape.one-entry", node.span, example=example, **facts)
    return tuple(node for node in section.items if isinstance(node, Mapping))


def resolve_entries(section: Listing | None, scope: Scope) -> tuple[Entry, ...]:
    """Every entry without problems; those with problems are recorded."""
    example = "{name: ..., statistic: ..., epsilon: ...}"
    nodes = entries_of(section, "statistics", example, scope.findings)
    if len(nodes) > MOST_STATISTICS:
        facts = {"count": len(nodes), "most": MOST_STATISTICS}
        scope.findings.report("too-many-statistics", nodes[MOST_STATISTICS].span, **facts)
        return ()
    names: dict[str, Word] = {}
    totals = _Sizes(scope)
    found: list[Placed] = []
    for node in nodes:
        entry = EntryReader(node, scope).entry(names)
        if entry is not None:
            if not totals.add(entry, node):
                return ()
            found.append((entry, node))
    whole = section is not None and len(found) == len(section.items)
    return _share_selections(found, scope, whole=whole)


class _Sizes:
    """What all statistics have together; each limit is reported where it is passed."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._cells = self._scores = self._queries = 0

    def add(self, entry: Entry, node: Mapping) -> bool:
        """Whether the limits hold with one more entry."""
        request, statistic = entry.request, entry.statistic
        if not any(key.open for key in request.by):
            self._cells += numbers_of(statistic, request)
        self._scores += scores_of(request)
        self._queries += len(statistic.questions(request, self._scope.relation))
        for code, count, most in (
            ("too-many-cells.all", self._cells, MOST_CELLS_IN_ALL),
            ("too-many-cells.all_scores", self._scores, MOST_SCORES_IN_ALL),
            ("too-many-queries", self._queries, MOST_QUERIES_IN_ALL),
        ):
            if count > most:
                self._scope.findings.report(code, node.span, count=count, most=most)
                return False
        return True


def _share_selections(placed: Sequence[Placed], scope: Scope, *, whole: bool) -> tuple[Entry, ...]:
    """The entries, each with the entry that selects its groups, if keys are private.

    Unless these are the `whole` section, a missing selection may be in an entry that has
    problems of its own, and is not reported.
    """
    selectors: dict[tuple[Key, ...], Entry] = {}
    for entry, node in placed:
        first = selectors.setdefault(entry.request.by, entry) if entry.selects else entry
        if first is not entry:
            name, other = entry.request.name, first.request.name
            span = node.key_span("keys")
            scope.findings.report("keys-twice", span, statistic=name, other=other)
    found = []
    for entry, node in placed:
        selector = selectors.get(entry.request.by)
        columns = [key.column.name for key in entry.request.by]
        private = [key.column.name for key in entry.request.by if key.open]
        if private and selector is None and whole:
            facts = {"statistic": entry.request.name, "private": private}
            by = ", ".join(map(inline, columns))
            scope.findings.report("keys-required", node.key_span("by"), by=by, **facts)
        found.append(replace(entry, keys=selector.request.name) if selector else entry)
    return tuple(found)
