"""Where the outputs of a release go: which stored bytes to which file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpcli.errors import LedgerError, OutputError, Problem
from dpcli.publish import publish, publish_to_stdout
from dpcli.report.formats import LONG, WIDE, report_name

if TYPE_CHECKING:
    from dpcli.ledger.ledger import Stored


class Wanted:
    """The tables and reports that a command line asks for.

    With OUT.csv and no report, OUT.report.json is written beside it. Several wide
    tables go to OUT.<keys>.csv, or one after the other to standard output.
    """

    def __init__(self, output: Path | None, reports: Sequence[Path], layout: str) -> None:
        output = None if output == Path("-") else output
        self.output, self.wide, self.table = output, layout == "wide", True
        if output is not None and not reports and output.name:
            reports = [output.with_name(f"{self._stem}.report.json")]
        self.reports = {path: report_name(path) for path in reports}
        self.twice = len(self.reports) < len(reports)

    @property
    def _stem(self) -> str:
        """The name of the table without its ending."""
        assert self.output is not None
        return self.output.name.removesuffix(".csv")

    def files(self, tables: Sequence[str]) -> dict[Path, str]:
        """Which stored output goes to which file, given the names of the wide tables."""
        if self.output is None:
            return dict(self.reports)
        if not self.wide:
            return {self.output: LONG, **self.reports}
        if len(tables) == 1:
            return {self.output: WIDE + tables[0], **self.reports}
        places = {self.output.with_name(f"{self._stem}.{name}.csv"): name for name in tables}
        return {**{path: WIDE + name for path, name in places.items()}, **self.reports}

    @staticmethod
    def tables(stored: Stored) -> list[str]:
        """The names of the wide tables of a stored release."""
        return [name.removeprefix(WIDE) for name in stored.outputs if name.startswith(WIDE)]

    def contents(self, stored: Stored) -> dict[Path, bytes]:
        """The files of a stored release that are wanted."""
        files = self.files(self.tables(stored))
        return {path: stored.outputs[name] for path, name in files.items()}

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
            if self.output is None and self.table:
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
