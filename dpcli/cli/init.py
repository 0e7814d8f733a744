"""`dpcli init`: a spec to begin with; `dpcli schema`: the JSON Schema of specs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from dpcli.cli.asking import Asker
from dpcli.cli.console import print_json, say, write_json
from dpcli.cli.interview import are_names, ask_names, interview
from dpcli.cli.options import checked_dialect, input_file, refuse_option
from dpcli.cli.outputs import file_of
from dpcli.dialect import STANDARD, Dialect
from dpcli.engine.header import columns_without_names, require_names
from dpcli.engine.source import open_dataset
from dpcli.errors import DataError, Problem, Stopped, UsageError
from dpcli.plan.planner import make_plan, require_budget
from dpcli.publish import publish, publish_to_stdout, require_writable
from dpcli.report.json_report import report_schema
from dpcli.spec.draft import csv_line, draft_spec, twins_of, unfit
from dpcli.spec.load import load_spec
from dpcli.spec.placeholders import PLACEHOLDER, placeholder_names
from dpcli.spec.schema import spec_schema

ASSUMED = (
    "note: the first line of `{data}` was taken as column names; if it is a record, delete the "
    "draft and use --no-header"
)
"""What no program can find out about a first line that could be one."""


def init(
    data: Annotated[str, typer.Argument(metavar="DATA")],
    ask: Annotated[bool, typer.Option("--ask")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="SPEC")] = None,
    delimiter: Annotated[str | None, typer.Option(metavar="MARK")] = None,
    quote: Annotated[str | None, typer.Option(metavar="MARK")] = None,
    encoding: Annotated[str | None, typer.Option(metavar="NAME")] = None,
    header: Annotated[bool | None, typer.Option("--header/--no-header")] = None,
) -> None:
    """Draft a spec from the header of a file alone."""
    if ask and data == "-":
        raise refuse_option(
            "`--ask` reads answers from standard input, and DATA is standard input too",
            "name the file; only its first line is read",
        )
    output = file_of(output)
    if output is not None:
        _require_new(output, input_file(data))
    dialect = checked_dialect(delimiter, quote, encoding, multiline="false").of_file(data)
    name = "data" if data == "-" else Path(data).name.split(".")[0]
    names, dialect, certain = _columns(data, dialect, header)
    if ask:
        text = _asked(names, name, dialect, certain=certain)
    else:
        text = draft_spec(names, name, dialect)
    if output is None:
        publish_to_stdout(text.encode())
    else:
        publish({output: text.encode()})
    if not ask and not certain:
        say(ASSUMED.format(data=data))
    if ask:
        spec = output or "SPEC"
        say(f"next: dpcli check {spec} {data}; dpcli plan {spec}")


def _require_new(output: Path, data: Path) -> None:
    """Raise UsageError for an output that exists or cannot be written."""
    try:
        require_writable([output], [data], force=False)
    except UsageError as refused:
        raise UsageError(
            Problem(one.code, one.message, "name a new file; `dpcli init` replaces none")
            if one.code == "output-exists"
            else one
            for one in refused.problems
        ) from None


def _columns(
    data: str, dialect: Dialect, header: bool | None
) -> tuple[tuple[str, ...], Dialect, bool]:
    """The names of the columns, the dialect to declare, and whether the names are certainly names.

    Without a header line the names are placeholders, one for each cell of the first record.
    """
    opened = dialect if header is not False else replace(dialect, names=(PLACEHOLDER,))
    with open_dataset((data,), opened) as dataset:
        (source,) = dataset.sources
        if header is not False:
            require_names(source, asserted=bool(header))
            if all(unfit(name, twins_of(source.header)) for name in source.header):
                raise DataError.of(
                    "not-column-names",
                    f"no column of `{data}` has a name that a spec can declare",
                    "give every column of the file a visible name of its own, or use `--no-header`",
                )
            if source.dialect is None:
                return source.header, STANDARD, True
            return source.header, dialect, bool(header)
        if source.dialect is None:
            raise refuse_option(
                f"`{data}` is a Parquet file, which names its columns itself",
                "leave `--no-header` out",
            )
        names = placeholder_names(columns_without_names(source))
        return names, replace(dialect, names=names), True


def _asked(header: Sequence[str], name: str, dialect: Dialect, *, certain: bool) -> str:
    """The spec from the answers, planned once so that it is ready."""
    asker = Asker(sys.stdin.buffer, terminal=sys.stdin.isatty())
    try:
        if dialect.names or not (certain or are_names(asker, len(header))):
            header = ask_names(asker, len(header))
            dialect = replace(dialect, names=tuple(header))
        text = interview(asker, header, name, csv_line(dialect).rstrip())
    except (KeyboardInterrupt, Stopped):
        print("\nstopped; nothing was written", file=sys.stderr)
        raise
    require_budget(make_plan(load_spec(text, "the answers")))
    return text


def schema(
    what: Annotated[Literal["spec", "report"], typer.Argument(metavar="[WHAT]")] = "spec",
) -> None:
    """Print the JSON Schema of specs, for editors, or of reports."""
    if what == "report":
        write_json(report_schema())
        return
    print_json(spec_schema())
