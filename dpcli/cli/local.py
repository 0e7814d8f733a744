"""`dpcli local`: randomizes records, and estimates from collected responses."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from dpcli.cli import options
from dpcli.cli.charging import logged_commit, published, shown_messages
from dpcli.cli.console import current_log, print_json, print_line
from dpcli.cli.options import AsJson, input_file
from dpcli.cli.outputs import Responses, output_file, write_output
from dpcli.cli.summary import SUMMARY_LINES, spent_text
from dpcli.cli.terminal import shown_progress, write_table
from dpcli.fields.values import NumberSyntaxError, parse_number
from dpcli.ledger.charge import RandomizedCollection
from dpcli.ledger.options import new_release_id
from dpcli.local.estimate import count_responses, estimate_groups, estimate_lines
from dpcli.mechanisms.local.labels import worst_ratio
from dpcli.mechanisms.local.local_mechanism import ProbabilityTable
from dpcli.numeric.exact import exact_or_up, readable_text
from dpcli.planning.planner import make_plan
from dpcli.problems.errors import SpecError, UsageError
from dpcli.releasing.publishing import require_table_name, require_writable
from dpcli.releasing.request import ReleaseRequest
from dpcli.releasing.run import CollectionRun
from dpcli.report.formats import render_outputs
from dpcli.report.report import collection_report
from dpcli.report.table import csv_text
from dpcli.specification.load import read_local_spec
from dpcli.specification.responses import MAX_BYTES, read_table_file, table_from_csv


def randomize(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="A spec with `model: local`.")],
    data: options.DataFiles,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="OUT.csv", help="The responses, as CSV [stdout]."),
    ] = None,
    report: options.Reports = None,
    report_format: options.Format = None,
    shuffle: Annotated[
        bool, typer.Option("--shuffle", help="Write the responses in a random order.")
    ] = False,
    release_id: options.ReleaseId = None,
    ledger: options.LedgerFile = None,
    period: options.Period = None,
    any_period: options.AnyPeriod = False,
    recipient: options.Recipient = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    r"""Write a response for every record of DATA, as SPEC asks.

    Each record is randomized by itself; columns that SPEC does not collect are dropped. The
    responses are charged before they are published; the ledger keeps their digest, not the
    responses. The same --release-id again publishes the same ones at no cost, as long as
    their file still exists: responses that went to stdout are gone.

    Examples:
        dpcli local randomize local.yaml sample_data/people.csv -o day.csv
        dpcli local randomize local.yaml - < sample_data/people.csv > r.csv
        # once a day, by cron:
        5 0 * * *  dpcli local randomize local.yaml data.csv -o "$(date +\%F).csv"

    Exits 3 for SPEC, 4 for DATA, 5 for the budget, 6 for the ledger, 7 for outputs.

    See also: dpcli plan, dpcli local estimate, dpcli explain responses
    """
    plan = make_plan(read_local_spec(spec, data)).about(period, recipient)
    inputs = (spec, *plan.spec.files, *map(input_file, data))
    name = release_id or new_release_id()
    request = ReleaseRequest(plan, tuple(data), name, ledger, any_period=any_period)
    run = CollectionRun(request, shown_messages(quiet=quiet))
    responses = Responses(output, report, report_format, force, shuffle, request.path)

    def rendered(collection: RandomizedCollection) -> dict[str, bytes]:
        return render_outputs(collection_report(collection), responses.wanted)

    with published(run, inputs, responses, request.files):
        if run.stored is None:
            with shown_progress(quiet=quiet) as progress, logged_commit(run):
                run.commit(rendered, shuffle=shuffle, progress=progress)
    stored = run.outcome
    if quiet or current_log() is not None:
        return
    if stored.receipt is not None:
        spent = spent_text(plan.cost, stored.receipt)
        print_line(f"responses {name} of {plan.spec.dataset}: each record {spent}")
    responses.notify_written(stored)


def estimate(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="The spec of the collection.")],
    collected: Annotated[
        str, typer.Argument(metavar="COLLECTED", help="The responses, or - for stdin.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="OUT.csv", help="The estimates, as CSV [stdout]."),
    ] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Estimate frequencies and means from responses.

    Estimates are unbiased and have standard errors; intervals are about the true values of the
    records themselves. This is post-processing: it reads only responses, and spends nothing.

    Examples:
        dpcli local estimate local.yaml collected.csv
        dpcli local estimate local.yaml collected.csv -o estimates.csv
        gzip -dc collected.csv.gz | dpcli local estimate local.yaml -

    Exits 3 for SPEC, 4 for COLLECTED, 7 if the output could not be written.

    See also: dpcli local randomize, dpcli plan --records
    """
    read = read_local_spec(spec, (collected,))
    output = output_file(output)
    if output is not None:
        require_writable([output], [spec, *read.files, input_file(collected)], force=force)
        require_table_name(output)
    counts = count_responses(read, collected)
    estimates = list(estimate_groups(counts, read.confidence))
    write_output(csv_text(estimate_lines(estimates)), output)
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
            print_line(f"... {len(lines) - SUMMARY_LINES:,} more")
    for response_counts in counts:
        name = response_counts.response.column.name
        if not response_counts.response.randomizer.estimable:
            print_line(f"{name}: its responses do not distinguish labels; no estimate")
        elif response_counts.unread:
            print_line(
                f"warning: {name}: {response_counts.unread:,} records left out, whose "
                "response or group is not in the spec"
            )


EpsilonResult = tuple[dict[str, object], str, str]
"""An epsilon as JSON, as text, and the place where it is reached."""


def epsilon(
    matrix: Annotated[
        Path | None,
        typer.Argument(metavar="[MATRIX.csv]", help="A row for each input, a column per output."),
    ] = None,
    scale: Annotated[
        str | None, typer.Option(metavar="S", help="Of Laplace noise that was added.")
    ] = None,
    bounds: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="LOW HIGH", help="Of the numbers that it was added to."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    r"""Print the epsilon of a table of probabilities.

    Also prints which inputs it distinguishes best, by which output. MATRIX.csv (or - for stdin)
    names the outputs in its first line and an input at the beginning of each other line;
    probabilities are decimals of up to 18 digits or fractions such as 1/3, and each row sums
    to one. A file of numbers alone needs no names. With --scale and --bounds, the same for
    Laplace noise of that scale on a number between these bounds. Spends nothing.

    Examples:
        dpcli local epsilon --scale 3 --bounds 18 100
        printf '3/4,1/4\n1/4,3/4\n' | dpcli local epsilon -
        dpcli local epsilon coins.csv --json

    Exits 3 if the file is not such a table.

    See also: dpcli explain matrix, dpcli explain epsilon
    """
    noise = (scale, bounds) if scale is not None and bounds is not None else None
    alone = (matrix is None) == (noise is None) or (scale is None) != (bounds is None)
    if alone:
        raise UsageError.about("bad-option.epsilon-of")
    report, text, where = (
        _laplace_epsilon(*noise) if noise else _table_epsilon(_table(matrix or Path()))
    )
    if as_json:
        print_json(report)
    else:
        print(f"epsilon  {text}\nworst    {where}")


def _table(path: Path) -> ProbabilityTable:
    """The table in a file; SpecError with all its problems if it is not a table."""
    piped = str(path) == "-"
    try:
        raw = sys.stdin.buffer.read(MAX_BYTES + 1) if piped else read_table_file(path)
    except (OSError, ValueError):
        raise SpecError.about("table-unreadable", file=path) from None
    return table_from_csv(raw, "standard input" if piped else str(path))


def _table_epsilon(table: ProbabilityTable) -> EpsilonResult:
    worst = worst_ratio(table.rows)
    ratio = None if worst.ratio is None else str(worst.ratio)
    text = None if worst.epsilon is None else exact_or_up(worst.epsilon)
    output = table.outputs[worst.output]
    likely, unlikely = table.inputs[worst.likely], table.inputs[worst.unlikely]
    report: dict[str, object] = {
        "epsilon": text,
        "infinite": worst.epsilon is None,
        "ratio": ratio,
        "output": output,
        "inputs": [likely, unlikely],
        "probabilities": [str(worst.max_probability), str(worst.min_probability)],
    }
    most, least = readable_text(worst.max_probability), readable_text(worst.min_probability)
    where = f"output {output}: probability {most} for input {likely}, {least} for {unlikely}"
    if worst.ratio == 1:
        where = "all inputs have the same probabilities: the outputs reveal nothing"
    return report, (text or "infinity") + (f" (ln {ratio})" if ratio else ""), where


def _laplace_epsilon(scale: str, bounds: tuple[str, str]) -> EpsilonResult:
    try:
        size, low, high = (parse_number(text) for text in (scale, *bounds))
    except NumberSyntaxError:
        size = low = high = Fraction(0)
    if size <= 0 or low >= high:
        raise UsageError.about("bad-scale", scale=scale, low=bounds[0], high=bounds[1])
    epsilon_value = (high - low) / size
    text = exact_or_up(epsilon_value)
    report: dict[str, object] = {
        "epsilon": text,
        "infinite": False,
        "ratio": f"exp({epsilon_value})",
    }
    where = f"the bounds themselves, {bounds[0]} and {bounds[1]}, at any output beyond them"
    return report, text + (f" ({epsilon_value})" if epsilon_value.denominator > 1 else ""), where
