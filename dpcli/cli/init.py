"""`dpcli init`: a spec to begin with, from the header of a file alone."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dpcli.dialect import Dialect

Delimiter = Annotated[
    str | None, typer.Option(metavar="MARK", help="What stands between names [,]; or `tab`.")
]
Quote = Annotated[
    str | None, typer.Option(metavar="MARK", help='What stands around names ["]; or `none`.')
]
Encoding = Annotated[str | None, typer.Option(metavar="NAME", help="Of the text [utf-8].")]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header", help="Whether the first line names the columns, or is a record."
    ),
]

ASSUMED = (
    "note: the first line of `{data}` was taken as column names; if it is a record, delete the "
    "draft and use --no-header"
)
"""What no program can find out about a first line that could be one."""


def init(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A CSV or Parquet file; only its header is read.")
    ],
    ask: Annotated[
        bool, typer.Option("--ask", help="Ask for everything, and write a spec that is ready.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="SPEC", help="A new file for the spec [stdout]."),
    ] = None,
    delimiter: Delimiter = None,
    quote: Quote = None,
    encoding: Encoding = None,
    header: Header = None,
) -> None:
    """Draft a spec from the header of DATA alone.

    Writes a commented spec with the columns of DATA and placeholders to fill in, which
    `dpcli check` explains one by one. With --ask it asks for each decision instead, reports
    what is wrong with an answer, and writes a spec that is ready. It reads no row and spends
    nothing: types, bounds and categories are public facts that you know, and must never
    be looked up in the data. A first line that reads as a record is refused, and no part of
    it is shown. With --no-header only its cells are counted; you write the names.

    Examples:
        dpcli init sample_data/people.csv
        dpcli init sample_data/people.csv > draft.yaml
        dpcli init sample_data/people.csv --ask -o people.yaml
        # a spec from answers in a file, one per line:
        dpcli init sample_data/people.csv --ask < answers.txt > people.yaml
        tail -n +2 sample_data/people.csv | dpcli init - --no-header

    Questions go to stderr. Exits 2 if the answers end too early or SPEC is there already,
    4 for DATA; then nothing is written.

    See also: dpcli check, dpcli explain columns, dpcli explain bounds
    """
    from dpcli.cli.options import input_file
    from dpcli.cli.terminal import say
    from dpcli.cli.words import checked_dialect
    from dpcli.errors import UsageError
    from dpcli.publish import publish, publish_to_stdout
    from dpcli.spec.draft import draft_spec

    if ask and data == "-":
        raise UsageError.of(
            "bad-option",
            "`--ask` reads answers from standard input, and DATA is standard input too",
            "name the file; only its first line is read",
        )
    output = None if output == Path("-") else output
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
        spec, file = output or "SPEC", data
        say(f"next: dpcli check {spec} {file}; dpcli plan {spec}")


def _require_new(output: Path, data: Path) -> None:
    """Raise UsageError for an output that exists or cannot be."""
    from dpcli.errors import Problem, UsageError
    from dpcli.publish import require_writable

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
    from dataclasses import replace

    from dpcli.dialect import STANDARD
    from dpcli.engine.naming import columns_without_names, require_names
    from dpcli.engine.source import open_dataset
    from dpcli.errors import DataError, UsageError
    from dpcli.spec.draft import twins_of, unfit
    from dpcli.spec.placeholders import PLACEHOLDER, placeholder_names

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
            raise UsageError.of(
                "bad-option",
                f"`{data}` is a Parquet file, which names its columns itself",
                "leave `--no-header` out",
            )
        names = placeholder_names(columns_without_names(source))
        return names, replace(dialect, names=names), True


def _asked(header: Sequence[str], name: str, dialect: Dialect, *, certain: bool) -> str:
    """The spec that answers make, planned once so that it is ready."""
    from dataclasses import replace

    from dpcli.cli.asking import Asker
    from dpcli.cli.interview import are_names, ask_names, interview
    from dpcli.errors import Stopped
    from dpcli.plan.planner import make_plan, require_budget
    from dpcli.spec.draft import csv_line
    from dpcli.spec.load import load_spec

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
