"""Where responses go, and what is there already."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dpcli.errors import LedgerError, OutputError, Problem
from dpcli.ledger.ledger import Ledger, Stored
from dpcli.local.pending import digest_of, find
from dpcli.publish import is_device, publish, publish_file, require_writable
from dpcli.report.formats import report_name


class Collection:
    """The responses and reports that a command line asks for.

    With OUT.csv and no report, OUT.report.json is written beside it. Responses wait
    beside OUT.csv until they are charged, or beside the ledger if they go elsewhere.
    """

    def __init__(
        self, output: Path | None, reports: Sequence[Path], release_id: str, ledger: Ledger
    ) -> None:
        self._output = None if output == Path("-") else output
        self._device = self._output is not None and is_device(self._output)
        self._release_id = release_id
        beside = ledger.path
        if self._output is not None and not self._device:
            # A link is replaced in the place that it points to, as a shell would.
            beside = self._output.resolve()
            if not reports and self._output.name:
                stem = self._output.name.removesuffix(".csv")
                reports = [self._output.with_name(f"{stem}.report.json")]
        self.place = beside
        self._places = (beside, ledger.path)
        self._reports = {path: report_name(path) for path in reports}
        self._twice = len(self._reports) < len(reports)

    def require(self, inputs: Sequence[Path], stored: Stored | None, *, force: bool) -> None:
        """Raise UsageError or LedgerError, before anything is spent, for what cannot be done."""
        known: dict[Path, bytes] = {}
        targets = [*([self._output] if self._output else []), *self._reports]
        if stored is not None:
            known = {path: stored.outputs[name] for path, name in self._reports.items()}
            if self._published(stored):
                targets = list(self._reports)
            else:
                self._waiting(stored)
        require_writable(targets, inputs, force=force, twice=self._twice, known=known)

    def publish(self, stored: Stored, again: str) -> None:
        """Put the responses where they are wanted, and the reports beside."""
        waiting = None if self._published(stored) else self._waiting(stored)
        try:
            publish({place: stored.outputs[name] for place, name in self._reports.items()})
            if waiting is not None:
                publish_file(waiting, self._output)
        except OutputError as failure:
            raise OutputError(
                Problem(
                    problem.code,
                    problem.message,
                    f"the responses are charged and kept aside; {again}, which costs nothing",
                )
                for problem in failure.problems
            ) from None

    def _published(self, stored: Stored) -> bool:
        """Whether the responses are where they are wanted already."""
        wanted = self._output is not None and not self._device
        return wanted and digest_of(self.place) == stored.digest

    def _waiting(self, stored: Stored) -> Path:
        """The file that holds the responses; LedgerError if there is none any more."""
        digest = stored.digest or ""
        path = find(digest, self._release_id, self._places)
        if path is None:
            raise LedgerError.of(
                "responses-gone",
                f"the responses `{self._release_id}` were published before, and the ledger keeps "
                "only their digest",
                f"they are the file whose SHA-256 is {digest}: name it by -o, or pay for new "
                "ones under another --release-id",
            )
        return path
