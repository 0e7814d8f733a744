"""`dpcli check`: every problem of a spec, and whether headers fit it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def check(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="The spec, a YAML file.")],
    data: Annotated[
        list[str] | None,
        typer.Argument(metavar="DATA", help="CSV or Parquet files; only headers are read."),
    ] = None,
) -> None:
    """Report every problem of SPEC at once; with DATA, of headers too.

    Each problem has a code, its place in SPEC and a hint; `dpcli explain CODE` tells more.
    Reads SPEC and the headers of DATA, no rows. Writes and spends nothing.

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

    plan = make_any_plan(read_any(spec))
    require_budget(plan)
    if data:
        from dpcli.engine.header import require_columns
        from dpcli.engine.source import open_dataset

        with open_dataset(tuple(data), plan.spec.dialect) as dataset:
            require_columns(dataset, plan.spec.columns)
    count, what = (
        (len(plan.spec.responses), "response")
        if isinstance(plan, LocalPlan)
        else (len(plan.entries), "statistic")
    )
    typer.echo(f"{spec}: {count} {what}{'s' * (count != 1)}, no problems")
