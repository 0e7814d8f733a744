"""Options that several commands have, and checks of their values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal

import typer

from dpcli.composition import COMPOSITIONS
from dpcli.dialect import Dialect
from dpcli.errors import Problem, SpecError, UsageError
from dpcli.ledger.balance import period_number
from dpcli.numbers import NotReadable, number
from dpcli.privacy.concentrated import zcdp_epsilon
from dpcli.privacy.loss import Loss
from dpcli.privacy.relation import PersonUnit, RowUnit, unit_text
from dpcli.publish import is_device, require_writable
from dpcli.spec.csv_section import load_dialect
from dpcli.spec.names import dataset_fault
from dpcli.values import LEAST_EPSILON, LEAST_RHO, MOST_BUDGET

SpecFile = Annotated[Path, typer.Argument(metavar="SPEC")]
DataFiles = Annotated[list[str], typer.Argument(metavar="DATA")]
Table = Annotated[Path | None, typer.Option("--output", "-o", metavar="OUT.csv")]
Layout = Literal["long", "wide"]
Reports = Annotated[list[Path] | None, typer.Option("--report", metavar="PATH")]
Format = Annotated[str | None, typer.Option("--format", metavar="NAME")]
ReleaseId = Annotated[str | None, typer.Option("--release-id", metavar="ID")]


LedgerFile = Annotated[
    Path | None, typer.Option("--ledger", metavar="PATH", envvar="DPCLI_LEDGER", show_envvar=False)
]
Period = Annotated[str | None, typer.Option("--period", metavar="YYYY-MM-DD")]
Force = Annotated[bool, typer.Option("--force")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q")]
AsJson = Annotated[bool, typer.Option("--json")]


def input_file(data: str) -> Path:
    """The file that a command reads; no output may replace standard input either."""
    return Path("/dev/stdin" if data == "-" else data)


def input_files(data: Sequence[str]) -> list[Path]:
    """The files that a command reads."""
    return [input_file(name) for name in data]


def require_new(output: Path, source: Path) -> None:
    """Raise UsageError for an output that exists already, is the input, or cannot be written."""
    try:
        require_writable([output], [source], force=is_device(output))
    except UsageError as refused:
        hint = "name a file that does not exist yet: this command replaces none"
        raise UsageError(
            replace(one, hint=hint) if one.code == "output-exists" else one
            for one in refused.problems
        ) from None


def refuse_option(message: str, hint: str) -> UsageError:
    """The error for an option that does not go with the others."""
    return UsageError.of("bad-option", message, hint)


def checked_day(period: str | None) -> str | None:
    """A period as it was written; UsageError unless it is a day."""
    if period is None:
        return None
    try:
        period_number(period)
    except ValueError:
        raise UsageError.of(
            "not-a-day", f"the period `{period}` is not a day", "write it as YYYY-MM-DD"
        ) from None
    return period


def require_whole(*given: tuple[str, int, int, int]) -> None:
    """Raise UsageError for options with a number below the least or above the most."""
    problems = [
        Problem(
            "number-beyond-limits",
            f"`{option}` is {value}, expected a whole number from {least:,} to {most:,}",
            f"write `{option}` with a number in that range",
        )
        for option, value, least, most in given
        if not least <= value <= most
    ]
    if problems:
        raise UsageError(problems)


def checked_id(release_id: str | None) -> str | None:
    """A release id as it was written; UsageError unless it is a plain word."""
    if release_id is None or re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}", release_id):
        return release_id
    raise UsageError.of(
        "bad-release-id",
        "the release id is not a plain word",
        "use up to 100 letters, digits, `.`, `_`, `:` and `-`",
    )


def checked_name(dataset: str) -> str:
    """The name of a dataset as a spec would write it; UsageError for another."""
    fault = dataset_fault(dataset)
    if fault is None:
        return dataset
    raise UsageError.of(
        "bad-dataset",
        f"the name of the dataset is not one that a spec can have: expected {fault.expected}",
        fault.hint,
    )


def checked_unit(unit: str, *, each: bool) -> str:
    """A unit as accounts name it: `row`, or people by a column; UsageError otherwise."""
    if unit and (unit != "row" or not each):
        return unit_text(RowUnit() if unit == "row" else PersonUnit(unit, 1, 1, 1, each))
    raise UsageError.of(
        "bad-unit",
        "`--each` is for people, and the unit is rows" if unit else "the unit has no name",
        "write `--unit COLUMN` with the column of the people's ids",
    )


def checked_budget(epsilon: str | None, rho: str | None, delta: str, composition: str) -> Loss:
    """A budget from its words, exactly; UsageError unless the composition takes it."""
    rule = next(one for one in COMPOSITIONS if one.name == composition)
    size, least = (epsilon, LEAST_EPSILON) if rho is None else (rho, LEAST_RHO)
    try:
        found = Loss(number(size or ""), number(delta))
    except NotReadable:
        found = Loss(Fraction(0))
    good = least <= found.epsilon <= MOST_BUDGET and 0 <= found.delta < 1
    if (epsilon is None) == (rho is None) or not good:
        kind = "epsilon" if rho is None else "rho"
        kind = "epsilon" if rho is None else "rho"
        raise UsageError.of(
            "bad-budget",
            "a budget is one of --epsilon and --rho"
            if (epsilon is None) == (rho is None)
            else f"{kind} `{size}` with delta `{delta}` is no budget",
            "give --epsilon, a decimal from 1e-12 to 1000, or --rho, and a delta from 0 to below 1",
        )
    if rule.needs_delta and not found.delta:
        raise UsageError.of(
            "bad-budget",
            f"{composition} composition needs a delta in the budget",
            "add `--delta 1e-6`, or another delta far below one divided by the number of people",
        )
    if rho is None:
        return found
    if composition != "zcdp":
        raise UsageError.of(
            "bad-budget",
            f"{composition} composition does not bound a rho",
            "use `--composition zcdp`, or give --epsilon",
        )
    return Loss(zcdp_epsilon(found.epsilon, found.delta), found.delta, found.epsilon)


def checked_dialect(
    delimiter: str | None, quote: str | None, encoding: str | None, multiline: str
) -> Dialect:
    """How a CSV file is written; UsageError with all words that a spec could not have."""
    given = {"delimiter": delimiter, "quote": quote, "encoding": encoding, "multiline": multiline}
    try:
        return load_dialect({key: word for key, word in given.items() if word is not None})
    except SpecError as failure:
        raise UsageError(
            Problem(problem.code, problem.message, problem.hint) for problem in failure.problems
        ) from None
