"""`dpcli ledger init`, `open`, `export`, `verify` and `recover`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer

from dpcli.cli import options
from dpcli.cli.accounts import existing_ledger, open_ledger
from dpcli.cli.console import print_json, print_line
from dpcli.cli.options import checked_budget, refuse_first
from dpcli.cli.outputs import Tables, wide_tables
from dpcli.ledger.balance import AccountTerms
from dpcli.ledger.charge import now
from dpcli.ledger.filesystem import removed_if_empty, require_file_name, translated_os_errors
from dpcli.ledger.ledger import create_ledger
from dpcli.ledger.options import DEFAULT, checked_entry_id
from dpcli.ledger.restoration import Recovered
from dpcli.ledger.restoration import recover as recover_ledger
from dpcli.privacy.loss import loss_text
from dpcli.privacy.unit import PersonUnit, RowUnit, unit_text
from dpcli.problems.errors import LedgerError, UsageError, make_problem
from dpcli.releasing.recovery import report_faults, report_proofs
from dpcli.specification.dataset_names import dataset_name_fault

MAX_UNPROVEN = 1_000_000
"""The largest number of missing entries that `--unproven` accepts."""


def init(
    path: Annotated[Path, typer.Argument(metavar="PATH")],
    anchor: Path | None = None,
    network: Annotated[bool, typer.Option("--network")] = False,
) -> None:
    """Create a ledger without accounts, and its anchor."""
    require_file_name(path)
    with translated_os_errors(path):
        if path.exists() or path.is_symlink():
            raise LedgerError.about("ledger-exists", path=path)
    with removed_if_empty(path):
        create_ledger(path, anchor.absolute() if anchor else None, network=network).close()
    print_line(f"{path}: a new ledger", file=sys.stdout)


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
    path: options.LedgerFile = None,
) -> None:
    """Open an account with a fixed guarantee and budget."""
    fault = dataset_name_fault(dataset)
    if fault is not None:
        raise UsageError.about("bad-dataset", **fault)
    refuse_first({"bad-unit": not unit, "bad-unit.each": each and unit == "row"})
    budget = checked_budget(epsilon, rho, delta, composition)
    protected = RowUnit() if unit == "row" else PersonUnit(unit, 1, 1, 1, each)
    terms = AccountTerms(dataset, unit_text(protected), neighbors, composition, budget, window)
    days = f" in any {window:,} consecutive days" if window else ""
    with open_ledger(path, Path(DEFAULT)) as opened_ledger:
        what = "account opened" if opened_ledger.open_account(terms, now()) else "account was open"
        opened = f"{dataset}: {what} in {opened_ledger.path} with {loss_text(budget)}{days}"
    print_line(f"{opened}, {neighbors}, {composition}", file=sys.stdout)


def export(
    release_id: Annotated[str, typer.Argument(metavar="ID", callback=checked_entry_id)],
    output: options.TableFile = None,
    report: options.Reports = None,
    report_format: options.Format = None,
    metadata: options.Metadata = None,
    layout: options.Layout = "long",
    digits: options.ShownDigits = "interval",
    force: options.Force = False,
    path: options.LedgerFile = None,
) -> None:
    """Publish a past release again, byte for byte, at no cost."""
    with existing_ledger(path) as opened_ledger:
        stored = opened_ledger.stored(release_id)
        if stored is None:
            raise LedgerError.about("no-such-release", release_id=release_id)
        inputs = opened_ledger.files()
    names = wide_tables(stored) if layout == "wide" else ()
    tables = Tables(
        output,
        report,
        report_format,
        force,
        layout,
        names,
        not report,
        metadata=metadata,
        digits=digits,
    )
    if tables.output is not None or not report:
        if stored.stopped:
            raise LedgerError.about("release-stopped", release_id=release_id)
        if stored.digest is not None:
            raise LedgerError.about("responses-not-stored", digest=stored.digest)
    tables.require_valid(inputs, stored)
    tables.publish(stored, "run the command again")


def verify(
    more: Annotated[list[Path] | None, typer.Argument(metavar="[REPORT...]")] = None,
    against: Annotated[list[Path] | None, typer.Option(metavar="REPORT")] = None,
    as_json: options.AsJson = False,
    path: options.LedgerFile = None,
) -> None:
    """Check that a ledger is unchanged, and that reports agree."""
    reports = [*(against or ()), *(more or ())]
    with existing_ledger(path, unchecked=True) as opened_ledger:
        faults = [*opened_ledger.all_faults(), *report_faults(opened_ledger, reports)]
        count = 0 if faults else len(opened_ledger.entries())
        name = opened_ledger.path
    if faults:
        raise LedgerError(
            make_problem("ledger-in-doubt.changed", ledger=name, reason=fault) for fault in faults
        )
    if as_json:
        print_json({"entries": count, "reports": len(reports), "intact": True})
    else:
        agree = f", {len(reports):,} published reports agree" if reports else ""
        print_line(f"{name}: {count:,} entries, all intact{agree}", file=sys.stdout)


def recover(
    more: Annotated[list[Path] | None, typer.Argument(metavar="[REPORT...]")] = None,
    source: Annotated[list[Path] | None, typer.Option("--from", metavar="REPORT")] = None,
    unproven: Annotated[int, typer.Option(min=0, max=MAX_UNPROVEN, metavar="N")] = 0,
    anchor_lost: Annotated[bool, typer.Option("--anchor-lost")] = False,
    as_json: options.AsJson = False,
    path: options.LedgerFile = None,
) -> None:
    """Charge a restored or new ledger what published reports prove."""
    ledger, reports = path or Path(DEFAULT), [*(source or ()), *(more or ())]
    proofs = report_proofs(reports)
    recovered = recover_ledger(ledger, proofs, now(), unproven=unproven, anchor_lost=anchor_lost)
    if recovered.created:
        print_line(f"created the ledger `{ledger}`")
    if not recovered.anchored:
        print_line(
            "warning: no anchor showed how far the ledger had come: releases after the last "
            "report are not charged"
        )
    if as_json:
        print_json(
            {
                "recovered": [
                    {
                        "release_id": release.release_id,
                        "entry": release.entry,
                        "exact": release.exact,
                    }
                    for release in recovered.releases
                ],
                "forked": [release.release_id for release in recovered.forked],
                "opened": list(recovered.opened),
                "unproven": recovered.lost,
                "closed": list(recovered.closed),
                "anchored": recovered.anchored,
                "created": recovered.created,
            }
        )
    else:
        for line in _recovery_lines(ledger, recovered, len(reports)):
            print_line(line, file=sys.stdout)


def _recovery_lines(path: Path, recovered: Recovered, reports: int) -> Iterator[str]:
    if not recovered.releases and not recovered.lost:
        yield f"{path}: nothing is missing that the {reports:,} reports prove"
        return
    yield f"{path}: {len(recovered.releases):,} releases charged again"
    if recovered.forked:
        yield (
            f"{len(recovered.forked):,} of them are of another history: releases were made "
            "with a restored copy before it was recovered, and both histories are charged"
        )
    yield from (f"account {name}: opened" for name in recovered.opened)
    for release in recovered.releases:
        if not release.exact:
            yield (
                f"release {release.release_id}: charged the plain sum of its losses, because "
                "this version plans it otherwise"
            )
    yield from (
        f"account {name}: closed, because of unproven releases" for name in recovered.closed
    )
