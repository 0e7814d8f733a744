"""`dpcli release`: the whole flow, from a spec and a file to a noisy table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from dpcli.charge import charge_for
from dpcli.cli.accounts import (
    announce_account,
    charging,
    must_exist,
    open_ledger,
    require_quality,
    warn_of_clock,
    warn_of_sharing,
)
from dpcli.cli.console import width_of
from dpcli.cli.options import (
    DataFiles,
    Force,
    Format,
    Layout,
    LedgerOfSpec,
    Period,
    Quiet,
    ReleaseId,
    Reports,
    SpecFile,
    Table,
    checked_day,
    checked_id,
    input_files,
)
from dpcli.cli.outputs import Wanted
from dpcli.cli.progress import shown_progress
from dpcli.cli.tables import BAR, budget, draws, interval, write_table
from dpcli.engine.source import drain
from dpcli.ledger.charge import Standing, resolved
from dpcli.plan.planner import make_plan, require_budget
from dpcli.privacy.loss import loss_text
from dpcli.publish import require_writable
from dpcli.release import Release, new_release_id
from dpcli.release import release as make_release
from dpcli.report.counted import counted
from dpcli.report.flags import flags_of, meaning_of
from dpcli.report.formats import render
from dpcli.report.notes import bounding
from dpcli.report.numbers import brief, exact_or_up
from dpcli.report.quality import HEADER, rows_of
from dpcli.report.simulated import read_simulation
from dpcli.report.table import Cell, cells
from dpcli.report.wide import wide_names
from dpcli.spec.load import read_spec
from dpcli.statistics.flags import Flag

MARKS = {Flag.NONE: "", Flag.UNRELIABLE: "*", Flag.NO_INFORMATION: "**", Flag.SUPPRESSED: "x"}
"""What follows a flagged value, as in tables of official statistics; short, for the width."""

SUMMARY_LINES = 40
"""Lines of a statistic after which the summary only counts the rest."""

MARGINS = 4
"""Characters that a table of rich has next to its columns."""


def release(
    spec: SpecFile,
    data: DataFiles,
    output: Table = None,
    report: Reports = None,
    report_format: Format = None,
    release_id: ReleaseId = None,
    ledger: LedgerOfSpec = None,
    period: Period = None,
    layout: Layout = "long",
    simulation: Annotated[
        Path | None,
        typer.Option(
            "--simulation", metavar="FILE", help="Report the findings of `simulate --into FILE`."
        ),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write a noisy table and a privacy report."""
    named, period = checked_id(release_id) or new_release_id(), checked_day(period)
    wanted = Wanted(output, report, layout, report_format)
    plan = make_plan(read_spec(spec))
    require_budget(plan)
    simulated = read_simulation(simulation, plan) if simulation else None
    made: list[Release] = []

    def rendered(release: Release) -> dict[str, bytes]:
        made.append(replace(release, simulated=simulated))
        return render(made[-1])

    again = f"run the command again with --release-id {named}"
    required = must_exist(plan.spec)
    with charging(again), open_ledger(ledger, spec, must_exist=required) as book:
        inputs = [spec, *book.store.files(), *input_files(data)]
        inputs += [simulation] if simulation else []
        targets, files = wanted.targets(wide_names(plan)), resolved(data)
        charge = replace(charge_for(plan, named, period), files=files, opens=not required)
        with book.reserve(charge) as slot:
            known = wanted.contents(slot.stored) if slot.stored else {}
            require_writable(targets, inputs, force=force, twice=wanted.twice, known=known)
            latest = book.latest()
            warn_of_sharing(plan.spec.dataset, book.sharing(plan.spec.dataset, files))
            with shown_progress(quiet=quiet) as progress:
                stored = make_release(plan, tuple(data), slot, rendered, progress)
        wanted.publish(stored, again)
    warn_of_clock(charge.created, latest)
    if stored.fresh:
        # The first release of an account is announced in any case.
        if made[-1].standing.first:
            announce_account(plan.spec.dataset, made[-1].standing.ledger)
        if not quiet:
            print_summary(made[-1])
    else:
        drain(data)
        if not quiet:
            print(f"release {stored.release_id} published again, nothing charged", file=sys.stderr)
    require_quality(stored)


def print_summary(made: Release) -> None:
    """Values, intervals and epsilon on standard error, drawn where a terminal has room."""
    plan = made.plan
    if made.checked is not None:
        _print_quality(made)
    if not made.entries:
        _print_balance(made)
        return
    plain, lines = _rows(made)
    percent = exact_or_up(plan.spec.confidence * 100)
    ends = (f"lower {percent}%", f"upper {percent}%")
    header = ("statistic", "of", "group", "value", *ends, "epsilon")
    title = f"release {made.release_id} of {plan.spec.dataset}"
    drawn = draws(sys.stderr)
    if drawn and _width(header, plain) + 2 + BAR + MARGINS <= width_of(sys.stderr):
        rows = [(*row, line) for row, line in zip(plain, lines, strict=True)]
        write_table(sys.stderr, title, (*header, ""), rows, (3, 4, 5, 6))
    else:
        write_table(sys.stderr, title, header, plain, (3, 4, 5, 6))
    found = [cell for released in made.entries for cell in cells(released)]
    meanings = [
        f"{MARKS[flag]} {meaning_of(flag, plan.spec.confidence)}" for flag in flags_of(found)
    ]
    notes = [*bounding(plan)[:1], *meanings]
    print("".join(f"{note}\n" for note in notes), end="", file=sys.stderr)
    _print_balance(made)
    if drawn:
        _draw_budget(made.standing)


def _print_quality(made: Release) -> None:
    """The noisy number of rows, and how readable the columns are."""
    assert made.checked is not None
    rows = rows_of(made.plan, made.checked)
    if made.checked.missed:
        write_table(sys.stderr, "quality check: failed", HEADER, rows, (1, 2, 3, 4))
        return
    what, about, low, high = rows[0][:4]
    print(
        f"quality check: about {about} {what} ({low} to {high}), no minimum missed",
        file=sys.stderr,
    )


def _print_balance(made: Release) -> None:
    balance = made.standing.balance
    print(
        f"spent {loss_text(made.plan.spent)}; {loss_text(balance.remaining)} left of "
        f"{loss_text(balance.budget)} (entry {made.standing.entry} of {made.standing.ledger})",
        file=sys.stderr,
    )


def _rows(made: Release) -> tuple[list[tuple[str, ...]], list[str]]:
    """The lines of the summary, and what is drawn next to each."""
    rows: list[tuple[str, ...]] = []
    drawn: list[str] = []
    flags = {cell.flag for released in made.entries for cell in cells(released)}
    room = max((len(MARKS[flag]) for flag in flags), default=0) or ""
    for released in made.entries:
        shown = list(cells(released))
        before = ""
        for position, cell in enumerate(shown[:SUMMARY_LINES]):
            group = ", ".join((*cell.keys.values(), *([cell.item] if cell.item else [])))
            name = cell.statistic if cell.statistic != before else ""
            before = cell.statistic
            price = "" if position else brief(released.planned.target.epsilon)
            ends = (cell.lower, cell.upper)
            what = "" if position else counted(released.planned, made.plan.spec)
            rows.append((name, what, group, f"{cell.value}{MARKS[cell.flag]:{room}}", *ends, price))
        drawn += _lines(shown[:SUMMARY_LINES])
        if len(shown) > SUMMARY_LINES:
            rows.append(("", "", f"... {len(shown) - SUMMARY_LINES} more", *[""] * 4))
            drawn.append("")
    return rows, drawn


def _width(header: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """The characters of a line of the table."""
    widest = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    return sum(widest) + 2 * len(widest)


def _lines(shown: Sequence[Cell]) -> list[str]:
    """Each value in its interval, on one scale; blank where the number is only a rank."""
    numbers = [
        Fraction(text) for cell in shown for text in (cell.value, cell.lower, cell.upper) if text
    ]
    if not any(cell.lower for cell in shown):
        return [""] * len(shown)
    low, high = min(numbers), max(numbers)
    return [
        interval(
            Fraction(cell.value),
            (Fraction(cell.lower), Fraction(cell.upper)) if cell.lower else None,
            low,
            high,
        )
        if cell.value
        else ""
        for cell in shown
    ]


def _draw_budget(standing: Standing) -> None:
    """What was spent before, by this release, and what is left."""
    before, after, whole = standing.before, standing.balance.spent, standing.balance.budget
    if whole.rho is not None and before.rho is not None and after.rho is not None:
        print(f"rho     {budget(before.rho, after.rho - before.rho, whole.rho)}", file=sys.stderr)
        return
    bar = budget(before.epsilon, after.epsilon - before.epsilon, whole.epsilon)
    print(f"epsilon {bar}", file=sys.stderr)
