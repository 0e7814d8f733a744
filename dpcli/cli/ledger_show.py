"""`dpcli ledger show` and `history`: what was spent, and what is left."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import fields, replace
from difflib import get_close_matches
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from dpcli.cli.charging import existing_ledger
from dpcli.cli.console import write_json
from dpcli.cli.options import AsJson, NamedLedger, day_option
from dpcli.cli.terminal import write_table
from dpcli.ledger.balance import (
    AccountTerms,
    Balance,
    balance,
    period_number,
    recorded_cost,
    terms_from_spec,
)
from dpcli.ledger.charge import SUFFIX
from dpcli.ledger.forecast import RepeatedRuns
from dpcli.ledger.ledger import OpenLedger
from dpcli.ledger.options import DEFAULT, NAMED
from dpcli.numeric.exact import plain_text, readable_text, with_exponent
from dpcli.planning.plan import Plan
from dpcli.planning.planner import make_plan
from dpcli.privacy.loss import Loss, remaining_text
from dpcli.problems.errors import DpcliError, LedgerError
from dpcli.problems.messages import did_you_mean
from dpcli.report.json import Fact, JsonNumber, json_text
from dpcli.specification.load import read_spec_file

COUNTED = {
    f"{amount}_{measure}": (amount, measure)
    for amount in ("spent", "remaining", "lifetime")
    for measure in ("epsilon", "delta", "rho")
}
"""The reported numbers of a balance: each of its losses in each measure."""

UNKNOWN = "?"
"""Stands for a number that cannot be computed without a package."""

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
    as_json: AsJson = False,
    path: NamedLedger = None,
) -> None:
    """Print what every account has spent and what is left.

    For an account with a window, the spending in its worst window, or with --period in the
    worst one around that day. With --spec the ledger is the one next to SPEC. Reads the
    ledger and SPEC; writes and spends nothing.

    Examples:
        dpcli ledger show
        dpcli ledger show --spec specs/town.yaml       # how many more runs fit
        dpcli ledger show --json | grep remaining_epsilon

    See also: dpcli ledger history, dpcli explain budget
    """
    plan = make_plan(read_spec_file(spec)) if spec else None
    day = period_number(period) if period else None
    default = spec.parent / DEFAULT if spec else None
    with existing_ledger(path or default) as ledger:
        terms = ledger.accounts()
        if plan is not None:
            terms = {name: terms[name] for name in terms if name == plan.spec.dataset}
        accounts = [_account(ledger, account, day, plan) for account in terms.values()]
    if as_json:
        write_json(json_text([_with_numbers(account) for account in accounts]))
        return
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
        for line in _frees_lines(account):
            print(line)
    if plan is not None:
        wanted = terms_from_spec(plan.spec)
        if not terms:
            print(f"`{wanted.dataset}` has no account yet; its first release opens one")
        for account_terms in terms.values():
            for word, kept, stated in account_terms.differences(wanted):
                is_kept = f"the {word} of `{wanted.dataset}` is {kept}"
                print(f"{is_kept}, and {stated} in the spec")


def _account(
    ledger: OpenLedger, terms: AccountTerms, day: int | None, plan: Plan | None
) -> JsonObject:
    """An account's terms, what it spent, and how many more runs of a plan it allows."""
    account, releases, more = ledger.account(terms.dataset), ledger.releases(terms.dataset), None
    frees: list[tuple[str, Balance]] = []
    try:
        losses, frees = account.balance(terms, day), account.frees(terms)
        sizes: dict[str, Fraction | str | None] = {
            key: getattr(getattr(losses, amount), measure)
            for key, (amount, measure) in COUNTED.items()
        }
        if plan is not None:
            # In an account with a window: as many as fit in one that is still empty.
            fits = not account.closed and not list(terms.differences(terms_from_spec(plan.spec)))
            runs = RepeatedRuns(terms, account.costs, tuple(plan.guarantee_counts.items()))
            more = runs.max_runs if fits else 0
    except LedgerError as failure:
        if failure.problems[0].code != "package-missing":
            raise
        print(f"warning: {terms.dataset}: {failure.problems[0].message}", file=sys.stderr)
        sizes = dict.fromkeys(COUNTED, UNKNOWN)
    return {
        **terms.payload(),
        "epsilon": terms.budget.epsilon,
        "delta": terms.budget.delta,
        # One that chose bounds or limits first has two entries.
        "releases": len({(release.release_id or "").removesuffix(SUFFIX) for release in releases}),
        **sizes,
        "more_runs": more,
        "frees": [{"from": start, "remaining": left.remaining} for start, left in frees],
        "closed": account.closed,
    }


def _frees_lines(account: JsonObject) -> Iterator[str]:
    """Lines on the days from which on an account with a window has more left."""
    for free in cast("list[dict[str, Any]]", account["frees"]):
        dataset, day, left = account["dataset"], free["from"], remaining_text(free["remaining"])
        yield (
            f"{dataset}: for data of {day} and later days, {left} is left, if nothing else is "
            "charged"
        )


def _with_numbers(facts: JsonObject) -> dict[str, Fact]:
    """An account or a release for JSON, with numbers as reports have them.

    Numbers are exact if their decimals are short. Else losses are rounded up, and what remains is
    rounded down. An unknown number is null.
    """
    numbers: dict[str, Fact] = {}
    for name in (*COUNTED, "epsilon", "delta"):
        if name in facts:
            size, rounding = facts[name], floor if name.startswith("remaining") else ceil
            numbers[name] = (
                JsonNumber(plain_text(size, rounding)) if isinstance(size, Fraction) else None
            )
    if "frees" in facts:
        numbers["frees"] = [
            {"from": free["from"], "remaining": _loss_down(free["remaining"])}
            for free in cast("list[dict[str, Any]]", facts["frees"])
        ]
    return cast("dict[str, Fact]", facts) | numbers


def _loss_down(loss: Loss) -> dict[str, Fact]:
    measures = {field.name: getattr(loss, field.name) for field in fields(loss)}
    return {
        name: None if size is None else JsonNumber(plain_text(size, floor))
        for name, size in measures.items()
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
    # Some keyboards and shells decompose letters (NFD); names of accounts are composed (NFC).
    dataset = None if dataset is None else unicodedata.normalize("NFC", dataset)
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
    for release in releases:
        release[""] = "stopped by its quality check" if release["stopped"] else None
    columns = ("entry", "created", "dataset", "release_id", "period", "epsilon", "delta")
    stopped = ("",) if any(release[""] for release in releases) else ()
    _write("releases", releases, (*columns, *stopped))


def _releases(ledger: OpenLedger, terms: AccountTerms) -> Iterator[JsonObject]:
    for entry in ledger.releases(terms.dataset):
        content = entry.content()
        charged = recorded_cost(entry.events_json, entry.period, terms.neighbors)
        total = balance(replace(terms, window=None), [charged]).lifetime
        yield {
            "entry": entry.number,
            "created": content["created"],
            "dataset": terms.dataset,
            "release_id": entry.release_id,
            "period": entry.period,
            "epsilon": total.epsilon,
            "delta": total.delta,
            "stopped": content.get("stopped", False),
            "after_check": content.get("after_check"),
            "spec_digest": content["digest"],
            "head": entry.head,
            "recovered": entry.recovered is not None,
            "parts": json.loads(entry.events_json),
        }


def _write(title: str, facts: Sequence[JsonObject], columns: Sequence[str]) -> None:
    rows = [{name.replace("_", " "): _cell(name, fact[name]) for name in columns} for fact in facts]
    write_table(sys.stdout, title, rows)


def _cell(name: str, value: object) -> str:
    """A cell of a table; a loss that no decimal writes is rounded."""
    text = plain_text(value) if isinstance(value, Fraction) else str(value)
    if isinstance(value, Fraction) and "/" in text:
        return readable_text(value, floor if name.startswith("remaining") else ceil)
    return "" if value is None else with_exponent(text)
