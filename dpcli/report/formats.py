"""What a release leaves behind: every table and every report, as named bytes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpcli.errors import UsageError
from dpcli.ledger.charge import STOPPED
from dpcli.report.html.collection_page import html_collection
from dpcli.report.html.release_page import html_report
from dpcli.report.json_report import json_report
from dpcli.report.local_report import local_json, local_markdown
from dpcli.report.markdown import markdown_report
from dpcli.report.parquet import parquet_bytes
from dpcli.report.quality import missed_sentences
from dpcli.report.registry.record import registry_collection, registry_record
from dpcli.report.table import long_table
from dpcli.report.wide import wide_tables

if TYPE_CHECKING:
    from dpcli.local.randomize import Randomized
    from dpcli.release import Release

LONG = "table.csv"
"""The name of the long table."""

WIDE = "wide/"
"""Wide tables are named by this and the keys of the table."""

LONG_PARQUET, WIDE_PARQUET = "table.parquet", "wide.parquet/"
"""The same tables as Parquet."""


@dataclass(frozen=True, slots=True)
class Format:
    """A way to tell of a release, and of a local collection.

    It is chosen by the ending of the file that is asked for, or by its name.
    """

    name: str
    endings: tuple[str, ...]
    tell: Callable[[Release], bytes]
    tell_collection: Callable[[Randomized], bytes]

    @property
    def output(self) -> str:
        """The name under which the ledger keeps it."""
        return f"report{self.endings[0]}"


FORMATS: tuple[Format, ...] = (
    Format("json", (".json",), json_report, local_json),
    Format("markdown", (".md",), markdown_report, local_markdown),
    Format("html", (".html", ".htm"), html_report, html_collection),
    Format("registry", (".yaml", ".yml"), registry_record, registry_collection),
)
"""Every format of reports; one line each."""


def render(release: Release) -> dict[str, bytes]:
    """All outputs of a release, so that any of them can be published later.

    Of one that its quality check stopped, reports and the reasons alone.
    """
    reports = {one.output: one.tell(release) for one in FORMATS}
    if release.checked is not None and release.checked.missed:
        reasons = json.dumps(missed_sentences(release.checked, release.plan), ensure_ascii=False)
        return {STOPPED: reasons.encode(), **reports}
    long, wide = long_table(release), wide_tables(release)
    outputs = {LONG: long.csv, LONG_PARQUET: parquet_bytes(long)}
    for name, table in wide.items():
        outputs |= {f"{WIDE}{name}": table.csv, f"{WIDE_PARQUET}{name}": parquet_bytes(table)}
    return outputs | reports


def render_local(collection: Randomized) -> dict[str, bytes]:
    """The reports of a local collection; its responses are not kept."""
    return {one.output: one.tell_collection(collection) for one in FORMATS}


def report_name(path: Path, named: str | None = None) -> str:
    """The output that a report file asks for, by its ending unless a format is named.

    UsageError for an unknown ending or name.
    """
    for one in FORMATS:
        if named == one.name if named else path.name.lower().endswith(one.endings):
            return one.output
    if named:
        raise UsageError.of(
            "report-format",
            f"`{named}` is no format of a report",
            f"use one of {', '.join(one.name for one in FORMATS)}",
        )
    known = ", ".join(one.endings[0] for one in FORMATS)
    raise UsageError.of(
        "report-format",
        f"`{path}` does not say which report is wanted",
        f"end the name of a report in one of {known}, or give --format",
    )
