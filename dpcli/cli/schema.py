"""`dpcli schema`: the JSON Schema of specs, for editors, or of reports."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from dpcli.cli.console import print_json, write_json
from dpcli.report.json_report import report_schema
from dpcli.spec.schema import spec_schema


def schema(
    what: Annotated[
        Literal["spec", "report"], typer.Argument(metavar="[WHAT]", help="`spec` or `report`.")
    ] = "spec",
) -> None:
    """Print the JSON Schema of specs, for editors, or of reports."""
    if what == "report":
        write_json(report_schema())
        return
    print_json(spec_schema())
