"""`dpcli init`: a commented spec to fill in, from the header of a file alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def init(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="The CSV file; only its header is read.")
    ],
) -> None:
    """Print a commented spec with the columns of DATA and placeholders to fill in.

    No row is read: types, bounds and categories are public facts that you know, and
    must never be looked up in the data. `dpcli check` explains each placeholder.

    Example: dpcli init sample_data/people.csv > spec.yaml
    """
    from dpcli.engine.source import open_source
    from dpcli.spec.draft import draft_spec

    source = open_source(data)
    source.close()
    name = "data" if data == "-" else Path(data).name.split(".")[0]
    sys.stdout.write(draft_spec(source.header, name))
