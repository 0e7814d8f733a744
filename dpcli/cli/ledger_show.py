"""`dpcli ledger show` and `history`: what was spent, and what is left."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import fields, replace
from difflib import get_close_matches
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from dpcli.cli.charging import existing_ledger
from dpcli.cli.console import print_line, write_json
from dpcli.cli.options import AsJson, NamedLedger, composed, day_option
from dpcli.cli.terminal import write_table
from dpcli.fields.json import Fact, JsonNumber, json_text
from dpcli.fields.values import NumberSyntaxError, parse_number
from dpcli.ledger.account import Account, budget_text, sharing_warnings
from dpcli.ledger.balance import (
    AccountTerms,
    Balance,
    RecordedCost,
    SeriesCost,
    balance,
    period_number,
    recorded_cost,
    terms_from_spec,
)
from dpcli.ledger.chain import LedgerEntry
from dpcli.ledger.charge import SUFFIX, now, planned_cost
from dpcli.ledger.forecast import MAX_RUNS, RepeatedRuns, repeated_runs, timeline
from dpcli.ledger.ledger import OpenLedger
from dpcli.ledger.options import DEFAULT, NAMED, access_warnings
from dpcli.numeric.exact import plain_text, readable_text, with_exponent
from dpcli.planning.plan import Plan
from dpcli.planning.planner import make_plan
from dpcli.privacy.loss import Guarantee, Loss, loss_text, remaining_text
from dpcli.problems.errors import (
    BudgetError,
    DpcliError,
    LedgerError,
    Problem,
    UsageError,
    make_problem,
)
from dpcli.problems.messages import count_text, did_you_mean
from dpcli.releasing.publishing import publish_to_stdout
from dpcli.specification.load import read_spec_file
from dpcli.version import __version__

COUNTED = {
    f"{amount}_{measure}": (amount, measure)
    for amount in ("spent", "remaining", "lifetime")
    for measure in ("epsilon", "delta", "rho")
}
"""The reported numbers of a balance: each of its losses in each measure."""

UNKNOWN = "?"
"""Stands for a number that cannot be computed without a package."""

Shared = Mapping[str, set[str]]
"""Other accounts that were charged for files of an account, with these files."""

SHOWN_RELEASES = 5
"""How many of the last releases of an account the page shows."""

JsonObject = dict[str, object]
"""An account or a release, by the keys of its JSON."""


def datasets(incomplete: str) -> Iterator[str]:
    """The accounts of the default ledger, for completion in shells.

    A shell calls it for each word that it completes: a ledger that cannot be read gives no names.
    """
    path = Path(os.environ.get(NAMED) or DEFAULT)
    names: list[str] = []
    if path.is_file():
        with suppress(DpcliError), closing(OpenLedger.open(path, unchecked=True)) as ledger:
            names += ledger.accounts()
    yield from (name for name in names if name.startswith(incomplete))


def show(
    spec: Annotated[
        Path | None, typer.Option(metavar="SPEC", help="How many more runs of this spec fit.")
    ] = None,
    period: Annotated[
        str | None, day_option("Windows around this day, not the worst ones.")
    ] = None,
    fail_below: Annotated[
        str | None, typer.Option(metavar="SHARE", help="Exit 5 if less is left, such as 10%.")
    ] = None,
    as_json: AsJson = False,
    as_html: Annotated[bool, typer.Option("--html", help="A page for people, on stdout.")] = False,
    path: NamedLedger = None,
) -> None:
    """Print what every account has spent and what is left.

    For an account with a window, the spending in its worst window, or with --period in the
    worst one around that day. With --spec the ledger is the one next to SPEC. The page of
    --html has the last releases, too, and how many more of the last one's price fit. Reads the
    ledger and SPEC; writes and spends nothing.

    Examples:
        dpcli ledger show
        dpcli ledger show --spec specs/town.yaml       # how many more runs fit
        dpcli ledger show --json | grep remaining_epsilon
        dpcli ledger show --html > budgets.html
        dpcli ledger show --fail-below 10% > /dev/null  # in a job that warns

    Exits 5 with --fail-below if an account has less than this share of a part of its budget.

    See also: dpcli ledger history, dpcli explain budget
    """
    if as_html and as_json:
        fix = "give one of them"
        raise UsageError.about("bad-option", given="`--html`", other="`--json`", fix=fix)
    least = None if fail_below is None else _share(fail_below)
    plan = make_plan(read_spec_file(spec)) if spec else None
    day = period_number(period) if period else None
    default = spec.parent / DEFAULT if spec else None
    with existing_ledger(path or default) as ledger:
        terms = ledger.accounts()
        if plan is not None:
            terms = {name: terms[name] for name in terms if name == plan.spec.dataset}
        shared = {name: ledger.sharing(name) for name in terms}
        accounts = [
            _account(ledger, account, day, plan) | {"shares_files_with": list(shared[name])}
            for name, account in terms.items()
        ]
        page = _page(ledger, terms, accounts, shared) if as_html else b""
    if as_html:
        publish_to_stdout(page)
    elif as_json:
        write_json(json_text([_with_numbers(account) for account in accounts]))
    else:
        _write_accounts(accounts, terms, plan, shared)
    if least is not None:
        BudgetError.require_none(_low_accounts(accounts, terms, least, str(fail_below)))


def _write_accounts(
    accounts: Sequence[JsonObject],
    terms: Mapping[str, AccountTerms],
    plan: Plan | None,
    shared: Mapping[str, Shared],
) -> None:
    """Print the accounts as a table, and when windows free what was spent."""
    windows = any(account["window"] for account in accounts)
    deltas = any(account["delta"] != 0 for account in accounts)
    rhos = any(account["spent_rho"] not in {None, UNKNOWN} for account in accounts)
    shown = {
        "dataset": True, "unit": True, "neighbors": True, "composition": True, "window": windows,
        "releases": True, "epsilon": True, "spent_epsilon": True, "remaining_epsilon": True,
        "lifetime_epsilon": windows, "delta": deltas, "spent_delta": deltas,
        "remaining_delta": deltas, "spent_rho": rhos, "remaining_rho": rhos,
        "more_runs": plan is not None,
    }  # fmt: skip
    _write("accounts", accounts, [name for name, is_shown in shown.items() if is_shown])
    for account in accounts:
        name = str(account["dataset"])
        for line in (*_account_lines(account), *sharing_warnings(shared[name])):
            print_line(f"{name}: {line}", file=sys.stdout)
    if plan is not None:
        wanted = terms_from_spec(plan.spec)
        if not terms:
            print(f"`{wanted.dataset}` has no account yet; its first release opens one")
        for account_terms in terms.values():
            for word, kept, stated in account_terms.differences(wanted):
                is_kept = f"the {word} of `{wanted.dataset}` is {kept}"
                print_line(f"{is_kept}, and {stated} in the spec", file=sys.stdout)


def _share(text: str) -> Fraction:
    """A share of a budget, as `10%` or `0.1`; UsageError for another text."""
    try:
        number = parse_number(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except NumberSyntaxError:
        number = Fraction(-1)
    if 0 < number <= 1:
        return number
    raise UsageError.about("bad-option.share", share=text)


def _low_accounts(
    accounts: Sequence[JsonObject], terms: Mapping[str, AccountTerms], least: Fraction, stated: str
) -> Iterator[Problem]:
    """A problem for each account with less than a share of its budget left.

    What is left of the worst window counts. A number that is not known may be too low.
    """
    for account in accounts:
        for measure in ("epsilon", "delta", "rho"):
            budget = getattr(terms[str(account["dataset"])].budget, measure)
            left = account[f"remaining_{measure}"]
            if not budget:
                continue
            if not isinstance(left, Fraction) or left < least * budget:
                shown = readable_text(left) if isinstance(left, Fraction) else str(left)
                arguments = {"dataset": account["dataset"], "measure": measure, "least": stated}
                yield make_problem("account-low", left=shown, **arguments)
                break


def _account(
    ledger: OpenLedger, terms: AccountTerms, day: int | None, plan: Plan | None
) -> JsonObject:
    """An account's terms, what it spent, and how many more runs of a plan it allows."""
    account, releases, more = ledger.account(terms.dataset), ledger.releases(terms.dataset), None
    frees: list[tuple[str, Balance]] = []
    spans: dict[str, Loss | str | None] = {}
    recipients: list[JsonObject] = []
    try:
        losses, frees = account.balance(terms, day), account.frees(terms)
        sizes: dict[str, Fraction | str | None] = {
            key: getattr(getattr(losses, amount), measure)
            for key, (amount, measure) in COUNTED.items()
        }
        charged = ledger.charged(terms.dataset)
        spans = timeline(account, terms, charged)
        recipients = [*_recipients(account, terms, charged)]
        if plan is not None:
            # In an account with a window: as many as fit in one that is still empty.
            fits = not account.closed and not list(terms.differences(terms_from_spec(plan.spec)))
            cost = replace(planned_cost(plan), period=None)
            runs = (each.max_runs for each in repeated_runs(account, terms, cost))
            more = min(runs) if fits else 0
    except LedgerError as failure:
        if failure.problems[0].code != "package-missing":
            raise
        print_line(f"warning: {terms.dataset}: {failure.problems[0].message}")
        sizes = dict.fromkeys(COUNTED, UNKNOWN)
    return {
        **terms.payload(),
        "epsilon": terms.budget.epsilon,
        "delta": terms.budget.delta,
        **({} if terms.budget.rho is None else {"rho": terms.budget.rho}),
        # One that chose bounds or limits first has two entries.
        "releases": len({release.release_id.removesuffix(SUFFIX) for release in releases}),
        **sizes,
        "more_runs": more,
        "frees": [{"from": start, "remaining": left.remaining} for start, left in frees],
        "closed": account.closed,
        "part_of": terms.part_of,
        "recipients": recipients,
        "timeline": spans or None,
    }


def _recipients(
    account: Account, terms: AccountTerms, charged: Sequence[tuple[int, RecordedCost]]
) -> Iterator[JsonObject]:
    """What was spent for each recipient, public releases included, and what is left."""
    used = (cost.recipient for _, cost in charged if cost.recipient)
    for name in dict.fromkeys([*dict(terms.recipients), *used]):
        bound = terms.for_recipient(name) if name in dict(terms.recipients) else None
        costs = [cost for cost in account.costs if cost.recipient in (None, name)]
        own = balance(bound or replace(terms, recipients=()), costs)
        yield {
            "name": name,
            "spent": own.spent,
            "budget": bound and bound.budget,
            "remaining": bound and own.remaining,
        }


def _account_lines(account: JsonObject) -> Iterator[str]:
    """Sentences on the days from which on an account with a window has more left."""
    for free in cast("list[dict[str, Any]]", account["frees"]):
        day, left = free["from"], remaining_text(free["remaining"])
        yield f"for data of {day} and later days, {left} is left, if nothing else is charged"
    if parent := account["part_of"]:
        yield f"a part of the account {parent}, to which each release is charged as well"
    for each in cast("list[dict[str, Any]]", account["recipients"]):
        left = f", {remaining_text(each['remaining'])} left" if each["budget"] else ""
        yield f"what {each['name']} gets has spent {loss_text(each['spent'])}{left}"
    if account["recipients"]:
        yield "recipients may share what they get: the budget of the account bounds all together"
    spans = cast("dict[str, Any]", account["timeline"] or {})
    if spans and account["spent_epsilon"]:
        month, year = (loss_text(spans[f"last_{days}_days"]) for days in (30, 365))
        yield f"spent in the last 30 days: {month}; in the last 365 days: {year}"
    if end := spans.get("ends"):
        yield f"the budget ends on {end} if the releases of the last 30 days go on at this pace"


def _with_numbers(facts: JsonObject) -> dict[str, Fact]:
    """An account or a release for JSON, with numbers as reports have them.

    Numbers are exact if their decimals are short. Else losses are rounded up, and what remains is
    rounded down. An unknown number is null.
    """
    numbers: dict[str, Fact] = {}
    for name in (*COUNTED, "epsilon", "delta", "rho"):
        if name in facts:
            size, rounding = facts[name], floor if name.startswith("remaining") else ceil
            numbers[name] = (
                JsonNumber(plain_text(size, rounding)) if isinstance(size, Fraction) else None
            )
    for name in ("frees", "recipients", "timeline"):
        if name in facts:
            numbers[name] = _with_losses(name, facts[name])
    return cast("dict[str, Fact]", facts) | numbers


def _with_losses(name: str, fact: object) -> Any:
    """The same for the losses in a list or an object of this name."""
    if isinstance(fact, list):
        return [_with_losses(name, item) for item in fact]
    if isinstance(fact, dict):
        return {key: _with_losses(key, value) for key, value in fact.items()}
    if not isinstance(fact, Loss):
        return fact
    rounding = floor if name == "remaining" else ceil
    measures = {field.name: getattr(fact, field.name) for field in fields(fact)}
    return {
        measure: None if size is None else JsonNumber(plain_text(size, rounding))
        for measure, size in measures.items()
    }


def history(
    dataset: Annotated[
        str | None,
        typer.Argument(metavar="DATASET", autocompletion=datasets, help="Only this account."),
    ] = None,
    as_json: AsJson = False,
    path: NamedLedger = None,
) -> None:
    """Print what was charged, entry by entry.

    Reads the ledger; writes and spends nothing.

    Examples:
        dpcli ledger history
        dpcli ledger history town-minimal
        dpcli ledger history --json > history.json

    Exits 6 if the ledger has no account of that name.

    See also: dpcli ledger show, dpcli ledger export
    """
    dataset = composed(dataset)
    with existing_ledger(path) as ledger:
        accounts = ledger.accounts()
        if dataset is not None and dataset not in accounts:
            near = did_you_mean(get_close_matches(dataset, accounts, n=2))
            arguments = {"ledger": ledger.path, "dataset": dataset}
            raise LedgerError.about("no-such-account", near=near, **arguments)
        releases = [
            release
            for name, terms in accounts.items()
            if dataset in (None, name)
            for release in _releases(ledger, terms)
        ]
    releases.sort(key=lambda release: int(str(release["entry"])))
    if as_json:
        write_json(json_text([_with_numbers(release) for release in releases]))
        return
    for name in dict.fromkeys(str(one["dataset"]) for one in releases if one["epsilon"] == UNKNOWN):
        print_line(f"warning: {name}: epsilon is unknown without a package; `ledger show` names it")
    for release in releases:
        release[""] = "stopped by its quality check" if release["stopped"] else None
    columns = ("entry", "created", "dataset", "release_id", "period", "epsilon", "delta")
    shown = (name for name in ("recipient", "") if any(release[name] for release in releases))
    _write("releases", releases, (*columns, *shown))


def _releases(
    ledger: OpenLedger, terms: AccountTerms, last: int | None = None
) -> Iterator[JsonObject]:
    """The releases of an account, or the `last` ones, in order."""
    for entry in ledger.releases(terms.dataset)[-(last or 0) :]:
        content = entry.content()
        epsilon, delta = _price(entry, terms)
        yield {
            "entry": entry.number,
            "created": content["created"],
            "dataset": terms.dataset,
            "release_id": entry.release_id,
            "period": entry.period,
            "epsilon": epsilon,
            "delta": delta,
            "stopped": content.get("stopped", False),
            "after_check": content.get("after_check"),
            "recipient": content.get("recipient"),
            "spec_digest": content["digest"],
            "head": entry.head,
            "recovered": entry.recovered is not None,
            "parts": json.loads(entry.events_json),
        }


def _price(entry: LedgerEntry, terms: AccountTerms) -> tuple[Fraction | str, Fraction | str]:
    """The epsilon and the delta of a release; UNKNOWN without a package."""
    charged = recorded_cost(entry.events_json, entry.period, terms)
    try:
        total = balance(replace(terms, window=None), [charged]).lifetime
    except LedgerError as failure:
        if failure.problems[0].code != "package-missing":
            raise
        return UNKNOWN, UNKNOWN
    return total.epsilon, total.delta


def _page(
    ledger: OpenLedger,
    terms: Mapping[str, AccountTerms],
    accounts: Sequence[JsonObject],
    shared: Mapping[str, Shared],
) -> bytes:
    """The page, without scripts and references; `accounts` are those of `--json`."""
    # Templates take long to load.
    from dpcli.report.render import environment

    page = environment("html").get_template("ledger.html.j2")
    views = [
        {
            "name": name,
            "terms": f"{own.unit}, {own.neighbors}, {own.composition}; budget {budget_text(own)}",
            "closed": account["closed"],
            "warnings": sharing_warnings(shared[name]),
            "amounts": list(_amounts(account)),
            "sentences": [*_forecast(ledger, own, account), *_account_lines(account)],
            "releases": list(_releases(ledger, own, SHOWN_RELEASES))[::-1],
        }
        for (name, own), account in zip(terms.items(), accounts, strict=True)
    ]
    warnings = access_warnings(ledger.path, ledger.anchor)
    return page.render(
        title=f"Budget ledger {ledger.path.name}", version=__version__, created=now(),
        ledger=ledger, accounts=views, warnings=warnings, text=_cell,
    ).encode("utf-8", "backslashreplace")  # fmt: skip


def _amounts(account: JsonObject) -> Iterator[tuple[str, int, str]]:
    """Each measure of a budget, how many thousandths are spent, and that in words."""
    for measure in ("epsilon", "delta", "rho"):
        size, spent = Fraction(str(account.get(measure, 0))), account[f"spent_{measure}"]
        if size:
            left = _cell("remaining", account[f"remaining_{measure}"])
            part = min(1000, int(1000 * spent / size)) if isinstance(spent, Fraction) else 0
            words = f"{_cell('spent', spent)} spent, {left} left of {_cell('', size)}"
            yield measure, part, words


def _forecast(ledger: OpenLedger, terms: AccountTerms, shown: JsonObject) -> Iterator[str]:
    """How many more releases of the last one's price fit; nothing without a release."""
    if shown["spent_epsilon"] == UNKNOWN:
        return
    account, entries = ledger.account(terms.dataset), ledger.releases(terms.dataset)
    price: Counter[Guarantee | SeriesCost] = Counter()
    for entry in entries:
        # One that chose bounds or limits first has two entries.
        if entry.release_id.removesuffix(SUFFIX) == entries[-1].release_id.removesuffix(SUFFIX):
            price.update(dict(recorded_cost(entry.events_json, None, terms).guarantees))
    if entries and not account.closed:
        runs = RepeatedRuns(terms, account.costs, tuple(price.items())).max_runs
        limit = "at least " if runs == MAX_RUNS else ""
        where = " in a window without other releases" if terms.window else ""
        more = count_text(runs, "more release")
        yield f"{limit}{more} at the price of the last one would fit{where}"


def _write(title: str, facts: Sequence[JsonObject], columns: Sequence[str]) -> None:
    rows = [{name.replace("_", " "): _cell(name, fact[name]) for name in columns} for fact in facts]
    write_table(sys.stdout, title, rows)


def _cell(name: str, value: object) -> str:
    """A cell of a table; a loss that no decimal writes is rounded."""
    text = plain_text(value) if isinstance(value, Fraction) else str(value)
    if isinstance(value, Fraction) and "/" in text:
        return readable_text(value, floor if name.startswith("remaining") else ceil)
    return "" if value is None else with_exponent(text)
