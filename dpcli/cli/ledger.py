"""`dpcli ledger`: accounts, balances, history, and the bytes of past releases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dpcli.cli.balances import history, show
from dpcli.cli.ledger_file import AsJson, Named
from dpcli.cli.options import Format, Reports

if TYPE_CHECKING:
    from dpcli.ledger.terms import Terms

ledger = typer.Typer(
    help="Accounts, balances, history, and the bytes of past releases.",
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
    """Make a ledger without accounts, and the anchor that remembers its entries.

    Example: dpcli ledger init /srv/privacy/ledger.sqlite --anchor /var/lib/dpcli/anchor
    """
    from dpcli.errors import LedgerError
    from dpcli.ledger.creation import create_ledger
    from dpcli.ledger.failures import require_file_name, told

    require_file_name(path)
    with told(path):
        if path.exists() or path.is_symlink():
            raise LedgerError.of("ledger-exists", f"`{path}` exists already", "name a new file")
    try:
        create_ledger(path, anchor.absolute() if anchor else None, network=network).close()
    except LedgerError:
        # What was made just now and holds nothing shall not look like a lost ledger.
        if path.is_file() and not path.stat().st_size:
            path.unlink()
        raise
    typer.echo(f"{path}: a new ledger")


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
    """Open an account: a dataset, its guarantee and its budget, fixed for ever.

    Without --window the budget bounds all releases for ever; with it, those of any
    so many consecutive days, and every release names its day by --period.

    Example: dpcli ledger open visits --epsilon 1 --window 7
    """
    from dpcli.cli.ledger_file import DEFAULT, open_ledger
    from dpcli.cli.words import checked_budget, checked_name, checked_unit
    from dpcli.ledger.terms import Terms
    from dpcli.release import now

    terms = Terms(
        checked_name(dataset),
        checked_unit(unit, each=each),
        neighbors,
        composition,
        checked_budget(epsilon, rho, delta, composition),
        window,
    )
    with open_ledger(path, Path(DEFAULT)) as book:
        book.open_account(terms, now())
        typer.echo(f"{dataset}: account opened in {book.path} with {_terms(terms)}")


ledger.command("show")(show)
ledger.command("history")(history)


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

    Example: dpcli ledger export 2026-11-21 -o noisy.csv
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
    if stored.digest is not None:
        wanted.require_reports_alone(stored.digest)
    known = wanted.contents(stored)
    require_writable(list(known), inputs, force=force, twice=wanted.twice, known=known)
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
    """Check tables, chain, anchor and outputs, and published reports against them.

    Exits 6 and names the entry when anything was changed, removed or restored.

    Example: dpcli ledger verify --against published/*.report.json
    """
    from dpcli.cli.console import print_json
    from dpcli.cli.ledger_file import existing_ledger
    from dpcli.errors import LedgerError, Problem
    from dpcli.ledger.verify import faults, report_faults

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
        typer.echo(f"{name}: {count} entries, all intact{compared}")


def _terms(terms: Terms) -> str:
    """The terms of an account in a few words."""
    from dpcli.privacy.loss import loss_text

    window = f" in any {terms.window} consecutive days" if terms.window else ""
    return f"{loss_text(terms.budget)}{window}, {terms.neighbors}, {terms.composition}"
