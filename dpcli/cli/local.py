"""`dpcli local`: randomizes records, and estimates from collected responses."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from dpcli.charging import ChargeRequest
from dpcli.cli import options
from dpcli.cli.accounts import published, shown_notices
from dpcli.cli.console import notify
from dpcli.cli.options import input_file
from dpcli.cli.outputs import Responses, output_file
from dpcli.cli.progress import shown_progress
from dpcli.cli.summary import spent_text
from dpcli.cli.text_tables import write_table
from dpcli.ledger.charge import RandomizedCollection
from dpcli.ledger.options import new_release_id
from dpcli.local.estimate import count_responses, estimate_groups
from dpcli.numeric.exact import exact_or_up
from dpcli.planning.planner import make_plan
from dpcli.publishing import publish, publish_to_stdout, require_writable
from dpcli.report.facts import collection_report
from dpcli.report.formats import render_outputs, require_table_name
from dpcli.report.table import csv_text, estimate_lines
from dpcli.specification.load import read_local_spec
from dpcli.transaction import CollectionTransaction

SUMMARY_LINES = 40
"""The largest number of estimates in the summary; the others are counted."""


def randomize(
    spec: options.SpecFile,
    data: options.DataFiles,
    output: options.TableFile = None,
    report: options.Reports = None,
    report_format: options.Format = None,
    shuffle: Annotated[bool, typer.Option("--shuffle")] = False,
    release_id: options.ReleaseId = None,
    ledger: options.LedgerFile = None,
    period: options.Period = None,
    any_period: options.AnyPeriod = False,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a response for every record of the data, as the spec asks."""
    plan = make_plan(read_local_spec(spec))
    inputs = (spec, *plan.spec.files, *map(input_file, data))
    name = release_id or new_release_id()
    request = ChargeRequest(plan, tuple(data), name, ledger, period, any_period=any_period)
    transaction = CollectionTransaction(request, shown_notices(quiet=quiet))
    responses = Responses(output, report, report_format, force, shuffle, request.path)

    def rendered(collection: RandomizedCollection) -> dict[str, bytes]:
        return render_outputs(collection_report(collection), responses.wanted)

    with published(transaction, inputs, responses, request.files):
        if transaction.stored is None:
            with shown_progress(quiet=quiet) as progress:
                transaction.commit(rendered, shuffle=shuffle, progress=progress)
    stored = transaction.outcome
    if quiet:
        return
    if stored.receipt is not None:
        spent = spent_text(plan.cost, stored.receipt)
        notify("responses", name=name, dataset=plan.spec.dataset, spent=spent)
    responses.notify_written(stored)


def estimate(
    spec: options.SpecFile,
    collected: Annotated[str, typer.Argument(metavar="COLLECTED")],
    output: options.TableFile = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Estimate frequencies and means from responses."""
    read = read_local_spec(spec)
    output = output_file(output)
    if output is not None:
        require_writable([output], [spec, *read.files, input_file(collected)], force=force)
        require_table_name(output)
    counts = count_responses(read, collected)
    estimates = list(estimate_groups(counts, read.confidence))
    table = csv_text(estimate_lines(estimates))
    if output is None:
        publish_to_stdout(table)
    else:
        publish({output: table})
    if quiet:
        return
    if output is not None:
        header, *lines = estimate_lines(estimates)
        names = [name.replace("_", " ") for name in header]
        percent = exact_or_up(read.confidence * 100)
        title = f"estimates of {read.dataset}; lower and upper with {percent}% confidence"
        rows = [dict(zip(names, line, strict=True)) for line in lines[:SUMMARY_LINES]]
        write_table(sys.stderr, title, rows)
        if len(lines) > SUMMARY_LINES:
            notify("more", count=len(lines) - SUMMARY_LINES)
    for response_counts in counts:
        name = response_counts.response.column.name
        if not response_counts.response.randomizer.estimable:
            notify("no_estimate", column=name)
        elif response_counts.unread:
            notify("unread", column=name, count=response_counts.unread)
