"""`dpcli schema`: JSON Schema of specs, for editors, or of reports, for their readers."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer


def schema(
    what: Annotated[
        Literal["spec", "report"], typer.Argument(metavar="[WHAT]", help="`spec` or `report`.")
    ] = "spec",
) -> None:
    """Print the JSON Schema of the spec language, or of reports in JSON.

    Example: dpcli schema > dpcli.schema.json
    """
    if what == "report":
        from dpcli.report.json_report import report_schema

        sys.stdout.write(report_schema())
        return
    from dpcli.cli.console import print_json
    from dpcli.spec.schema import spec_schema

    print_json(spec_schema())
