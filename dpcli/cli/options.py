"""Options that several commands share, and checks of their values."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from dpcli.data.formats import Dialect
from dpcli.fields.values import MAX_BUDGET, MIN_EPSILON, MIN_RHO, NumberSyntaxError, parse_number
from dpcli.ledger.options import NAMED, checked_day, checked_id, checked_period
from dpcli.privacy.accounting import COMPOSITIONS
from dpcli.privacy.loss import Loss
from dpcli.problems.errors import SpecError, UsageError
from dpcli.specification.dataset_names import dataset_name_fault

SpecFile = Annotated[Path, typer.Argument(metavar="SPEC", help="The spec, a YAML file.")]
DataFiles = Annotated[
    list[str], typer.Argument(metavar="DATA", help="Data files; all as one; - for stdin.")
]
TableFile = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="OUT.csv", help="The noisy table, .csv or .parquet [stdout]."
    ),
]
Layout = Annotated[
    Literal["long", "wide"], typer.Option(help="One table, or one per set of keys [long].")
]
Reports = Annotated[
    list[Path] | None,
    typer.Option(
        "--report", metavar="PATH", help="A report: .html, .md, .json, .yaml; repeatable."
    ),
]
Format = Annotated[
    str | None,
    typer.Option("--format", metavar="NAME", help="json, markdown, html or registry [by ending]."),
]
ShownDigits = Annotated[
    Literal["interval", "all"],
    typer.Option("--digits", help="Of numbers that people read [interval]."),
]
Metadata = Annotated[
    Path | None,
    typer.Option("--metadata", metavar="PATH", help="What the CSV columns mean, for programs."),
]
ReleaseId = Annotated[
    str | None,
    typer.Option(
        "--release-id",
        metavar="ID",
        callback=checked_id,
        help="The release's name, to retry it [random].",
    ),
]


def _ledger_option(default: str) -> Any:
    help_ = f"The ledger [$DPCLI_LEDGER, else {default}]."
    return typer.Option("--ledger", metavar="PATH", envvar=NAMED, show_envvar=False, help=help_)


LedgerFile = Annotated[Path | None, _ledger_option("next to SPEC")]
NamedLedger = Annotated[Path | None, _ledger_option("dpcli-ledger.sqlite")]
"""The ledger of commands that read no spec."""


def composed(dataset: str | None) -> str | None:
    """The name of a dataset in NFC, as accounts have it; some keyboards make NFD."""
    return None if dataset is None else unicodedata.normalize("NFC", dataset)


def day_option(text: str) -> Any:
    """The option `--period` with this help."""
    return typer.Option("--period", metavar="YYYY-MM-DD", callback=checked_day, help=text)


Period = Annotated[
    str | None,
    typer.Option(
        "--period", metavar="PERIOD", callback=checked_period,
        help="What the data are about: day, month, year [SPEC].",
    ),
]  # fmt: skip
Recipient = Annotated[
    str | None,
    typer.Option("--recipient", metavar="NAME", help="Who gets it [as in SPEC, or everyone]."),
]
AnyPeriod = Annotated[
    bool, typer.Option("--any-period", help="Accept a day in the future, or long before the last.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace outputs that exist.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No summary on stderr.")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON, for scripts.")]
MoreReports = Annotated[
    list[Path] | None, typer.Argument(metavar="[REPORT...]", help="More reports.")
]


def input_file(data: str) -> Path:
    """The path of a file that a command reads; `-` is the device of standard input."""
    return Path("/dev/stdin" if data == "-" else data)


def require_new_file(output: Path, *sources: Path) -> None:
    """Raise UsageError for an output that exists, is an input, or cannot be written."""
    from dpcli.releasing.publishing import is_device, require_writable

    try:
        require_writable([output], sources, force=is_device(output))
    except UsageError as refused:
        hint = "name a file that does not exist yet: this command replaces none"
        raise UsageError(
            replace(problem, hint=hint) if problem.code == "output-exists" else problem
            for problem in refused.problems
        ) from None


def checked_dialect(**given: str | None) -> Dialect:
    """The dialect with these fields of `csv`; UsageError for a value none could have."""
    from dpcli.specification.csv_form import parse_dialect

    try:
        return parse_dialect({key: word for key, word in given.items() if word is not None})
    except SpecError as failure:
        raise UsageError(replace(problem, place=None) for problem in failure.problems) from None


def checked_recipients(given: Sequence[str]) -> tuple[tuple[str, Fraction], ...]:
    """The recipients in options `NAME=E`, by name; UsageError for others."""
    found: dict[str, Fraction] = {}
    for text in given:
        name, _, amount = unicodedata.normalize("NFC", text).partition("=")
        with suppress(NumberSyntaxError):
            found[name] = parse_number(amount)
        if dataset_name_fault(name) or not 0 < found.get(name, 0) <= MAX_BUDGET:
            raise UsageError.about("bad-budget.recipient", given=text)
    return tuple(sorted(found.items()))


def checked_budget(epsilon: str | None, rho: str | None, delta: str, composition: str) -> Loss:
    """The exact budget in options; UsageError unless the composition accepts it."""
    rule = COMPOSITIONS[composition]
    kind, size, least = "epsilon", epsilon or "", MIN_EPSILON
    if rho is not None:
        kind, size, least = "rho", rho, MIN_RHO
    try:
        budget = Loss(parse_number(size), parse_number(delta))
    except NumberSyntaxError:
        budget = Loss(Fraction(0))
    is_budget = least <= budget.epsilon <= MAX_BUDGET and 0 <= budget.delta < 1
    if (epsilon is None) == (rho is None):
        raise UsageError.about("bad-budget.one")
    if not is_budget:
        raise UsageError.about("bad-budget", kind=kind, size=size, delta=delta)
    if rule.needs_delta and not budget.delta:
        raise UsageError.about("bad-budget.delta", composition=composition)
    if rho is None:
        return budget
    if composition != "zcdp":
        raise UsageError.about("bad-budget.rho", composition=composition)
    from dpcli.privacy.zcdp_conversion import zcdp_epsilon

    return Loss(zcdp_epsilon(budget.epsilon, budget.delta), budget.delta, budget.epsilon)
