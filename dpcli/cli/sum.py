"""`dpcli sum`: adds published numbers of a report, with an interval."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from dpcli.cli.console import print_line, write_json
from dpcli.cli.options import AsJson
from dpcli.cli.terminal import write_table
from dpcli.fields.json import Fact, JsonNumber, NotStatedError, json_text
from dpcli.numeric.exact import exact_or_up
from dpcli.problems.errors import UsageError
from dpcli.report.report import Report
from dpcli.statistics.quality.completeness import Complete
from dpcli.sums.sums import Basis, Conditions, PublishedSum, rest_of, sum_of


def sum_numbers(
    report: Annotated[Path, typer.Argument(metavar="REPORT", help="The JSON report of a release.")],
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where", metavar="COLUMN=VALUE", help="Which numbers; repeatable [all of them]."
        ),
    ] = None,
    less: Annotated[
        str | None,
        typer.Option("--less", metavar="NAME.raw", help="Counts of chosen labels to subtract."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Add published numbers, with an interval that holds.

    Adds counts or amounts of one statistic in a JSON report; reads no data and no ledger, and
    spends nothing. A CSV table does not say what noise its numbers have, so it cannot be read.
    Columns are `statistic`, the keys and `item`; a column that is given twice accepts both values.
    If each number has noise of its own, the interval is that of the sum of these noises. If numbers
    share noise, it follows from the covariance in the report. Without one, it is the sum of all
    intervals, and the result says how often it holds at least: of noise that is not Gaussian,
    less often than each. Means and other values are refused, and so are numbers of several
    statistics, totals next to numbers that are in them, and numbers that have no interval, that
    post-processing changed, or that noise chose.

    With `--less`, the counts that a `top_k` shows are subtracted from those of all rows, which a
    `count` states: what is left are rows with other labels or without one, and those that limits
    left out.

    Examples:
        dpcli sum published/first.report.json
        dpcli sum cities.report.json --where statistic=rows --less cities.raw
        dpcli sum published/first.report.json --where sex=male --where sex=female
        dpcli sum published/first.report.json --where statistic=visits --json

    See also: dpcli release, dpcli explain report, dpcli explain sum-refused
    """
    conditions, content = _conditions(where or ()), b""
    try:
        content = report.read_bytes()
        parsed = Report.parse(content)
    except (
        KeyError, TypeError, ValueError, ArithmeticError, AttributeError, OSError, RecursionError
    ):  # fmt: skip
        kind = "earlier" if b'"dpcli_version": "' in content else "numbers"
        kind = kind if report.exists() else "missing"
        raise UsageError.about(f"not-a-report.{kind}", report=report) from None
    try:
        found = rest_of(parsed, conditions, less) if less else sum_of(parsed, conditions)
    except NotStatedError:
        raise UsageError.about("not-a-report.earlier", report=report) from None
    except (ValueError, ArithmeticError):
        raise UsageError.about("not-a-report.numbers", report=report) from None
    _print(found, as_json=as_json)


def _print(found: PublishedSum, *, as_json: bool) -> None:
    if as_json:
        stated: dict[str, Fact] = {
            "statistic": found.statistic,
            "numbers": found.count,
            "value": JsonNumber(found.value),
            "lower": JsonNumber(found.lower),
            "upper": JsonNumber(found.upper),
            "confidence": JsonNumber.of(found.confidence),
            "basis": found.basis.value,
            "complete": found.stated.complete,
        }
        write_json(json_text(stated))
        return
    percent = f"{exact_or_up(found.confidence * 100)}%"
    row = {"numbers": f"{found.count:,}", "sum": found.value}
    row |= {"lower": found.lower, "upper": found.upper, "confidence": percent}
    write_table(sys.stdout, f"sum of {found.statistic}", [row])
    sys.stdout.flush()
    if found.basis is Basis.NOISE:
        print_line("each number has noise of its own; the interval is that of their sum")
    elif found.basis is Basis.COVARIANCE:
        print_line("the numbers share noise; the interval follows from its covariance")
    elif found.basis is Basis.SHARED_NOISE:
        print_line("the numbers may share noise; the interval holds whatever they share")
    elif found.count > 1:
        print_line(f"all {found.count:,} intervals together hold with at least this confidence")
    if found.stated.left_out:
        print_line(f"{found.statistic}: {found.stated.left_out}")
    if (sentence := found.stated.complete_sentence) and found.stated.complete != Complete.YES:
        print_line(f"{found.statistic}: {sentence}")


def _conditions(words: Sequence[str]) -> Conditions:
    """The accepted values by column; UsageError for a word that is not COLUMN=VALUE."""
    conditions: dict[str, list[str]] = {}
    for word in words:
        column, equals, value = word.partition("=")
        if not equals or not column:
            raise UsageError.about("bad-condition", word=word)
        conditions.setdefault(column, []).append(value)
    return conditions
