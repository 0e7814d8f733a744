"""What a release leaves behind: every table and every report, as named bytes."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dpcli.errors import UsageError
from dpcli.ledger.charge import STOPPED
from dpcli.plan.numbers import json_text
from dpcli.records import dataclass
from dpcli.report.entry_facts import missed_sentences
from dpcli.report.facts import collection_facts, release_facts
from dpcli.report.published import published_numbers
from dpcli.report.render import Report, rendered
from dpcli.report.table import long_table, wide_tables

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


FORMATS: tuple[Format, ...] = (
    Format("json", (".json",), lambda report: json_text(report.facts).encode()),
    Format("markdown", (".md",), partial(rendered, "md")),
    Format("html", (".html", ".htm"), partial(rendered, "html")),
    Format("registry", (".yaml", ".yml"), partial(rendered, "yaml")),
)
"""Every format: facts for programs, two for people, and a draft for the public registry."""


def render(release: Release) -> dict[str, bytes]:
    """All outputs of a release, so that any of them can be published later.

    Of one that its quality check stopped, reports and the reasons alone.
    """
    reports = _reports(Report(release, release_facts(release)))
    if release.checked is not None and release.checked.missed:
        reasons = json.dumps(missed_sentences(release.checked, release.plan), ensure_ascii=False)
        return {STOPPED: reasons.encode(), **reports}
    named = {one.planned.name: published_numbers(one) for one in release.entries}
    long = long_table([numbers for each in named.values() for numbers in each])
    outputs = {LONG: long.csv, LONG_PARQUET: long.parquet}
    for name, wide in wide_tables(release.plan, named).items():
        outputs |= {f"{WIDE}{name}": wide.csv, f"{WIDE_PARQUET}{name}": wide.parquet}
    return outputs | reports


def render_local(collection: Randomized) -> dict[str, bytes]:
    """The reports of a local collection; its responses are not kept."""
    return _reports(Report(collection, collection_facts(collection)))


def _reports(report: Report) -> dict[str, bytes]:
    return {one.output: one.render(report) for one in FORMATS}


def report_name(path: Path, named: str | None = None) -> str:
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
