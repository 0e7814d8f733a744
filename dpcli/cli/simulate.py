"""`dpcli simulate`: how good a release will be, tried out on dummy rows."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from fractions import Fraction

    from dpcli.simulation.dummy import Dummy
    from dpcli.simulation.findings import Asked, Errors, Findings, Tried

MOST_ROWS = 10_000_000
"""More rows take long to invent, and noise does not grow with them."""

MOST_RUNS = 10_000
"""More runs take long, and tell errors to no digit that matters."""

MOST_SEED = 2**53 - 1
"""Whatever reads JSON holds such a number exactly."""

RUNS = 100
"""Enough to see errors to a tenth or so; they take a few seconds."""


def simulate(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="The spec, a YAML file.")],
    rows: Annotated[
        int, typer.Option("--rows", metavar="N", help="Rows of the dummy file, to 10,000,000.")
    ],
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="S", help="The same dummy rows again [fresh, told]."),
    ] = None,
    runs: Annotated[
        int, typer.Option("--runs", metavar="R", help="How often all is answered, to 10,000.")
    ] = RUNS,
    as_json: Annotated[
        bool, typer.Option("--json", help="The findings as JSON, for scripts.")
    ] = False,
    dummy: Annotated[
        Path | None,
        typer.Option("--dummy", metavar="PATH", help="Keep the dummy file there."),
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(
            "--into", metavar="FILE", help="Keep the findings for `release --simulation FILE`."
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No notes, just tables.")] = False,
) -> None:
    """Try SPEC out on invented rows; reads no data.

    Makes a dummy file from the spec alone, answers all questions about it many times with
    fresh noise, and prints the errors that `dpcli plan` predicts beside those that occur.
    Touches no ledger and spends nothing; what it prints is no release. --seed repeats the
    rows: noise has no seed.

    Examples:
        dpcli simulate specs/minimal.yaml --rows 2000
        dpcli simulate specs/town.yaml --rows 3000 --seed 1 --runs 20
        # for the report of a release: what the limits on people change
        dpcli simulate specs/town.yaml --rows 3000 --into town.simulation.json
        # a file to try your own scripts on, marked in its last column:
        dpcli simulate specs/minimal.yaml --rows 500 --runs 2 --dummy dummy.csv

    Exits 5 when the budget does not allow the release, 1 if noise is not as promised.

    See also: dpcli plan, dpcli release, dpcli explain error
    """
    from dpcli.cli.words import require_whole
    from dpcli.errors import Failure, Problem, UsageError
    from dpcli.plan.planner import make_plan, require_budget
    from dpcli.publish import publish
    from dpcli.report.simulation import broken_text, simulation_json
    from dpcli.spec.load import read_any

    chosen = fresh_seed() if seed is None else seed
    require_whole(
        ("--rows", rows, 1, MOST_ROWS),
        ("--runs", runs, 1, MOST_RUNS),
        ("--seed", chosen, 0, MOST_SEED),
    )
    if dummy is not None:
        _require_free(dummy, spec)
    if into is not None:
        _require_replaceable(into, spec)
    read = read_any(spec)
    if read.is_local:
        raise UsageError.of(
            "simulate-local",
            "the spec is of the local model, which is not simulated",
            "`dpcli plan SPEC --records N` tells the standard errors",
        )
    plan = make_plan(read)
    from dpcli.simulation.dummy import Dummy
    from dpcli.simulation.trials import simulate as tried

    with Dummy(read, rows, chosen) as invented:
        if dummy is not None:
            _keep(invented, dummy)
        findings = tried(plan, invented, runs)
    if as_json:
        sys.stdout.write(simulation_json(findings))
    else:
        _print(findings, quiet=quiet)
    sys.stdout.flush()
    if findings.broken:
        raise Failure(
            Problem(
                "promise-broken",
                broken_text(name, asked, plan),
                "please report it with the spec and the seed, and do not release until it is "
                "understood",
            )
            for name, asked in findings.broken
        )
    if into is not None:
        publish({into: simulation_json(findings).encode()})
    require_budget(plan)


def _require_replaceable(into: Path, spec: Path) -> None:
    """Raise UsageError unless findings can be written there, over older findings at most."""
    from dpcli.publish import is_device, require_writable
    from dpcli.report.simulated import is_simulation

    require_writable([into], [spec], force=is_device(into) or is_simulation(into))


def fresh_seed() -> int:
    """A seed that nobody chose."""
    import secrets

    return secrets.randbits(32)


def _require_free(dummy: Path, spec: Path) -> None:
    """Raise UsageError unless a dummy file can be made there, over nothing."""
    from dataclasses import replace

    from dpcli.errors import UsageError
    from dpcli.publish import is_device, require_writable

    if dummy == Path("-"):
        raise UsageError.of(
            "bad-option",
            "`--dummy` names a file, for standard output is for the findings",
            "name a file that does not exist yet",
        )
    try:
        require_writable([dummy], [spec], force=is_device(dummy))
    except UsageError as failure:
        hint = "name a file that does not exist yet: a dummy file replaces nothing"
        raise UsageError(
            replace(problem, hint=hint) if problem.code == "output-exists" else problem
            for problem in failure.problems
        ) from None


def _keep(invented: Dummy, dummy: Path) -> None:
    """Write the dummy file, whole or not at all, over nothing."""
    import tempfile

    from dpcli.errors import OutputError
    from dpcli.publish import publish_file

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
    from dpcli.cli.console import write_table
    from dpcli.report.numbers import exact_or_up
    from dpcli.report.simulation import HEADING, notes

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
    write_table(sys.stdout, title, *_filled(header, lines, (3, 4, 5, 6, 7, 8, 9)))
    header = (
        "statistic", "item", "numbers", f"stated {percent}%", f"observed {percent}%", "held",
        "bias", "std error", "limits", "suppressed",
    )  # fmt: skip
    lines = [line for entry in findings.entries for line in _numbers(entry)]
    if lines:
        print()
        title = "published numbers, less what they would be without noise"
        write_table(sys.stdout, title, *_filled(header, lines, range(2, len(header))))
    if not quiet:
        print()
        for entry in findings.entries:
            if entry.shown is not None:
                shown = _few(entry.shown.shown)
                print(f"{entry.name}: {shown} of {entry.shown.groups:,} groups shown on average")
        print("".join(f"{note}\n" for note in notes(findings)), end="")


def _filled(
    header: Sequence[str], lines: Sequence[Sequence[str]], right: Sequence[int]
) -> tuple[list[str], list[list[str]], list[int]]:
    """A table without the columns in which nothing stands."""
    kept = [place for place in range(len(header)) if any(line[place] for line in lines)]
    return (
        [header[place] for place in kept],
        [[line[place] for place in kept] for line in lines],
        [new for new, place in enumerate(kept) if place in right],
    )


def _answers(entry: Tried) -> Iterator[tuple[str, ...]]:
    """The questions of an entry."""
    from dpcli.report.entries import mechanism_text

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
            *_bias(asked),
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


def _bias(asked: Asked) -> tuple[str, str]:
    """The bias of noise; a choice only ever falls short."""
    return ("", "") if asked.best is not None else _spread(asked.errors)


def _spread(errors: Errors) -> tuple[str, str]:
    """A bias and its standard error."""
    return _few(errors.bias), _few(errors.spread)


def _few(value: Fraction | None) -> str:
    """A number with few digits; blank for none."""
    from dpcli.report.numbers import short

    return "" if value is None else short(value)


def _percent(share: Fraction | None) -> str:
    """A share in percent; blank for none."""
    return "" if share is None else f"{float(share * 100):.1f}%"
