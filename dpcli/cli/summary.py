"""The summary of a release: values, intervals, and the budget."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TextIO

from dpcli.cli.console import tell
from dpcli.cli.tables import KEY, budget, draws, interval, write_table
from dpcli.ledger.charge import Standing
from dpcli.messages import note
from dpcli.plan.notes import bounding, counted
from dpcli.plan.numbers import brief, exact_or_up
from dpcli.privacy.loss import Loss, loss_text
from dpcli.release import Release, Released
from dpcli.report.entry_facts import QUALITY_COLUMNS, quality_rows
from dpcli.report.published import Cell, flags_of, meaning_of, published_numbers
from dpcli.statistics.post import Flag

MARKS = {Flag.NONE: "", Flag.UNRELIABLE: "*", Flag.NO_INFORMATION: "**", Flag.SUPPRESSED: "x"}
"""What follows a flagged value, as in tables of official statistics; short, for the width."""

SUMMARY_LINES = 40
"""Lines of a statistic after which the summary only counts the rest."""

INTERVAL = ""
"""The heading of intervals that are drawn."""


def print_summary(made: Release, *, shown: bool, quiet: bool) -> None:
    """Values and balance on standard error; if `shown`, the values in place of the table."""
    if made.checked is not None and not quiet:
        _print_quality(made)
    if made.entries and (shown or not quiet):
        _print_values(made, sys.stdout if shown else sys.stderr)
        sys.stdout.flush()
    if quiet:
        return
    if made.entries:
        for text in _notes(made):
            print(text, file=sys.stderr)
    standing = made.standing
    print(spent_text(made.plan.spent, standing), file=sys.stderr)
    if made.entries and draws(sys.stderr):
        before, after, whole = standing.before, standing.balance.spent, standing.balance.budget
        word, first, last, most = "epsilon", before.epsilon, after.epsilon, whole.epsilon
        if whole.rho is not None and before.rho is not None and after.rho is not None:
            word, first, last, most = "rho", before.rho, after.rho, whole.rho
        print(f"{word:7} {budget(first, last - first, most)}\n        {KEY}", file=sys.stderr)


def spent_text(spent: Loss, standing: Standing) -> str:
    """What a release spent, and what its account has left."""
    left, budget = loss_text(standing.balance.remaining), loss_text(standing.balance.budget)
    facts = {"left": left, "budget": budget, "entry": standing.entry, "ledger": standing.ledger}
    return note("notice.spent", spent=loss_text(spent), **facts)


def _print_quality(made: Release) -> None:
    assert made.checked is not None
    rows = list(quality_rows(made.plan, made.checked))
    if made.checked.missed:
        table = [dict(zip(QUALITY_COLUMNS, row, strict=True)) for row in rows]
        write_table(sys.stderr, "quality check: failed", table)
        return
    what, about, low, high = rows[0][:4]
    tell("quality", about=about, what=what, low=low, high=high)


def _print_values(made: Release, out: TextIO) -> None:
    room = max((len(MARKS[flag]) for flag in _flags(made)), default=0)
    rows = [row for released in made.entries for row in _rows(released, made, room)]
    if not draws(out):
        rows = [{name: text for name, text in row.items() if name != INTERVAL} for row in rows]
    title = f"release {made.release_id} of {made.plan.spec.dataset}"
    write_table(out, title, rows, (INTERVAL,))


def _rows(released: Released, made: Release, room: int) -> Iterator[dict[str, str]]:
    """The lines of a statistic; each value has `room` for its marks."""
    numbers = published_numbers(released)
    every = [cell for one in numbers for cell in one.cells(SUMMARY_LINES)]
    count = sum(len(one.frame) for one in numbers)
    percent = exact_or_up(made.plan.spec.confidence * 100)
    drawn = _drawn(every[:SUMMARY_LINES])
    names = ("statistic", "of", "group", "value", f"lower {percent}%", f"upper {percent}%")
    before = ""
    for place, cell in enumerate(every[:SUMMARY_LINES]):
        what = "" if place else counted(released.planned, made.plan.spec)
        name = "" if cell.statistic == before else cell.statistic
        before = cell.statistic
        mark = MARKS[cell.flag].ljust(room)
        texts = (name, what, ", ".join(cell.labels), f"{cell.value}{mark}", cell.lower, cell.upper)
        price = "" if place else brief(released.planned.target.epsilon)
        yield dict(zip(names, texts, strict=True)) | {"epsilon": price, INTERVAL: drawn[place]}
    if count > SUMMARY_LINES:
        more = note("notice.more", count=count - SUMMARY_LINES)
        yield dict.fromkeys((*names, "epsilon", INTERVAL), "") | {"group": more}


def _drawn(shown: Sequence[Cell]) -> list[str]:
    """Each value in its interval, on one scale; blank where the number is only a rank."""
    texts = [text for cell in shown for text in (cell.value, cell.lower, cell.upper) if text]
    if not any(cell.lower for cell in shown):
        return [""] * len(shown)
    low, high = min(map(Fraction, texts)), max(map(Fraction, texts))
    return [interval(one.value, one.lower, one.upper, low, high) for one in shown]


def _flags(made: Release) -> list[Flag]:
    """The flags of all numbers."""
    return flags_of([one for released in made.entries for one in published_numbers(released)])


def _notes(made: Release) -> Iterator[str]:
    """What is left out of the table, and what its marks mean."""
    yield from bounding(made.plan)[:1]
    for flag in _flags(made):
        yield f"{MARKS[flag]} {meaning_of(flag, made.plan.spec.confidence)}"
