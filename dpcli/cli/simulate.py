"""`dpcli simulate`: the accuracy of a release, measured on synthetic rows."""

from __future__ import annotations

import secrets
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from dpcli.cli.console import write_json
from dpcli.cli.options import AsJson, SpecFile, require_new_file
from dpcli.cli.terminal import write_gap, write_table
from dpcli.data.formats import TAB_ENDINGS
from dpcli.fields.json import json_text
from dpcli.planning.planner import make_plan, require_plan_fits
from dpcli.problems.errors import OutputError, UsageError
from dpcli.releasing.publishing import publish_file, require_table_name
from dpcli.simulation.limits import NUMBERS, RUNS
from dpcli.simulation.report import HEADING, SimulationReport, simulation_report
from dpcli.simulation.synthetic import SyntheticDataset
from dpcli.simulation.trials import simulate as run_trials
from dpcli.specification.load import read_spec_file
from dpcli.specification.model import LocalSpec


def simulate(
    spec: SpecFile,
    rows: Annotated[
        int,
        typer.Option(
            "--rows",
            min=1,
            max=NUMBERS["rows"][1],
            metavar="N",
            help="Synthetic rows, to 10,000,000.",
        ),
    ],
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            min=0,
            max=NUMBERS["seed"][1],
            metavar="S",
            help="The same synthetic rows again [random, shown].",
        ),
    ] = None,
    runs: Annotated[
        int,
        typer.Option(
            "--runs",
            min=1,
            max=NUMBERS["runs"][1],
            metavar="R",
            help="How often all is answered, to 10,000 [100].",
        ),
    ] = RUNS,
    as_json: AsJson = False,
    dummy: Annotated[
        Path | None, typer.Option("--dummy", metavar="PATH", help="Keep the synthetic file there.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No notes, just tables.")] = False,
) -> None:
    """Try SPEC on synthetic rows; reads no data.

    Makes a file of synthetic rows from the spec alone, answers all queries about it many times
    with fresh noise, and prints the errors that `dpcli plan` predicts next to those that occur.
    Uses no ledger and spends nothing; its output is not a release. --seed repeats the rows:
    noise has no seed.

    Examples:
        dpcli simulate specs/minimal.yaml --rows 2000
        dpcli simulate specs/town.yaml --rows 3000 --seed 1 --runs 20
        # a file to try your own scripts on, marked in its last column:
        dpcli simulate specs/minimal.yaml --rows 500 --runs 2 --dummy dummy.csv

    Exits 5 when the budget does not allow the release. `dpcli audit` tests the noise.

    See also: dpcli plan, dpcli audit, dpcli release, dpcli explain error
    """
    chosen = secrets.randbits(32) if seed is None else seed
    if dummy == Path("-"):
        given = {"given": "`--dummy`", "other": "standard output"}
        raise UsageError.about("bad-option", **given, fix="name a file that does not exist yet")
    if dummy is not None:
        require_new_file(dummy, spec)
        # A dummy file may have tabs, and the spec knows its delimiter.
        require_table_name(dummy, *TAB_ENDINGS)
    read = read_spec_file(spec)
    if isinstance(read, LocalSpec):
        raise UsageError.about("simulate-local")
    plan = make_plan(read)
    with SyntheticDataset(read, rows, chosen) as invented:
        if dummy is not None:
            _keep(invented, dummy)
        findings = run_trials(plan, invented, runs)
    report = simulation_report(findings)
    if as_json:
        write_json(json_text(report.document))
    else:
        _print(report, quiet=quiet)
    sys.stdout.flush()
    require_plan_fits(plan)


def _keep(invented: SyntheticDataset, dummy: Path) -> None:
    """Write the synthetic rows to a new file; after an error, no file is left."""
    with tempfile.TemporaryDirectory(prefix="dpcli-") as folder:
        waiting = Path(folder) / "dummy.csv"
        again = "run the command again, or set TMPDIR to a folder with more space"
        with OutputError.translated("a temporary file", again), waiting.open("xb") as file:
            invented.copy_to(file, dummy.name)
        publish_file(waiting, dummy, force=False)


def _print(report: SimulationReport, *, quiet: bool) -> None:
    print(HEADING, report.what, "", sep="\n")
    shown = [(title, rows) for title, rows in report.tables.items() if rows]
    for number, (title, rows) in enumerate(shown):
        if number:
            write_gap(sys.stdout)
        write_table(sys.stdout, title, rows)
    if not quiet:
        if shown:
            write_gap(sys.stdout)
        print(*report.captions, sep="\n")
