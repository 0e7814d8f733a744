"""`dpcli init` drafts a spec; `dpcli schema` prints the JSON Schema of specs."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote as quote_word
from typing import Annotated, Literal

import typer

from dpcli.cli.answers import InvalidAnswerError, Prompter, parse_list
from dpcli.cli.console import print_json, print_line, write_json
from dpcli.cli.interview import Interview, header_line
from dpcli.cli.options import checked_dialect, input_file, require_new_file
from dpcli.cli.outputs import output_file, write_output
from dpcli.data.formats import Dialect, has_unnamed_index
from dpcli.engine.files.dataset import format_of
from dpcli.engine.files.first_lines import columns_without_names, recognized_source, require_names
from dpcli.engine.files.source import open_dataset
from dpcli.planning.planner import make_plan, require_plan_fits
from dpcli.problems.errors import DataError, StoppedBySignal, UsageError, make_problem
from dpcli.problems.messages import closest_match, did_you_mean
from dpcli.report.formats import report_schema
from dpcli.specification.draft import draft_spec, duplicate_names, why_undeclarable
from dpcli.specification.load import parse_central_spec
from dpcli.specification.schema import spec_schema
from dpcli.specification.yaml_reader import PLACEHOLDER


def init(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A data file; only its header is read.")
    ],
    ask: Annotated[
        bool, typer.Option("--ask", help="Ask for everything, and write a spec that is ready.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="SPEC", help="A new file for the spec [stdout]."),
    ] = None,
    delimiter: Annotated[
        str | None,
        typer.Option(metavar="MARK", help="What separates names [as in the header]; or `tab`."),
    ] = None,
    quote: Annotated[
        str | None, typer.Option(metavar="MARK", help='What encloses names ["]; or `none`.')
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of the text [utf-8].")
    ] = None,
    skip_lines: Annotated[
        str | None, typer.Option(metavar="N", help="How many lines come before the header.")
    ] = None,
    header_lines: Annotated[
        str | None, typer.Option(metavar="N", help="2 if two lines name the columns.")
    ] = None,
    sheet: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of a workbook [the first].")
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header", help="Whether the first line names the columns, or is a record."
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(metavar="NAME,...", help="Draft for these columns alone, in this order."),
    ] = None,
) -> None:
    """Draft a spec from the header of DATA alone.

    Writes a commented spec with the columns of DATA and placeholders to fill in, which
    `dpcli check` explains one by one. With --ask it asks for each decision instead, reports
    what is wrong with an answer, and writes a spec that is ready. It reads no row and spends
    nothing: types, bounds and categories are public facts that you know; never look them up
    in the data. A first line that reads as a record is refused, and no part of it is shown.
    With --no-header only its cells are counted; you write the names.
    The header line itself shows what separates names, and how many title lines with one
    cell come before it; both are in the draft, with a comment. A first column without a name,
    where pandas and R write the numbers of rows, is left out.

    Examples:
        dpcli init sample_data/people.csv
        dpcli init sample_data/people.csv > draft.yaml
        dpcli init sample_data/people.csv --ask -o people.yaml
        # a spec from answers in a file, one per line:
        dpcli init sample_data/people.csv --ask < answers.txt > people.yaml
        dpcli init sample_data/people.csv --columns person_id,age,income
        tail -n +2 sample_data/people.csv | dpcli init - --no-header
        sed '1i Title' sample_data/people.csv | dpcli init - --skip-lines 1

    Questions, and what to run next, go to stderr. Exits 2 if the answers end too early or
    SPEC exists already, 4 for DATA; then nothing is written.

    See also: dpcli check, dpcli explain columns, dpcli explain bounds
    """
    if ask and data == "-":
        given = {"given": "`--ask`", "other": "DATA from standard input"}
        raise UsageError.about("bad-option", **given, fix="name the file")
    chosen = () if columns is None else _listed(columns)
    if chosen and header is False:
        fix = "write `csv: {names: [...]}` in the draft"
        raise UsageError.about("bad-option", given="`--columns`", other="`--no-header`", fix=fix)
    output = output_file(output)
    if output is not None:
        require_new_file(output, input_file(data))
    dialect = checked_dialect(
        delimiter=delimiter,
        quote=quote,
        encoding=encoding,
        skip_lines=skip_lines,
        header_lines=header_lines,
        sheet=sheet,
    )
    stem = "data" if data == "-" else Path(data).name.split(".")[0]
    name = re.sub(r"[^\w-]+", "-", unicodedata.normalize("NFC", stem)).strip("-")
    names, dialect, certain = _columns(data, dialect, header, chosen)
    if ask:
        # Columns are chosen among the names of a header that is certain.
        draft = _asked(chosen or names, name, dialect, certain=certain)
    else:
        is_sheet = format_of(data) == "sheet"
        draft = draft_spec(names, name, dialect, is_sheet=is_sheet, only=chosen)
    write_output(draft.encode(), output)
    certain = certain or ask
    if not certain and format_of(data) == "json":
        keys = f"{len(names):,} key{'s' * (len(names) != 1)}"
        print_line(
            f"note: the {keys} of the first object of `{data}` were taken as columns; if others "
            "have more keys, name all keys in the spec, as in "
            f"`csv: {{names: [{names[0]}, ...]}}`"
        )
    elif not certain:
        line = header_line(dialect)
        columns = f"the names of {len(names):,} column{'s' * (len(names) != 1)}"
        print_line(
            f"note: {line} of `{data}` was taken as {columns}; if it is a record, delete the draft "
            "and use --no-header; if the next line is part of the names, use --header-lines 2"
        )
    if has_unnamed_index(names) and not chosen and not ask:
        print_line(
            f"note: the first column of `{data}` has no name, as pandas and R write the "
            "numbers of rows; it is left out of the draft"
        )
    spec, file = quote_word(str(output or "SPEC")), "DATA" if data == "-" else quote_word(data)
    more = f"; dpcli plan {spec}; dpcli release {spec} {file}" if ask else ""
    print_line(f"next: dpcli check {spec} {file}{more}")


def _columns(
    data: str, dialect: Dialect, header: bool | None, chosen: Sequence[str]
) -> tuple[tuple[str, ...], Dialect, bool]:
    """Names of the columns, dialect to declare, and whether the names are certain.

    Without a header line, the names are placeholders, one for each cell of the first record.
    Raises DataError if the file has no names that a spec can declare.
    """
    if header is False:
        with open_dataset((data,), replace(dialect, names=(PLACEHOLDER,))) as dataset:
            (source,) = dataset.sources
            if source.dialect is None:
                given = {"given": "`--no-header`", "other": "Parquet, which names its columns"}
                raise UsageError.about("bad-option", **given, fix="name a CSV file")
            count = columns_without_names(source)
        names = tuple(f"{PLACEHOLDER}_{number}" for number in range(1, count + 1))
        return names, replace(dialect.of_file(data), names=names, header_lines=1), True
    with recognized_source(data, dialect, asserted=bool(header)) as source:
        in_two_lines = dialect.header_lines > 1
        # A person who names columns as the line does says that it is the header.
        asserted = bool(header) or (bool(chosen) and set(chosen) <= set(source.header))
        require_names(source, asserted=asserted, in_two_lines=in_two_lines)
        _require_chosen(chosen, source.header, data)
        if all(why_undeclarable(name, duplicate_names(source.header)) for name in source.header):
            raise DataError.about("not-column-names.none", data=data)
        if source.dialect is None:
            return source.header, Dialect(), True
        return source.header, source.dialect, asserted


def _listed(text: str) -> tuple[str, ...]:
    """The names in the value of `--columns`; a name in quotes may have a comma."""
    try:
        return tuple(dict.fromkeys(parse_list(text)))
    except InvalidAnswerError:
        raise UsageError.about("bad-columns", text=text) from None


def _require_chosen(chosen: Sequence[str], header: Sequence[str], data: str) -> None:
    """Raise UsageError with each chosen column that the file lacks, and a near name."""
    problems, names = [], [name for name in header if name]
    for name in (name for name in chosen if name not in header):
        arguments = {"name": name, "data": data, "columns": names}
        near = did_you_mean(filter(None, [closest_match(name, names)]))
        problems.append(make_problem("unknown-columns", near=near, **arguments))
    UsageError.require_none(problems)


def _asked(header: Sequence[str], name: str, dialect: Dialect, *, certain: bool) -> str:
    """The spec from the answers, after a test that it can be planned."""
    prompter = Prompter(sys.stdin.buffer, terminal=sys.stdin.isatty())
    try:
        text = Interview(prompter, dialect).spec(header, name, certain=certain)
    except (KeyboardInterrupt, StoppedBySignal):
        print("\nstopped; nothing was written", file=sys.stderr)
        raise
    require_plan_fits(make_plan(parse_central_spec(text, "the answers")))
    return text


def schema(
    what: Annotated[
        Literal["spec", "report"], typer.Argument(metavar="[WHAT]", help="`spec` or `report`.")
    ] = "spec",
) -> None:
    """Print the JSON Schema of specs, for editors, or of reports.

    Editors that support YAML (by yaml-language-server) offer keys and values and explain
    them, when the first line of a spec names the schema. Reads and spends nothing.

        # yaml-language-server: $schema=dpcli.schema.json

    Examples:
        dpcli schema > dpcli.schema.json
        dpcli schema report > report.schema.json

    The editor finds mistakes while you type; `dpcli check` finds all of them.

    See also: dpcli init, dpcli check, dpcli explain
    """
    if what == "report":
        write_json(report_schema())
    else:
        print_json(spec_schema())
