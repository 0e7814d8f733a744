"""Which files a command line asks for: tables and reports, by their endings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from dpcli.engine.source import PARQUET_ENDINGS
from dpcli.errors import LedgerError
from dpcli.report.formats import report_name


def is_parquet(path: Path) -> bool:
    """Whether a table of that name is wanted as Parquet; any other is CSV."""
    return path.name.lower().endswith(PARQUET_ENDINGS)


def stem_of(path: Path) -> str:
    """The name of a table without the ending that says its format."""
    if is_parquet(path):
        return path.stem
    return path.name.removesuffix(".csv")


def reports_of(
    output: Path | None, reports: Sequence[Path], named: str | None
) -> tuple[dict[Path, str], bool]:
    """Which stored output each report file takes, and whether one is asked for twice.

    Without any, OUT.report.json is written beside OUT. A format that is `named` is that of
    all. UsageError for a report that does not say its format.
    """
    if output is not None and output.name and not reports:
        return {
            output.with_name(f"{stem_of(output)}.report.json"): report_name(Path(".json"))
        }, False
    found = {path: report_name(path, named) for path in reports}
    return found, len(found) < len(reports)


def stored_bytes(outputs: Mapping[str, bytes], names: Iterable[str]) -> dict[str, bytes]:
    """The stored outputs of these names; LedgerError if one was not made at the time."""
    found = {}
    for name in names:
        if name not in outputs:
            raise LedgerError.of(
                "output-not-stored",
                f"the ledger has no `{name}` of this release",
                "it was made by a version that did not write it; ask for the table as CSV, or for "
                "a report in JSON or Markdown",
            )
        found[name] = outputs[name]
    return found
