"""Which report a file name asks for: one line per format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dpcli.errors import UsageError
from dpcli.report.json_report import json_report
from dpcli.report.markdown import markdown_report

if TYPE_CHECKING:
    from dpcli.release import Release

FORMATS: tuple[tuple[str, Callable[[Release], bytes]], ...] = (
    (".json", json_report),
    (".md", markdown_report),
)
"""Endings and what writes them."""


def report_format(path: Path) -> Callable[[Release], bytes]:
    """The writer for the ending of `path`; UsageError for an unknown one."""
    for ending, write in FORMATS:
        if path.name.lower().endswith(ending):
            return write
    known = ", ".join(ending for ending, _ in FORMATS)
    raise UsageError.of(
        "report-format",
        f"`{path}` does not say which report is wanted",
        f"end the name of a report in one of {known}",
    )
