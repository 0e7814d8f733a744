"""`dpcli ledger`: accounts, balances, history, and the bytes of past releases."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dpcli.cli.balances import history, show
from dpcli.cli.ledger_file import AsJson, Named
from dpcli.cli.manual import in_order, page
from dpcli.cli.options import Format, Reports
from dpcli.cli.recovering import recover
from dpcli.cli.terminal import say

HELP = """Show what was spent and what is left; publish past releases again.

    A ledger is a file with an account for each dataset: its guarantee, its budget, and every
    release that was charged, with the bytes of its outputs. `dpcli release` makes one
    next to the spec. These commands use the one that --ledger or DPCLI_LEDGER names, else
    `dpcli-ledger.sqlite` in this folder. None of them reads data or spends anything.

    Examples:
        dpcli ledger show
        dpcli ledger history --json
        dpcli ledger export 2026-11-21 -o noisy.csv
        # every morning, by cron:
        0 6 * * *  dpcli ledger verify --against published/*.report.json

    See also: dpcli release, dpcli explain ledger
"""

if TYPE_CHECKING:
    from dpcli.ledger.terms import Terms

ledger = typer.Typer(
    help=page(HELP),
    short_help="Show what was spent and what is left; publish releases again",
    cls=in_order(("show", "history", "export", "verify", "recover", "init", "open")),
    no_args_is_help=True,
    rich_markup_mode=None,
)


@ledger.command("init")
def init(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The new ledger.")],
    anchor: Annotated[
        Path | None,
        typer.Option(help="Its anchor file, best in another folder [PATH.anchor]."),
    ] = None,
    network: Annotated[
        bool, typer.Option("--network", help="Allow a network drive that one machine uses.")
    ] = False,
) -> None:
    """Make a ledger without accounts, and its anchor.

    Needed only for a ledger that many specs share: `dpcli release` makes one beside its
    spec. The anchor remembers how far the ledger has come and, best in another folder,
    gives away an older copy that is put back. Writes PATH and the anchor; spends nothing.

    Examples:
        dpcli ledger init shared.sqlite
        dpcli ledger init town.sqlite --anchor published/town.anchor
        # then, for all commands of a shell or a job:
        export DPCLI_LEDGER=town.sqlite

    Exits 6 if PATH is there already, or lies on a network drive.

    See also: dpcli ledger open, dpcli ledger verify, dpcli explain ledger
    """
    from dpcli.errors import LedgerError
    from dpcli.ledger.creation import create_ledger
    from dpcli.ledger.place import require_file_name
    from dpcli.ledger.sqlite import translated_errors

    require_file_name(path)
    with translated_errors(path):
        if path.exists() or path.is_symlink():
            raise LedgerError.of("ledger-exists", f"`{path}` exists already", "name a new file")
    try:
        create_ledger(path, anchor.absolute() if anchor else None, network=network).close()
    except LedgerError:
        # What was made just now and holds nothing shall not look like a lost ledger.
        if path.is_file() and not path.stat().st_size:
            path.unlink()
        raise
    say(f"{path}: a new ledger", file=sys.stdout)


@ledger.command("open")
def open_account(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="The dataset that pays.")],
    epsilon: Annotated[str | None, typer.Option(metavar="E", help="The budget.")] = None,
    rho: Annotated[
        str | None, typer.Option(metavar="R", help="The budget in rho, with composition zcdp.")
    ] = None,
    delta: Annotated[str, typer.Option(metavar="D", help="The budget's delta.")] = "0",
    each: Annotated[
        bool, typer.Option("--each", help="Rows without an id are people of their own.")
    ] = False,
    neighbors: Annotated[
        Literal["add-remove", "change-one"], typer.Option(help="As in the specs of the dataset.")
    ] = "add-remove",
    unit: Annotated[
        str,
        typer.Option(metavar="row|COLUMN", help="`row`, or the column of the people's ids."),
    ] = "row",
    composition: Annotated[
        Literal["sequential", "advanced", "zcdp", "pld"],
        typer.Option(help="As in the specs of the dataset."),
    ] = "sequential",
    window: Annotated[
        int | None,
        typer.Option(min=1, max=36500, help="The budget bounds any so many consecutive days."),
    ] = None,
    path: Named = None,
) -> None:
    """Open an account with its guarantee and budget, fixed for ever.

    Needed only to set terms before the first release, or a window: the first release of a
    dataset opens its account with the terms of the spec. Without --window the budget bounds
    all releases for ever; with it, those of any so many consecutive days, and every release
    names its day by --period. Writes the account to the ledger; spends nothing.

    Examples:
        dpcli ledger open survey --epsilon 1
        dpcli ledger open visits --epsilon 1 --window 7
        dpcli ledger open people --rho 0.1 --delta 1e-6 --composition zcdp
        dpcli ledger open clinic --epsilon 2 --unit person_id

    An account that is open on these terms already stays as it is: the command can be
    repeated. Exits 6 if the dataset has an account on other terms.

    See also: dpcli release --period, dpcli ledger show, dpcli explain budget
    """
    from dpcli.charge import now
    from dpcli.cli.ledger_file import DEFAULT, open_ledger
    from dpcli.cli.words import checked_budget, checked_name, checked_unit
    from dpcli.ledger.terms import Terms

    terms = Terms(
        checked_name(dataset),
        checked_unit(unit, each=each),
        neighbors,
        composition,
        checked_budget(epsilon, rho, delta, composition),
        window,
    )
    with open_ledger(path, Path(DEFAULT)) as book:
        opened = "account opened" if book.open_account(terms, now()) else "account was open"
        say(f"{dataset}: {opened} in {book.path} with {_terms(terms)}", file=sys.stdout)


ledger.command("show")(show)
ledger.command("history")(history)
ledger.command("recover")(recover)


@ledger.command("export")
def export(
    release_id: Annotated[str, typer.Argument(metavar="ID", help="The release to publish again.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="OUT.csv", help="The table [stdout].")
    ] = None,
    report: Reports = None,
    report_format: Format = None,
    layout: Annotated[
        Literal["long", "wide"], typer.Option(help="One long table, or one per set of keys.")
    ] = "long",
    force: Annotated[bool, typer.Option("--force", help="Replace outputs that exist.")] = False,
    path: Named = None,
) -> None:
    """Publish a past release again, byte for byte, at no cost.

    Writes the table to stdout or to OUT, with a report beside it. Reads the ledger, no data;
    spends nothing. Of a local collection there are only the reports.

    Examples:
        dpcli ledger export 2026-11-21
        dpcli ledger export 2026-11-21 -o noisy.csv
        dpcli ledger export 2026-11-21 -o wide.csv --layout wide --report r.md

    Exits 6 if there is no such release, 7 if an output could not be written.

    See also: dpcli ledger history, dpcli explain release-id
    """
    from dpcli.cli.ledger_file import existing_ledger
    from dpcli.cli.outputs import Wanted
    from dpcli.cli.words import checked_id
    from dpcli.errors import LedgerError
    from dpcli.publish import require_writable

    wanted = Wanted(output, list(report or ()), layout, report_format)
    with existing_ledger(path) as book:
        stored = book.stored(checked_id(release_id) or "")
        if stored is None:
            raise LedgerError.of(
                "no-such-release",
                f"the ledger has no release `{release_id}`",
                "`dpcli ledger history` lists them",
            )
        inputs = book.store.files()
    if stored.stopped:
        wanted.require_reports_of_stopped(release_id)
    if stored.digest is not None:
        wanted.require_reports_alone(stored.digest)
    known = wanted.contents(stored)
    require_writable(
        wanted.targets(wanted.tables(stored)), inputs, force=force, twice=wanted.twice, known=known
    )
    wanted.publish(stored, "run the command again")


@ledger.command("verify")
def verify(
    more: Annotated[
        list[Path] | None, typer.Argument(metavar="[REPORT...]", help="More reports.")
    ] = None,
    against: Annotated[
        list[Path] | None,
        typer.Option(metavar="REPORT", help="A published report in JSON; more may follow."),
    ] = None,
    as_json: AsJson = False,
    path: Named = None,
) -> None:
    """Check that a ledger is what it was, and that reports agree.

    Checks tables, chain, anchor and outputs, and published reports against them. Reads the
    ledger and the reports; writes and spends nothing.

    Examples:
        dpcli ledger verify
        dpcli ledger verify --against published/first.report.json
        # every morning, by cron, which mails what goes to stderr:
        0 6 * * *  dpcli ledger verify --against published/*.json > /dev/null

    Exits 6 and names the entry when anything was changed, removed or restored.

    See also: dpcli explain ledger-in-doubt
    """
    from dpcli.cli.console import print_json
    from dpcli.cli.ledger_file import existing_ledger
    from dpcli.errors import LedgerError, Problem
    from dpcli.ledger.reports import faults, report_faults

    reports = [*(against or ()), *(more or ())]
    with existing_ledger(path, doubtful=True) as book:
        found = [*faults(book.store), *report_faults(book.store, reports)]
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


def _terms(terms: Terms) -> str:
    """The terms of an account in a few words."""
    from dpcli.privacy.loss import loss_text

    window = f" in any {terms.window} consecutive days" if terms.window else ""
    return f"{loss_text(terms.budget)}{window}, {terms.neighbors}, {terms.composition}"
