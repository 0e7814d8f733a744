"""Where the outputs of a release go: which stored bytes to which file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpcli.cli.reports import is_parquet, reports_of, stem_of, stored_bytes
from dpcli.errors import LedgerError, OutputError, Problem
from dpcli.publish import is_device, publish, publish_to_stdout
from dpcli.report.formats import LONG, LONG_PARQUET, WIDE, WIDE_PARQUET

if TYPE_CHECKING:
    from dpcli.ledger.charge import Stored


class Wanted:
    """The tables and reports that a command line asks for.

    With OUT.csv and no report, OUT.report.json is written beside it. A table whose name ends in
    .parquet is one. Several wide tables go to OUT.<keys>.csv, or one after the other to
    standard output.
    """

    def __init__(
        self, output: Path | None, reports: Sequence[Path], layout: str, named: str | None = None
    ) -> None:
        output = None if output == Path("-") else output
        self.output, self.wide, self.table = output, layout == "wide", True
        self.parquet = output is not None and is_parquet(output)
        beside = None if output is None or is_device(output) else output
        self.reports, self.twice = reports_of(beside, reports, named)

    def files(self, stored: Stored) -> dict[Path, str]:
        """Which stored output goes to which file; no table of a release that was stopped."""
        if stored.stopped:
            return dict(self.reports)
        return {**self._tables(self.tables(stored)), **self.reports}

    def targets(self, tables: Sequence[str]) -> list[Path]:
        """Every file that is asked for; one that is asked for twice stands there twice."""
        return [*self._tables(tables), *self.reports]

    def _tables(self, tables: Sequence[str]) -> dict[Path, str]:
        """Which table goes to which file."""
        if self.output is None:
            return {}
        long, wide = (LONG_PARQUET, WIDE_PARQUET) if self.parquet else (LONG, WIDE)
        if not self.wide:
            return {self.output: long}
        if len(tables) == 1:
            return {self.output: wide + tables[0]}
        stem, ending = stem_of(self.output), self.output.suffix if self.parquet else ".csv"
        places = {self.output.with_name(f"{stem}.{name}{ending}"): name for name in tables}
        return {path: wide + name for path, name in places.items()}

    @staticmethod
    def tables(stored: Stored) -> list[str]:
        """The names of the wide tables of a stored release."""
        return [name.removeprefix(WIDE) for name in stored.outputs if name.startswith(WIDE)]

    def contents(self, stored: Stored) -> dict[Path, bytes]:
        """The files of a stored release that are wanted."""
        files = self.files(stored)
        found = stored_bytes(stored.outputs, files.values())
        return {path: found[name] for path, name in files.items()}

    def require_reports_of_stopped(self, release_id: str) -> None:
        """Raise LedgerError unless only reports are wanted of a release without a table."""
        if self.output is None and self.reports:
            return
        raise LedgerError.of(
            "release-stopped",
            f"the release `{release_id}` was stopped by its quality check: it has reports, and "
            "no table",
            "for a report alone, give --report PATH and no -o",
        )

    def require_reports_alone(self, digest: str) -> None:
        """Raise LedgerError unless only reports are wanted of a local collection."""
        if self.output is None and self.reports:
            self.table = False
            return
        raise LedgerError.of(
            "responses-not-stored",
            "the ledger keeps the reports of a local collection, and of its responses the digest",
            f"the responses are the file whose SHA-256 is {digest}; for a report alone, give "
            "--report PATH and no -o",
        )

    def publish(self, stored: Stored, again: str) -> None:
        """Copy what is wanted to its files, or to standard output.

        OutputError says by `again` how to publish what is charged already.
        """
        tables = self.tables(stored)
        try:
            publish(self.contents(stored))
            if self.output is None and self.table and not stored.stopped:
                publish_to_stdout(self._table(stored.outputs, tables))
        except OutputError as failure:
            raise OutputError(
                Problem(
                    problem.code,
                    problem.message,
                    f"the release is charged and stored; {again}, which costs nothing",
                )
                for problem in failure.problems
            ) from None

    def _table(self, outputs: Mapping[str, bytes], tables: Sequence[str]) -> bytes:
        """The table, or the wide tables with a blank line between them."""
        if not self.wide:
            return outputs[LONG]
        return b"\n".join(outputs[WIDE + name] for name in tables)
