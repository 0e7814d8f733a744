"""`dpcli local`: randomize each record, and estimate from the collection."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpcli.cli.local_epsilon import epsilon
from dpcli.cli.manual import in_order, page
from dpcli.cli.options import (
    Book,
    DataFiles,
    Force,
    Format,
    Period,
    Quiet,
    ReleaseId,
    Reports,
    input_file,
    input_files,
)

if TYPE_CHECKING:
    from dpcli.local.estimate import Estimated
    from dpcli.local.randomize import Randomized
    from dpcli.spec.model import Spec

HELP = """Randomize each record before it is collected, and estimate.

    The local model is for data that nobody is trusted with: every record lies a little by
    itself, and only frequencies and means of many can be told. It needs a spec with
    `model: local` (such as specs/local-survey.yaml); `dpcli check` and `dpcli plan` take
    one too. Collecting is charged to the ledger; planning and estimating are not.

    Examples:
        dpcli plan local.yaml --records 3000
        dpcli local randomize local.yaml sample_data/people.csv -o day.csv
        dpcli local estimate local.yaml collected.csv

    See also: dpcli explain model, dpcli explain randomized_response
"""

local = typer.Typer(
    name="local",
    help=page(HELP),
    short_help="Randomize each record before it is collected, and estimate",
    cls=in_order(("randomize", "estimate", "epsilon")),
    no_args_is_help=True,
    rich_markup_mode=None,
)

SUMMARY_LINES = 40
"""Estimates after which the summary says how many more there are."""


@local.command("randomize")
def randomize(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="A spec with `model: local`.")],
    data: DataFiles,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="OUT.csv", help="The responses [stdout]."),
    ] = None,
    report: Reports = None,
    report_format: Format = None,
    shuffle: Annotated[
        bool, typer.Option("--shuffle", help="Write the responses in a random order.")
    ] = False,
    release_id: ReleaseId = None,
    ledger: Book = None,
    period: Period = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    r"""Write a response for every record of DATA, as SPEC says.

    Each record is randomized by itself; columns that SPEC does not collect are dropped. The
    responses are charged before they are published; the ledger keeps their digest, not the
    responses. The same --release-id again publishes the same ones for nothing, as long as
    their file is still there: what went to stdout is not.

    Examples:
        dpcli local randomize local.yaml sample_data/people.csv -o day.csv
        dpcli local randomize local.yaml - < sample_data/people.csv > r.csv
        # once a day, by cron:
        5 0 * * *  dpcli local randomize local.yaml data.csv -o "$(date +\%F).csv"

    Exits 3 for SPEC, 4 for DATA, 5 for the budget, 6 for the ledger, 7 for outputs.

    See also: dpcli plan, dpcli local estimate, dpcli explain responses
    """
    from dpcli.charge import charge_for
    from dpcli.cli.charging import announce_account, charging, warn_of_clock, warn_of_sharing
    from dpcli.cli.collecting import Collection
    from dpcli.cli.ledger_file import must_exist, open_ledger
    from dpcli.cli.progress import shown_progress
    from dpcli.cli.words import checked_day, checked_id
    from dpcli.engine.source import drain
    from dpcli.ledger.charge import resolved
    from dpcli.local.randomize import randomize as make_responses
    from dpcli.plan.planner import make_plan, require_budget
    from dpcli.release import new_release_id
    from dpcli.report.formats import render_local
    from dpcli.spec.load import read_local

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
            output,
            list(report or ()),
            named,
            book,
            force=force,
            shuffle=shuffle,
            named=report_format,
        )
        inputs = [spec, *read.files, *book.store.files(), *input_files(data)]
        files = resolved(data)
        charge = replace(charge_for(plan, named, period), files=files, opens=not required)
        with book.reserve(charge) as slot:
            collection.require(inputs, slot.stored)
            latest = book.latest()
            warn_of_sharing(read.dataset, book.sharing(read.dataset, files))
            with shown_progress(quiet=quiet) as progress:
                stored = make_responses(
                    plan, tuple(data), slot, rendered, shuffle=shuffle, progress=progress
                )
        collection.publish(stored, again)
    warn_of_clock(charge.created, latest)
    if not stored.fresh:
        drain(data)
    if stored.fresh and made[-1].standing.first:
        announce_account(read.dataset, made[-1].standing.ledger)
    if quiet:
        return
    if not stored.fresh:
        print(f"responses {stored.release_id} published again, nothing charged", file=sys.stderr)
        return
    from dpcli.privacy.loss import loss_text

    standing = made[-1].standing
    print(
        f"responses {named} of {plan.spec.dataset}: each record spent {loss_text(plan.spent)}; "
        f"{loss_text(standing.balance.remaining)} left of {loss_text(standing.balance.budget)} "
        f"(entry {standing.entry} of {standing.ledger})",
        file=sys.stderr,
    )


@local.command("estimate")
def estimate(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="The spec of the collection.")],
    collected: Annotated[
        str, typer.Argument(metavar="COLLECTED", help="The responses, or - for stdin.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="OUT.csv", help="The estimates [stdout]."),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Estimate frequencies and means from responses.

    They are without bias, with standard errors; intervals hold what is true of the records
    themselves. This is post-processing: it reads nothing but responses, and spends nothing.

    Examples:
        dpcli local estimate local.yaml collected.csv
        dpcli local estimate local.yaml collected.csv -o estimates.csv
        gzip -dc collected.csv.gz | dpcli local estimate local.yaml -

    Exits 3 for SPEC, 4 for COLLECTED, 7 if the output could not be written.

    See also: dpcli local randomize, dpcli plan --records
    """
    from dpcli.local.collect import collect
    from dpcli.local.estimate import estimates
    from dpcli.publish import publish, publish_to_stdout, require_writable
    from dpcli.report.estimates import estimates_table
    from dpcli.spec.load import read_local

    read = read_local(spec)
    output = None if output == Path("-") else output
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
            print(f"{name}: its responses do not tell labels apart; no estimate", file=sys.stderr)
        elif one.unread:
            print(
                f"warning: {name}: {one.unread:,} records left out, whose response or group is "
                "none that the spec knows",
                file=sys.stderr,
            )


def _summary(made: Sequence[Estimated], spec: Spec) -> None:
    """The estimates on standard error."""
    from dpcli.cli.console import write_table
    from dpcli.report.estimates import estimate_lines
    from dpcli.report.numbers import exact_or_up

    header, *lines = estimate_lines(made)
    percent = exact_or_up(spec.confidence * 100)
    title = f"estimates of {spec.dataset}; lower and upper with {percent} % confidence"
    right = range(len(header) - 5, len(header))
    names = [name.replace("_", " ") for name in header]
    write_table(sys.stderr, title, names, lines[:SUMMARY_LINES], tuple(right))
    if len(lines) > SUMMARY_LINES:
        print(f"... {len(lines) - SUMMARY_LINES} more", file=sys.stderr)


local.command("epsilon")(epsilon)
