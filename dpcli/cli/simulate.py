"""`dpcli simulate`: how good a release will be, tried on synthetic rows."""

from __future__ import annotations

import secrets
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from dpcli.cli.console import write_json
from dpcli.cli.options import AsJson, SpecFile, refuse_option, require_whole
from dpcli.cli.tables import filled, write_table
from dpcli.errors import Failure, OutputError, Problem, UsageError
from dpcli.plan.planner import make_plan, require_budget
from dpcli.publish import is_device, publish, publish_file, require_writable
from dpcli.report.entries import mechanism_text
from dpcli.report.numbers import exact_or_up, short
from dpcli.report.simulated import is_simulation
from dpcli.report.simulation import HEADING, broken_text, notes, simulation_json
from dpcli.simulation.noise_test import Errors
from dpcli.simulation.synthetic import SyntheticDataset
from dpcli.simulation.trials import Findings, Tried
from dpcli.simulation.trials import simulate as run_trials
from dpcli.spec.load import read_any

MOST_ROWS = 10_000_000
"""More rows take long to make, and noise does not grow with them."""

MOST_RUNS = 10_000
"""More runs take long, and change no digit of the errors that matters."""

MOST_SEED = 2**53 - 1
"""Every reader of JSON holds such a number exactly."""

RUNS = 100
"""Enough to see errors to about a tenth; they take a few seconds."""


def simulate(
    spec: SpecFile,
    rows: Annotated[
        int, typer.Option("--rows", metavar="N", help="Synthetic rows, to 10,000,000.")
    ],
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="S", help="The same synthetic rows again [random, shown]."),
    ] = None,
    runs: Annotated[
        int, typer.Option("--runs", metavar="R", help="How often all is answered, to 10,000.")
    ] = RUNS,
    as_json: AsJson = False,
    dummy: Annotated[
        Path | None,
        typer.Option("--dummy", metavar="PATH", help="Keep the synthetic file there."),
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(
            "--into", metavar="FILE", help="Keep the findings for `release --simulation FILE`."
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No notes, just tables.")] = False,
) -> None:
    """Try a spec on synthetic rows; reads no data."""
    chosen = fresh_seed() if seed is None else seed
    require_whole(
        ("--rows", rows, 1, MOST_ROWS),
        ("--runs", runs, 1, MOST_RUNS),
        ("--seed", chosen, 0, MOST_SEED),
    )
    if dummy is not None:
        _require_free(dummy, spec)
    if into is not None:
        # Findings replace older findings at most.
        require_writable([into], [spec], force=is_device(into) or is_simulation(into))
    read = read_any(spec)
    if read.is_local:
        raise UsageError.of(
            "simulate-local",
            "the spec is of the local model, which is not simulated",
            "`dpcli plan SPEC --records N` shows the standard errors",
        )
    plan = make_plan(read)
    with SyntheticDataset(read, rows, chosen) as invented:
        if dummy is not None:
            _keep(invented, dummy)
        findings = run_trials(plan, invented, runs)
    if as_json:
        write_json(simulation_json(findings))
    else:
        _print(findings, quiet=quiet)
    sys.stdout.flush()
    if findings.broken:
        hint = "report it with the spec and the seed, and do not release until it is understood"
        raise Failure(
            Problem("promise-broken", broken_text(name, asked, plan), hint)
            for name, asked in findings.broken
        )
    if into is not None:
        publish({into: simulation_json(findings).encode()})
    require_budget(plan)


def fresh_seed() -> int:
    """A random seed."""
    return secrets.randbits(32)


def _require_free(dummy: Path, spec: Path) -> None:
    """Raise UsageError unless a synthetic file can be written there without replacing one."""
    if dummy == Path("-"):
        raise refuse_option(
            "`--dummy` names a file, for standard output is for the findings",
            "name a file that does not exist yet",
        )
    try:
        require_writable([dummy], [spec], force=is_device(dummy))
    except UsageError as failure:
        hint = "name a file that does not exist yet: a synthetic file replaces none"
        raise UsageError(
            replace(problem, hint=hint) if problem.code == "output-exists" else problem
            for problem in failure.problems
        ) from None


def _keep(invented: SyntheticDataset, dummy: Path) -> None:
    """Write the synthetic file, whole or not at all, and replace none."""
    with tempfile.TemporaryDirectory(prefix="dpcli-") as folder:
        waiting = Path(folder) / "dummy.csv"
        try:
            with waiting.open("xb") as file:
                invented.copy_to(file, dummy.name)
        except OSError as error:
            again = "run the command again, or set TMPDIR to a folder with more space"
            raise OutputError.from_system("a temporary file", error, again) from None
        publish_file(waiting, dummy, force=False)


def _print(findings: Findings, *, quiet: bool) -> None:
    """Both tables, and what they mean."""
    plan, people = findings.plan, findings.people
    percent = exact_or_up(plan.spec.confidence * 100)
    whose = "" if people is None else f" of {people:,} people"
    print(HEADING)
    print(
        f"{plan.spec.dataset}: {findings.rows:,} rows{whose}, seed {findings.seed}, "
        f"{findings.runs:,} run{'s' * (findings.runs != 1)}\n"
    )
    header: tuple[str, ...] = (
        "statistic", "question", "mechanism", "answers", f"predicted {percent}%",
        f"observed {percent}%", "within", "best", "bias", "std error", "verdict",
    )  # fmt: skip
    lines = [line for entry in findings.entries for line in _answers(entry)]
    title = "errors of the noise, as dpcli plan predicts them and as they were"
    write_table(sys.stdout, title, *filled(header, lines, range(3, 10)))
    header = (
        "statistic", "item", "numbers", f"stated {percent}%", f"observed {percent}%", "held",
        "bias", "std error", "limits", "suppressed",
    )  # fmt: skip
    lines = [line for entry in findings.entries for line in _numbers(entry)]
    if lines:
        print()
        title = "published numbers, less what they would be without noise"
        write_table(sys.stdout, title, *filled(header, lines, range(2, len(header))))
    if not quiet:
        print()
        for entry in findings.entries:
            if entry.shown is not None:
                shown = _few(entry.shown.shown)
                print(f"{entry.name}: {shown} of {entry.shown.groups:,} groups shown on average")
        print("".join(f"{note}\n" for note in notes(findings)), end="")


def _answers(entry: Tried) -> Iterator[tuple[str, ...]]:
    """The queries of an entry; a choice has no bias, it only ever falls short."""
    for place, asked in enumerate(entry.asked):
        yield (
            "" if place else entry.name,
            asked.part.question.role,
            mechanism_text(asked.part),
            f"{asked.errors.compared:,}",
            _few(asked.predicted),
            _few(asked.errors.quantile),
            _percent(asked.within),
            _percent(asked.best),
            *(("", "") if asked.best is not None else _spread(asked.errors)),
            asked.verdict.value if asked.verdict else "not judged",
        )


def _numbers(entry: Tried) -> Iterator[tuple[str, ...]]:
    """The published numbers of an entry."""
    for place, told in enumerate(entry.told):
        yield (
            "" if place else entry.name,
            told.item,
            f"{told.errors.compared:,}",
            _few(told.stated),
            _few(told.errors.quantile),
            _percent(told.held),
            *_spread(told.errors),
            _few(told.limits),
            _percent(told.left_out) if told.left_out else "",
        )


def _spread(errors: Errors) -> tuple[str, str]:
    """A bias and its standard error."""
    return _few(errors.bias), _few(errors.spread)


def _few(value: Fraction | None) -> str:
    """A number with few digits; blank for none."""
    return "" if value is None else short(value)


def _percent(share: Fraction | None) -> str:
    """A share in percent; blank for none."""
    return "" if share is None else f"{float(share * 100):.1f}%"
