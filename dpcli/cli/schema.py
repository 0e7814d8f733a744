"""`dpcli schema`: the JSON Schema of specs, for editors, or of reports."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer


def schema(
    what: Annotated[
        Literal["spec", "report"], typer.Argument(metavar="[WHAT]", help="`spec` or `report`.")
    ] = "spec",
) -> None:
    """Print the JSON Schema of specs, for editors, or of reports.

    Editors that speak YAML (by yaml-language-server) offer keys and values and explain
    them, when the first line of a spec names the schema. Reads and spends nothing.

        # yaml-language-server: $schema=dpcli.schema.json

    Examples:
        dpcli schema > dpcli.schema.json
        dpcli schema report > report.schema.json

    The editor catches slips while you type; `dpcli check` finds everything.

    See also: dpcli init, dpcli check, dpcli explain
    """
    if what == "report":
        from dpcli.report.json_report import report_schema

        sys.stdout.write(report_schema())
        return
    from dpcli.cli.console import print_json
    from dpcli.spec.schema import spec_schema

    print_json(spec_schema())
