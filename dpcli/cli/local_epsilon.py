"""`dpcli local epsilon`: the epsilon of a table of probabilities or of noise."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from dpcli.cli.console import print_json
from dpcli.cli.options import AsJson, refuse_first
from dpcli.errors import SpecError, UsageError
from dpcli.fields.numbers import NumberSyntaxError, parse_number
from dpcli.mechanisms.local.local_mechanism import ProbabilityTable
from dpcli.numeric.exact import exact_or_up, readable_text
from dpcli.privacy.amplification import worst_ratio
from dpcli.specification.responses import MAX_BYTES, read_table_file, table_from_csv

EpsilonResult = tuple[dict[str, object], str, str]
"""An epsilon as JSON, as text, and the place where it is reached."""


def epsilon(
    matrix: Annotated[Path | None, typer.Argument(metavar="[MATRIX.csv]")] = None,
    scale: Annotated[str | None, typer.Option(metavar="S")] = None,
    bounds: Annotated[tuple[str, str] | None, typer.Option(metavar="LOW HIGH")] = None,
    as_json: AsJson = False,
) -> None:
    """Print the epsilon of a table of probabilities, or of Laplace noise."""
    noise = (scale, bounds) if scale is not None and bounds is not None else None
    alone = (matrix is None) == (noise is None) or (scale is None) != (bounds is None)
    refuse_first({"bad-option.epsilon-of": alone})
    facts, text, where = (
        _laplace_epsilon(*noise) if noise else _table_epsilon(_table(matrix or Path()))
    )
    if as_json:
        print_json(facts)
    else:
        print(f"epsilon  {text}\nworst    {where}")


def _table(path: Path) -> ProbabilityTable:
    """The table in a file; SpecError with all its problems if it is not a table."""
    piped = str(path) == "-"
    try:
        raw = sys.stdin.buffer.read(MAX_BYTES + 1) if piped else read_table_file(path)
    except (OSError, ValueError):
        raise SpecError.about("table-unreadable.input", path=path) from None
    return table_from_csv(raw, "standard input" if piped else str(path))


def _table_epsilon(table: ProbabilityTable) -> EpsilonResult:
    worst = worst_ratio(table.rows)
    ratio = None if worst.ratio is None else str(worst.ratio)
    text = None if worst.epsilon is None else exact_or_up(worst.epsilon)
    output = table.outputs[worst.output]
    likely, unlikely = table.inputs[worst.likely], table.inputs[worst.unlikely]
    facts: dict[str, object] = {
        "epsilon": text,
        "infinite": worst.epsilon is None,
        "ratio": ratio,
        "output": output,
        "inputs": [likely, unlikely],
        "probabilities": [str(worst.most), str(worst.least)],
    }
    most, least = readable_text(worst.most), readable_text(worst.least)
    where = f"output {output}: probability {most} for input {likely}, {least} for {unlikely}"
    if worst.ratio == 1:
        where = "all inputs have the same probabilities: the outputs reveal nothing"
    return facts, (text or "infinity") + (f" (ln {ratio})" if ratio else ""), where


def _laplace_epsilon(scale: str, bounds: tuple[str, str]) -> EpsilonResult:
    try:
        size, low, high = (parse_number(text) for text in (scale, *bounds))
    except NumberSyntaxError:
        size = low = high = Fraction(0)
    if size <= 0 or low >= high:
        raise UsageError.about("bad-scale", scale=scale, low=bounds[0], high=bounds[1])
    epsilon_value = (high - low) / size
    text = exact_or_up(epsilon_value)
    facts: dict[str, object] = {
        "epsilon": text,
        "infinite": False,
        "ratio": f"exp({epsilon_value})",
    }
    where = f"the bounds themselves, {bounds[0]} and {bounds[1]}, at any output beyond them"
    return facts, text + (f" ({epsilon_value})" if epsilon_value.denominator > 1 else ""), where
