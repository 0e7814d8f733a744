"""`dpcli release`: the whole flow, from a spec and a file to a noisy table."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dpcli.cli.options import (
    Book,
    DataFiles,
    Force,
    Format,
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
    report_format: Format = None,
    release_id: ReleaseId = None,
    ledger: Book = None,
    period: Period = None,
    layout: Annotated[
        Literal["long", "wide"], typer.Option(help="One table, or one per set of keys.")
    ] = "long",
    simulation: Annotated[
        Path | None,
        typer.Option(
            "--simulation", metavar="FILE", help="Report the findings of `simulate --into FILE`."
        ),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    r"""Write a noisy table of DATA, as SPEC asks, and a privacy report.

    Reads DATA once, charges the ledger, then writes: the table to stdout, or to OUT with a
    report next to it. Reads nothing if the budget does not allow it. The same
    --release-id publishes the same bytes again, charged once.

    Examples:
        dpcli release specs/town.yaml sample_data/people.csv
        dpcli release specs/town.yaml sample_data/people.csv --report town.html
        gzip -dc people.csv.gz | dpcli release specs/town.yaml - > noisy.csv
        # every night, by cron:
        @daily dpcli release spec.yaml data.csv --release-id $(date +\%F) > t.csv

    Exits 3: spec, 4: DATA, 5: budget, 6: ledger, 7: outputs, 8: quality check.

    See also: dpcli plan, dpcli ledger show, dpcli explain release-id
    """
    from dpcli.charge import charge_for
    from dpcli.cli.charging import charging, require_quality, warn_of_clock, warn_of_sharing
    from dpcli.cli.ledger_file import must_exist, open_ledger
    from dpcli.cli.outputs import Wanted
    from dpcli.cli.progress import shown_progress
    from dpcli.cli.words import checked_day, checked_id
    from dpcli.engine.source import drain
    from dpcli.ledger.charge import resolved
    from dpcli.plan.planner import make_plan, require_budget
    from dpcli.publish import require_writable
    from dpcli.release import new_release_id
    from dpcli.release import release as make_release
    from dpcli.report.formats import render
    from dpcli.report.simulated import read_simulation
    from dpcli.report.wide import wide_names
    from dpcli.spec.load import read_spec

    named, period = checked_id(release_id) or new_release_id(), checked_day(period)
    wanted = Wanted(output, list(report or ()), layout, report_format)
    plan = make_plan(read_spec(spec))
    require_budget(plan)
    simulated = read_simulation(simulation, plan) if simulation else None
    made: list[Release] = []

    def rendered(release: Release) -> dict[str, bytes]:
        made.append(replace(release, simulated=simulated))
        return render(made[-1])

    again = f"run the command again with --release-id {named}"
    required = must_exist(plan.spec)
    with charging(again), open_ledger(ledger, spec, must_exist=required) as book:
        inputs = [spec, *book.store.files(), *input_files(data)]
        inputs += [simulation] if simulation else []
        targets, files = wanted.targets(wide_names(plan)), resolved(data)
        charge = replace(charge_for(plan, named, period), files=files, opens=not required)
        with book.reserve(charge) as slot:
            known = wanted.contents(slot.stored) if slot.stored else {}
            require_writable(targets, inputs, force=force, twice=wanted.twice, known=known)
            latest = book.latest()
            warn_of_sharing(plan.spec.dataset, book.sharing(plan.spec.dataset, files))
            with shown_progress(quiet=quiet) as progress:
                stored = make_release(plan, tuple(data), slot, rendered, progress)
        wanted.publish(stored, again)
    warn_of_clock(charge.created, latest)
    if stored.fresh:
        _report(made[-1], quiet=quiet)
    else:
        drain(data)
        if not quiet:
            print(f"release {stored.release_id} published again, nothing charged", file=sys.stderr)
    require_quality(stored)


def _report(made: Release, *, quiet: bool) -> None:
    """What was released, on standard error; the first release of an account in any case."""
    from dpcli.cli.charging import announce_account

    if made.standing.first:
        announce_account(made.plan.spec.dataset, made.standing.ledger)
    if not quiet:
        from dpcli.cli.summary import print_summary

        print_summary(made)
