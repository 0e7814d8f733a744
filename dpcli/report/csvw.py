"""Metadata of published CSV tables, in the form of CSV on the Web (W3C 2015).

The metadata is made of a report and of the addresses of the tables alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from dpcli.privacy.loss import loss_text
from dpcli.report.captions import heading_text
from dpcli.report.document import Report
from dpcli.report.entry_model import StatisticReport
from dpcli.report.model import ColumnReport
from dpcli.report.table import ENDS, Table, harmless
from dpcli.statistics.postprocessing import Flag

if TYPE_CHECKING:
    from dpcli.report.captions import Captioned

Json = dict[str, Any]

CONTEXT = "http://www.w3.org/ns/csvw"

DIALECT: Json = {
    "encoding": "utf-8",
    "delimiter": ",",
    "quoteChar": '"',
    "doubleQuote": True,
    "lineTerminators": ["\n"],
    "header": True,
    "headerRowCount": 1,
    # Without this, a line that begins with a number sign might be taken for a comment.
    "commentPrefix": None,
    "skipBlankRows": False,
    "skipInitialSpace": False,
    "trim": False,
}
"""The form of every published CSV table."""

FLAG_TYPE = {"base": "string", "format": "|".join(flag.value for flag in Flag if flag)}
"""The type of a column of flags."""

NUMBER_OR_DATE = r"-?[0-9]+(\.[0-9]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}"
"""The texts of a column in which numbers and dates stand."""

ADDRESS = re.compile(r"https?://[!-~]+")


def csvw_metadata(report: Report, schemas: Mapping[str, Json]) -> bytes:
    """The metadata of the tables of a report, by their addresses."""
    tables = [
        {"url": url, "dialect": DIALECT, "notes": list(_notes(report, url)), "tableSchema": schema}
        for url, schema in schemas.items()
    ]
    one = tables[0] if len(tables) == 1 else {"tables": tables}
    metadata = {"@context": CONTEXT, **_publication(report), **one}
    return (json.dumps(metadata, indent=2, ensure_ascii=False) + "\n").encode()


def _publication(report: Report) -> Json:
    stated = report.release
    spec, declared = stated.spec, stated.declarations or {}
    license_ = str(declared.get("license", ""))
    common: Json = {
        "dc:title": spec.title or spec.dataset,
        "dc:description": spec.note or declared.get("description"),
        "dc:publisher": declared.get("curator"),
        "dc:license": {"@id": license_} if license_ and ADDRESS.fullmatch(license_) else license_,
        "dc:identifier": stated.release_id,
        "dc:issued": {"@value": stated.created[:10], "@type": "xsd:date"},
    }
    return {key: text for key, text in common.items() if text}


def _notes(report: Report, url: str) -> Iterator[Json]:
    stated = report.release
    contained = f"the number without noise{_about(report)} in {report.percent} of cases"
    for text in (
        f"Noise protects the numbers: {loss_text(stated.privacy.spent.loss)} is spent.",
        stated.privacy.promise,
        f"`lower` and `upper` contain {contained}.",
        *(
            f"{statistic.name}: {statistic.left_out}."
            for statistic in stated.statistics
            if statistic.left_out
        ),
        *(
            f"{statistic.name}: {statistic.note}"
            for statistic in stated.statistics
            if statistic.note
        ),
    ):
        body = {"type": "TextualBody", "value": text, "format": "text/plain"}
        yield {"type": "Annotation", "target": url, "body": body}


def _about(report: Report) -> str:
    """What intervals are about, if not about all rows; the same for all statistics that say so."""
    named: dict[str, list[str]] = {}
    for statistic in report.release.statistics:
        if statistic.interval_about:
            named.setdefault(statistic.interval_about, []).append(statistic.name)
    parts = (f"for {', '.join(names)} that of {about}" for about, names in named.items())
    return f" ({'; '.join(parts)})" if named else ""


def _column(
    header: str, datatype: object, says: str, caption: Captioned | None = None, **more: object
) -> Json:
    title = heading_text(header, caption)
    return {
        "name": _name(header),
        "titles": [harmless(header), *([title] if title != header else [])],
        "dc:description": says,
        "datatype": datatype,
        "null": "",
        **({"schema:unitText": caption.unit} if caption and caption.unit else {}),
        **more,
    }


def _name(header: str) -> str:
    """A header as the name of a variable in a URI template (RFC 6570)."""
    name = re.sub("[-.~]", lambda mark: f"%{ord(mark[0]):02X}", quote(header, safe=""))
    return f"%5F{name[1:]}" if name.startswith("_") else name


def _schema(table: Table, columns: list[Json], keys: int) -> Json:
    """The schema; its first columns are the key of the table if no two lines have the same."""
    schema: Json = {"columns": columns}
    if keys and not table.frame[:, :keys].is_duplicated().any():
        schema["primaryKey"] = [column["name"] for column in columns[:keys]]
    return schema


def _captions(report: Report) -> dict[str, ColumnReport]:
    return {column.name: column for column in report.release.spec.columns}


def long_schema(report: Report, table: Table) -> Json:
    """The schema of the long table: what its columns are."""
    captions, statistics = _captions(report), report.release.statistics
    names = dict.fromkeys(key for stated in statistics for key in stated.by)
    first, *keys, item, value, lower, upper, flag = table.frame.columns
    what = "; ".join(f"{stated.name}: {_what(stated)}" for stated in statistics)
    datatype: object = "decimal"
    if table.dated:
        datatype = {"base": "string", "format": NUMBER_OR_DATE}
    ends = f"of the {report.percent} interval{_about(report)}; empty without one"
    columns = [
        _column(first, "string", f"The statistic. {what}.", required=True),
        *(
            _column(key, "string", "A key of the group; empty where it has none.", captions[name])
            for key, name in zip(keys, names, strict=True)
        ),
        _column(
            item, "string", "The name of one of several numbers; empty for a single one.", None
        ),
        _column(value, datatype, "The number, in the unit of its statistic."),
        _column(lower, datatype, f"The lower end {ends}."),
        _column(upper, datatype, f"The upper end {ends}."),
        _column(flag, FLAG_TYPE, f"Empty, or a mark. {_marks(report)}."),
    ]
    return _schema(table, columns, len(keys) + 2)


def _marks(report: Report) -> str:
    """What each flag means; reports of earlier versions have fewer flags."""
    meanings = (report.release.flags.meaning(flag) for flag in Flag if flag)
    return ". ".join(filter(None, meanings))


def wide_schema(
    report: Report, table: Table, headings: Sequence[str], published: Sequence[str]
) -> Json:
    """The schema of a wide table with these headings of keys, and the names of its numbers."""
    captions, header, count = _captions(report), table.frame.columns, len(headings)
    stated = {statistic.name: statistic for statistic in report.release.statistics}
    columns = [
        _column(name, "string", "A key of the line.", captions.get(heading))
        for name, heading in zip(header, headings, strict=False)
    ]
    flags = f"Empty, or its flag. {_marks(report)}."
    for index, name in enumerate(header[count:]):
        number, end = divmod(index, len(ENDS))
        named, _, kind = published[number].partition(".")
        statistic = stated[named]
        says = f"{_what(statistic)}{f', {kind}' if kind else ''}."
        caption: Captioned | None = statistic
        if end:
            about = f" of {statistic.interval_about}" if statistic.interval_about else ""
            which = ENDS[end].removeprefix("_")
            interval = f"The {which} end of its {report.percent} interval{about}."
            says, caption = f"{says} {flags if which == 'flag' else interval}", None
        numeric = "decimal" if name in table.numbers else "string"
        datatype: object = "date" if name in table.dates else numeric
        if ENDS[end] == "_flag":
            datatype = FLAG_TYPE
        columns.append(_column(name, datatype, says, caption))
    return _schema(table, columns, count)


def _what(stated: StatisticReport) -> str:
    """What a statistic is, in a few words."""
    asked = f"{stated.statistic.replace('_', ' ')} of {stated.column or stated.counts}"
    title = heading_text("", stated).strip()
    return f"{title}, {asked}" if title else asked
