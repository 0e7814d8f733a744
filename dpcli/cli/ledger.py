"""`dpcli ledger init`, `open`, `export`, `verify` and `recover`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer

from dpcli.cli import options
from dpcli.cli.charging import existing_ledger
from dpcli.cli.console import current_log, print_json, print_line
from dpcli.cli.options import checked_budget, checked_recipients, composed
from dpcli.cli.outputs import Tables, wide_tables
from dpcli.ledger.balance import AccountTerms
from dpcli.ledger.charge import now
from dpcli.ledger.ledger import create_ledger, open_or_create_ledger
from dpcli.ledger.options import (
    DEFAULT,
    checked_entry_id,
    created_text,
    removed_if_empty,
    require_file_name,
    translated_os_errors,
)
from dpcli.ledger.restoration import Recovered
from dpcli.ledger.restoration import recover as recover_ledger
from dpcli.privacy.loss import loss_text
from dpcli.privacy.unit import PersonUnit, RowUnit, unit_text
from dpcli.problems.errors import LedgerError, Problem, UsageError, make_problem
from dpcli.problems.messages import count_text
from dpcli.releasing.bounds_choice import choice_faults
from dpcli.releasing.report_proofs import report_faults, report_proofs, stored_faults
from dpcli.specification.dataset_names import dataset_name_fault

MAX_UNPROVEN = 1_000_000
"""The largest number of missing entries that `--unproven` accepts."""


def init(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The new ledger.")],
    anchor: Annotated[
        Path | None, typer.Option(help="Its anchor file, best in another folder [PATH.anchor].")
    ] = None,
    network: Annotated[
        bool, typer.Option("--network", help="Allow a network drive that one machine uses.")
    ] = False,
) -> None:
    """Create a ledger without accounts, and its anchor.

    Needed only for a ledger that many specs share: `dpcli release` creates one next to its
    spec. The anchor records every entry of the ledger. In another folder, it also detects an
    older copy that replaces the ledger. Writes PATH and the anchor; spends nothing.

    Examples:
        dpcli ledger init shared.sqlite
        dpcli ledger init town.sqlite --anchor published/town.anchor
        # then, for all commands of a shell or a job:
        export DPCLI_LEDGER=town.sqlite

    Exits 6 if PATH exists already, or is on a network drive.

    See also: dpcli ledger open, dpcli ledger verify, dpcli explain ledger
    """
    require_file_name(path)
    with translated_os_errors(path):
        if path.exists() or path.is_symlink():
            raise LedgerError.about("ledger-exists", path=path)
    with removed_if_empty(path):
        create_ledger(path, anchor.absolute() if anchor else None, network=network).close()
    print_line(f"{path}: a new ledger", file=sys.stdout)


def open_account(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="The dataset that pays.")],
    epsilon: Annotated[str | None, typer.Option(metavar="E", help="The budget.")] = None,
    rho: Annotated[
        str | None, typer.Option(metavar="R", help="The budget in rho, with composition zcdp.")
    ] = None,
    delta: Annotated[str, typer.Option(metavar="D", help="The budget's delta [0].")] = "0",
    each: Annotated[
        bool, typer.Option("--each", help="Each row without an id is a person of its own.")
    ] = False,
    neighbors: Annotated[
        Literal["add-remove", "change-one"],
        typer.Option(help="As in the specs of the dataset [add-remove]."),
    ] = "add-remove",
    unit: Annotated[
        str,
        typer.Option(metavar="row|COLUMN", help="The column of the people's ids, or `row` [row]."),
    ] = "row",
    composition: Annotated[
        Literal["sequential", "advanced", "zcdp", "pld"],
        typer.Option(help="As in the specs of the dataset [sequential]."),
    ] = "sequential",
    window: Annotated[
        int | None,
        typer.Option(
            min=1, max=36500, metavar="N", help="The budget bounds any N consecutive days."
        ),
    ] = None,
    part_of: Annotated[
        str | None,
        typer.Option("--part-of", metavar="ACCOUNT", help="Each charge must fit that one, too."),
    ] = None,
    recipients: Annotated[
        list[str] | None,
        typer.Option(
            "--recipient", metavar="NAME=E", help="The most for one recipient; repeatable."
        ),
    ] = None,
    path: options.NamedLedger = None,
) -> None:
    """Open an account with a fixed guarantee and budget.

    Needed only to set terms before the first release, and for an account that others are a part
    of: the first release of a dataset opens its account with the terms of the spec. Without
    --window, the budget bounds all releases together; with it, those of any N consecutive days,
    and every release names its day with --period. Recipients may share what they get, so the
    budget bounds all of them together. Writes the account to the ledger; spends nothing.

    Examples:
        dpcli ledger open survey --epsilon 1
        dpcli ledger open visits --epsilon 1 --window 7
        dpcli ledger open people --rho 0.1 --delta 1e-6 --composition zcdp
        dpcli ledger open clinic --epsilon 2 --unit person_id
        dpcli ledger open population --epsilon 3 --unit person_id
        dpcli ledger open taxes --epsilon 2 --unit person_id --part-of population
        dpcli ledger open shops --epsilon 3 --recipient ministry=1

    An account that is open on these terms already stays as it is: the command can be
    repeated. Exits 6 if the dataset has an account on other terms.

    See also: dpcli release --period, dpcli ledger show, dpcli explain budget
    """
    fault = dataset_name_fault(dataset)
    if fault is not None:
        raise UsageError.about("bad-dataset", **fault)
    if not unit or (each and unit == "row"):
        found = "`row`, and `--each` is for people" if unit else "the empty text"
        raise UsageError.about("bad-unit", found=found)
    budget = checked_budget(epsilon, rho, delta, composition)
    protected = RowUnit() if unit == "row" else PersonUnit(unit, 1, 1, 1, each)
    terms = AccountTerms(
        dataset, unit_text(protected), neighbors, composition, budget, window, composed(part_of),
        checked_recipients(recipients or ()),
    )  # fmt: skip
    days = f" in any {window:,} consecutive days" if window else ""
    with open_or_create_ledger(path, Path()) as opened_ledger:
        if opened_ledger.created:
            print_line(created_text(opened_ledger.path))
        what = "account opened" if opened_ledger.open_account(terms, now()) else "account was open"
        opened = f"{dataset}: {what} in {opened_ledger.path} with {loss_text(budget)}{days}"
    part = f", a part of {part_of}" if part_of else ""
    print_line(f"{opened}, {neighbors}, {composition}{part}", file=sys.stdout)


def export(
    release_id: Annotated[
        str,
        typer.Argument(
            metavar="ID", callback=checked_entry_id, help="The release to publish again."
        ),
    ],
    output: options.TableFile = None,
    report: options.Reports = None,
    report_format: options.Format = None,
    metadata: options.Metadata = None,
    layout: options.Layout = "long",
    digits: options.ShownDigits = "interval",
    dataset: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Whose release it is, if several datasets have the ID."),
    ] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    path: options.NamedLedger = None,
) -> None:
    """Publish a past release again, byte for byte, at no cost.

    Writes the table to stdout or to OUT, with a report next to it; on a terminal, shows the numbers
    as the release did. Reads the ledger, no data; spends nothing. For a local collection there
    are only the reports.

    Examples:
        dpcli ledger export 2026-11-21
        dpcli ledger export 2026-11-21 -o noisy.csv
        dpcli ledger export 2026-11-21 -o wide.csv --layout wide --report r.md

    Exits 6 if there is no such release, or if several datasets have one of this id and none is
    named, 7 if an output could not be written.

    See also: dpcli ledger history, dpcli explain release-id
    """
    with existing_ledger(path) as opened_ledger:
        owner = opened_ledger.dataset_of(release_id, composed(dataset))
        stored = opened_ledger.stored(release_id, owner)
        assert stored is not None
        inputs = opened_ledger.files()
    names = wide_tables(stored) if layout == "wide" else ()
    tables = Tables(
        output, report, report_format, force, layout, names, not report, metadata, digits=digits
    )
    if tables.output is not None or not report:
        if stored.stopped:
            raise LedgerError.about("release-stopped", release_id=release_id)
        if stored.digest is not None:
            raise LedgerError.about("responses-not-stored", digest=stored.digest)
    tables.require_valid(inputs, stored)
    tables.publish(stored, "run the command again")
    if current_log() is None:
        tables.show(stored, quiet=quiet)
    elif not quiet:
        # A log has no numbers: they are in the outputs.
        tables.notify_written(stored)


def verify(
    more: options.MoreReports = None,
    against: Annotated[
        list[Path] | None,
        typer.Option(metavar="REPORT", help="A published report in JSON; more may follow."),
    ] = None,
    as_json: options.AsJson = False,
    path: options.NamedLedger = None,
) -> None:
    """Check that a ledger is unchanged, and that reports agree.

    Checks tables, chain and anchor, reads all entries and outputs as other commands do, and
    compares published reports with them. Reads the ledger and the reports; writes and spends
    nothing.

    Examples:
        dpcli ledger verify
        dpcli ledger verify --against published/first.report.json
        # every morning, by cron, which mails what goes to stderr:
        0 6 * * *  dpcli ledger verify --against published/*.json > /dev/null

    Exits 6 and names the entry when anything was changed, removed, forged or restored.

    See also: dpcli explain ledger-in-doubt
    """
    reports = [*(against or ()), *(more or ())]
    with existing_ledger(path, unchecked=True) as opened_ledger:
        name, count = opened_ledger.path, 0
        faults, unreadable = opened_ledger.all_faults(), list[Problem]()
        with LedgerError.collected(unreadable):
            faults += report_faults(opened_ledger, reports)
        if not faults:
            faults += [*stored_faults(opened_ledger), *choice_faults(opened_ledger)]
            count = len(opened_ledger.entries())
    problems = [make_problem("ledger-in-doubt", path=name, why=fault) for fault in faults]
    LedgerError.require_none(problems or unreadable)
    if as_json:
        print_json({"entries": count, "reports": len(reports), "intact": True})
    else:
        agrees = f"{count_text(len(reports), 'published report')} agree{'s' * (len(reports) == 1)}"
        entries = f"{count:,} {'entry' if count == 1 else 'entries'}, all intact"
        print_line(f"{name}: {entries}{f', {agrees}' if reports else ''}", file=sys.stdout)


def recover(
    more: options.MoreReports = None,
    source: Annotated[
        list[Path] | None,
        typer.Option("--from", metavar="REPORT", help="A published report in JSON; more follow."),
    ] = None,
    unproven: Annotated[
        int,
        typer.Option(min=0, max=MAX_UNPROVEN, metavar="N", help="Close all accounts for N more."),
    ] = 0,
    anchor_lost: Annotated[
        bool, typer.Option("--anchor-lost", help="Go on without the anchor of the ledger.")
    ] = False,
    as_json: options.AsJson = False,
    path: options.NamedLedger = None,
) -> None:
    """Charge a restored or new ledger what published reports prove.

    After a lost disk: restore the last backup of the ledger, or none, and name every report that
    was published since. Each missing release is charged again, at the price that its report
    proves or more; nothing becomes cheaper, and a second run changes nothing. Its outputs are
    not in the ledger. If entries are missing that no report proves, it is refused; --unproven
    accepts N of them and closes every account. Reads reports, no data; spends nothing new. A
    report that was forged as a whole cannot be distinguished from a real one: take reports from
    where they were published.

    Examples:
        dpcli ledger recover --from published/first.report.json
        # without a backup: create a new ledger with what was spent
        dpcli ledger recover --from published/*.json --ledger new.sqlite
        dpcli ledger recover --from published/*.json --json

    Exits 6 when the ledger or a report was changed, or releases are unproven.

    See also: dpcli ledger verify, dpcli explain ledger-in-doubt
    """
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
        releases = [
            {
                "dataset": each.terms.dataset,
                "release_id": each.release_id,
                "entry": each.entry,
                "exact": each.exact,
            }
            for each in recovered.releases
        ]
        print_json(
            {
                "recovered": releases,
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
                f"release {release.release_id} of {release.terms.dataset}: charged the plain sum "
                "of its losses, because this version plans it otherwise"
            )
    why = "unproven releases" if recovered.lost else "two histories of a series"
    yield from (f"account {name}: closed, because of {why}" for name in recovered.closed)
