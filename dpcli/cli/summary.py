"""The summary of a release on standard error: values, intervals, and the budget."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fractions import Fraction
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from dpcli.cli.bars import WIDTH, budget, draws, interval
from dpcli.cli.console import write_table
from dpcli.privacy.loss import loss_text
from dpcli.report.counted import counted
from dpcli.report.flags import flags_of, meaning_of
from dpcli.report.notes import bounding
from dpcli.report.numbers import brief, exact_or_up
from dpcli.report.table import Cell, cells
from dpcli.statistics.flags import Flag

if TYPE_CHECKING:
    from dpcli.ledger.charge import Standing
    from dpcli.release import Release

MARGINS = 4
"""Characters that a table of rich has next to its columns."""

MARKS = {Flag.NONE: "", Flag.UNRELIABLE: "*", Flag.NO_INFORMATION: "**", Flag.SUPPRESSED: "x"}
"""What stands behind a flagged value, as in tables of official statistics; short, for the width."""

SUMMARY_LINES = 40
"""Lines of a statistic after which the summary says how many more there are."""


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
    if drawn and _width(header, plain) + 2 + WIDTH + MARGINS <= get_terminal_size().columns:
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
    from dpcli.report.quality import HEADER, rows_of

    checked = made.checked
    assert checked is not None
    rows = rows_of(made.plan, checked)
    if checked.missed:
        write_table(sys.stderr, "quality check: failed", HEADER, rows, (1, 2, 3, 4))
        return
    what, about, low, high = rows[0][:4]
    print(
        f"quality check: about {about} {what} ({low} to {high}), no minimum missed",
        file=sys.stderr,
    )


def _print_balance(made: Release) -> None:
    """What was spent, and what is left."""
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
