"""Charged responses of the local model, published from the outbox.

The ledger stores their digest, not the responses. A file with that digest holds the responses.
"""

from __future__ import annotations

import json
from pathlib import Path

from dpcli.ledger.charge import StoredRelease
from dpcli.local.outbox import digest_of, waiting_path
from dpcli.problems.errors import LedgerError, OutputError
from dpcli.problems.light_dataclasses import dataclass
from dpcli.releasing.publishing import is_device, publish_file
from dpcli.report.formats import FACTS


@dataclass(frozen=True, slots=True)
class ChargedResponses:
    """The responses of a collection in a ledger; `shuffle` is the order that is requested now."""

    stored: StoredRelease
    ledger: Path
    shuffle: bool

    @property
    def waiting(self) -> Path:
        """Their file in the outbox, until they are published."""
        return waiting_path(self.ledger, self.stored.release_id)

    def are_at(self, output: Path | None) -> bool:
        """Whether the responses are at their output already."""
        if output is None or is_device(output):
            return False
        return digest_of(output) == self.stored.digest

    def require(self, output: Path | None) -> None:
        """Raise LedgerError if they were stored in another order, or if their file is gone."""
        self._require_order()
        self._require_waiting(output)

    def publish(self, output: Path | None, *, force: bool) -> None:
        """Move them to their output, once. Raises LedgerError or OutputError."""
        self._require_order()
        if self.stored.receipt is None and self.are_at(output):
            if digest_of(self.waiting) == self.stored.digest:
                self.waiting.unlink(missing_ok=True)
            return
        if self.stored.receipt is None:
            self._require_waiting(output)
        try:
            publish_file(self.waiting, output, force=force)
        except OutputError:
            # Another process with the same release id may have published them first.
            if not self.are_at(output):
                raise

    def _require_waiting(self, output: Path | None) -> None:
        if digest_of(self.waiting) != self.stored.digest and not self.are_at(output):
            arguments = {"release_id": self.stored.release_id, "digest": self.stored.digest}
            raise LedgerError.about("responses-gone", **arguments)

    def _require_order(self) -> None:
        shuffled = json.loads(self.stored.outputs[FACTS])["shuffled"]
        if shuffled != self.shuffle:
            code = "release-id-taken.shuffled" if shuffled else "release-id-taken.ordered"
            raise LedgerError.about(code, release_id=self.stored.release_id)
