"""Which accounts were charged for the same data file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def sharing(
    recorded: Iterable[tuple[str, Sequence[str]]], dataset: str, files: Sequence[str] = ()
) -> list[str]:
    """Other accounts that were charged for a file that `dataset` was, or for one of `files`.

    `recorded` are accounts, each with files that a release of it read.
    """
    by_account: dict[str, set[str]] = {}
    for name, paths in recorded:
        by_account.setdefault(name, set()).update(paths)
    mine = by_account.pop(dataset, set()).union(files)
    return sorted(name for name, theirs in by_account.items() if theirs & mine)
