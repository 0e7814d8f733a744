"""Which accounts were charged for the same data file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dpcli.ledger.entry import Entry


def sharing(entries: Iterable[Entry], dataset: str, files: Sequence[str] = ()) -> list[str]:
    """Other accounts that were charged for a file that `dataset` was, or for one of `files`.

    Entries of earlier versions, and of standard input, record no file.
    """
    by_account: dict[str, set[str]] = {}
    for entry in entries:
        # Most entries of a long ledger need no parsing.
        recorded = entry.content().get("files") if '"files"' in entry.payload else None
        if isinstance(recorded, list):
            by_account.setdefault(entry.dataset, set()).update(map(str, recorded))
    mine = by_account.pop(dataset, set()).union(files)
    return sorted(name for name, theirs in by_account.items() if theirs & mine)
