"""`dpcli audit`: an attack on the promises of a spec."""

from __future__ import annotations

import secrets
import sys
from textwrap import fill
from typing import Annotated

import typer

from dpcli.cli.console import write_json
from dpcli.cli.options import AsJson, SpecFile
from dpcli.cli.terminal import write_gap, write_table
from dpcli.fields.json import json_text
from dpcli.planning.planner import make_plan
from dpcli.problems.errors import DpcliError, UsageError
from dpcli.proof.audit import audit as run_audit
from dpcli.proof.report import (
    CAPTION,
    HEADING,
    TITLE,
    audit_document,
    audit_table,
    fault_problems,
    sentence,
)
from dpcli.simulation.limits import NUMBERS
from dpcli.specification.load import read_spec_file
from dpcli.specification.model import LocalSpec

WIDTH = 78
"""Columns of the sentences below the table."""


def audit(
    spec: SpecFile,
    draws: Annotated[
        int | None,
        typer.Option(
            "--draws",
            min=1,
            max=NUMBERS["draws"][1],
            metavar="N",
            help="Outputs about each neighbor, to 10,000,000 [300,000; Gaussian 1,000,000].",
        ),
    ] = None,
    seconds: Annotated[
        int,
        typer.Option(
            "--seconds",
            min=1,
            max=NUMBERS["seconds"][1],
            metavar="T",
            help="Time for each entry, to 3,600 [60].",
        ),
    ] = 60,
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
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no notes.")] = False,
) -> None:
    """Attack the promises of SPEC; reads no data.

    Makes neighbors from the spec alone: extreme values, full limits, people in every group, rows
    that move. Compares exact answers about both with the stated sensitivities, and distinguishes
    their noisy answers as well as many draws can: a lower bound of epsilon, or of mu for Gaussian
    noise, next to what is claimed. Compares noise, choices and thresholds with their exact
    probabilities. Uses no ledger and spends nothing. --seed repeats the rows: noise has no seed.

    A bound below its claim is no proof; the arguments are in `dpcli explain`.

    Examples:
        dpcli audit specs/minimal.yaml
        dpcli audit specs/town.yaml --seconds 2 --seed 1
        dpcli audit specs/minimal.yaml --draws 1000000 --json

    Exits 1 when something is above its claim.

    See also: dpcli simulate, dpcli plan, dpcli explain promise-broken
    """
    chosen = secrets.randbits(32) if seed is None else seed
    read = read_spec_file(spec)
    if isinstance(read, LocalSpec):
        raise UsageError.about("simulate-local")
    plan = make_plan(read)

    def show(what: str) -> None:
        if not quiet and sys.stderr.isatty():
            sys.stderr.write(f"{what}\n")

    found = run_audit(plan, chosen, draws, seconds, show)
    if as_json:
        write_json(json_text(audit_document(found)))
    else:
        print(HEADING, f"{plan.spec.dataset}: seed {chosen}", "", sep="\n")
        write_table(sys.stdout, TITLE, audit_table(found))
        write_gap(sys.stdout)
        print(fill(sentence(found), WIDTH))
        if not quiet:
            print(fill(CAPTION, WIDTH))
    sys.stdout.flush()
    if found.faults:
        raise DpcliError([*fault_problems(found)])
