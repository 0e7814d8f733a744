"""The summary of a release: values, intervals, and the budget."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import TextIO

from dpcli.cli.console import width_of
from dpcli.cli.tables import BAR, PER_COLUMN, budget, draws, interval, natural_width, write_table
from dpcli.ledger.charge import Standing
from dpcli.plan.notes import bounding, counted
from dpcli.plan.numbers import brief, exact_or_up
from dpcli.privacy.loss import loss_text
from dpcli.release import Release
from dpcli.report.answers import HEADER, rows_of
from dpcli.report.facts import flags_of, meaning_of
from dpcli.report.table import Cell, cells
from dpcli.statistics.flags import Flag

MARKS = {Flag.NONE: "", Flag.UNRELIABLE: "*", Flag.NO_INFORMATION: "**", Flag.SUPPRESSED: "x"}
"""What follows a flagged value, as in tables of official statistics; short, for the width."""

SUMMARY_LINES = 40
"""Lines of a statistic after which the summary only counts the rest."""


def print_summary(made: Release) -> None:
    """Values, intervals and epsilon on standard error, drawn where a terminal has room."""
    if made.checked is not None:
        _print_quality(made)
    if made.entries:
        print_values(made, sys.stderr)
    print_notes(made)


def print_values(made: Release, out: TextIO) -> None:
    """A table of values, intervals and epsilon; with intervals drawn where there is room."""
    plan = made.plan
    plain, lines = _rows(made)
    percent = exact_or_up(plan.spec.confidence * 100)
    ends = (f"lower {percent}%", f"upper {percent}%")
    header: tuple[str, ...] = ("statistic", "of", "group", "value", *ends, "epsilon")
    title = f"release {made.release_id} of {plan.spec.dataset}"
    if draws(out) and natural_width([header, *plain]) + BAR + PER_COLUMN <= width_of(out):
        header = (*header, "")
        plain = [(*row, line) for row, line in zip(plain, lines, strict=True)]
    write_table(out, title, header, plain, (3, 4, 5, 6))


def print_notes(made: Release) -> None:
    """What the marks of the values mean, and the balance, on standard error."""
    plan = made.plan
    if any(len(list(cells(released))) > SUMMARY_LINES for released in made.entries):
        print(f"all lines: dpcli ledger export {made.release_id} -o OUT.csv", file=sys.stderr)
    found = [cell for released in made.entries for cell in cells(released)]
    meanings = [
        f"{MARKS[flag]} {meaning_of(flag, plan.spec.confidence)}" for flag in flags_of(found)
    ]
    notes = [*bounding(plan)[:1], *meanings] if made.entries else []
    print("".join(f"{note}\n" for note in notes), end="", file=sys.stderr)
    _print_balance(made)
    if made.entries and draws(sys.stderr):
        _draw_budget(made.standing)


def _print_quality(made: Release) -> None:
    """The noisy number of rows, and how readable the columns are."""
    assert made.checked is not None
    rows = list(rows_of(made.plan, made.checked))
    if made.checked.missed:
        write_table(sys.stderr, "quality check: failed", HEADER, rows, (1, 2, 3, 4))
        return
    what, about, low, high = rows[0][:4]
    print(
        f"quality check: about {about} {what} ({low} to {high}), no minimum missed", file=sys.stderr
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
