"""The summary of a release that a terminal shows: its values, and what is left."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, TextIO

from dpcli.cli.console import print_line
from dpcli.cli.terminal import (
    BUDGET_BAR_LEGEND,
    budget_bar,
    can_draw_bars,
    interval_line,
    write_table,
)
from dpcli.ledger.charge import Receipt
from dpcli.numeric.exact import short_or_up
from dpcli.privacy.loss import Loss, loss_text, remaining_text
from dpcli.report.captions import QUALITY_COLUMNS, heading_text
from dpcli.report.digits import Digits, any_rounded, number_writer, reader_of
from dpcli.report.notes import comparison_notes, left_out_notes, quality_note
from dpcli.report.numbers import CellText, NumberTable, flags_of, number_of
from dpcli.report.report import Report
from dpcli.report.statistic import nothing_selected
from dpcli.statistics.postprocessing import Flag

if TYPE_CHECKING:
    from dpcli.report.first_counts import QualityReport
    from dpcli.report.statistic import StatisticReport

MARKS = {
    "": "",
    Flag.SUPPRESSED: "x",
    Flag.NO_INFORMATION: "**",
    Flag.UNRELIABLE: "*",
    # Of earlier versions.
    "limited": "+",
}
"""The mark after a flagged value, as in tables of official statistics."""

SUMMARY_LINES = 40

INTERVAL = ""


def print_summary(
    report: Report,
    receipt: Receipt | None,
    *,
    shown: bool,
    quiet: bool = False,
    digits: Digits = "interval",
) -> None:
    """Print values and balance on standard error; no balance without a `receipt`.

    If `shown`, the values go to standard output in place of the table. They have these `digits`.
    """
    if report.release.quality and not quiet:
        _print_quality(report.release.quality, report)
    if report.numbers and (shown or not quiet):
        _print_values(report, sys.stdout if shown else sys.stderr, digits)
        sys.stdout.flush()
    if quiet:
        return
    if report.numbers:
        for text in _notes(report):
            print(text, file=sys.stderr)
        if any_rounded((cell for numbers in report.numbers for cell in _shown(numbers)), digits):
            print_line(
                "the numbers above are rounded to what their intervals support; `--digits "
                "all` shows all, as tables and JSON have them"
            )
    if receipt is None:
        return
    print(spent_text(report.release.privacy.spent.loss, receipt), file=sys.stderr)
    if report.numbers and can_draw_bars(sys.stderr):
        before, after, budget = receipt.before, receipt.balance.spent, receipt.balance.budget
        measure, first, last, allowed = "epsilon", before.epsilon, after.epsilon, budget.epsilon
        if budget.rho is not None and before.rho is not None and after.rho is not None:
            measure, first, last, allowed = "rho", before.rho, after.rho, budget.rho
        print(
            f"{measure:7} {budget_bar(first, last - first, allowed)}\n        {BUDGET_BAR_LEGEND}",
            file=sys.stderr,
        )


def spent_text(spent: Loss, receipt: Receipt) -> str:
    """What a release spent, and what its account has left."""
    left, budget = remaining_text(receipt.balance.remaining), loss_text(receipt.balance.budget)
    entry = f"entry {receipt.entry:,} of {receipt.ledger}"
    return f"spent {loss_text(spent)}; {left} left of {budget} ({entry})"


def _print_quality(check: QualityReport, report: Report) -> None:
    rows = [dict(zip(QUALITY_COLUMNS, row, strict=True)) for row in check.table]
    if not check.passed:
        write_table(sys.stderr, "quality check: failed", rows)
        return
    print_line(quality_note(check, report))


def _print_values(report: Report, out: TextIO, digits: Digits) -> None:
    room = max((len(MARKS[flag]) for flag in _flags(report)), default=0)
    stated = report.release
    rows = [
        row
        for statistic, numbers in zip(stated.statistics, report.numbers, strict=True)
        for row in _statistic_rows(statistic, numbers, report, room, digits)
    ]
    if not can_draw_bars(out):
        rows = [{name: text for name, text in row.items() if name != INTERVAL} for row in rows]
    title = f"release {stated.release_id} of {stated.spec.dataset}"
    write_table(out, title, rows, (INTERVAL,))
    for line in _caption_lines(report):
        print(line, file=out)


def _caption_lines(report: Report) -> Iterator[str]:
    """Title and note of the spec, then one line per statistic that has a caption."""
    stated = report.release
    yield from filter(None, (stated.spec.title, stated.spec.note))
    for statistic in stated.statistics:
        called = heading_text(statistic.name, statistic)
        if called != statistic.name or statistic.note:
            words = f"{statistic.name}: {called}" if statistic.title else called
            yield "; ".join(filter(None, (words, statistic.note)))


def _statistic_rows(
    statistic: StatisticReport,
    numbers: Sequence[NumberTable],
    report: Report,
    room: int,
    digits: Digits,
) -> Iterator[dict[str, str]]:
    """The lines of a statistic; each value has `room` for its marks."""
    cells, read = _shown(numbers), reader_of(digits)
    count = sum(len(table.frame) for table in numbers)
    drawn = _drawn_intervals(cells)
    percent, written = report.percent, number_writer(report.stated.spec.numbers)
    names = ("statistic", "of", "group", "value", f"lower {percent}", f"upper {percent}")
    before = ""
    for index, cell in enumerate(cells):
        what = "" if index else statistic.counts
        name = "" if cell.statistic == before else cell.statistic
        before = cell.statistic
        mark = MARKS[cell.flag].ljust(room)
        said = read(cell)
        value, *ends = map(written, (said.value, said.lower, said.upper))
        texts = (name, what, ", ".join(cell.labels), f"{value}{mark}", *ends)
        epsilon = "" if index else short_or_up(Fraction(statistic.epsilon))
        yield dict(zip(names, texts, strict=True)) | {"epsilon": epsilon, INTERVAL: drawn[index]}
    if count > SUMMARY_LINES:
        more = f"... {count - SUMMARY_LINES:,} more"
        yield dict.fromkeys((*names, "epsilon", INTERVAL), "") | {"group": more}


def _shown(numbers: Sequence[NumberTable]) -> list[CellText]:
    return [cell for table in numbers for cell in table.cells(SUMMARY_LINES)][:SUMMARY_LINES]


def _drawn_intervals(shown: Sequence[CellText]) -> list[str]:
    """Each value in its interval, all on one scale; empty if no cell has an interval."""
    if not any(cell.lower for cell in shown):
        return [""] * len(shown)
    drawn = [
        [number_of(text) if text else None for text in (cell.value, cell.lower, cell.upper)]
        for cell in shown
    ]
    numbers = [number for ends in drawn for number in ends if number is not None]
    low, high = min(numbers), max(numbers)
    return [interval_line(ends, low, high) for ends in drawn]


def _flags(report: Report) -> set[str]:
    return flags_of([table for numbers in report.numbers for table in numbers])


def _notes(report: Report) -> Iterator[str]:
    """What numbers are about if rows are left out of them, and what marks mean."""
    stated = report.release
    if any(statistic.between for statistic in stated.statistics):
        yield from comparison_notes(report)
    yield from left_out_notes(report)
    fewer = "" if stated.privacy.unit == "row" else "fewer `max_groups`, or "
    for statistic, numbers in zip(stated.statistics, report.numbers, strict=True):
        if nothing := nothing_selected(statistic, numbers[0]):
            own = statistic.keys is not None and statistic.keys.threshold is not None
            advice = f" The threshold falls with {fewer}more epsilon" * own
            yield f"{statistic.name}: {nothing}{advice}"
    yield from stated.sample.notes[1:2] if stated.sample else ()
    shown = _flags(report)
    for flag, meaning in stated.flags.meanings.items():
        if flag in shown:
            yield f"{MARKS[flag]} {meaning}"
