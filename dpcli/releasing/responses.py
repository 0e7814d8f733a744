"""Charged responses of the local model, from their outbox to their output.

The ledger stores only the digest. The responses are in a file with that digest, which is in the
outbox until it is published.
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
    """The charged responses of a local collection.

    `shuffle` says whether the command requests them in random order.
    """

    stored: StoredRelease
    ledger: Path
    shuffle: bool

    @property
    def waiting(self) -> Path:
        """The file in the outbox that holds the responses until they are published."""
        return waiting_path(self.ledger, self.stored.entry_name)

    def are_at(self, output: Path | None) -> bool:
        """Whether the responses are at their output already."""
        if output is None or is_device(output):
            return False
        return self._is_at(output)

    def require(self, output: Path | None) -> None:
        """Raise LedgerError if the responses are gone, or were shuffled differently.

        They are gone if neither the outbox nor the output holds them.
        """
        self._require_order()
        self._require_waiting(output)

    def publish(self, output: Path | None, *, force: bool) -> None:
        """Move the responses to their output, unless they are there already.

        Raises LedgerError or OutputError.
        """
        self._require_order()
        if self.stored.receipt is None and self.are_at(output):
            if self._is_at(self.waiting):
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

    def _is_at(self, path: Path) -> bool:
        return digest_of(path) == self.stored.digest

    def _require_waiting(self, output: Path | None) -> None:
        if not self._is_at(self.waiting) and not self.are_at(output):
            arguments = {"release_id": self.stored.release_id, "digest": self.stored.digest}
            raise LedgerError.about("responses-gone", **arguments)

    def _require_order(self) -> None:
        shuffled = json.loads(self.stored.outputs[FACTS])["shuffled"]
        if shuffled != self.shuffle:
            how = "with --shuffle" if shuffled else "without --shuffle"
            named = {"name": self.stored.release_id, "dataset": self.stored.dataset}
            raise LedgerError.about("release-id-taken", how=how, **named)
