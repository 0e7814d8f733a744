"""`dpcli release`: the whole flow, from a spec and a file to a noisy table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dpcli.cli.options import (
    Book,
    DataFiles,
    Force,
    Period,
    Quiet,
    ReleaseId,
    Reports,
    input_files,
)

if TYPE_CHECKING:
    from dpcli.release import Release


def release(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="The spec, a YAML file.")],
    data: DataFiles,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="OUT.csv", help="The noisy table [stdout]."),
    ] = None,
    report: Reports = None,
    release_id: ReleaseId = None,
    ledger: Book = None,
    period: Period = None,
    layout: Annotated[
        Literal["long", "wide"], typer.Option(help="One long table, or one per set of keys.")
    ] = "long",
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Aggregate DATA as SPEC asks, add noise, and write a noisy table and a report.

    The table goes to stdout, or to OUT with a report beside it; everything else goes
    to stderr. The budget is checked before DATA is opened, and the release is charged
    and stored in the ledger before anything is written. The same --release-id again
    publishes the same bytes for nothing, whatever DATA now holds.

    Example: dpcli release specs/town.yaml sample_data/people.csv -o noisy.csv
    """
    from dpcli.cli.charging import charging, warn_of_clock
    from dpcli.cli.ledger_file import open_ledger
    from dpcli.cli.outputs import Wanted
    from dpcli.cli.progress import shown_progress
    from dpcli.cli.words import checked_day, checked_id
    from dpcli.plan.budget import require_budget
    from dpcli.plan.making import make_plan
    from dpcli.publish import require_writable
    from dpcli.release import charge_for, new_release_id
    from dpcli.release import release as make_release
    from dpcli.report.formats import render
    from dpcli.report.table import wide_names
    from dpcli.spec.load import read_spec

    named, period = checked_id(release_id) or new_release_id(), checked_day(period)
    wanted = Wanted(output, list(report or ()), layout)
    plan = make_plan(read_spec(spec))
    require_budget(plan)
    made: list[Release] = []

    def rendered(release: Release) -> dict[str, bytes]:
        made.append(release)
        return render(release)

    again = f"run the command again with --release-id {named}"
    with charging(again), open_ledger(ledger, spec) as book:
        inputs = [spec, *book.store.files(), *input_files(data)]
        targets = list(wanted.files(wide_names(plan)))
        charge = charge_for(plan, named, period)
        before = book.stored(charge.release_id, charge)
        known = wanted.contents(before) if before else {}
        require_writable(targets, inputs, force=force, twice=wanted.twice, known=known)
        latest = book.latest()
        with shown_progress(quiet=quiet) as progress:
            stored = make_release(plan, tuple(data), book, charge, rendered, progress)
        wanted.publish(stored, again)
    warn_of_clock(charge.created, latest)
    if quiet:
        return
    if stored.fresh:
        _summary(made[-1])
    else:
        print(f"release {stored.release_id} published again, nothing charged", file=sys.stderr)


SUMMARY_LINES = 40
"""Lines of a statistic after which the summary says how many more there are."""


def _summary(made: Release) -> None:
    """Values, intervals and epsilon on standard error."""
    from dpcli.cli.console import write_table
    from dpcli.privacy.loss import loss_text
    from dpcli.report.numbers import brief, exact_or_up
    from dpcli.report.table import cells

    rows: list[tuple[str, ...]] = []
    for released in made.entries:
        epsilon = brief(released.planned.target.epsilon)
        before = ""
        for position, cell in enumerate(cells(released)):
            if position == SUMMARY_LINES:
                rows.append(("", f"... {len(released.estimates) - position} more", "", "", "", ""))
                break
            group = ", ".join((*cell.keys.values(), *([cell.item] if cell.item else [])))
            name = cell.statistic if cell.statistic != before else ""
            before = cell.statistic
            price = "" if position else epsilon
            rows.append((name, group, cell.value, cell.lower, cell.upper, price))
    plan = made.plan
    percent = exact_or_up(plan.spec.confidence * 100)
    header = ("statistic", "group", "value", f"lower {percent}%", f"upper {percent}%", "epsilon")
    title = f"release {made.release_id} of {plan.spec.dataset}"
    write_table(sys.stderr, title, header, rows, (2, 3, 4, 5))
    balance = made.standing.balance
    print(
        f"spent {loss_text(plan.spent)}; {loss_text(balance.remaining)} left of "
        f"{loss_text(balance.budget)} (entry {made.standing.entry} of {made.standing.ledger})",
        file=sys.stderr,
    )
