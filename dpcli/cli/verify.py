"""`dpcli verify`: recomputes a published release from report and tables alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from dpcli.cli.console import print_json, print_line
from dpcli.cli.options import AsJson
from dpcli.problems.errors import UsageError
from dpcli.proof import verify as proof

INCONSISTENT = 1
"""The exit code if something is inconsistent."""


def verify_release(
    report: Annotated[Path, typer.Argument(metavar="REPORT", help="The JSON report of a release.")],
    tables: Annotated[
        list[Path], typer.Argument(metavar="TABLE", help="Its tables as CSV, or its responses.")
    ],
    digest: Annotated[
        str | None,
        typer.Option(metavar="HEX", help="The SHA-256 of the content, on the signed page."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Recompute a published release, without data or ledger.

    Reads no data and no ledger, and spends nothing. From the JSON report, it recomputes by code of
    its own the sensitivity of each query from the spec, the noise, what each answer reveals, the
    total, the account, the digests and the place in the chain of the ledger; and it compares each
    cell of the tables. It names what it could not check. White space, the order of keys and the
    way in which other programs write numbers do not matter. Whoever changes a report consistently
    is found by its digest, `Content of the report, SHA-256` on the page that was signed.

    The module dpcli/proof/verify.py does the same alone, with Python and without dpcli.

    Examples:
        dpcli verify published/first.report.json published/first.csv
        dpcli verify published/first.report.json published/first.csv --json

    Exits 1 if something is inconsistent, and names it.

    See also: dpcli ledger verify, dpcli explain report
    """
    try:
        content = report.read_bytes()
        named = [(str(table), table.read_bytes()) for table in tables]
    except OSError as error:
        raise UsageError.about("not-a-report.missing", report=error.filename) from None
    findings = proof.verify(content, named, digest)
    if as_json:
        print_json(findings.summary())
    else:
        for line in findings.lines():
            print_line(line, file=sys.stdout)
    if findings.wrong:
        raise typer.Exit(INCONSISTENT)
