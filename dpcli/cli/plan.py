"""`dpcli plan`: what a release will ask, hide and reveal, before any row is read."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from dpcli.cli.accounts import Request, outlook
from dpcli.cli.console import coloured, harmless, unguarded, width_of, wrapped, write_json
from dpcli.cli.options import AsJson, LedgerFile, Period, SpecFile, checked_day, refuse_option
from dpcli.cli.plan_text import print_local_plan, print_plan
from dpcli.cli.tables import write_table
from dpcli.errors import Problem, SpecError, UsageError
from dpcli.numbers import NotReadable, number
from dpcli.plan.compare import changes, compare, delta_of, weaker
from dpcli.plan.model import Plan
from dpcli.plan.numbers import exact_or_up, short
from dpcli.plan.planner import make_plan, require_budget
from dpcli.plan.risks import Verdict, risks
from dpcli.privacy.amplification import Shuffled
from dpcli.report.data import difference_json, plan_json
from dpcli.spec.load import read_any, read_spec

MOST = 10**15
"""More records than any collection has."""

MOST_TIMES = 100_000
"""Runs that can be asked about."""

COLOURS = {"met": "32", "warned": "33", "for the steward to answer": "35"}


def plan(
    spec: SpecFile,
    as_json: AsJson = False,
    show_risks: Annotated[bool, typer.Option("--risks", "--hazards")] = False,
    compare: Annotated[bool, typer.Option("--compare")] = False,
    diff: Annotated[Path | None, typer.Option("--diff", metavar="OLD.yaml")] = None,
    fail_on_weaker: Annotated[bool, typer.Option("--fail-on-weaker")] = False,
    records: Annotated[int | None, typer.Option(min=1, max=MOST, metavar="N")] = None,
    shuffle: Annotated[int | None, typer.Option(min=1, max=MOST, metavar="N")] = None,
    delta: Annotated[str | None, typer.Option(metavar="D")] = None,
    ledger: LedgerFile = None,
    period: Period = None,
    times: Annotated[int | None, typer.Option(min=1, max=MOST_TIMES, metavar="N")] = None,
) -> None:
    """Print what a release would ask, hide and reveal; reads no data."""
    tables = {"--risks": show_risks, "--compare": compare, "--diff": diff is not None}
    about_account = times is not None or period is not None
    named = [name for name, wanted in tables.items() if wanted]
    _require_together(named, about_account, fail_on_weaker, diff is not None)
    period = checked_day(period)
    read = read_any(spec)
    _require_of_model(read.is_local, diff, records, shuffle, delta)
    made = make_plan(read)
    if diff is not None:
        older = make_plan(read_spec(diff))
        _difference(older, made, as_json=as_json, blamed=diff if fail_on_weaker else None)
        require_budget(made)
        return
    mixed = None if shuffle is None else _amplified(made, shuffle, delta)
    found = outlook(Request(made, ledger, spec, period), times)
    records = records or shuffle
    if as_json:
        write_json(plan_json(made, found, compared=compare, records=records, amplified=mixed))
    elif show_risks:
        _print_risks(made, found.window)
    else:
        if made.is_local:
            print_local_plan(made, found, records, mixed)
        else:
            print_plan(made, found)
        if compare:
            print()
            _print_comparison(made)
    sys.stdout.flush()
    found.require()


def _require_together(tables: list[str], account: bool, weaker: bool, diff: bool) -> None:
    """Raise UsageError for options that exclude each other."""
    if len(tables) > 1:
        raise refuse_option(
            f"{' and '.join(f'`{name}`' for name in tables)} are different tables",
            "ask for one of them at a time",
        )
    if diff and account:
        raise refuse_option(
            "`--diff` compares two specs and uses no account, and `--times` and `--period` are "
            "about one",
            "run `dpcli plan` without --diff for the account",
        )
    if weaker and not diff:
        raise UsageError.of(
            "nothing-to-compare",
            "`--fail-on-weaker` compares with an older spec, and none is named",
            "name it by `--diff OLD.yaml`",
        )


def _require_of_model(
    is_local: bool, diff: Path | None, records: int | None, shuffle: int | None, delta: str | None
) -> None:
    """Raise UsageError for options of the other model than that of the spec."""
    if is_local and diff is not None:
        raise refuse_option(
            "`--diff` compares specs of the central model, and this one is local",
            "compare the output of `dpcli plan` for both",
        )
    if is_local and delta is not None and shuffle is None:
        raise refuse_option(
            "`--delta` is the one up to which shuffled responses are protected",
            "add `--shuffle N`, or leave it out",
        )
    if not is_local and any(one is not None for one in (records, shuffle, delta)):
        raise refuse_option(
            "`--records`, `--shuffle` and `--delta` are for the local model, and this spec is not",
            "leave them out, or name a spec with `model: local`",
        )


def _amplified(plan: Plan, records: int, delta: str | None) -> Shuffled:
    """What shuffling makes of a plan; UsageError where the bound does not apply."""
    try:
        chosen = plan.spec.privacy.budget.delta if delta is None else number(delta)
    except NotReadable:
        chosen = Fraction(-1)
    if not 0 < chosen < 1:
        given = "the budget has no delta" if delta is None else f"`{delta}` is none"
        raise UsageError.of(
            "shuffle-delta",
            f"shuffled responses are protected up to a delta, and {given}",
            "add `--delta 1e-6`, or another delta far below one divided by the number of records",
        )
    found = plan.shuffled(records, chosen)
    if found is None:
        names = [one.column.name for one in plan.spec.responses if one.channel.loss.delta]
        raise UsageError.of(
            "shuffle-pure",
            f"the bound for shuffling is for pure responses, and {', '.join(names)} has a delta",
            "use laplace noise there, or leave --shuffle out",
        )
    return found


def _difference(older: Plan, made: Plan, *, as_json: bool, blamed: Path | None) -> None:
    """What changed since an older spec; SpecError if that protects less, and is `blamed`."""
    reasons = list(weaker(older, made))
    if as_json:
        write_json(difference_json(older, made, reasons))
    else:
        _print_difference(older, made)
        print("".join(f"weaker: {reason}\n" for reason in reasons), end="")
    sys.stdout.flush()
    if blamed is not None and reasons:
        hint = f"if that is intended, ask the data owner to agree; the older spec is `{blamed}`"
        raise SpecError(Problem("weaker-privacy", reason, hint) for reason in reasons)


def _print_risks(plan: Plan, window: int | None) -> None:
    """Each risk with its verdict, what was found, and what the data owner declares."""
    out = unguarded(sys.stdout)
    bright = coloured(out)
    found = risks(plan, window)
    for one in found:
        verdict = one.verdict.value
        line = harmless(f"{verdict}: {one.risk}. {one.question}")
        line = wrapped(line, width_of(out)) if out.isatty() else line
        if bright:
            line = f"\x1b[1;{COLOURS[verdict]}m{verdict}\x1b[0m{line[len(verdict) :]}"
        print(line, file=out)
        for sentence in one.sentences:
            print(f"    {sentence}")
        print()
    counts = [(sum(one.verdict is verdict for one in found), verdict.value) for verdict in Verdict]
    print(", ".join(f"{count} {words}" for count, words in counts))
    print("after NIST SP 800-226 (2025); answers are under `declarations:` in the spec")


def _print_comparison(plan: Plan) -> None:
    """What the answers of a plan cost under every composition, and the cheapest."""
    delta = delta_of(plan)
    rows, notes = [], []
    for one in compare(plan):
        if one.bound is None:
            rows.append((one.name, "?", "", "", "", ""))
            notes.append(f"{one.name} needs a package that is not installed: {one.needs}")
            continue
        loss = one.bound.loss
        verdict = ["cheapest"] * one.cheapest + ["over budget"] * (not one.fits)
        rows.append(
            (
                one.name,
                exact_or_up(loss.epsilon),
                exact_or_up(loss.delta),
                "" if loss.rho is None else exact_or_up(loss.rho),
                one.bound.name,
                ", ".join(verdict),
            )
        )
    header = ("composition", "epsilon", "delta", "rho", "bound", "")
    title = f"the same answers under every composition, at delta {exact_or_up(delta)}"
    write_table(sys.stdout, title, header, rows, (1, 2, 3))
    if not plan.spec.privacy.budget.delta:
        notes.append("all but sequential need a delta in the budget, which has none")
    print("".join(f"{note}\n" for note in notes), end="")


def _print_difference(old: Plan, new: Plan) -> None:
    """What a change of the spec does to each statistic and in total."""
    in_rho = new.spec.privacy.composition.takes_rho
    rows = [
        (
            one.name,
            one.kind,
            _arrow(*one.epsilon),
            *([_arrow(*one.rho)] if in_rho else []),
            _arrow(*one.error),
            " -> ".join(one.mechanisms),
        )
        for one in changes(old, new)
    ]
    names = dict.fromkeys(plan.spec.privacy.composition.name for plan in (old, new))
    rows.append(
        (
            "in all",
            "",
            _arrow(old.spent.epsilon, new.spent.epsilon),
            *([_arrow(old.spent.rho, new.spent.rho)] if in_rho else []),
            "",
            " to ".join(names),
        )
    )
    header = ("statistic", "", "epsilon", *(["rho"] if in_rho else []), "error", "mechanism")
    write_table(sys.stdout, f"{new.spec.dataset}: what changes", header, rows, ())


def _arrow(before: Fraction | None, after: Fraction | None) -> str:
    """A number before and after."""
    texts = ["-" if value is None else short(value, 6) for value in (before, after)]
    return texts[0] if texts[0] == texts[1] else " -> ".join(texts)
