"""`dpcli check --cells`: how readable columns are, on a terminal alone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from dpcli.cli.console import write_table
from dpcli.cli.progress import shown_progress
from dpcli.columns import CategoryColumn, Column, IdColumn, NumericColumn, OpenColumn
from dpcli.engine.cells_check import CellsCheck, ColumnCells, check_cells
from dpcli.engine.header import require_columns
from dpcli.engine.progress import Progress
from dpcli.engine.source import open_dataset
from dpcli.errors import UsageError
from dpcli.report.table import visible

if TYPE_CHECKING:
    from dpcli.plan.model import Plan

NOTICE = """\
CONFIDENTIAL: exact facts about the records. Do not publish, log or share them.
Do not choose bounds, categories or limits by them: that leaks information
outside the guarantee.
"""

SHOWN = 8
"""Texts that are listed before the rest is only counted."""


def require_terminal() -> None:
    """Raise UsageError unless standard output is a terminal."""
    if not sys.stdout.isatty():
        raise UsageError.of(
            "terminal-required",
            "`--cells` shows confidential facts, and standard output is not a terminal",
            "run it on a terminal without `>` or `|`; scripts use `quality:` in the spec instead",
        )


def show_cells(data: tuple[str, ...], plan: Plan) -> None:
    """Read all rows, and print how readable the columns are."""
    spec = plan.spec
    quality = spec.quality if not spec.is_local else None
    with (
        shown_progress(quiet=False) as progress,
        open_dataset(data, spec.dialect, progress) as dataset,
    ):
        require_columns(dataset, spec.columns)
        found = check_cells(
            dataset, spec.columns, quality.min_rows if quality else None, progress or Progress()
        )
    _print(found)


def _print(found: CellsCheck) -> None:
    """What can be read of each column, in words; no number and no cell."""
    print(NOTICE)
    rows = [
        (visible(one.column.name), one.readable, visible(_remark(one))) for one in found.columns
    ]
    write_table(sys.stdout, "readable cells", ("column", "readable", ""), rows, ())
    print(_rows(found))


def _rows(found: CellsCheck) -> str:
    """How many rows there are, against what is declared."""
    if not found.has_rows:
        return "rows: none"
    if found.enough_rows is None:
        return "rows: some; `quality: {min_rows: ...}` declares how many to expect"
    return f"rows: {'at least' if found.enough_rows else 'fewer than'} `min_rows`"


def _remark(one: ColumnCells) -> str:
    """What is expected of cells that cannot be read, and which declared texts never occur."""
    words = [] if one.readable == "all" else [f"expected {_expected(one.column)}"]
    if one.absent:
        listed = ", ".join(one.absent[:SHOWN])
        more = len(one.absent) - SHOWN
        words.append(f"never occurs: {listed}" + (f" and {more:,} more" if more > 0 else ""))
    return "; ".join(words)


def _expected(column: Column) -> str:
    """What a readable cell looks like."""
    match column:
        case NumericColumn(kind="date"):
            return "YYYY-MM-DD; dates in another order are not read"
        case NumericColumn():
            return (
                "digits with a decimal point (or what `csv: {decimal: ...}` declares), without a "
                "unit, currency sign or thousands separator"
            )
        case CategoryColumn():
            return "one of the declared texts, to the letter"
        case OpenColumn():
            return "a text of at most 1,000 visible characters"
        case IdColumn():
            return "a text that is not blank"
