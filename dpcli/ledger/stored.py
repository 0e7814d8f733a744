"""A release as the ledger keeps it: the bytes of its outputs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

STOPPED = "stopped.json"
"""The output of a release that its quality check stopped: why, as a list of sentences."""

RESPONSES = "responses.sha256"
"""The output of a local collection that stands for its responses, which are not stored."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A release that was charged: the exact bytes of its outputs, by name."""

    release_id: str
    outputs: Mapping[str, bytes]
    fresh: bool

    @property
    def stopped(self) -> tuple[str, ...]:
        """Why the quality check stopped the release; empty if it did not."""
        found = self.outputs.get(STOPPED)
        return () if found is None else tuple(json.loads(found))

    @property
    def digest(self) -> str | None:
        """SHA-256 of the responses of a local collection; None of other releases."""
        found = self.outputs.get(RESPONSES)
        return None if found is None else found.decode()
