"""`dpcli ledger recover`: charge a ledger what published reports prove."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from dpcli.charge import now
from dpcli.cli.accounts import DEFAULT
from dpcli.cli.console import print_json
from dpcli.cli.options import AsJson, LedgerFile
from dpcli.ledger.recovery import Recovered
from dpcli.ledger.recovery import recover as recover_ledger
from dpcli.report.proving import proofs_of

MOST_UNPROVEN = 1_000_000


def recover(
    more: Annotated[
        list[Path] | None, typer.Argument(metavar="[REPORT...]", help="More reports.")
    ] = None,
    source: Annotated[
        list[Path] | None,
        typer.Option("--from", metavar="REPORT", help="A published report in JSON; more follow."),
    ] = None,
    unproven: Annotated[
        int,
        typer.Option(min=0, max=MOST_UNPROVEN, metavar="N", help="Close all accounts for N more."),
    ] = 0,
    anchor_lost: Annotated[
        bool, typer.Option("--anchor-lost", help="Go on without the anchor of the ledger.")
    ] = False,
    as_json: AsJson = False,
    path: LedgerFile = None,
) -> None:
    """Charge a restored or new ledger what published reports prove."""
    ledger, reports = path or Path(DEFAULT), [*(source or ()), *(more or ())]
    proofs = proofs_of(reports)
    found = recover_ledger(ledger, proofs, now(), unproven=unproven, anchor_lost=anchor_lost)
    if found.created:
        print(f"created the ledger `{ledger}`", file=sys.stderr)
    if not found.anchored:
        print(
            "warning: no anchor showed how far the ledger had come: releases after the last report "
            "are not charged",
            file=sys.stderr,
        )
    if as_json:
        print_json(
            {
                "recovered": [
                    {"release_id": one.release_id, "entry": one.entry, "exact": one.exact}
                    for one in found.releases
                ],
                "opened": list(found.opened),
                "unproven": found.lost,
                "closed": list(found.closed),
                "anchored": found.anchored,
                "created": found.created,
            }
        )
    else:
        print("\n".join(_lines(ledger, found, len(reports))))


def _lines(ledger: Path, found: Recovered, reports: int) -> list[str]:
    """What was done, in sentences."""
    if not found.releases and not found.lost:
        return [f"{ledger}: nothing is missing that the {reports} reports prove"]
    lines = [f"{ledger}: {len(found.releases)} releases charged again"]
    lines += [f"account {name}: opened" for name in found.opened]
    lines += [
        f"release {one.release_id}: charged the plain sum of its losses, because this version "
        "plans it otherwise"
        for one in found.releases
        if not one.exact
    ]
    lines += [f"account {name}: closed, because of unproven releases" for name in found.closed]
    return lines
