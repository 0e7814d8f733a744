"""`dpcli release`: the whole flow, from a spec and a file to a noisy table."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dpcli.charge import charge_for
from dpcli.cli.accounts import (
    Request,
    announce_account,
    charging,
    clock_warnings,
    existing_ledger,
    must_exist,
    open_ledger,
    outlook,
    require_quality,
    sharing_warnings,
    warn,
)
from dpcli.cli.console import print_json, write_json
from dpcli.cli.options import (
    AsJson,
    DataFiles,
    Force,
    Format,
    Layout,
    LedgerFile,
    Period,
    Quiet,
    ReleaseId,
    Reports,
    SpecFile,
    Table,
    checked_day,
    checked_id,
    input_files,
    refuse_option,
)
from dpcli.cli.outputs import Wanted
from dpcli.cli.plan_text import print_plan
from dpcli.cli.progress import shown_progress
from dpcli.cli.summary import print_notes, print_summary, print_values
from dpcli.engine.header import require_columns
from dpcli.engine.source import drain, open_dataset
from dpcli.ledger.charge import Stored, resolved
from dpcli.ledger.place import is_absent
from dpcli.plan.notes import warnings
from dpcli.plan.planner import make_plan, require_budget
from dpcli.publish import require_writable
from dpcli.release import Release, new_release_id
from dpcli.release import release as make_release
from dpcli.report.data import plan_json
from dpcli.report.formats import render
from dpcli.report.table import wide_names
from dpcli.spec.load import read_spec
from dpcli.stored_simulation import read_simulation

QUALITY = ("passed", "missed", "rows", "readable")
"""What `--json` shows of the quality check: noisy numbers and their verdict."""


def release(
    spec: SpecFile,
    data: DataFiles,
    output: Table = None,
    report: Reports = None,
    report_format: Format = None,
    release_id: ReleaseId = None,
    ledger: LedgerFile = None,
    period: Period = None,
    layout: Layout = "long",
    simulation: Annotated[Path | None, typer.Option("--simulation", metavar="FILE")] = None,
    force: Force = False,
    dry_run: Annotated[bool, typer.Option("--dry-run")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write a noisy table and a privacy report."""
    named, period = checked_id(release_id) or new_release_id(), checked_day(period)
    wanted = Wanted(output, report, layout, report_format)
    if as_json and wanted.output is None and not dry_run:
        raise refuse_option(
            "`--json` writes to standard output, where the table would go",
            "name a file for the table: `-o OUT.csv --json`",
        )
    plan = make_plan(read_spec(spec))
    require_budget(plan)
    simulated = read_simulation(simulation, plan) if simulation else None
    inputs = [spec, *input_files(data), *([simulation] if simulation else [])]
    if dry_run:
        request = Request(plan, ledger, spec, period, data)
        _dry_run(request, wanted, inputs, named if release_id else None, force, as_json)
        return
    made: list[Release] = []

    def rendered(release: Release) -> dict[str, bytes]:
        made.append(replace(release, simulated=simulated))
        return render(made[-1])

    again = f"run the command again with --release-id {named}"
    required = must_exist(plan.spec)
    shown = sys.stdout.isatty() and wanted.output is None
    with charging(again), open_ledger(ledger, spec, must_exist=required) as book:
        targets, files = wanted.targets(wide_names(plan)), resolved(data)
        charge = replace(charge_for(plan, named, period), files=files, opens=not required)
        with book.reserve(charge) as slot:
            known = wanted.contents(slot.stored) if slot.stored else {}
            inputs += book.store.files()
            require_writable(targets, inputs, force=force, twice=wanted.twice, known=known)
            latest = book.latest()
            others = book.sharing(plan.spec.dataset, files)
            warned = warn(sharing_warnings(plan.spec.dataset, others))
            with shown_progress(quiet=quiet) as progress:
                stored = make_release(plan, tuple(data), slot, rendered, progress)
        wanted.publish(stored, again, to_stdout=not (as_json or (shown and stored.fresh)))
    warned += warn(clock_warnings(charge.created, latest))
    if stored.fresh:
        # The first release of an account is announced in any case.
        if made[-1].standing.first:
            announce_account(plan.spec.dataset, made[-1].standing.ledger)
        _show(made[-1], shown=shown, quiet=quiet)
    else:
        drain(data)
        if not quiet:
            print(f"release {stored.release_id} published again, nothing charged", file=sys.stderr)
    if as_json:
        print_json(_result(stored, wanted, [*warned, *warnings(plan)]))
    require_quality(stored)


def _show(made: Release, *, shown: bool, quiet: bool) -> None:
    """The values where a person reads them: on a terminal in place of the table as CSV."""
    if not shown and not quiet:
        print_summary(made)
    elif shown:
        if made.entries:
            print_values(made, sys.stdout)
            sys.stdout.flush()
        if not quiet or made.checked is not None:
            print_notes(made)


def _result(stored: Stored, wanted: Wanted, warned: list[str]) -> dict[str, object]:
    """What a release did, for scripts: keys as in its JSON report."""
    report = json.loads(stored.outputs["report.json"])
    quality = report["quality"]
    return {
        "release_id": stored.release_id,
        "created": report["created"],
        "charged": stored.fresh,
        "outputs": [str(path) for path in wanted.files(stored)],
        "cost": report["privacy"]["spent"],
        "remaining": report["privacy"]["remaining"],
        "ledger": report["ledger"],
        "quality": quality and {name: quality[name] for name in QUALITY},
        "stopped": list(stored.stopped),
        "warnings": warned,
    }


def _dry_run(
    request: Request,
    wanted: Wanted,
    inputs: list[Path],
    release_id: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Fail where a release would, as far as that depends on no row; then print the plan.

    Reads the header of the data. Charges nothing, and creates no ledger.
    """
    plan = request.plan
    known: dict[Path, bytes] = {}
    stored = None
    if not is_absent(request.path):
        with existing_ledger(request.path) as book:
            inputs = [*inputs, *book.store.files()]
            if release_id:
                stored = book.stored(release_id, charge_for(plan, release_id, request.period))
    if stored is not None:
        known = wanted.contents(stored)
    targets = wanted.targets(wide_names(plan))
    require_writable(targets, inputs, force=force, twice=wanted.twice, known=known)
    if stored is not None:
        print(
            f"dry run: release {stored.release_id} would be published again, nothing charged",
            file=sys.stderr,
        )
        if as_json:
            write_json(json.dumps({"release_id": stored.release_id, "charged": False}))
            sys.stdout.flush()
        return
    found = outlook(request)
    found.require()
    with open_dataset(tuple(request.data), plan.spec.dialect) as dataset:
        require_columns(dataset, plan.spec.columns)
    if as_json:
        write_json(plan_json(plan, found))
    else:
        print_plan(plan, found)
    sys.stdout.flush()
    print("dry run: no row was read, nothing was charged or written", file=sys.stderr)
