"""What a release leaves behind: every table and every report, as named bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dpcli.errors import UsageError
from dpcli.report.json_report import json_report
from dpcli.report.local_report import local_json, local_markdown
from dpcli.report.markdown import markdown_report
from dpcli.report.table import long_table, wide_tables

if TYPE_CHECKING:
    from dpcli.local.randomize import Randomized
    from dpcli.release import Release

LONG = "table.csv"
"""The name of the long table."""

WIDE = "wide/"
"""Wide tables are named by this and the keys of the table."""

REPORTS: tuple[tuple[str, Callable[[Release], bytes]], ...] = (
    (".json", json_report),
    (".md", markdown_report),
)
"""Reports by the ending of the file they are asked for in; one line per format."""


def render(release: Release) -> dict[str, bytes]:
    """All outputs of a release, so that any of them can be published later."""
    outputs = {LONG: long_table(release)}
    outputs |= {f"{WIDE}{name}": table for name, table in wide_tables(release).items()}
    outputs |= {f"report{ending}": write(release) for ending, write in REPORTS}
    return outputs


def render_local(collection: Randomized) -> dict[str, bytes]:
    """The reports of a local collection; its responses are not kept."""
    return {"report.json": local_json(collection), "report.md": local_markdown(collection)}


def report_name(path: Path) -> str:
    """The output that a report file asks for; UsageError for an unknown ending."""
    for ending, _ in REPORTS:
        if path.name.lower().endswith(ending):
            return f"report{ending}"
    known = ", ".join(ending for ending, _ in REPORTS)
    raise UsageError.of(
        "report-format",
        f"`{path}` does not say which report is wanted",
        f"end the name of a report in one of {known}",
    )
