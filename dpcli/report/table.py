"""The published tables, long or wide, and what their columns mean.

The metadata of CSV tables have the form of CSV on the Web (W3C 2015). They are made of a report and
of the addresses of the tables alone.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from dpcli.data.declared_texts import FORMULA_STARTS
from dpcli.data.polars_text import pl
from dpcli.privacy.loss import loss_text
from dpcli.problems.light_dataclasses import dataclass
from dpcli.report.captions import heading_text, together
from dpcli.report.numbers import ISO_DATE, NumberTable, distinct
from dpcli.report.report import Report
from dpcli.statistics.columns import COLUMNS, UNIT, VALUE, TableColumn

if TYPE_CHECKING:
    from dpcli.report.captions import Captioned
    from dpcli.report.release import ColumnReport
    from dpcli.report.statistic import StatisticReport

STATISTIC, ITEM = "statistic", "item"
"""The first column of a long table, and the one that follows the keys."""

DATE = "date"
"""The name of a column of dates where others have numbers."""

Named = TypeVar("Named")

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_FORMULA = f"^[{re.escape(''.join(FORMULA_STARTS))}]"


@dataclass(frozen=True, slots=True)
class Table:
    """A published table, all columns String, and the names of those with numbers.

    Columns in `dates` have dates. In a long table, numbers and dates may share columns: `dated` are
    then the names of the statistics whose numbers are dates, and `shared` those columns.
    """

    frame: pl.DataFrame
    numbers: frozenset[str]
    dates: frozenset[str] = frozenset()
    dated: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()

    @property
    def csv(self) -> bytes:
        """The table as CSV."""
        written = io.BytesIO(csv_text([self.frame.columns]))
        written.seek(0, io.SEEK_END)
        harmless = self.numbers | self.dates
        texts = [text for text in self.frame.iter_columns() if text.name not in harmless]
        # The name of a key may be a pattern of names to polars.
        odd = [text.name for text in texts if text.alias("text").str.contains(_FORMULA).any()]
        self.frame.with_columns(map(_harmless_text, odd)).with_columns(_blank_as_null()).write_csv(
            written, include_header=False
        )
        return written.getvalue()

    def parquet(self, stated: Mapping[str, str]) -> bytes:
        """The table as Parquet: texts as String, numbers as Float64, blank cells as null.

        A number with more digits than a float has is rounded; the CSV has all digits. Dates are
        Date. The metadata of the file have what is `stated` about the release.
        """
        written = io.BytesIO()
        self.typed.write_parquet(
            written, compression="zstd", statistics=False, metadata=dict(stated)
        )
        return written.getvalue()

    @property
    def typed(self) -> pl.DataFrame:
        """The table with numbers as Float64, dates as Date, and null for blank cells.

        A column has one type: where dates share columns with numbers, they are in columns of their
        own at the end, `date`, `date_lower` and `date_upper`, and the shared ones are null.
        """
        is_dated = pl.col(STATISTIC).is_in(self.dated) if self.dated else pl.lit(value=False)
        columns = [pl.col(name).str.to_date(ISO_DATE) for name in self.dates]
        for name in self.numbers:
            number = pl.when(~is_dated).then(name) if name in self.shared else pl.col(name)
            columns.append(number.cast(pl.Float64).alias(name))
        words = [DATE, *(f"{DATE}_{name}" for name in self.shared[1:])]
        own = distinct([*self.frame.columns, *words])[self.frame.width :]
        for name, word in zip(self.shared, own, strict=False):
            columns.append(pl.when(is_dated).then(name).str.to_date(ISO_DATE).alias(word))
        return self.frame.with_columns(_blank_as_null()).with_columns(columns)


def _blank_as_null() -> pl.Expr:
    return pl.when(pl.all() != "").then(pl.all())


def long_table(published: Sequence[NumberTable]) -> Table:
    """A line per published number: statistic, keys, item, value and so on.

    Keys are in the order of their first use. If a key has the name `flag`, the column of flags is
    `flag_2`.
    """
    keys = list(dict.fromkeys(key for numbers in published for key in numbers.keys))
    columns = published[0].columns if published else COLUMNS
    names = [ITEM, *(column.name for column in columns)]
    header = distinct([STATISTIC, *keys, *names])
    frames = []
    for numbers in published:
        own = {key: pl.col(f"key{index}") for index, key in enumerate(numbers.keys)}
        group = [own.get(key, pl.lit("")) for key in keys]
        named = zip([pl.lit(numbers.name), *group, *map(pl.col, names)], header, strict=True)
        frames.append(numbers.frame.select(column.alias(name) for column, name in named))
    dated = tuple(numbers.name for numbers in published if numbers.dates)
    kinds = dict(zip(header[-len(columns) :], columns, strict=True))
    in_unit = tuple(name for name, column in kinds.items() if column.in_unit)
    numeric = frozenset(name for name, column in kinds.items() if column.is_number)
    if dated and len(dated) == len(published):
        return Table(pl.concat(frames), numeric.difference(in_unit), frozenset(in_unit))
    return Table(pl.concat(frames), numeric, dated=dated, shared=in_unit if dated else ())


def wide_table(published: Sequence[NumberTable], heading: Sequence[str]) -> Table:
    """One line per group: the value, interval and flag of each statistic.

    `heading` are the names of the keys. Items are a key, such as the bins of a histogram under the
    name of its column. For a statistic that chooses labels, each line has a rank as its key and the
    label as its value.
    """
    first = published[0].frame
    keys = first.select(pl.col(r"^key\d+$"), "value" if published[0].chosen else "item")
    series, numeric, dates = keys.get_columns()[: len(heading)], set[str](), set[str]()
    own = wide_columns((numbers, numbers.columns) for numbers in published)
    names = (
        column.name if column.of_lines else numbers.name + column.ending for numbers, column in own
    )
    header = distinct([*heading, *names])
    for name, (numbers, column) in zip(header[len(heading) :], own, strict=True):
        is_label = numbers.chosen and column is VALUE
        series.append(numbers.frame[ITEM if is_label else column.name])
        if column.is_number and not is_label:
            (dates if numbers.dates and column.in_unit else numeric).add(name)
    named = (column.alias(name) for column, name in zip(series, header, strict=True))
    return Table(pl.DataFrame(named), frozenset(numeric), frozenset(dates))


def crossed(numbers: NumberTable) -> Iterator[NumberTable]:
    """The numbers of each label of the second key, in lines of the first.

    They are called NAME.LABEL, and blank where there is no number.
    """
    lines = numbers.frame.select("key0").unique(maintain_order=True)
    same = [column.name for column in numbers.columns if column.of_lines]
    for (label,), part in numbers.frame.group_by("key1", maintain_order=True):
        own = lines.join(part.drop("key1"), on="key0", how="left", maintain_order="left")
        own = own.with_columns(pl.col(same).forward_fill().backward_fill()).fill_null("")
        yield replace(numbers, name=f"{numbers.name}.{label}", keys=numbers.keys[:1], frame=own)


def wide_columns(
    columns_of: Iterable[tuple[Named, Sequence[TableColumn]]],
) -> list[tuple[Named, TableColumn]]:
    """The columns of a wide table: of each statistic, then those of lines.

    Units are not among them: metadata have them.
    """
    pairs = [(named, column) for named, columns in columns_of for column in columns]
    own = [pair for pair in pairs if not pair[1].of_lines and pair[1] is not UNIT]
    once = {column: (named, column) for named, column in reversed(pairs) if column.of_lines}
    return [*own, *reversed(once.values())]


def csv_text(lines: Iterable[Iterable[str]]) -> bytes:
    """Lines as CSV (RFC 4180) in UTF-8, with LF at line ends."""
    text = io.StringIO()
    safe = ([harmless(cell) for cell in line] for line in lines)
    csv.writer(text, lineterminator="\n").writerows(safe)
    return text.getvalue().encode()


def _harmless_text(name: str) -> pl.Expr:
    from polars.selectors import by_name

    # The name of a key is its own: `pl.col` takes `*` and `^a.*$` for patterns of names.
    text = by_name(name).as_expr()
    formula = text.str.contains(_FORMULA) & ~text.str.contains(f"^{_NUMBER.pattern}$")
    return pl.when(formula).then("'" + text).otherwise(text).alias(name)


def harmless(cell: str) -> str:
    """A cell that no spreadsheet reads as a formula (OWASP ASVS 5.0, 1.2.10).

    Declared texts begin like a formula only if they are numbers. Private keys from the data get an
    apostrophe in front if they begin like a formula.
    """
    return f"'{cell}" if cell.startswith(FORMULA_STARTS) and not _NUMBER.fullmatch(cell) else cell


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

ADDRESS = re.compile(r"https?://[!-~]+")


def csvw_metadata(report: Report, schemas: Mapping[str, Json]) -> bytes:
    """The CSVW metadata of published tables; `schemas` has their schemas by URL."""
    tables = [
        {"url": url, "dialect": DIALECT, "notes": _notes(report, url), "tableSchema": schema}
        for url, schema in schemas.items()
    ]
    one = tables[0] if len(tables) == 1 else {"tables": tables}
    metadata = {"@context": CONTEXT, **_publication(report), **one}
    return (json.dumps(metadata, indent=2, ensure_ascii=False) + "\n").encode()


def parquet_metadata(report: Report) -> dict[str, str]:
    """What the metadata of a Parquet file state: title, loss and id of the release."""
    stated, spent = report.release, report.release.privacy.spent
    known = {
        "title": stated.spec.title or stated.spec.dataset,
        "epsilon": str(spent.epsilon),
        "delta": str(spent.delta),
        "release_id": stated.release_id,
        "reference_period": stated.reference_period or "",
    }
    return {f"dpcli.{key}": text for key, text in known.items() if text}


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
        "dc:temporal": stated.reference_period,
        "dc:spatial": declared.get("region"),
        "dc:issued": {"@value": stated.created[:10], "@type": "xsd:date"},
    }
    return {key: text for key, text in common.items() if text}


def _notes(report: Report, url: str) -> list[Json]:
    stated, statistics = report.release, report.release.statistics
    contained = f"the number without noise{_about(report)} in {report.percent} of cases"
    texts = [
        f"Noise protects the numbers: {loss_text(stated.privacy.spent.loss)} is spent.",
        stated.privacy.promise,
        f"`lower` and `upper` contain {contained}.",
    ]
    said = ((one.name, one.left_out or one.complete_sentence) for one in statistics)
    texts += [f"{name}: {sentence}." for name, sentence in said if sentence]
    texts += [f"{one.name}: {one.note}" for one in statistics if one.note]
    bodies = ({"type": "TextualBody", "value": text, "format": "text/plain"} for text in texts)
    return [{"type": "Annotation", "target": url, "body": body} for body in bodies]


def _about(report: Report) -> str:
    """The rows or values that intervals are about, in parentheses; empty for all.

    Statistics whose intervals are about the same rows are named together.
    """
    abouts = together((one.name, one.interval_of) for one in report.release.statistics)
    parts = [f"for {names} that of {about}" for names, about in abouts if about]
    return f" ({'; '.join(parts)})" if parts else ""


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
    """The schema of a table; its first `keys` columns are the primary key if unique."""
    schema: Json = {"columns": columns}
    if keys and not table.frame[:, :keys].is_duplicated().any():
        schema["primaryKey"] = [column["name"] for column in columns[:keys]]
    return schema


def _captions(report: Report) -> dict[str, ColumnReport]:
    return {column.name: column for column in report.release.spec.columns}


def long_schema(report: Report, table: Table) -> Json:
    """The schema of the long table: what its columns are."""
    captions, statistics = _captions(report), report.release.statistics
    names = dict.fromkeys(key for stated in statistics for key in stated.key_names)
    first, *others = table.frame.columns
    keys, (item, *header) = others[: len(names)], others[len(names) :]
    what = "; ".join(f"{stated.name}: {_what(stated)}" for stated in statistics)
    said = ((stated.name, stated.complete_sentence) for stated in statistics)
    whole = "".join(f" {name}: {sentence}." for name, sentence in said if sentence)
    says = _says(report, abouts=_about(report), what=what, whole=whole)
    of_key = "A key of the group; empty where it has none."
    of_item = "The name of one of several numbers; empty for a single one."
    columns = [_column(first, "string", "The statistic.", required=True)]
    for key, name in zip(keys, names, strict=True):
        columns.append(_column(key, "string", of_key, captions.get(name)))
    columns.append(_column(item, "string", of_item))
    for name, column in zip(header, report.release.table_columns, strict=True):
        kind = column.datatype(dated=bool(table.dated))
        columns.append(_column(name, kind, says(column, column.in_long)))
    return _schema(table, columns, len(keys) + 2)


def _says(report: Report, **words: str) -> Callable[[TableColumn, str], str]:
    """A function that fills a sentence about a column with words of the report."""
    marks = report.release.flags.meanings.values()
    words |= {"marks": ". ".join(marks), "percent": report.percent}
    meanings = {column.name: column.meaning for column in report.release.optional_columns or ()}
    return lambda column, text: text.format(meaning=meanings.get(column.name), **words)


def wide_schema(
    report: Report, table: Table, headings: Sequence[str], published: Sequence[str]
) -> Json:
    """The schema of a wide table.

    `headings` are the names of its key columns, `published` the names of its numbers.
    """
    captions, header, count = _captions(report), table.frame.columns, len(headings)
    stated = {statistic.name: statistic for statistic in report.release.statistics}
    columns = [
        _column(name, "string", "A key of the line.", captions.get(heading))
        for name, heading in zip(header, headings, strict=False)
    ]
    shown = report.release.table_columns
    own = wide_columns((numbers, shown) for numbers in published)
    for name, (numbers, column) in zip(header[count:], own, strict=True):
        named, _, kind = numbers.partition(".")
        statistic, about = stated[named], stated[named].interval_of
        whole = f" {statistic.complete_sentence}." if statistic.complete_sentence else ""
        words = {"about": f" of {about}" if about else "", "whole": whole}
        says = _says(report, **words)(column, column.in_wide)
        what = f"{_what(statistic)}{f', {kind}' if kind else ''}. {says}".strip()
        is_label = column is VALUE and name not in table.numbers | table.dates
        datatype = "date" if name in table.dates else "string" if is_label else column.datatype()
        caption = statistic if column is VALUE else None
        has_unit = column.in_unit and statistic.one_unit
        unit = {"schema:unitText": statistic.one_unit} if has_unit else {}
        made = _column(name, datatype, says if column.of_lines else what, caption, **unit)
        if column.in_unit and statistic.title and not caption:
            made["titles"].append(f"{statistic.title}, {column.name}")
        columns.append(made)
    return _schema(table, columns, count)


def _what(stated: StatisticReport) -> str:
    counted = stated.named_after
    of = f"{stated.column} over {counted}" if stated.column else counted
    asked = f"{stated.statistic.replace('_', ' ')} of {of}"
    title = heading_text("", stated).strip()
    return f"{title}, {asked}" if title else asked
