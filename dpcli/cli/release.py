"""`dpcli release`: the whole flow, from a spec and a file to a noisy table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from dpcli.plan import Plan
    from dpcli.release import Release


def release(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="The spec, a YAML file.")],
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="The CSV file, `.gz` allowed, or - for stdin.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="OUT.csv", help="The noisy table [stdout]."),
    ] = None,
    report: Annotated[
        list[Path] | None,
        typer.Option(
            "--report", metavar="PATH", help="A privacy report, .json or .md; repeatable."
        ),
    ] = None,
    release_id: Annotated[
        str | None, typer.Option("--release-id", metavar="ID", help="Name of this release.")
    ] = None,
    layout: Annotated[
        Literal["long", "wide"], typer.Option(help="One long table, or one per set of keys.")
    ] = "long",
    force: Annotated[bool, typer.Option("--force", help="Replace outputs that exist.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No summary on stderr.")] = False,
) -> None:
    """Aggregate DATA as SPEC asks, add noise, and write a noisy table and a report.

    The table goes to stdout, or to OUT with a report beside it; everything else goes
    to stderr. The budget is checked before DATA is opened.

    Example: dpcli release specs/town.yaml sample_data/people.csv -o noisy.csv
    """
    from dpcli.plan import make_plan, require_budget
    from dpcli.publish import publish, publish_to_stdout, require_writable
    from dpcli.report.formats import report_format
    from dpcli.spec.load import read_spec

    reports = list(report or ())
    if output is not None and not reports:
        reports = [output.with_name(output.name.removesuffix(".csv") + ".report.json")]
    writers = {path: report_format(path) for path in reports}
    plan = make_plan(read_spec(spec))
    require_budget(plan)
    tables = _table_paths(plan, output, layout)
    inputs = [spec] if data == "-" else [spec, Path(data)]
    require_writable([*tables.values(), *reports], inputs, force=force)

    from dpcli.release import new_release_id
    from dpcli.release import release as make_release
    from dpcli.report.table import long_table, wide_tables

    made = make_release(plan, data, release_id or new_release_id())
    contents = {"": long_table(made)} if layout == "long" else wide_tables(made)
    files = {tables[name]: content for name, content in contents.items() if name in tables}
    files |= {path: write(made) for path, write in writers.items()}
    publish(files)
    if not tables:
        publish_to_stdout(b"\n".join(contents.values()))
    if not quiet:
        _summary(made)


def _table_paths(plan: Plan, output: Path | None, layout: str) -> dict[str, Path]:
    """Where each table goes: OUT, or one file per set of keys beside it."""
    if output is None:
        return {}
    if layout == "long":
        return {"": output}
    from dpcli.report.table import wide_names

    names = wide_names(plan)
    if len(names) == 1:
        return {names[0]: output}
    stem = output.name.removesuffix(".csv")
    return {name: output.with_name(f"{stem}.{name}.csv") for name in names}


SUMMARY_LINES = 40
"""Lines of a statistic after which the summary says how many more there are."""


def _summary(made: Release) -> None:
    """Values, intervals and epsilon on standard error."""
    from dpcli.cli.console import write_table
    from dpcli.plan import exact_text
    from dpcli.report.numbers import exact_or_up
    from dpcli.report.table import cells

    rows: list[tuple[str, ...]] = []
    for released in made.entries:
        epsilon = exact_text(released.planned.entry.target.epsilon)
        for position, cell in enumerate(cells(released)):
            if position == SUMMARY_LINES:
                rows.append(("", f"... {released.planned.cells - position} more", "", "", "", ""))
                break
            group = ", ".join((*cell.keys.values(), *([cell.item] if cell.item else [])))
            name = "" if position else cell.statistic
            price = "" if position else epsilon
            rows.append((name, group, cell.value, cell.lower, cell.upper, price))
    plan = made.plan
    percent = exact_or_up(plan.spec.confidence * 100)
    header = ("statistic", "group", "value", f"lower {percent}%", f"upper {percent}%", "epsilon")
    title = f"release {made.release_id} of {plan.spec.dataset}"
    write_table(sys.stderr, title, header, rows, (2, 3, 4, 5))
    budget = plan.spec.privacy.budget
    parts = [f"epsilon {exact_text(plan.spent.epsilon)} of {exact_text(budget.epsilon)}"]
    if plan.spent.delta:
        parts.append(f"delta {exact_text(plan.spent.delta)} of {exact_text(budget.delta)}")
    print("spent " + ", ".join(parts), file=sys.stderr)
