"""`dpcli ledger recover`: charge a ledger what published reports prove."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpcli.cli.ledger_file import DEFAULT, AsJson, Named

if TYPE_CHECKING:
    from dpcli.ledger.recovery import Recovered

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
    path: Named = None,
) -> None:
    """Charge a restored or new ledger what published reports prove.

    After a lost disk: restore the last backup of the ledger, or none, and name every report that
    was published since. Each missing release is charged again, at the price that its report
    proves or more; nothing gets cheaper, and a second time changes nothing. Its outputs are
    not in the ledger. If entries are missing that no report proves, it is refused; --unproven
    accepts N of them and closes every account. Reads reports, no data; spends nothing new. A
    report that was forged as a whole cannot be told from a real one: take reports from where
    they were published.

    Examples:
        dpcli ledger recover --from published/first.report.json
        # no backup either: begin a new ledger that knows what was spent
        dpcli ledger recover --from published/*.json --ledger new.sqlite
        dpcli ledger recover --from published/*.json --json

    Exits 6 when the ledger or a report was changed, or releases are unproven.

    See also: dpcli ledger verify, dpcli explain ledger-in-doubt
    """
    from dpcli.charge import now
    from dpcli.cli.console import print_json
    from dpcli.ledger.recovery import recover as recover_ledger
    from dpcli.report.proving import proofs_of

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
        return
    for line in _lines(ledger, found, len(reports)):
        typer.echo(line)


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
