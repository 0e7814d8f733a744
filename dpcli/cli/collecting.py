"""Where responses go, and what is there already."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from dpcli.cli.reports import reports_of, stored_bytes
from dpcli.errors import LedgerError, OutputError, Problem
from dpcli.ledger.charge import Stored
from dpcli.ledger.ledger import Ledger
from dpcli.local.pending import digest_of, waiting_name
from dpcli.publish import is_device, publish, publish_file, require_writable


class Collection:
    """The responses and reports that a command line asks for.

    With OUT.csv and no report, OUT.report.json is written beside it.
    """

    def __init__(
        self,
        output: Path | None,
        reports: Sequence[Path],
        release_id: str,
        ledger: Ledger,
        *,
        force: bool,
        shuffle: bool,
        named: str | None = None,
    ) -> None:
        self._force, self._shuffle = force, shuffle
        self._output = None if output == Path("-") else output
        self._device = self._output is not None and is_device(self._output)
        self._release_id = release_id
        self._waiting = waiting_name(ledger.path, release_id)
        beside = None if self._device else self._output
        self._reports, self._twice = reports_of(beside, reports, named)

    def require(self, inputs: Sequence[Path], stored: Stored | None) -> None:
        """Raise UsageError or LedgerError, before anything is spent, for what cannot be done."""
        known: dict[Path, bytes] = {}
        targets = [*([self._output] if self._output else []), *self._reports]
        if stored is not None:
            self._require_order(stored)
            known = self._contents(stored)
            if self._published(stored):
                targets = list(self._reports)
            else:
                self._require_waiting(stored)
        require_writable(targets, inputs, force=self._force, twice=self._twice, known=known)

    def publish(self, stored: Stored, again: str) -> None:
        """Put the responses where they are wanted, and the reports beside."""
        self._require_order(stored)
        try:
            # The responses first: there is only one of them.
            self._publish_responses(stored)
            publish(self._contents(stored))
        except OutputError as failure:
            raise OutputError(
                Problem(
                    problem.code,
                    problem.message,
                    f"the responses are charged, and nothing is lost; {again}, which costs nothing",
                )
                for problem in failure.problems
            ) from None

    def _contents(self, stored: Stored) -> dict[Path, bytes]:
        """The reports that are wanted."""
        found = stored_bytes(stored.outputs, self._reports.values())
        return {path: found[name] for path, name in self._reports.items()}

    def _publish_responses(self, stored: Stored) -> None:
        """Have the responses where they are wanted, and nowhere else."""
        if stored.fresh:
            # Written and charged just now: nothing needs to be looked for.
            self._publish_waiting(stored)
            return
        if self._published(stored):
            if digest_of(self._waiting) == stored.digest:
                self._waiting.unlink(missing_ok=True)
            return
        self._require_waiting(stored)
        self._publish_waiting(stored)

    def _publish_waiting(self, stored: Stored) -> None:
        """Have what waits where it is wanted."""
        try:
            publish_file(self._waiting, self._output, force=self._force)
        except OutputError:
            # Another process with the same id may have been quicker.
            if not self._published(stored):
                raise

    def _published(self, stored: Stored) -> bool:
        """Whether the responses are where they are wanted already."""
        if self._output is None or self._device:
            return False
        return digest_of(self._output) == stored.digest

    def _require_waiting(self, stored: Stored) -> None:
        """Raise LedgerError unless the responses wait to be published."""
        if digest_of(self._waiting) == stored.digest or self._published(stored):
            return
        raise LedgerError.of(
            "responses-gone",
            f"the responses `{self._release_id}` were published before, and the ledger keeps "
            "only their digest",
            f"they are the file whose SHA-256 is {stored.digest}: name it by -o, or pay for new "
            "ones under another --release-id",
        )

    def _require_order(self, stored: Stored) -> None:
        """Raise LedgerError unless the stored responses stand in the order that is asked for."""
        shuffled = json.loads(stored.outputs["report.json"])["shuffled"]
        if shuffled != self._shuffle:
            order = "a random order" if shuffled else "the order of the file"
            raise LedgerError.of(
                "release-id-taken",
                f"release `{self._release_id}` was made in {order}",
                f"ask for the same again, {'with' if shuffled else 'without'} --shuffle, or give "
                "this release an id of its own",
            )
