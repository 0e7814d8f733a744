"""`dpcli check`: problems of a spec, of headers, and how readable columns are."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from dpcli.cli.accounts import Request, outlook, sharing_warnings, warn
from dpcli.cli.console import print_json, problem_facts, say
from dpcli.cli.options import AsJson, LedgerFile, Period, SpecFile, checked_day, refuse_option
from dpcli.cli.progress import shown_progress
from dpcli.cli.tables import write_table
from dpcli.columns import CategoryColumn, Column, IdColumn, NumericColumn, OpenColumn
from dpcli.engine.header import require_columns
from dpcli.engine.progress import Progress
from dpcli.engine.source import open_dataset
from dpcli.errors import Failure, UsageError
from dpcli.messages import note
from dpcli.plan.model import Plan
from dpcli.plan.planner import make_plan
from dpcli.plan.quality import is_blind
from dpcli.report.table import visible
from dpcli.spec.load import read_any

if TYPE_CHECKING:
    from dpcli.engine.cells_check import CellsCheck, ColumnCells

NOTICE = """\
CONFIDENTIAL: exact facts about the records. Do not publish, log or share them.
Do not choose bounds, categories or limits by them: that leaks information
outside the guarantee.
"""

SHOWN = 8
"""Texts that are listed before the rest is only counted."""


def check(
    spec: SpecFile,
    data: Annotated[list[str] | None, typer.Argument(metavar="DATA")] = None,
    cells: Annotated[bool, typer.Option("--cells")] = False,
    ledger: LedgerFile = None,
    period: Period = None,
    as_json: AsJson = False,
) -> None:
    """Report every problem of a spec at once; with data, of headers too."""
    period = checked_day(period)
    files = tuple(data or ())
    if cells:
        _require_cells_can_be_shown(files, as_json=as_json)
    found: dict[str, object] = {"spec": str(spec), "data": list(files), "problems": []}
    try:
        plan = make_plan(read_any(spec))
        members = plan.spec.responses if plan.is_local else plan.entries
        what = "response" if plan.is_local else "statistic"
        found |= {"dataset": plan.spec.dataset, f"{what}s": len(members), "warnings": []}
        account = outlook(Request(plan, ledger, spec, period, files))
        if cells:
            # How a file is written does not depend on what its account can pay.
            _show_cells(files, plan)
        account.require()
        if files and not cells:
            with open_dataset(files, plan.spec.dialect) as dataset:
                require_columns(dataset, plan.spec.columns)
    except Failure as failure:
        if as_json:
            print_json(found | {"problems": problem_facts(failure)})
        raise
    blind = not plan.is_local and is_blind(plan)
    shared = sharing_warnings(plan.spec.dataset, account.shared)
    found["warnings"] = [*shared, *warn([note("quality.blind")] if blind else [])]
    if as_json:
        print_json(found)
        return
    say(f"{spec}: {len(members)} {what}{'s' * (len(members) != 1)}, no problems", file=sys.stdout)


def _require_cells_can_be_shown(data: tuple[str, ...], *, as_json: bool) -> None:
    """Raise UsageError for `--cells` without data or without a terminal."""
    if as_json:
        raise refuse_option(
            "`--cells` is for people on a terminal, and `--json` is for scripts",
            "run `dpcli check` once with each of them",
        )
    if not data:
        raise refuse_option(
            "`--cells` reads the cells of data files, and none is named",
            "name them: `dpcli check SPEC DATA --cells`",
        )
    if not sys.stdout.isatty():
        raise UsageError.of(
            "terminal-required",
            "`--cells` shows confidential facts, and standard output is not a terminal",
            "run it on a terminal without `>` or `|`; scripts use `quality:` in the spec instead",
        )


def _show_cells(data: tuple[str, ...], plan: Plan) -> None:
    """Read all rows, and print how readable the columns are: no number and no cell."""
    from dpcli.engine.cells_check import check_cells  # noqa: PLC0415 - loads polars for this alone

    spec = plan.spec
    quality = None if spec.is_local else spec.quality
    with (
        shown_progress(quiet=False) as progress,
        open_dataset(data, spec.dialect, progress) as dataset,
    ):
        require_columns(dataset, spec.columns)
        found = check_cells(
            dataset, spec.columns, quality.min_rows if quality else None, progress or Progress()
        )
    print(NOTICE)
    rows = [
        (visible(one.column.name), one.readable, visible(_remark(one))) for one in found.columns
    ]
    write_table(sys.stdout, "readable cells", ("column", "readable", ""), rows, ())
    print(_rows(found))


def _rows(found: CellsCheck) -> str:
    """Whether there are rows, and as many as declared."""
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
