"""`dpcli ledger init`, `open`, `export`, `verify` and `recover`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from dpcli.charge import now
from dpcli.cli.accounts import DEFAULT, existing_ledger, open_ledger
from dpcli.cli.console import print_json, say
from dpcli.cli.options import (
    AsJson,
    Force,
    Format,
    Layout,
    LedgerFile,
    Reports,
    Table,
    checked_budget,
    checked_id,
    checked_name,
    checked_unit,
)
from dpcli.cli.outputs import Wanted
from dpcli.errors import LedgerError, Problem
from dpcli.ledger.ledger import create_ledger
from dpcli.ledger.place import removed_if_empty, require_file_name, system_errors
from dpcli.ledger.recovery import Recovered
from dpcli.ledger.recovery import recover as recover_ledger
from dpcli.ledger.terms import Terms
from dpcli.privacy.loss import loss_text
from dpcli.publish import require_writable
from dpcli.recovery import proofs_of, report_faults


def init(
    path: Annotated[Path, typer.Argument(metavar="PATH")],
    anchor: Path | None = None,
    network: Annotated[bool, typer.Option("--network")] = False,
) -> None:
    """Make a ledger without accounts, and its anchor."""
    require_file_name(path)
    with system_errors(path):
        if path.exists() or path.is_symlink():
            raise LedgerError.of("ledger-exists", f"`{path}` exists already", "name a new file")
    with removed_if_empty(path):
        create_ledger(path, anchor.absolute() if anchor else None, network=network).close()
    say(f"{path}: a new ledger", file=sys.stdout)


def open_account(
    dataset: Annotated[str, typer.Argument(metavar="DATASET")],
    epsilon: Annotated[str | None, typer.Option(metavar="E")] = None,
    rho: Annotated[str | None, typer.Option(metavar="R")] = None,
    delta: Annotated[str, typer.Option(metavar="D")] = "0",
    each: Annotated[bool, typer.Option("--each")] = False,
    neighbors: Literal["add-remove", "change-one"] = "add-remove",
    unit: Annotated[str, typer.Option(metavar="row|COLUMN")] = "row",
    composition: Literal["sequential", "advanced", "zcdp", "pld"] = "sequential",
    window: Annotated[int | None, typer.Option(min=1, max=36500, metavar="N")] = None,
    path: LedgerFile = None,
) -> None:
    """Open an account with its guarantee and budget, fixed for ever."""
    terms = Terms(
        checked_name(dataset),
        checked_unit(unit, each=each),
        neighbors,
        composition,
        checked_budget(epsilon, rho, delta, composition),
        window,
    )
    days = f" in any {window} consecutive days" if window else ""
    with open_ledger(path, Path(DEFAULT)) as book:
        opened = "account opened" if book.open_account(terms, now()) else "account was open"
        say(
            f"{dataset}: {opened} in {book.path} with {loss_text(terms.budget)}{days}, "
            f"{neighbors}, {composition}",
            file=sys.stdout,
        )


def export(
    release_id: Annotated[str, typer.Argument(metavar="ID")],
    output: Table = None,
    report: Reports = None,
    report_format: Format = None,
    layout: Layout = "long",
    force: Force = False,
    path: LedgerFile = None,
) -> None:
    """Publish a past release again, byte for byte, at no cost."""
    wanted = Wanted(output, report, layout, report_format)
    with existing_ledger(path) as book:
        stored = book.stored(checked_id(release_id) or "")
        if stored is None:
            raise LedgerError.of(
                "no-such-release",
                f"the ledger has no release `{release_id}`",
                "`dpcli ledger history` lists them",
            )
        inputs = book.store.files()
    wanted.require_available(stored)
    known = wanted.contents(stored)
    require_writable(
        wanted.targets(wanted.tables(stored)), inputs, force=force, twice=wanted.twice, known=known
    )
    wanted.publish(stored, "run the command again")


def verify(
    more: Annotated[list[Path] | None, typer.Argument(metavar="[REPORT...]")] = None,
    against: Annotated[list[Path] | None, typer.Option(metavar="REPORT")] = None,
    as_json: AsJson = False,
    path: LedgerFile = None,
) -> None:
    """Check that a ledger is unchanged, and that reports agree."""
    reports = [*(against or ()), *(more or ())]
    with existing_ledger(path, doubtful=True) as book:
        found = [*book.faults(), *report_faults(book.store, reports)]
        count = 0 if found else len(book.store.entries())
        name = book.path
    if found:
        hint = "find out who changed it; never start a new one to spend again"
        raise LedgerError(
            Problem("ledger-in-doubt", f"the ledger `{name}` cannot be trusted: {fault}", hint)
            for fault in found
        )
    if as_json:
        print_json({"entries": count, "reports": len(reports), "intact": True})
    else:
        compared = f", {len(reports)} published reports agree" if reports else ""
        say(f"{name}: {count} entries, all intact{compared}", file=sys.stdout)


MOST_UNPROVEN = 1_000_000


def recover(
    more: Annotated[list[Path] | None, typer.Argument(metavar="[REPORT...]")] = None,
    source: Annotated[list[Path] | None, typer.Option("--from", metavar="REPORT")] = None,
    unproven: Annotated[int, typer.Option(min=0, max=MOST_UNPROVEN, metavar="N")] = 0,
    anchor_lost: Annotated[bool, typer.Option("--anchor-lost")] = False,
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
        print("\n".join(_recovered(ledger, found, len(reports))))


def _recovered(ledger: Path, found: Recovered, reports: int) -> list[str]:
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
