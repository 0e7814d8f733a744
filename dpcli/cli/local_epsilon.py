"""`dpcli local epsilon`: what a table of probabilities or Laplace noise reveals."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dpcli.randomizers.table import Table


def epsilon(
    matrix: Annotated[
        Path | None,
        typer.Argument(metavar="[MATRIX.csv]", help="A row for each input, a column per output."),
    ] = None,
    scale: Annotated[
        str | None, typer.Option(metavar="S", help="Of Laplace noise that was added.")
    ] = None,
    bounds: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="LOW HIGH", help="Of the numbers that it was added to."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON, for scripts.")] = False,
) -> None:
    r"""Print the epsilon of a table of probabilities.

    And which inputs it tells apart best, by which output. MATRIX.csv (or - for stdin) names
    the outputs in its first line and an input at the beginning of each other line;
    probabilities are decimals of up to 18 digits or fractions such as 1/3, and each row sums
    to one. A file of numbers alone needs no names. With --scale and --bounds, the same for
    Laplace noise of that scale on a number between these bounds. Spends nothing.

    Examples:
        dpcli local epsilon --scale 3 --bounds 18 100
        printf '3/4,1/4\n1/4,3/4\n' | dpcli local epsilon -
        dpcli local epsilon coins.csv --json

    Exits 3 if the table is none.

    See also: dpcli explain matrix, dpcli explain epsilon
    """
    from dpcli.errors import UsageError

    noise = [scale is not None, bounds is not None]
    if any(noise) if matrix is not None else not all(noise):
        raise UsageError.of(
            "bad-option",
            "an epsilon is that of a table, or of a scale with bounds",
            "write `dpcli local epsilon MATRIX.csv`, or `--scale 3 --bounds 18 100`",
        )
    if matrix is None:
        assert scale is not None
        assert bounds is not None
        _of_laplace(scale, bounds, as_json=as_json)
        return
    _of_table(_table(matrix), as_json=as_json)


def _table(path: Path) -> Table:
    """The table in a file; SpecError with all its problems if it is none."""
    from dpcli.errors import Problem, SpecError
    from dpcli.spec.chances import MOST_BYTES, read_bytes, table_of

    piped = str(path) == "-"
    try:
        raw = sys.stdin.buffer.read(MOST_BYTES + 1) if piped else read_bytes(path)
    except (OSError, ValueError):
        raise SpecError(
            [
                Problem(
                    "table-unreadable",
                    f"the file of the table, `{path}`, cannot be read",
                    "check its name and permissions",
                )
            ]
        ) from None
    table, findings = table_of(raw, "standard input" if piped else str(path))
    if table is None:
        raise SpecError(findings.problems)
    return table


def _of_table(table: Table, *, as_json: bool) -> None:
    """The worst ratio of a table."""
    from dpcli.privacy.decimals import plain_text
    from dpcli.privacy.ratio import worst_ratio
    from dpcli.report.numbers import exact_or_up

    worst = worst_ratio(table.rows)
    ratio = None if worst.ratio is None else str(worst.ratio)
    text = "infinity" if worst.epsilon is None else exact_or_up(worst.epsilon)
    output, likely, unlikely = (
        table.outputs[worst.output],
        table.inputs[worst.likely],
        table.inputs[worst.unlikely],
    )
    if as_json:
        from dpcli.cli.console import print_json

        print_json(
            {
                "epsilon": None if worst.epsilon is None else text,
                "infinite": worst.epsilon is None,
                "ratio": ratio,
                "output": output,
                "inputs": [likely, unlikely],
                "probabilities": [str(worst.most), str(worst.least)],
            }
        )
        return
    print(f"epsilon  {text}" + (f" (ln {ratio})" if ratio else ""))
    if worst.ratio == 1:
        print("worst    all inputs have the same probabilities: the outputs tell nothing")
        return
    most, least = plain_text(worst.most), plain_text(worst.least)
    print(
        f"worst    output {output}: probability {most} for input {likely}, {least} for {unlikely}"
    )
    sys.stdout.flush()


def _of_laplace(scale: str, bounds: tuple[str, str], *, as_json: bool) -> None:
    """Width over scale."""
    from dpcli.cli.console import print_json
    from dpcli.errors import UsageError
    from dpcli.report.numbers import exact_or_up
    from dpcli.spec.numbers import NotReadable, number

    try:
        size, low, high = (number(text) for text in (scale, *bounds))
    except NotReadable:
        size = low = high = Fraction(0)
    if size <= 0 or low >= high:
        raise UsageError.of(
            "bad-scale",
            f"the scale `{scale}` with the bounds `{bounds[0]}` and `{bounds[1]}` is no noise on a "
            "bounded number",
            "give a scale above zero, and the lower bound before the upper, as decimals",
        )
    found = (high - low) / size
    told = exact_or_up(found)
    if as_json:
        print_json({"epsilon": told, "infinite": False, "ratio": f"exp({found})"})
        return
    print(f"epsilon  {told}" + (f" ({found})" if found.denominator > 1 else ""))
    print(f"worst    the bounds themselves, {bounds[0]} and {bounds[1]}, at any output beyond them")
