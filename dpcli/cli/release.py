"""`dpcli release`: from a spec and files, or sealed parts, to noisy tables.

`dpcli aggregate` writes such parts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from dpcli.cli import options
from dpcli.cli.charging import (
    existing_ledger,
    forecast_balance,
    logged_commit,
    published,
    shown_messages,
    warn,
)
from dpcli.cli.console import current_log, logged_step, print_json, print_line, write_json
from dpcli.cli.options import input_file, require_new_file
from dpcli.cli.outputs import Tables, output_file
from dpcli.cli.terminal import shown_progress
from dpcli.engine.files.decoding import PARTIAL_ENDING
from dpcli.engine.files.source import require_files
from dpcli.fields.json import json_text
from dpcli.ledger.charge import NoisyRelease, StoredRelease
from dpcli.ledger.options import is_absent, new_release_id
from dpcli.planning.plan import CentralPlan
from dpcli.planning.planner import make_plan
from dpcli.planning.words.guarantee import reader_warnings
from dpcli.problems.errors import OutputError, UsageError
from dpcli.releasing.publishing import is_device, write_private
from dpcli.releasing.request import ReleaseRequest, check_again_error, checked_sha256
from dpcli.releasing.run import ReleaseRun
from dpcli.releasing.steps import Engine, pack_data, reading_warnings, require_data, require_quality
from dpcli.report.formats import FACTS, render_outputs
from dpcli.report.numbers import wide_layout
from dpcli.report.report import Report, without_numbers
from dpcli.specification.load import read_central_spec

QUALITY = ("passed", "missed", "counts", "rows", "people", "readable")
"""The keys of the quality check in `--json`: noisy numbers and their verdict."""


def release(
    spec: options.SpecFile,
    data: options.DataFiles,
    output: options.TableFile = None,
    report: options.Reports = None,
    report_format: options.Format = None,
    metadata: options.Metadata = None,
    release_id: options.ReleaseId = None,
    check_again: Annotated[
        bool, typer.Option("--check-again", help="Repeat a failed quality check, which is charged.")
    ] = False,
    corrected: Annotated[
        bool, typer.Option("--corrected", help="DATA replace those of this day of a series.")
    ] = False,
    ledger: options.LedgerFile = None,
    period: options.Period = None,
    any_period: options.AnyPeriod = False,
    recipient: options.Recipient = None,
    layout: options.Layout = "long",
    digits: options.ShownDigits = "interval",
    engine: Annotated[
        Literal["local", "spark"],
        typer.Option("--engine", help="What reads DATA: this process or Spark [local]."),
    ] = "local",
    partials: Annotated[
        bool, typer.Option("--partials", help="DATA are sealed parts, of `dpcli aggregate`.")
    ] = False,
    sha256: Annotated[
        list[str] | None,
        typer.Option(
            "--sha256", metavar="HEX", help="Refuse another DATA file; one for each, in order."
        ),
    ] = None,
    force: options.Force = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Plan and check; read no row, charge nothing.")
    ] = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    r"""Write a noisy table of DATA, as SPEC asks, and a privacy report.

    Reads DATA once, charges once for each id, puts a report next to OUT.

    Examples:
        dpcli release specs/town.yaml sample_data/people.csv --report town.html
        dpcli release spec.yaml nov.csv --period 2026-11 --release-id nov -o n.csv

    Exits 3: spec, 4: DATA, 5: budget, 6: ledger, 7: outputs, 8: quality check.

    See also: dpcli plan, dpcli explain cron, dpcli explain release-id
    """
    if as_json and not output_file(output) and not dry_run:
        fix = "name a file for the table: `-o OUT.csv --json`"
        other = "a table on standard output"
        raise UsageError.about("bad-option", given="`--json`", other=other, fix=fix)
    if partials:
        _refuse_with_partials(engine, dry_run=dry_run)
    if check_again and release_id is None:
        raise check_again_error()
    reader: Engine = "partials" if partials else engine
    declared = checked_sha256(sha256, data, reader) if sha256 else ()
    plan = make_plan(read_central_spec(spec, data)).about(period, recipient)
    name = release_id or new_release_id()
    request = ReleaseRequest(
        plan, tuple(data), name, ledger, reader, check_again, any_period,
        sha256=declared, corrected=corrected,
    )  # fmt: skip
    messages = shown_messages(quiet=quiet)
    run = ReleaseRun(request, messages)
    names = list(dict.fromkeys(table for table, _ in wide_layout(plan).values()))
    tables = Tables(
        output, report, report_format, force, layout, names, metadata=metadata, digits=digits
    )
    inputs = (spec, *map(input_file, data))
    if dry_run:
        _dry_run(request, spec, inputs, tables, engine, as_json=as_json)
        return

    reports: list[Report] = []

    def rendered(release: NoisyRelease) -> dict[str, bytes]:
        # The types of reports load where one is made.
        from dpcli.report.report import release_report

        reports.append(release_report(release))
        return render_outputs(reports[0], tables.wanted)

    # Each problem of a sealed part has its message, so that all of them appear together.
    files = request.files if reader == "local" else ()
    with published(run, inputs, tables, files):
        if run.stored is None:
            with shown_progress(quiet=quiet) as progress:
                with logged_step("aggregate", "data added up"):
                    exact = run.aggregate(progress)
                with logged_step("answer", "answered with noise"):
                    numbers = run.answer(exact)
                with logged_commit(run):
                    run.commit(numbers, rendered)
    stored = run.outcome
    # A log has what was charged and written; the numbers are in the outputs.
    quiet = quiet or current_log() is not None
    tables.show(stored, reports[0] if stored.receipt else None, quiet=quiet)
    if as_json:
        print_json(_result(stored, tables, [*messages.warnings, *reader_warnings(plan)]))
    require_quality(stored, request.path)


def _refuse_with_partials(engine: Engine, *, dry_run: bool) -> None:
    """Raise UsageError for options that have no meaning with sealed parts."""
    if dry_run or engine == "spark":
        given = "`--dry-run`" if dry_run else "`--engine spark`"
        fix = "run `dpcli plan SPEC`, which shows the same plan" if dry_run else "name data files"
        raise UsageError.about("bad-option", given=given, other="`--partials`", fix=fix)


def _result(stored: StoredRelease, tables: Tables, warned: list[str]) -> dict[str, object]:
    """The result of a release for `--json`; its keys are those of the JSON report."""
    report = json.loads(without_numbers(stored.outputs[FACTS]))
    quality = report["quality"]
    return {
        "release_id": stored.release_id,
        "created": report["created"],
        "charged": stored.receipt is not None,
        "outputs": [str(path) for path in tables.files(stored)],
        "cost": report["privacy"]["spent"],
        "remaining": report["privacy"]["remaining"],
        "ledger": report["ledger"],
        "quality": quality and {name: quality[name] for name in QUALITY if name in quality},
        "stopped": list(stored.stopped),
        "warnings": warned,
    }


def _dry_run(
    request: ReleaseRequest[CentralPlan],
    spec: Path,
    inputs: Sequence[Path],
    tables: Tables,
    engine: Engine,
    *,
    as_json: bool,
) -> None:
    """Print the plan, or fail where a release would fail before it reads a row.

    Reads the headers of the data files. Charges nothing, and creates no ledger.
    """
    plan, protected, stored = request.plan, list(inputs), None
    failed: list[StoredRelease] = []
    request.require_attempt()
    if not is_absent(request.path):
        with existing_ledger(request.path) as book:
            protected += book.files()
            dataset = plan.spec.dataset
            failed = book.failed_checks(request.release_id, dataset) if request.check_again else []
            request = request.attempt(book)
            stored = book.stored(request.release_id, dataset, request.charge)
    if stored is not None and stored.later:
        require_quality(stored, request.path)
    tables.require_valid(protected, stored, failed)
    if stored is not None:
        name = stored.release_id
        print_line(f"dry run: release {name} would be published again, nothing charged")
        if as_json:
            write_json(json.dumps({"release_id": name, "charged": False}))
            sys.stdout.flush()
        require_quality(stored, request.path)
        return
    if engine == "local":
        require_files(request.files)
    if plan.chooses_bounds:
        from dpcli.releasing.bounds_choice import require_readable_twice

        require_readable_twice(request.data, request.engine)
    ledger = None if request.ledger is None else request.path
    forecast = forecast_balance(plan, spec, ledger, request.files, any_period=request.any_period)
    forecast.raise_refusal()
    require_data(plan, request.files, engine, request.sha256)
    if as_json:
        from dpcli.report.plan import plan_report

        write_json(json_text(plan_report(plan, forecast)))
    else:
        from dpcli.cli.plan_text import print_plan

        print_plan(plan, forecast)
    sys.stdout.flush()
    print_line("dry run: no row was read, nothing was charged or written")


def aggregate(
    spec: options.SpecFile,
    data: options.DataFiles,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="OUT.sealed", help="The new part; its name ends in .sealed."
        ),
    ],
    period: options.Period = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Add up DATA as SPEC asks, and seal it for a later release.

    Reads DATA once, and writes a part: what its rows add up to, exactly, without noise. It is as
    confidential as the rows, for its owner alone to read, and replaces no file. Needs no ledger
    and spends nothing. `dpcli release SPEC --partials PART...` merges the parts of all rows, adds
    noise and charges for them. Each row must be in one part only.

    Examples:
        dpcli aggregate spec.yaml data.csv -o data.sealed
        ls data*.csv | xargs -P4 -I{} dpcli aggregate spec.yaml {} -o {}.sealed
        dpcli release spec.yaml --partials parts/*.sealed -o noisy.csv

    Exits 3: spec, 4: DATA, 7: OUT.sealed.

    See also: dpcli release
    """
    # A part is confidential: it must not look like a table, or go to a terminal or a log.
    fits = output.name.lower().endswith(PARTIAL_ENDING) and not is_device(output)
    if not fits:
        raise UsageError.about("bad-option.part-name", output=output)
    plan = make_plan(read_central_spec(spec, data)).about(period)
    if plan.chooses_bounds:
        raise UsageError.about("chosen-bounds.partials")
    require_new_file(output, spec, *plan.spec.files, *map(input_file, data))
    warn(reading_warnings(plan, data))
    with shown_progress(quiet=quiet) as progress:
        part = pack_data(plan, tuple(data), progress)
    with OutputError.translated(f"`{output}`"):
        write_private(part, output)
    if not quiet:
        print_line(
            f"wrote the part `{output}`: it is as confidential as the data, so keep it where "
            "they are kept"
        )
    if as_json:
        print_json({"part": str(output), "confidential": True})
