"""Private keys: which entry selects the groups of an open column, and for whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dpcli.queries import Key
from dpcli.spec.model import Entry
from dpcli.spec.nodes import Mapping, Word
from dpcli.spec.scope import Scope
from dpcli.spec.wording import listed, shown
from dpcli.statistics import STATISTICS
from dpcli.statistics.base import Statistic

Placed = tuple[Entry, Mapping]
"""An entry and where it stands."""


def selects(node: Mapping, statistic: Statistic, by: Sequence[Key], scope: Scope) -> bool | None:
    """Whether an entry says `keys: private`; None after a problem is recorded."""
    word, findings = node.get("keys"), scope.findings
    if not isinstance(word, Word):
        return False
    if word.text != "private":
        findings.add(
            "unknown-keys",
            f"`keys` is {shown(word.text)}, expected `private`",
            "write `keys: private`, or leave it out where all keys are declared",
            word.span,
        )
    elif "keys" not in statistic.fields.all or node.get("column") is not None:
        able = [each.name for each in STATISTICS if "keys" in each.fields.all]
        findings.add(
            "keys-not-taken",
            f"{shown(statistic.name)}"
            f"{' of a column' if 'keys' in statistic.fields.all else ''} cannot "
            "select private keys",
            f"add a {listed(able, 'or')} without a column, of the same `by`, with "
            "`keys: private`; the groups it selects serve all entries of that `by`",
            word.span,
        )
    elif not any(key.open for key in by):
        findings.add(
            "keys-declared",
            "`keys: private`, but the values of every column in `by` are declared",
            "remove `keys`: declared groups are public, and all of them are released",
            word.span,
        )
    else:
        return True
    return None


def share_selections(placed: Sequence[Placed], scope: Scope, *, whole: bool) -> tuple[Entry, ...]:
    """The entries, each with the entry that selects its groups, if keys are private.

    Unless these are the `whole` section, a missing selection may be in an entry that has
    problems of its own, and nobody is blamed.
    """
    selectors: dict[tuple[Key, ...], Entry] = {}
    for entry, node in placed:
        if not entry.selects:
            continue
        first = selectors.setdefault(entry.request.by, entry)
        if first is not entry:
            scope.findings.add(
                "keys-twice",
                f"{shown(entry.request.name)} selects the groups that "
                f"{shown(first.request.name)} selects already",
                "remove `keys` here: one selection is shared, and costs once",
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
