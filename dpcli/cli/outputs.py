"""Where outputs go: which stored bytes to which file, and what is there already."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from dpcli.engine.source import PARQUET_ENDINGS
from dpcli.errors import LedgerError, OutputError, Problem
from dpcli.ledger.charge import Stored
from dpcli.ledger.ledger import Ledger
from dpcli.local.outbox import digest_of, waiting_name
from dpcli.publish import is_device, publish, publish_file, publish_to_stdout, require_writable
from dpcli.report.formats import LONG, LONG_PARQUET, WIDE, WIDE_PARQUET, report_name


def file_of(output: Path | None) -> Path | None:
    """The file that `-o` names; None for standard output, which `-` means too."""
    return None if output == Path("-") else output


def _is_parquet(path: Path) -> bool:
    return path.name.lower().endswith(PARQUET_ENDINGS)


def _stem(path: Path) -> str:
    """The name of a table without the ending that says its format."""
    return path.stem if _is_parquet(path) else path.name.removesuffix(".csv")


def _reports(
    output: Path | None, reports: Sequence[Path] | None, named: str | None
) -> tuple[dict[Path, str], bool]:
    """Which stored output each report file takes, and whether one is asked for twice.

    Without any, OUT.report.json is written next to OUT, unless that is a device. A format that
    is `named` is that of all. UsageError for a report whose format is unknown.
    """
    if reports:
        found = {path: report_name(path, named) for path in reports}
        return found, len(found) < len(reports)
    if output is None or not output.name or is_device(output):
        return {}, False
    return {output.with_name(f"{_stem(output)}.report.json"): report_name(Path(".json"))}, False


def _stored_bytes(stored: Stored, files: Mapping[Path, str]) -> dict[Path, bytes]:
    """The stored outputs for these files; LedgerError if one was not made at the time."""
    for name in files.values():
        if name not in stored.outputs:
            raise LedgerError.of(
                "output-not-stored",
                f"the ledger has no `{name}` of this release",
                "it was made by a version that did not write it; ask for the table as CSV, or for "
                "a report in JSON or Markdown",
            )
    return {path: stored.outputs[name] for path, name in files.items()}


@contextmanager
def _charged(what: str, again: str) -> Iterator[None]:
    """OutputErrors within say by `again` how to publish what is charged already."""
    try:
        yield
    except OutputError as failure:
        hint = f"{what}; {again}, which costs nothing"
        problems = failure.problems
        raise OutputError(Problem(one.code, one.message, hint) for one in problems) from None


class Wanted:
    """The tables and reports that a command line asks for.

    With OUT.csv and no report, OUT.report.json is written next to it. A table whose name ends in
    .parquet is one. Several wide tables go to OUT.<keys>.csv, or one after the other to
    standard output.
    """

    def __init__(
        self,
        output: Path | None,
        reports: Sequence[Path] | None,
        layout: str,
        named: str | None = None,
    ) -> None:
        self.output, self.wide, self.table = file_of(output), layout == "wide", True
        self.reports, self.twice = _reports(self.output, reports, named)

    def files(self, stored: Stored) -> dict[Path, str]:
        """Which stored output goes to which file; no table of a release that was stopped."""
        if stored.stopped:
            return dict(self.reports)
        return {**self._tables(self.tables(stored)), **self.reports}

    def targets(self, tables: Sequence[str]) -> list[Path]:
        """Every file that is asked for; one that is asked for twice is listed twice."""
        return [*self._tables(tables), *self.reports]

    def _tables(self, tables: Sequence[str]) -> dict[Path, str]:
        """Which table goes to which file."""
        output = self.output
        if output is None:
            return {}
        parquet = _is_parquet(output)
        long, wide = (LONG_PARQUET, WIDE_PARQUET) if parquet else (LONG, WIDE)
        if not self.wide:
            return {output: long}
        if len(tables) == 1:
            return {output: wide + tables[0]}
        ending = output.suffix if parquet else ".csv"
        return {output.with_name(f"{_stem(output)}.{name}{ending}"): wide + name for name in tables}

    @staticmethod
    def tables(stored: Stored) -> list[str]:
        """The names of the wide tables of a stored release."""
        return [name.removeprefix(WIDE) for name in stored.outputs if name.startswith(WIDE)]

    def contents(self, stored: Stored) -> dict[Path, bytes]:
        """The files of a stored release that are wanted."""
        return _stored_bytes(stored, self.files(stored))

    def require_available(self, stored: Stored) -> None:
        """Raise LedgerError for a table that the ledger does not have of a release."""
        if not stored.stopped and stored.digest is None:
            return
        if self.output is None and self.reports:
            self.table = False
            return
        if stored.stopped:
            raise LedgerError.of(
                "release-stopped",
                f"the release `{stored.release_id}` was stopped by its quality check: it has "
                "reports, and no table",
                "for a report alone, give --report PATH and no -o",
            )
        raise LedgerError.of(
            "responses-not-stored",
            "the ledger keeps the reports of a local collection, and of its responses the digest",
            f"the responses are the file whose SHA-256 is {stored.digest}; for a report alone, "
            "give --report PATH and no -o",
        )

    def publish(self, stored: Stored, again: str, *, to_stdout: bool = True) -> None:
        """Copy what is wanted to its files, or the table to standard output.

        OutputError says by `again` how to publish what is charged already.
        """
        with _charged("the release is charged and stored", again):
            publish(self.contents(stored))
            if to_stdout and self.output is None and self.table and not stored.stopped:
                publish_to_stdout(self._table(stored))

    def _table(self, stored: Stored) -> bytes:
        """The table, or the wide tables with a blank line between them."""
        names: Iterable[str] = (
            [WIDE + name for name in self.tables(stored)] if self.wide else [LONG]
        )
        return b"\n".join(stored.outputs[name] for name in names)


class Collection:
    """The responses and reports that a command line asks for.

    With OUT.csv and no report, OUT.report.json is written next to it.
    """

    def __init__(
        self,
        output: Path | None,
        reports: Sequence[Path] | None,
        release_id: str,
        ledger: Ledger,
        *,
        force: bool,
        shuffle: bool,
        named: str | None = None,
    ) -> None:
        self._force, self._shuffle, self._release_id = force, shuffle, release_id
        self._output = file_of(output)
        self._waiting = waiting_name(ledger.path, release_id)
        self._reports, self._twice = _reports(self._output, reports, named)

    def require(self, inputs: Sequence[Path], stored: Stored | None) -> None:
        """Raise UsageError or LedgerError, before anything is spent, for what cannot be done."""
        known: dict[Path, bytes] = {}
        targets = [*([self._output] if self._output else []), *self._reports]
        if stored is not None:
            self._require_order(stored)
            known = _stored_bytes(stored, self._reports)
            if self._published(stored):
                targets = list(self._reports)
            else:
                self._require_waiting(stored)
        require_writable(targets, inputs, force=self._force, twice=self._twice, known=known)

    def publish(self, stored: Stored, again: str) -> None:
        """Put the responses where they are wanted, and the reports next to them."""
        self._require_order(stored)
        with _charged("the responses are charged, and nothing is lost", again):
            # The responses first: there is only one of them.
            self._publish_responses(stored)
            publish(_stored_bytes(stored, self._reports))

    def _publish_responses(self, stored: Stored) -> None:
        """Have the responses where they are wanted, and nowhere else."""
        if not stored.fresh:
            if self._published(stored):
                if digest_of(self._waiting) == stored.digest:
                    self._waiting.unlink(missing_ok=True)
                return
            self._require_waiting(stored)
        try:
            publish_file(self._waiting, self._output, force=self._force)
        except OutputError:
            # Another process with the same id may have been quicker.
            if not self._published(stored):
                raise

    def _published(self, stored: Stored) -> bool:
        """Whether the responses are where they are wanted already."""
        if self._output is None or is_device(self._output):
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
        """Raise LedgerError unless the stored responses have the order that is asked for."""
        shuffled = json.loads(stored.outputs["report.json"])["shuffled"]
        if shuffled != self._shuffle:
            order = "a random order" if shuffled else "the order of the file"
            raise LedgerError.of(
                "release-id-taken",
                f"release `{self._release_id}` was made in {order}",
                f"ask for the same again, {'with' if shuffled else 'without'} --shuffle, or give "
                "this release an id of its own",
            )
