"""`dpcli check`: every problem of a spec, and whether headers fit it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpcli.cli.options import Book, Period

if TYPE_CHECKING:
    from dpcli.plan.model import Plan


def check(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="The spec, a YAML file.")],
    data: Annotated[
        list[str] | None,
        typer.Argument(metavar="DATA", help="CSV or Parquet files; only headers are read."),
    ] = None,
    cells: Annotated[
        bool,
        typer.Option("--cells", help="Confidential, on a terminal: how readable columns are."),
    ] = False,
    ledger: Book = None,
    period: Period = None,
) -> None:
    """Report every problem of SPEC at once; with DATA, of headers too.

    Each problem has a code, its place in SPEC and a hint; `dpcli explain CODE` explains it. Also
    whether the account of SPEC would accept a release now. Reads SPEC, its ledger and the
    headers of DATA, no rows. Writes and spends nothing.

    With --cells it reads all rows and shows, on a terminal only, whether all, most, some or
    none of the cells of each column can be read as declared, and which declared texts never
    occur. This is confidential, and no basis for choosing bounds; it changes no exit status.

    Examples:
        dpcli check specs/minimal.yaml
        dpcli check specs/town.yaml sample_data/people.csv
        head -n 1 sample_data/people.csv | dpcli check specs/town.yaml -
        # in a script, or before a commit:
        for spec in specs/town*.yaml; do dpcli check "$spec" || exit; done

    Exits 3 for SPEC, 4 for the header; 5 or 6 where `dpcli release` would.

    See also: dpcli init, dpcli plan, dpcli explain
    """
    from dpcli.cli.account import Asked, outlook
    from dpcli.cli.charging import warn_of_sharing
    from dpcli.cli.terminal import say
    from dpcli.cli.words import checked_day
    from dpcli.plan.planner import make_plan
    from dpcli.report.quality import BLIND, is_blind
    from dpcli.spec.load import read_any

    period = checked_day(period)
    if cells:
        _require_cells_can_be_shown(data)
    plan = make_plan(read_any(spec))
    found = outlook(Asked(plan, ledger, spec, period, data or ()))
    warn_of_sharing(plan.spec.dataset, found.shared)
    if cells:
        # How a file is written does not depend on what its account can pay.
        _check_data(tuple(data or ()), plan, cells=True)
    found.require()
    if data and not cells:
        _check_data(tuple(data), plan, cells=False)
    count, what = (
        (len(plan.spec.responses), "response")
        if plan.is_local
        else (len(plan.entries), "statistic")
    )
    if not plan.is_local and is_blind(plan):
        say(f"warning: {BLIND}")
    say(f"{spec}: {count} {what}{'s' * (count != 1)}, no problems", file=sys.stdout)


def _require_cells_can_be_shown(data: list[str] | None) -> None:
    """Raise UsageError for `--cells` without data or without a terminal."""
    from dpcli.cli.cells import require_terminal
    from dpcli.errors import UsageError

    if not data:
        raise UsageError.of(
            "bad-option",
            "`--cells` reads the cells of data files, and none is named",
            "name them: `dpcli check SPEC DATA --cells`",
        )
    require_terminal()


def _check_data(data: tuple[str, ...], plan: Plan, *, cells: bool) -> None:
    """Whether the headers have every column, and with `cells` how readable these are."""
    from dpcli.engine.header import require_columns
    from dpcli.engine.source import open_dataset

    if cells:
        from dpcli.cli.cells import show_cells

        show_cells(data, plan)
        return
    with open_dataset(data, plan.spec.dialect) as dataset:
        require_columns(dataset, plan.spec.columns)
