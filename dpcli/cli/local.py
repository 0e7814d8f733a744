"""`dpcli local`: randomize each record, and estimate from the collection."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from dpcli.charge import charge_for
from dpcli.cli.accounts import (
    announce_account,
    charging,
    clock_warnings,
    must_exist,
    open_ledger,
    sharing_warnings,
    warn,
)
from dpcli.cli.options import (
    DataFiles,
    Force,
    Format,
    LedgerFile,
    Period,
    Quiet,
    ReleaseId,
    Reports,
    SpecFile,
    Table,
    checked_day,
    checked_id,
    input_file,
    input_files,
)
from dpcli.cli.outputs import Collection, file_of
from dpcli.cli.progress import shown_progress
from dpcli.cli.tables import write_table
from dpcli.engine.source import drain
from dpcli.ledger.charge import resolved
from dpcli.local.estimate import Estimated, collect, estimates
from dpcli.local.randomize import Randomized
from dpcli.local.randomize import randomize as make_responses
from dpcli.plan.numbers import exact_or_up
from dpcli.plan.planner import make_plan, require_budget
from dpcli.privacy.loss import loss_text
from dpcli.publish import publish, publish_to_stdout, require_writable
from dpcli.release import new_release_id
from dpcli.report.formats import render_local
from dpcli.report.table import estimate_lines, estimates_table
from dpcli.spec.load import read_local
from dpcli.spec.model import Spec

SUMMARY_LINES = 40
"""Estimates after which the summary only counts the rest."""


def randomize(
    spec: SpecFile,
    data: DataFiles,
    output: Table = None,
    report: Reports = None,
    report_format: Format = None,
    shuffle: Annotated[bool, typer.Option("--shuffle")] = False,
    release_id: ReleaseId = None,
    ledger: LedgerFile = None,
    period: Period = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write a response for every record of the data, as the spec asks."""
    named, period = checked_id(release_id) or new_release_id(), checked_day(period)
    read = read_local(spec)
    plan = make_plan(read)
    require_budget(plan)
    made: list[Randomized] = []

    def rendered(collection: Randomized) -> dict[str, bytes]:
        made.append(collection)
        return render_local(collection)

    again = f"run the command again with --release-id {named}"
    required = must_exist(read)
    with charging(again), open_ledger(ledger, spec, must_exist=required) as book:
        collection = Collection(
            output, report, named, book, force=force, shuffle=shuffle, named=report_format
        )
        inputs = [spec, *read.files, *book.store.files(), *input_files(data)]
        files = resolved(data)
        charge = replace(charge_for(plan, named, period), files=files, opens=not required)
        with book.reserve(charge) as slot:
            collection.require(inputs, slot.stored)
            latest = book.latest()
            warn(sharing_warnings(read.dataset, book.sharing(read.dataset, files)))
            with shown_progress(quiet=quiet) as progress:
                stored = make_responses(
                    plan, tuple(data), slot, rendered, shuffle=shuffle, progress=progress
                )
        collection.publish(stored, again)
    warn(clock_warnings(charge.created, latest))
    if not stored.fresh:
        drain(data)
        if not quiet:
            name = stored.release_id
            print(f"responses {name} published again, nothing charged", file=sys.stderr)
        return
    standing = made[-1].standing
    if standing.first:
        announce_account(read.dataset, standing.ledger)
    if not quiet:
        print(
            f"responses {named} of {plan.spec.dataset}: each record spent "
            f"{loss_text(plan.spent)}; {loss_text(standing.balance.remaining)} left of "
            f"{loss_text(standing.balance.budget)} (entry {standing.entry} of {standing.ledger})",
            file=sys.stderr,
        )


def estimate(
    spec: SpecFile,
    collected: Annotated[str, typer.Argument(metavar="COLLECTED")],
    output: Table = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Estimate frequencies and means from responses."""
    read = read_local(spec)
    output = file_of(output)
    if output is not None:
        inputs = [spec, *read.files, input_file(collected)]
        require_writable([output], inputs, force=force)
    found = collect(read, collected)
    made = list(estimates(found, read.confidence))
    table = estimates_table(made)
    if output is None:
        publish_to_stdout(table)
    else:
        publish({output: table})
    if quiet:
        return
    if output is not None:
        _summary(made, read)
    for one in found:
        name = one.response.column.name
        if not one.response.channel.estimable:
            print(f"{name}: its responses do not distinguish labels; no estimate", file=sys.stderr)
        elif one.unread:
            print(
                f"warning: {name}: {one.unread:,} records left out, whose response or group is "
                "not in the spec",
                file=sys.stderr,
            )


def _summary(made: Sequence[Estimated], spec: Spec) -> None:
    """The estimates on standard error."""
    header, *lines = estimate_lines(made)
    percent = exact_or_up(spec.confidence * 100)
    title = f"estimates of {spec.dataset}; lower and upper with {percent}% confidence"
    right = range(len(header) - 5, len(header))
    names = [name.replace("_", " ") for name in header]
    write_table(sys.stderr, title, names, lines[:SUMMARY_LINES], right)
    if len(lines) > SUMMARY_LINES:
        print(f"... {len(lines) - SUMMARY_LINES} more", file=sys.stderr)
