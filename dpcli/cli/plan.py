"""`dpcli plan`: what a release will ask, hide and reveal, before any row is read."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpcli.cli.options import Book, Period

MOST = 10**15
"""Records that nobody has more of."""

MOST_TIMES = 100_000
"""Runs that can be asked about."""

if TYPE_CHECKING:
    from dpcli.ledger.outlook import Outlook
    from dpcli.plan.model import Plan
    from dpcli.privacy.shuffling import Shuffled


def plan(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="The spec, a YAML file.")],
    as_json: Annotated[bool, typer.Option("--json", help="The plan as JSON, for scripts.")] = False,
    show_hazards: Annotated[
        bool, typer.Option("--hazards", help="What can void the guarantee, and what is met.")
    ] = False,
    compare: Annotated[
        bool, typer.Option("--compare", help="What the answers cost under every composition.")
    ] = False,
    diff: Annotated[
        Path | None,
        typer.Option("--diff", metavar="OLD.yaml", help="What changed since that spec."),
    ] = None,
    fail_on_weaker: Annotated[
        bool,
        typer.Option("--fail-on-weaker", help="Exit 3 if SPEC protects less than OLD.yaml."),
    ] = False,
    records: Annotated[
        int | None,
        typer.Option(min=1, max=MOST, metavar="N", help="Local: the error with so many records."),
    ] = None,
    shuffle: Annotated[
        int | None,
        typer.Option(min=1, max=MOST, metavar="N", help="Local: what shuffling so many adds."),
    ] = None,
    delta: Annotated[
        str | None, typer.Option(metavar="D", help="For --shuffle [that of the budget].")
    ] = None,
    ledger: Book = None,
    period: Period = None,
    times: Annotated[
        int | None,
        typer.Option(min=1, max=MOST_TIMES, metavar="N", help="Whether N runs of it fit."),
    ] = None,
) -> None:
    """Print what a release would ask, hide and reveal; reads no data.

    For each statistic: the query, how far one person (or row) can move it, the noise, the
    error to expect and the cost; then the total against the budget, and what the account has
    left before and after. With --times also how many runs fit; in an account with a window,
    one on each day from --period on. Reads SPEC and its ledger. Writes and spends nothing.

    Examples:
        dpcli plan specs/minimal.yaml
        dpcli plan specs/town.yaml --hazards           # what can go wrong
        dpcli plan specs/town.yaml --compare           # other compositions
        dpcli plan specs/town.yaml --json | grep '"error95"'
        dpcli plan specs/minimal.yaml --times 2 || echo "no two runs fit"
        dpcli plan specs/local-survey.yaml --records 3000
        # in a pull request: does the new spec protect less?
        dpcli plan new.yaml --diff old.yaml --fail-on-weaker

    Exits 3 for the spec; 5 or 6 where `dpcli release` would, with the same words. With --diff
    no account is asked, and 5 is for the budget of SPEC.

    See also: dpcli explain budget, dpcli explain error, dpcli ledger show
    """
    from dpcli.cli.account import Asked, outlook
    from dpcli.cli.charging import warn_of_sharing
    from dpcli.cli.hazards import print_hazards
    from dpcli.cli.local_plan import amplified
    from dpcli.cli.words import checked_day
    from dpcli.errors import UsageError
    from dpcli.plan.planner import make_plan, require_budget
    from dpcli.spec.load import read_any, read_spec

    tables = {"--hazards": show_hazards, "--compare": compare, "--diff": diff is not None}
    _require_one_table([name for name, wanted in tables.items() if wanted])
    about_account = times is not None or period is not None
    _require_comparable(diff, weaker=fail_on_weaker, account=about_account)
    period = checked_day(period)
    read = read_any(spec)
    if read.is_local:
        if diff is not None:
            raise UsageError.of(
                "bad-option",
                "`--diff` compares specs of the central model, and this one is local",
                "compare what `dpcli plan` says of both",
            )
        if delta is not None and shuffle is None:
            raise UsageError.of(
                "bad-option",
                "`--delta` is the one up to which shuffled responses are protected",
                "add `--shuffle N`, or leave it out",
            )
        local = make_plan(read)
        mixed = None if shuffle is None else amplified(local, shuffle, delta)
        found = outlook(Asked(local, ledger, spec, period), times)
        warn_of_sharing(read.dataset, found.shared)
        if show_hazards and not as_json:
            print_hazards(local, found.window)
        else:
            _local(local, found, records or shuffle, mixed, as_json=as_json, compare=compare)
        sys.stdout.flush()
        found.require()
        return
    _require_none(records, shuffle, delta)
    made = make_plan(read)
    if diff is not None:
        older = make_plan(read_spec(diff))
        _difference(older, made, as_json=as_json, blamed=diff if fail_on_weaker else None)
        require_budget(made)
        return
    found = outlook(Asked(made, ledger, spec, period), times)
    warn_of_sharing(read.dataset, found.shared)
    if show_hazards and not as_json:
        print_hazards(made, found.window)
    else:
        _central(made, found, as_json=as_json, compare=compare)
    sys.stdout.flush()
    found.require()


def _require_one_table(asked: list[str]) -> None:
    """Raise UsageError for more than one of the options that print a table of their own."""
    from dpcli.errors import UsageError

    if len(asked) > 1:
        raise UsageError.of(
            "bad-option",
            f"{' and '.join(f'`{name}`' for name in asked)} are different tables",
            "ask for one of them at a time",
        )


def _require_comparable(diff: Path | None, *, weaker: bool, account: bool) -> None:
    """Raise UsageError for options that go only with `--diff`, or not with it."""
    from dpcli.errors import UsageError

    if diff is not None and account:
        raise UsageError.of(
            "bad-option",
            "`--diff` compares two specs and asks no account, and `--times` and `--period` are "
            "about one",
            "run `dpcli plan` without --diff for the account",
        )
    if weaker and diff is None:
        raise UsageError.of(
            "nothing-to-compare",
            "`--fail-on-weaker` compares with an older spec, and none is named",
            "name it by `--diff OLD.yaml`",
        )


def _require_none(*local: object) -> None:
    """Raise UsageError for an option of the local model."""
    from dpcli.errors import UsageError

    if any(option is not None for option in local):
        raise UsageError.of(
            "bad-option",
            "`--records`, `--shuffle` and `--delta` are for the local model, and this spec is not",
            "leave them out, or name a spec with `model: local`",
        )


def _difference(older: Plan, made: Plan, *, as_json: bool, blamed: Path | None) -> None:
    """What changed since an older spec; SpecError if that protects less, and is `blamed`."""
    from dpcli.cli.comparing import print_difference
    from dpcli.errors import Problem, SpecError
    from dpcli.plan.compare import weaker

    reasons = list(weaker(older, made))
    if as_json:
        from dpcli.report.json_report import difference_json

        sys.stdout.write(difference_json(older, made, reasons))
    else:
        print_difference(older, made)
        print("".join(f"weaker: {reason}\n" for reason in reasons), end="")
    sys.stdout.flush()
    if blamed is not None and reasons:
        hint = f"if that is meant, let the data owner agree to it; the older spec is `{blamed}`"
        raise SpecError(Problem("weaker-privacy", reason, hint) for reason in reasons)


def _central(made: Plan, found: Outlook, *, as_json: bool, compare: bool) -> None:
    """The plan of a spec of the central model."""
    if as_json:
        from dpcli.report.json_report import plan_json

        sys.stdout.write(plan_json(made, found, compared=compare))
        return
    from dpcli.cli.central_plan import print_plan

    print_plan(made, found)
    if compare:
        _compare(made)


def _local(
    made: Plan,
    found: Outlook,
    records: int | None,
    mixed: Shuffled | None,
    *,
    as_json: bool,
    compare: bool,
) -> None:
    """The plan of a local spec."""
    if as_json:
        from dpcli.report.local_report import local_plan_json

        sys.stdout.write(local_plan_json(made, found, records, mixed, compared=compare))
        return
    from dpcli.cli.local_plan import print_local_plan

    print_local_plan(made, found, records, mixed)
    if compare:
        _compare(made)


def _compare(made: Plan) -> None:
    """What the answers cost under every composition, below the plan."""
    from dpcli.cli.comparing import print_comparison

    print()
    print_comparison(made)
