"""The outputs of a release: tables and reports as bytes, made of one report."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcli.data.polars_text import pl
from dpcli.ledger.charge import STOPPED
from dpcli.problems.errors import UsageError
from dpcli.problems.light_dataclasses import dataclass
from dpcli.report.numbers import NumberTable, distinct
from dpcli.report.report import Report
from dpcli.report.table import (
    Table,
    crossed,
    csvw_metadata,
    long_schema,
    long_table,
    parquet_metadata,
    wide_schema,
    wide_table,
)

if TYPE_CHECKING:
    from dpcli.report.digits import Digits

LONG = "table.csv"

WIDE = "wide/"
"""The name of a wide table begins with this, and ends with the keys of the table."""

LONG_PARQUET, WIDE_PARQUET = "table.parquet", "wide.parquet/"
"""The name of the long Parquet table, and the beginning of names of wide ones."""

ALL_DIGITS = "-all-digits"
"""Inserted before the ending of the name of a report that shows all digits."""

METADATA = "metadata/"
"""The name of CSVW metadata begins with this, and continues with JSON.

The JSON maps the URL of each table to its name, because the metadata state these URLs.
"""


@dataclass(frozen=True, slots=True)
class Format:
    """A format of reports, chosen by the ending of the requested file or by its name.

    A format for people shows the digits of numbers that intervals support; `render_all` shows all.
    """

    name: str
    endings: tuple[str, ...]
    render: Callable[[Report], bytes]
    render_all: Callable[[Report], bytes] | None = None

    def output(self, digits: Digits = "interval") -> str:
        """The name under which the ledger stores the report with these digits of numbers."""
        marked = digits == "all" and self.render_all is not None
        return f"report{ALL_DIGITS if marked else ''}{self.endings[0]}"


def _page(form: str, report: Report, digits: Digits = "interval") -> bytes:
    # Templates load only when a page is rendered, to keep the start fast.
    from dpcli.report.render import render_page

    return render_page(form, report, digits)


FORMATS: tuple[Format, ...] = (
    Format("json", (".json",), lambda report: report.content),
    Format("markdown", (".md",), partial(_page, "md"), partial(_page, "md", digits="all")),
    Format("html", (".html", ".htm"), partial(_page, "html"), partial(_page, "html", digits="all")),
    Format("registry", (".yaml", ".yml"), partial(_page, "yaml")),
)
"""All formats: JSON for programs, two for people, a draft for a public registry."""

FACTS = FORMATS[0].output()
"""The JSON report, always stored, because all other outputs can be made from it."""


def _renderers() -> dict[str, Callable[[Report], bytes]]:
    """The function that renders each report, by the report's name in the ledger."""
    return {form.output(): form.render for form in FORMATS} | {
        form.output("all"): form.render_all for form in FORMATS if form.render_all
    }


def render_outputs(report: Report, wanted: Iterable[str]) -> dict[str, bytes]:
    """The outputs that a ledger stores: those that are wanted, and the JSON report.

    If the quality check stopped the release, only reports and the reasons are stored.
    """
    names, check = dict.fromkeys((FACTS, *wanted)), getattr(report.stated, "quality", None)
    if check is None or check.passed:
        return {name: render_output(report, name) for name in names}
    reports = [name for name in _renderers() if name in names]
    reasons = json.dumps(check.missed, ensure_ascii=False).encode()
    return {STOPPED: reasons, **{name: render_output(report, name) for name in reports}}


def render_output(report: Report, name: str) -> bytes:
    """An output by its name in the ledger."""
    if render := _renderers().get(name):
        return render(report)
    if name.startswith(METADATA):
        return _metadata(report, json.loads(name.removeprefix(METADATA)))
    if name in (LONG, LONG_PARQUET):
        table = published_table(report)
    else:
        table = wide_table(*_wide_parts(report, name.partition("/")[2]))
    if name == LONG_PARQUET or name.startswith(WIDE_PARQUET):
        return table.parquet(parquet_metadata(report))
    return table.csv


def published_table(report: Report) -> Table:
    """The long table of all numbers that a report publishes."""
    return long_table([numbers for published in report.numbers for numbers in published])


def joined_table(report: Report) -> pl.DataFrame:
    """All wide tables of a report as one, in the order of its statistics.

    A column has one type: numbers with the name of a key of another table get a name of their own.
    """
    names = dict.fromkeys(stated.layout.table for stated in report.release.statistics)
    parts = [_wide_parts(report, name) for name in names]
    frames = [wide_table(*part).typed for part in parts]
    keys = dict.fromkeys(key for _, heading in parts for key in heading)
    numbers = dict.fromkeys(
        column
        for frame, (_, heading) in zip(frames, parts, strict=True)
        for column in frame.columns[len(heading) :]
    )
    own = dict(zip(numbers, distinct([*keys, *numbers])[len(keys) :], strict=True))
    for index, (_, heading) in enumerate(parts):
        columns = frames[index].columns[len(heading) :]
        frames[index] = frames[index].rename({column: own[column] for column in columns})
    return pl.concat(frames, how="diagonal")


def _wide_parts(report: Report, name: str) -> tuple[list[NumberTable], list[str]]:
    """The numbers of a wide table, and the headings of its keys."""
    statistics = zip(report.release.statistics, report.numbers, strict=True)
    members = [pair for pair in statistics if pair[0].layout.table == name]
    layout = members[0][0].layout
    found = [numbers for _, published in members for numbers in published]
    if layout.across:
        found = [part for numbers in found for part in crossed(numbers)]
    return found, layout.columns


def metadata_name(tables: Mapping[str, str]) -> str:
    """The name of a release's CSVW metadata; `tables` has table names by their URLs.

    The metadata state these URLs, so their name contains the URLs.
    """
    return METADATA + json.dumps(tables)


def _metadata(report: Report, tables: Mapping[str, str]) -> bytes:
    schemas = {}
    for url, name in tables.items():
        if name == LONG:
            schemas[url] = long_schema(report, published_table(report))
        else:
            published, heading = _wide_parts(report, name.removeprefix(WIDE))
            names = [numbers.name for numbers in published]
            table = wide_table(published, heading)
            schemas[url] = wide_schema(report, table, heading, names)
    return csvw_metadata(report, schemas)


def output_name(path: Path, named: str | None = None, digits: Digits = "interval") -> str:
    """The output for a report file, by its ending unless a format is named.

    Raises UsageError for an unknown ending or name, and if the two contradict each other.
    """
    name = path.name.lower()
    by_ending = next((form for form in FORMATS if name.endswith(form.endings)), None)
    by_name = next((form for form in FORMATS if form.name == named), None)
    wanted = by_name if named else by_ending
    if wanted is not None and by_ending in (None, wanted):
        return wanted.output(digits)
    if wanted is not None and by_ending is not None:
        ending = by_ending.name
        raise UsageError.about("report-format.ending", path=path, named=named, ending=ending)
    if named:
        names = [form.name for form in FORMATS]
        raise UsageError.about("report-format.named", named=named, formats=names)
    raise UsageError.about("report-format", path=path, endings=[one.endings[0] for one in FORMATS])


SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def report_schema() -> str:
    """The JSON Schema of the reports of releases and of local collections."""
    # Pydantic loads with the schema alone: no release needs it for its report.
    from pydantic import TypeAdapter
    from pydantic.json_schema import GenerateJsonSchema

    from dpcli.fields.json import json_key, ordered_fields
    from dpcli.report.collection import CollectionReport
    from dpcli.report.release import AnyReport, CentralReport, ReleaseReport

    class Generator(GenerateJsonSchema):
        """Schemas without field titles; what has a default is absent rather than null."""

        def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - for any field
            return False

        def dataclass_schema(self, schema: Any) -> dict[str, Any]:
            made, kind = super().dataclass_schema(schema), schema["cls"]
            # Pydantic reads the docstrings of the class alone, and lists inherited fields first.
            for base in (AnyReport, CentralReport):
                if issubclass(kind, base):
                    for key, inherited in TypeAdapter(base).json_schema()["properties"].items():
                        said = inherited.keys() & {"description"}
                        made["properties"][key] |= {word: inherited[word] for word in said}
            keys = [json_key(field.name) for field in ordered_fields(kind)]
            stated = made["properties"]
            made["properties"] = {key: stated[key] for key in keys}
            made["required"].sort(key=keys.index)
            return made

        def default_schema(self, schema: Any) -> dict[str, Any]:
            inner = schema["schema"]
            return self.generate_inner(inner["schema"] if inner["type"] == "nullable" else inner)

    schema = TypeAdapter(ReleaseReport | CollectionReport).json_schema(schema_generator=Generator)
    made = {"$schema": SCHEMA_DIALECT, "title": "dpcli privacy report", **schema}
    return json.dumps(made, indent=2)
