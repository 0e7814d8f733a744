"""`dpcli plan`: what a release will ask, hide and reveal, before any row is read."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

MOST = 10**15
"""Records that nobody has more of."""

if TYPE_CHECKING:
    from dpcli.plan.model import Plan
    from dpcli.spec.local_model import LocalSpec


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
    ledger: Annotated[
        Path | None,
        typer.Option(
            "--ledger",
            metavar="PATH",
            envvar="DPCLI_LEDGER",
            readable=False,
            show_envvar=False,
            help="The ledger [$DPCLI_LEDGER, else one beside SPEC].",
        ),
    ] = None,
) -> None:
    """Print what a release would ask, hide and reveal; reads no data.

    For each statistic: the query, how far one person (or row) can move it, the noise, the
    error to expect and the cost; then the total against the budget. Reads SPEC and its
    ledger, if there is one. Writes and spends nothing.

    Examples:
        dpcli plan specs/minimal.yaml
        dpcli plan specs/town.yaml --hazards           # what can go wrong
        dpcli plan specs/town.yaml --compare           # other compositions
        dpcli plan specs/town.yaml --json | grep '"error95"'
        dpcli plan specs/local-survey.yaml --records 3000
        # in a pull request: does the new spec protect less?
        dpcli plan new.yaml --diff old.yaml --fail-on-weaker

    Exits 3 for the spec, 5 when the budget does not allow the release.

    See also: dpcli explain budget, dpcli explain error, dpcli ledger show
    """
    from dpcli.cli.account import account_of
    from dpcli.errors import UsageError
    from dpcli.plan.budget import require_budget
    from dpcli.plan.making import make_plan
    from dpcli.spec.load import read_any
    from dpcli.spec.local_model import LocalSpec

    tables = {"--hazards": show_hazards, "--compare": compare, "--diff": diff is not None}
    asked = [f"`{name}`" for name, wanted in tables.items() if wanted]
    if len(asked) > 1:
        raise UsageError.of(
            "bad-option",
            f"{' and '.join(asked)} are different tables",
            "ask for one of them at a time",
        )
    if fail_on_weaker and diff is None:
        raise UsageError.of(
            "nothing-to-compare",
            "`--fail-on-weaker` compares with an older spec, and none is named",
            "name it by `--diff OLD.yaml`",
        )
    read = read_any(spec)
    if isinstance(read, LocalSpec):
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
        _local(
            read,
            ledger,
            spec,
            records,
            shuffle,
            delta,
            as_json=as_json,
            compare=compare,
            show_hazards=show_hazards,
        )
        return
    _require_none(records, shuffle, delta)
    made = make_plan(read)
    if diff is not None:
        _difference(made, diff, as_json=as_json, fail_on_weaker=fail_on_weaker)
        return
    account = account_of(made, ledger, spec)
    if show_hazards and not as_json:
        from dpcli.cli.hazards import print_hazards

        print_hazards(made, account.window)
    elif as_json:
        from dpcli.report.json_report import plan_json

        sys.stdout.write(plan_json(made, account.left, compared=compare))
    else:
        from dpcli.cli.central_plan import print_plan

        print_plan(made, account)
        if compare:
            from dpcli.cli.comparing import print_comparison

            print()
            print_comparison(made)
    sys.stdout.flush()
    require_budget(made)


def _require_none(*local: object) -> None:
    """Raise UsageError for an option of the local model."""
    from dpcli.errors import UsageError

    if any(option is not None for option in local):
        raise UsageError.of(
            "bad-option",
            "`--records`, `--shuffle` and `--delta` are for the local model, and this spec is not",
            "leave them out, or name a spec with `model: local`",
        )


def _difference(made: Plan, older_spec: Path, *, as_json: bool, fail_on_weaker: bool) -> None:
    """What changed since an older spec, and whether that protects less."""
    from dpcli.cli.comparing import print_difference
    from dpcli.errors import Problem, SpecError
    from dpcli.plan.budget import require_budget
    from dpcli.plan.difference import weaker
    from dpcli.plan.making import make_plan
    from dpcli.spec.load import read_spec

    older = make_plan(read_spec(older_spec))
    reasons = list(weaker(older, made))
    if as_json:
        from dpcli.report.json_report import difference_json

        sys.stdout.write(difference_json(older, made, reasons))
    else:
        print_difference(older, made)
        print("".join(f"weaker: {reason}\n" for reason in reasons), end="")
    sys.stdout.flush()
    if fail_on_weaker and reasons:
        hint = f"if that is meant, let somebody agree to it; the older spec is `{older_spec}`"
        raise SpecError(Problem("weaker-privacy", reason, hint) for reason in reasons)
    require_budget(made)


def _local(
    read: LocalSpec,
    ledger: Path | None,
    spec: Path,
    records: int | None,
    shuffle: int | None,
    delta: str | None,
    *,
    as_json: bool,
    compare: bool,
    show_hazards: bool,
) -> None:
    """The plan of a local spec."""
    from dpcli.cli.account import account_of
    from dpcli.cli.local_plan import amplified, print_local_plan
    from dpcli.plan.budget import require_budget
    from dpcli.plan.local import make_local_plan

    made = make_local_plan(read)
    mixed = None if shuffle is None else amplified(made, shuffle, delta)
    account = account_of(made, ledger, spec)
    if show_hazards and not as_json:
        from dpcli.cli.hazards import print_hazards

        print_hazards(made, account.window)
    elif as_json:
        from dpcli.report.local_report import local_plan_json

        told = local_plan_json(made, account.left, records or shuffle, mixed, compared=compare)
        sys.stdout.write(told)
    else:
        print_local_plan(made, account, records or shuffle, mixed)
        if compare:
            from dpcli.cli.comparing import print_comparison

            print()
            print_comparison(made)
    sys.stdout.flush()
    require_budget(made)
