"""The statistics section: every entry, and limits on all of them together."""

from __future__ import annotations

from dpcli.privacy.relation import Neighbors, Relation, RowUnit
from dpcli.spec.entry import numbers_of, resolve_entry, scores_of
from dpcli.spec.model import Entry
from dpcli.spec.nodes import Listing, Mapping, Node, Word, described
from dpcli.spec.scope import Scope
from dpcli.spec.selection import Placed, share_selections

MOST_STATISTICS = 1_000
MOST_CELLS_IN_ALL = 2_000_000
MOST_SCORES_IN_ALL = 10_000_000
MOST_QUERIES_IN_ALL = 10_000


def resolve_entries(section: Listing | None, scope: Scope) -> tuple[Entry, ...]:
    """Every entry without problems; those with problems are recorded."""
    if section is None:
        return ()
    if not section.items:
        scope.findings.add(
            "no-statistics",
            "`statistics` is empty, expected at least one entry",
            "add `- {name: people, statistic: count, epsilon: 0.5}`",
            section.span,
        )
    if len(section.items) > MOST_STATISTICS:
        scope.findings.add(
            "too-many-statistics",
            f"there are {len(section.items):,} statistics, at most {MOST_STATISTICS:,} can be",
            "split the spec",
            section.items[MOST_STATISTICS].span,
        )
        return ()
    names: dict[str, Word] = {}
    totals = _Totals(scope)
    found: list[Placed] = []
    for node in section.items:
        if not isinstance(node, Mapping):
            scope.findings.add(
                "wrong-shape",
                f"an entry of `statistics` is {described(node)}, expected a mapping",
                "write `- {name: ..., statistic: ..., epsilon: ...}`",
                node.span,
            )
            continue
        entry = resolve_entry(node, scope, names)
        if entry is None:
            continue
        if not totals.add(entry, node):
            return ()
        found.append((entry, node))
    return share_selections(found, scope, whole=len(found) == len(section.items))


class _Totals:
    """What all statistics have together; each limit is reported where it is passed."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._relation = Relation(scope.unit or RowUnit(), Neighbors.ADD_REMOVE)
        self._cells = self._scores = self._queries = 0

    def add(self, entry: Entry, node: Node) -> bool:
        """Whether the limits hold with one more entry."""
        request, statistic = entry.request, entry.statistic
        if not any(key.open for key in request.by):
            self._cells += numbers_of(statistic, request)
        self._scores += scores_of(request)
        self._queries += len(statistic.questions(request, self._relation))
        for code, count, most, what, hint in (
            ("too-many-cells", self._cells, MOST_CELLS_IN_ALL, "cells",
             "use wider bins, fewer keys in `by`, or several specs"),
            ("too-many-cells", self._scores, MOST_SCORES_IN_ALL, "scores of candidates",
             "use fewer candidates, as in `candidates: {step: ...}`, or several specs"),
            ("too-many-queries", self._queries, MOST_QUERIES_IN_ALL, "queries",
             "ask about fewer columns at once, or split the spec"),
        ):  # fmt: skip
            if count > most:
                self._scope.findings.add(
                    code,
                    f"the statistics up to here have {count:,} {what}, "
                    f"at most {most:,} can be released in all",
                    hint,
                    node.span,
                )
                return False
        return True
