"""The guarantees of recorded events that are no answers of a series."""

from __future__ import annotations

from dpcli.ledger.balance import GuaranteeCounts, guarantee_counts
from dpcli.privacy.loss import Guarantee


def plain_guarantees(events_json: str, neighbors: str) -> dict[Guarantee, int]:
    """The guarantees of events, each with its number of answers."""
    return of_counts(guarantee_counts(events_json, neighbors))


def of_counts(counts: GuaranteeCounts) -> dict[Guarantee, int]:
    """Counted guarantees, none of which is that of a series."""
    found = {one: times for one, times in counts if isinstance(one, Guarantee)}
    assert len(found) == len(counts)
    return found
