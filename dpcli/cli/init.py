"""`dpcli init`: a commented spec to fill in, from the header of a file alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

Delimiter = Annotated[
    str | None, typer.Option(metavar="MARK", help="What stands between names [,]; or `tab`.")
]
Quote = Annotated[
    str | None, typer.Option(metavar="MARK", help='What stands around names ["]; or `none`.')
]
Encoding = Annotated[str | None, typer.Option(metavar="NAME", help="Of the text [utf-8].")]


def init(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A CSV or Parquet file; only its header is read.")
    ],
    delimiter: Delimiter = None,
    quote: Quote = None,
    encoding: Encoding = None,
) -> None:
    """Print a commented spec with the columns of DATA and placeholders to fill in.

    No row is read: types, bounds and categories are public facts that you know, and
    must never be looked up in the data. `dpcli check` explains each placeholder. A file
    without a header line cannot be drafted from: its first line is a record, of which
    nothing may be used. Write `csv: {names: [...]}` from its documentation.

    Example: dpcli init sample_data/people.csv > spec.yaml
    """
    from dpcli.cli.words import checked_dialect
    from dpcli.engine.source import open_dataset
    from dpcli.spec.draft import draft_spec

    dialect = checked_dialect(delimiter, quote, encoding)
    with open_dataset((data,), dialect) as dataset:
        (source,) = dataset.sources
    name = "data" if data == "-" else Path(data).name.split(".")[0]
    sys.stdout.write(draft_spec(source.header, name, dialect))
