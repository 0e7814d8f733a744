"""The section `statistics`: its entries, and groups that they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dpcli.messages import listed, shown
from dpcli.queries import Key
from dpcli.spec.columns import Scope
from dpcli.spec.entry import EntryReader
from dpcli.spec.model import Entry
from dpcli.spec.nodes import Listing, Mapping, Word
from dpcli.spec.sizes import Sizes

MOST_STATISTICS = 1_000


Placed = tuple[Entry, Mapping]
"""An entry and where it stands."""


def resolve_entries(section: Listing | None, scope: Scope) -> tuple[Entry, ...]:
    """Every entry without problems; those with problems are recorded."""
    if section is None:
        return ()
    many = len(section.items)
    if not many:
        message = "`statistics` is empty, expected at least one entry"
        hint = "add `- {name: people, statistic: count, epsilon: 0.5}`"
        scope.findings.add("no-statistics", message, hint, section.span)
    if many > MOST_STATISTICS:
        scope.findings.add(
            "too-many-statistics",
            f"there are {many:,} statistics, at most {MOST_STATISTICS:,} are possible",
            "split the spec",
            section.items[MOST_STATISTICS].span,
        )
        return ()
    names: dict[str, Word] = {}
    totals = Sizes(scope)
    found: list[Placed] = []
    for node in mappings(section, "statistics", "{name: ..., statistic: ..., epsilon: ...}", scope):
        entry = EntryReader(node, scope).entry(names)
        if entry is not None:
            if not totals.add(entry, node):
                return ()
            found.append((entry, node))
    return _share_selections(found, scope, whole=len(found) == many)


def mappings(section: Listing, name: str, example: str, scope: Scope) -> list[Mapping]:
    """The entries of a section that are mappings; others are recorded."""
    for node in section.items:
        if not isinstance(node, Mapping):
            kind = "a list" if isinstance(node, Listing) else "a text"
            message = f"an entry of `{name}` is {kind}, expected a mapping"
            scope.findings.add("wrong-shape", message, f"write `- {example}`", node.span)
    return [node for node in section.items if isinstance(node, Mapping)]


def _share_selections(placed: Sequence[Placed], scope: Scope, *, whole: bool) -> tuple[Entry, ...]:
    """The entries, each with the entry that selects its groups, if keys are private.

    Unless these are the `whole` section, a missing selection may be in an entry that has
    problems of its own, and is not reported.
    """
    selectors: dict[tuple[Key, ...], Entry] = {}
    for entry, node in placed:
        first = selectors.setdefault(entry.request.by, entry) if entry.selects else entry
        if first is not entry:
            scope.findings.add(
                "keys-twice",
                f"{shown(entry.request.name)} selects the groups that "
                f"{shown(first.request.name)} selects already",
                "omit `keys` here: one selection is shared, and costs once",
                node.key_span("keys"),
            )
    found = []
    for entry, node in placed:
        open_keys = [key.column.name for key in entry.request.by if key.open]
        selector = selectors.get(entry.request.by)
        if open_keys and selector is None and whole:
            names = ", ".join(key.column.name for key in entry.request.by)
            scope.findings.add(
                "keys-required",
                f"{shown(entry.request.name)} is grouped by {listed(open_keys)}, whose values are "
                f"not declared, and no entry selects which groups may be shown",
                "declare `values` if they are public; else add `{name: ..., statistic: count, "
                f"by: [{names}], keys: private, epsilon: ..., delta: ...}}`",
                node.key_span("by"),
            )
        found.append(replace(entry, keys=selector.request.name) if selector else entry)
    return tuple(found)
