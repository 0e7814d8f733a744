"""What a release leaves behind: tables and reports as bytes, made of one report."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dpcli.errors import UsageError
from dpcli.ledger.charge import STOPPED
from dpcli.report.document import Report
from dpcli.report.table import Table, long_table, wide_table

LONG = "table.csv"
"""The name of the long table."""

WIDE = "wide/"
"""Wide tables are named by this and the keys of the table."""

LONG_PARQUET, WIDE_PARQUET = "table.parquet", "wide.parquet/"
"""The same tables as Parquet."""


@dataclass(frozen=True, slots=True)
class Format:
    """A form of reports, of releases and of local collections.

    It is chosen by the ending of the file that is requested, or by its name.
    """

    name: str
    endings: tuple[str, ...]
    render: Callable[[Report], bytes]

    @property
    def output(self) -> str:
        """The name under which the ledger keeps it."""
        return f"report{self.endings[0]}"


def _page(form: str, report: Report) -> bytes:
    # Templates load when a page is asked for: start-up time.
    from dpcli.report.render import render_page

    return render_page(form, report)


FORMATS: tuple[Format, ...] = (
    Format("json", (".json",), lambda report: report.content),
    Format("markdown", (".md",), partial(_page, "md")),
    Format("html", (".html", ".htm"), partial(_page, "html")),
    Format("registry", (".yaml", ".yml"), partial(_page, "yaml")),
)
"""Every format: facts for programs, two for people, and a draft for the public registry."""

FACTS = FORMATS[0].output
"""The report that is always stored, because every other output can be made of it."""


def render_outputs(report: Report, wanted: Iterable[str]) -> dict[str, bytes]:
    """The outputs that a ledger stores: those that are wanted, and the facts.

    Of a release that its quality check stopped, reports and the reasons alone.
    """
    check, names = report.facts.get("quality"), dict.fromkeys((FACTS, *wanted))
    if not check or check["passed"]:
        return {name: render_output(report, name) for name in names}
    reports = [one.output for one in FORMATS if one.output in names]
    reasons = json.dumps(check["missed"], ensure_ascii=False).encode()
    return {STOPPED: reasons, **{name: render_output(report, name) for name in reports}}


def render_output(report: Report, name: str) -> bytes:
    """An output by the name under which the ledger keeps it."""
    for one in FORMATS:
        if one.output == name:
            return one.render(report)
    if name in (LONG, LONG_PARQUET):
        table = published_table(report)
    else:
        table = _wide(report, name.partition("/")[2])
    return table.parquet if name == LONG_PARQUET or name.startswith(WIDE_PARQUET) else table.csv


def published_table(report: Report) -> Table:
    """The long table of all numbers that a report publishes."""
    return long_table([numbers for each in report.numbers for numbers in each])


def _wide(report: Report, name: str) -> Table:
    statistics = zip(report.facts["statistics"], report.numbers, strict=True)
    members = [(one, each) for one, each in statistics if one["layout"]["table"] == name]
    heading = members[0][0]["layout"]["columns"]
    return wide_table([numbers for _, each in members for numbers in each], heading)


def output_name(path: Path, named: str | None = None) -> str:
    """The output that a report file asks for, by its ending unless a format is named.

    UsageError for an unknown ending or name, and for a name that the ending contradicts.
    """
    known = next((one for one in FORMATS if path.name.lower().endswith(one.endings)), None)
    wanted = next((one for one in FORMATS if one.name == named), None) if named else known
    if wanted is not None and known in (None, wanted):
        return wanted.output
    if wanted is not None and known is not None:
        raise UsageError.about("report-format.ending", path=path, named=named, ending=known.name)
    if named:
        names = [one.name for one in FORMATS]
        raise UsageError.about("report-format.named", named=named, formats=names)
    endings = [one.endings[0] for one in FORMATS]
    raise UsageError.about("report-format", path=path, endings=endings)


def report_schema() -> str:
    """The JSON Schema of the reports of releases and of local collections."""
    return Path(__file__).with_name("report.schema.json").read_text(encoding="utf-8")
