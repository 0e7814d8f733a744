"""`dpcli check`: every problem of a spec, and whether headers fit it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dpcli.plan.local import AnyPlan


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
) -> None:
    """Report every problem of SPEC at once; with DATA, of headers too.

    Each problem has a code, its place in SPEC and a hint; `dpcli explain CODE` tells more.
    Reads SPEC and the headers of DATA, no rows. Writes and spends nothing. With --cells it
    reads all rows and shows, on a terminal only, whether all, most, some or none of the
    cells of each column can be read as declared, and which declared texts never occur. This
    is confidential, and no basis for choosing bounds; it changes no exit status.

    Examples:
        dpcli check specs/minimal.yaml
        dpcli check specs/town.yaml sample_data/people.csv
        head -n 1 sample_data/people.csv | dpcli check specs/town.yaml -
        # in a script, or before a commit:
        for spec in specs/town*.yaml; do dpcli check "$spec" || exit; done

    Exits 3 for SPEC, 4 for the header, 5 for the budget.

    See also: dpcli init, dpcli plan, dpcli explain
    """
    from dpcli.plan.budget import require_budget
    from dpcli.plan.local import LocalPlan, make_any_plan
    from dpcli.spec.load import read_any

    if cells:
        _require_cells_can_be_shown(data)
    plan = make_any_plan(read_any(spec))
    require_budget(plan)
    if data:
        _check_data(tuple(data), plan, cells=cells)
    count, what = (
        (len(plan.spec.responses), "response")
        if isinstance(plan, LocalPlan)
        else (len(plan.entries), "statistic")
    )
    typer.echo(f"{spec}: {count} {what}{'s' * (count != 1)}, no problems")


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


def _check_data(data: tuple[str, ...], plan: AnyPlan, *, cells: bool) -> None:
    """Whether the headers have every column, and with `cells` how readable these are."""
    from dpcli.engine.header import require_columns
    from dpcli.engine.source import open_dataset

    if cells:
        from dpcli.cli.cells import show_cells

        show_cells(data, plan)
        return
    with open_dataset(data, plan.spec.dialect) as dataset:
        require_columns(dataset, plan.spec.columns)
