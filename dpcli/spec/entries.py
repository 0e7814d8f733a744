"""The statistics section: every entry, and limits on all of them together."""

from __future__ import annotations

from dpcli.spec.entry import numbers_of, resolve_entry, scores_of
from dpcli.spec.model import Entry
from dpcli.spec.nodes import Listing, Mapping, Word, described
from dpcli.spec.scope import Scope
from dpcli.spec.selection import Placed, share_selections

MOST_STATISTICS = 1_000
MOST_CELLS_IN_ALL = 2_000_000
MOST_SCORES_IN_ALL = 10_000_000


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
    cells = scores = 0
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
        before, scored = cells, scores
        open_groups = any(key.open for key in entry.request.by)
        cells += 0 if open_groups else numbers_of(entry.statistic, entry.request)
        if before <= MOST_CELLS_IN_ALL < cells:
            scope.findings.add(
                "too-many-cells",
                f"the statistics up to here have {cells:,} cells, "
                f"at most {MOST_CELLS_IN_ALL:,} can be released in all",
                "use wider bins, fewer keys in `by`, or several specs",
                node.span,
            )
        scores += scores_of(entry.request)
        if scored <= MOST_SCORES_IN_ALL < scores:
            scope.findings.add(
                "too-many-cells",
                f"the statistics up to here have {scores:,} scores of candidates, "
                f"at most {MOST_SCORES_IN_ALL:,} can be in all",
                "use fewer candidates, as in `candidates: {step: ...}`, or several specs",
                node.span,
            )
        found.append((entry, node))
    return share_selections(found, scope, whole=len(found) == len(section.items))
