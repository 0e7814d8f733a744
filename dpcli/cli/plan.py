"""`dpcli plan`: queries, noise and privacy cost, before any row is read."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpcli.cli.charging import forecast_balance
from dpcli.cli.console import print_styled, write_json
from dpcli.cli.options import AnyPeriod, AsJson, LedgerFile, Period, Recipient, SpecFile
from dpcli.cli.plan_text import print_local_plan, print_plan
from dpcli.cli.terminal import Row, write_table
from dpcli.fields.values import NumberSyntaxError, parse_number
from dpcli.numeric.exact import exact_or_up, rounded_text
from dpcli.planning.plan import CentralPlan, LocalPlan, Plan
from dpcli.planning.planner import make_plan, require_plan_fits
from dpcli.problems.errors import SpecError, UsageError, make_problem
from dpcli.problems.messages import escape_controls, quote, quoted_list
from dpcli.specification.load import read_central_spec, read_spec_file
from dpcli.specification.model import LocalSpec

if TYPE_CHECKING:
    from dpcli.planning.changes import BeforeAfter
    from dpcli.privacy.shuffling import ShuffledGuarantee

MOST = 10**15

MAX_TIMES = 100_000

MARKDOWN = "md"

COLORS = {"MET": "1;32", "WARNED": "1;33", "DECLARED": "1;36", "OPEN": "1;35"}
"""The styles of verdicts on risks."""

NEITHER: BeforeAfter = (None, None)


def plan(
    spec: SpecFile,
    as_json: AsJson = False,
    show_risks: Annotated[
        bool,
        typer.Option(
            "--risks", help="What can void the guarantee, what is met, and what is only declared."
        ),
    ] = False,
    hazards: Annotated[bool, typer.Option("--hazards", hidden=True)] = False,
    compare: Annotated[
        bool, typer.Option("--compare", help="What the answers cost under every composition.")
    ] = False,
    diff: Annotated[
        Path | None,
        typer.Option("--diff", metavar="OLD.yaml", help="What changed since that spec."),
    ] = None,
    fail_on_weaker: Annotated[
        bool, typer.Option("--fail-on-weaker", help="Exit 3 if SPEC protects less than OLD.yaml.")
    ] = False,
    form: Annotated[
        str | None, typer.Option("--format", metavar="md", help="With --diff: as Markdown.")
    ] = None,
    records: Annotated[
        int | None,
        typer.Option(
            "--rows",
            "--records",
            min=1,
            max=MOST,
            metavar="N",
            help="The error with N rows, or records of a local spec.",
        ),
    ] = None,
    shuffle: Annotated[
        int | None,
        typer.Option(min=1, max=MOST, metavar="N", help="Local: what shuffling N records adds."),
    ] = None,
    delta: Annotated[
        str | None, typer.Option(metavar="D", help="For --shuffle [that of the budget].")
    ] = None,
    details: Annotated[
        bool, typer.Option("--details", help="Also each query: sensitivity, noise, why.")
    ] = False,
    ledger: LedgerFile = None,
    period: Period = None,
    any_period: AnyPeriod = False,
    recipient: Recipient = None,
    times: Annotated[
        int | None,
        typer.Option(min=1, max=MAX_TIMES, metavar="N", help="Whether N runs of it fit."),
    ] = None,
) -> None:
    """Print what a release would ask, hide and reveal; reads no data.

    First the total against the budget, and what the account has left before and after. Then a
    line for each statistic: what it publishes, the error to expect, with --rows of that many
    rows, and the cost; with --details also each query, by how much one person (or row) can change
    it, and the noise. With --times also how many runs fit; in an account with a window, one on
    each day from --period on. Reads SPEC and its ledger. Writes and spends nothing.

    Examples:
        dpcli plan specs/minimal.yaml
        dpcli plan specs/town.yaml --rows 3000 --details
        dpcli plan specs/town.yaml --risks             # what can go wrong
        dpcli plan specs/town.yaml --compare           # other compositions
        dpcli plan specs/town.yaml --json | grep '"error95"'
        dpcli plan specs/minimal.yaml --times 2 || echo "no two runs fit"
        dpcli plan specs/local-survey.yaml --records 3000
        # in a pull request: does the new spec protect less?
        dpcli plan new.yaml --diff old.yaml --fail-on-weaker --format md

    Exits 3 for the spec; 5 or 6 where `dpcli release` would, with the same message. With --diff
    no account is checked, and 5 is for the budget of SPEC.

    See also: dpcli explain budget, dpcli explain error, dpcli ledger show
    """
    tables = {"--risks": show_risks or hazards, "--compare": compare, "--diff": diff is not None}
    named = [name for name, is_wanted in tables.items() if is_wanted]
    others = [*named[1:], *(["--times", "--period"] if diff and (times or period) else [])]
    if others:
        fix = "ask for one of them at a time"
        given, other = quote(named[0]), quoted_list(others, "or")
        raise UsageError.about("bad-option", given=given, other=other, fix=fix)
    if diff is None or form is not None:
        _require_older_spec(diff, form, as_json=as_json, fail_on_weaker=fail_on_weaker)
    loaded = read_spec_file(spec)
    shuffled = None
    current: Plan
    if isinstance(loaded, LocalSpec):
        _require_local_options(diff, shuffle, delta)
        current = make_plan(loaded).about(period, recipient)
        shuffled = None if shuffle is None else _amplified(current, shuffle, delta)
    else:
        if shuffle or delta:
            fix, given = "name a spec with `model: local`", "`--shuffle` or `--delta`"
            other = "a spec of the central model"
            raise UsageError.about("bad-option", given=given, other=other, fix=fix)
        current = make_plan(loaded).about(period, recipient)
        if diff is not None:
            older = make_plan(read_central_spec(diff))
            blamed = diff if fail_on_weaker else None
            as_markdown = form == MARKDOWN
            _difference(older, current, as_json=as_json, as_markdown=as_markdown, blamed=blamed)
            require_plan_fits(current)
            return
    forecast = forecast_balance(current, spec, ledger, times=times, any_period=any_period)
    records = records or shuffle
    if as_json:
        from dpcli.fields.json import json_text
        from dpcli.report.plan import plan_report

        report = plan_report(current, forecast, records, shuffled, compared=compare)
        write_json(json_text(report))
    elif show_risks or hazards:
        _print_risks(current, forecast.window)
    elif isinstance(current, LocalPlan):
        print_local_plan(current, forecast, records, shuffled)
    else:
        print_plan(current, forecast, records, details=details)
    if compare and not as_json:
        print()
        _print_comparison(current)
    sys.stdout.flush()
    forecast.raise_refusal()


def _require_older_spec(
    diff: Path | None, form: str | None, *, as_json: bool, fail_on_weaker: bool
) -> None:
    """UsageError for options of a comparison without one, or in another format."""
    if fail_on_weaker and diff is None:
        raise UsageError.about("nothing-to-compare")
    if form is not None and (form != MARKDOWN or diff is None or as_json):
        needs = {"given": "`--format`", "other": "`md`, `--diff` and no `--json`"}
        raise UsageError.about("bad-option.needs", **needs, fix="`--diff OLD.yaml --format md`")


def _require_local_options(diff: Path | None, shuffle: int | None, delta: str | None) -> None:
    if diff is not None:
        fix = "compare the output of `dpcli plan` for both"
        other = "a spec of the local model"
        raise UsageError.about("bad-option", given="`--diff`", other=other, fix=fix)
    if delta is not None and shuffle is None:
        needs = {"given": "`--delta`", "other": "`--shuffle`", "fix": "`--shuffle N`"}
        raise UsageError.about("bad-option.needs", **needs)


def _amplified(plan: LocalPlan, records: int, delta: str | None) -> ShuffledGuarantee:
    """The guarantee of a plan with shuffling; UsageError if the bound does not apply."""
    try:
        chosen = plan.spec.privacy.budget.delta if delta is None else parse_number(delta)
    except NumberSyntaxError:
        chosen = Fraction(-1)
    if not 0 < chosen < 1:
        found = "the budget has none" if delta is None else f"it is {quote(delta)}"
        raise UsageError.about("shuffle-delta", found=found)
    responses = plan.spec.responses
    if names := [response.column.name for response in responses if response.randomizer.loss.delta]:
        raise UsageError.about("shuffle-pure", columns=names)
    from dpcli.privacy.shuffling import amplify_by_shuffling

    # The responses of a record count as one with the sum of their epsilons.
    return amplify_by_shuffling(plan.requested_loss.epsilon, records, chosen)


def _difference(
    older: CentralPlan,
    current: CentralPlan,
    *,
    as_json: bool,
    as_markdown: bool,
    blamed: Path | None,
) -> None:
    """Print changes since an older plan; SpecError if weaker and `blamed` is a path."""
    from dpcli.planning.changes import weaker_guarantees

    reasons = list(weaker_guarantees(older, current))
    if as_json:
        from dpcli.fields.json import json_text
        from dpcli.planning.changes import statistic_changes
        from dpcli.specification.differences import key_changes

        changes: dict[str, Any] = {
            "keys": [*key_changes(older.spec, current.spec)],
            "statistics": [*statistic_changes(older, current)],
            "spent": [older.cost, current.cost],
            "weaker": reasons,
        }
        write_json(json_text(changes))
    else:
        _print_difference(older, current, reasons, as_markdown=as_markdown)
    sys.stdout.flush()
    if blamed is not None and reasons:
        raise SpecError(
            make_problem("weaker-privacy", reason=reason, older=blamed) for reason in reasons
        )


def _print_risks(plan: Plan, window: int | None) -> None:
    from dpcli.planning.words.risks import Verdict, risks

    assessed = risks(plan, window)
    for risk in assessed:
        print_styled(
            risk.verdict.value, COLORS[risk.verdict.name], f": {risk.risk}. {risk.description}"
        )
        for sentence in filter(None, [*risk.sentences, risk.prompt]):
            print(f"    {escape_controls(sentence)}")
        print()
    counts = [
        (sum(risk.verdict is verdict for risk in assessed), verdict.value) for verdict in Verdict
    ]
    print(", ".join(f"{count} {words}" for count, words in counts))
    print("after NIST SP 800-226 (2025); answers are under `declarations:` in the spec")


def _print_comparison(plan: Plan) -> None:
    from dpcli.planning.compositions import compare_compositions, comparison_delta

    rows, notes = [], []
    for option in compare_compositions(plan):
        loss = option.total
        if loss is None:
            notes.append(
                f"{option.composition} needs a package that is not installed: {option.needs}"
            )
        verdict = ["cheapest"] * option.cheapest + ["over budget"] * bool(loss and not option.fits)
        rows.append(
            {
                "composition": option.composition,
                "epsilon": exact_or_up(loss.epsilon) if loss else "?",
                "delta": exact_or_up(loss.delta) if loss else "",
                "rho": exact_or_up(loss.rho) if loss and loss.rho is not None else "",
                "bound": option.bound or "",
                "": ", ".join(verdict),
            }
        )
    title = (
        f"the same answers under every composition, at delta {exact_or_up(comparison_delta(plan))}"
    )
    write_table(sys.stdout, title, rows)
    if not plan.spec.privacy.budget.delta:
        notes.append("all but sequential need a delta in the budget, which has none")
    for note in notes:
        print(note)


def _print_difference(
    old: CentralPlan, new: CentralPlan, reasons: list[str], *, as_markdown: bool
) -> None:
    """Print the changed keys, the changed statistics, and why the new plan is weaker."""
    from dpcli.specification.differences import key_changes

    title = f"{new.spec.dataset}: what changes"
    keys = [f"{change.path}: {change.words}" for change in key_changes(old.spec, new.spec)]
    rows = _changed_rows(old, new)
    if not as_markdown:
        print(title, *keys, *([] if keys else ["no key"]), "", sep="\n")
        write_table(sys.stdout, "", rows)
        for reason in reasons:
            print(f"weaker: {reason}")
        return
    from dpcli.report.render import markdown_text

    headings = [key or "change" for key in rows[0]]
    lines = [headings, ["---"] * len(headings), *(list(row.values()) for row in rows)]
    print(
        f"### {markdown_text(title)}\n", *(f"- {markdown_text(key)}" for key in keys), "", sep="\n"
    )
    for line in lines:
        print(f"| {' | '.join(line if line is lines[1] else map(markdown_text, line))} |")
    for reason in reasons:
        print(f"\n**Weaker:** {markdown_text(reason)}")


def _changed_rows(old: CentralPlan, new: CentralPlan) -> list[Row]:
    """A row for each query of a statistic that changes, and one for the release."""
    from dpcli.planning.changes import statistic_changes

    names = ("statistic", "", "query", "epsilon", "rho", "error", "mechanism")
    lines: list[tuple[str | BeforeAfter, ...]] = []
    for change in statistic_changes(old, new):
        head, losses = (change.name, change.change or ""), (change.epsilon, change.rho)
        mechanisms = change.mechanisms
        for query, error in change.errors.items() if change.change else ():
            lines.append((*head, query, *losses, error, " -> ".join(mechanisms)))
            head, losses, mechanisms = ("", ""), (NEITHER, NEITHER), ()
    rules = dict.fromkeys(plan.spec.privacy.composition.name for plan in (old, new))
    total = ((old.cost.epsilon, new.cost.epsilon), (old.cost.rho, new.cost.rho))
    lines.append(("in all", "", "", *total, NEITHER, " to ".join(rules)))
    return [
        {
            name: cell if isinstance(cell, str) else _arrow(*cell)
            for name, cell in zip(names, line, strict=True)
            if name != "rho" or new.spec.privacy.composition.takes_rho
        }
        for line in lines
    ]


def _arrow(before: Fraction | None, after: Fraction | None) -> str:
    """Two numbers with an arrow; only one if the other is None or has the same text."""
    texts = dict.fromkeys(
        rounded_text(number, 6) for number in (before, after) if number is not None
    )
    return " -> ".join(texts)
