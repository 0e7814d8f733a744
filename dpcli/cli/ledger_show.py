"""`dpcli ledger show` and `history`: what was spent, and what is left."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dpcli.cli.accounts import DEFAULT, existing_ledger
from dpcli.cli.console import print_json
from dpcli.cli.options import AsJson, LedgerFile, checked_day
from dpcli.cli.tables import write_table
from dpcli.errors import Failure, LedgerError
from dpcli.ledger.account import Runs
from dpcli.ledger.balance import Balance, balance, period_number, spend
from dpcli.ledger.ledger import Ledger
from dpcli.ledger.store import Store
from dpcli.ledger.terms import Terms, terms_from, terms_of
from dpcli.plan.model import Plan
from dpcli.plan.planner import make_plan
from dpcli.privacy.decimals import plain_text, with_exponent
from dpcli.spec.load import read_any

COUNTED = tuple(
    f"{what}_{measure}"
    for what in ("spent", "remaining", "lifetime")
    for measure in ("epsilon", "delta", "rho")
)
"""What is reported of a balance."""

Facts = dict[str, object]
"""An account or a release, by the keys of its JSON."""


def datasets(incomplete: str) -> Iterator[str]:
    """The accounts of the ledger that a command without `--ledger` would use, for shells.

    It runs at every press of a key: a file that cannot be read offers nothing.
    """
    path = Path(os.environ.get("DPCLI_LEDGER") or DEFAULT)
    if not path.is_file():
        return
    try:
        ledger = Ledger(Store.open(path, doubtful=True))
    except Failure:
        return
    try:
        names = list(ledger.accounts())
    except Failure:
        return
    finally:
        ledger.close()
    yield from (name for name in names if name.startswith(incomplete))


def show(
    spec: Annotated[Path | None, typer.Option(metavar="SPEC")] = None,
    period: Annotated[str | None, typer.Option(metavar="YYYY-MM-DD")] = None,
    as_json: AsJson = False,
    path: LedgerFile = None,
) -> None:
    """Print what every account has spent and what is left."""
    plan = make_plan(read_any(spec)) if spec else None
    day = period_number(checked_day(period) or period) if period else None
    default = spec.parent / DEFAULT if spec else None
    with existing_ledger(path or default) as book:
        accounts = [_account(book, terms, day, plan) for terms in book.accounts().values()]
    if as_json:
        print_json(accounts)
        return
    windows = any(account["window"] for account in accounts)
    deltas = any(account["delta"] != "0" for account in accounts)
    rhos = any(account["spent_rho"] not in {None, "?"} for account in accounts)
    columns = (
        "dataset", "unit", "neighbors", "composition", *(("window",) if windows else ()),
        "releases", "epsilon", "spent_epsilon", "remaining_epsilon",
        *(("lifetime_epsilon",) if windows else ()),
        *(("delta", "spent_delta", "remaining_delta") if deltas else ()),
        *(("spent_rho", "remaining_rho") if rhos else ()),
        *(("more_runs",) if plan else ()),
    )  # fmt: skip
    _write("accounts", accounts, columns, 4, range(4, len(columns)))
    if plan is not None:
        _print_differences(plan, accounts)


def _account(book: Ledger, terms: Terms, day: int | None, plan: Plan | None) -> Facts:
    """The terms of an account, what it has spent, and how many more runs of a plan fit."""
    try:
        counted = _counted(book.balance(terms, day))
        more = _more_runs(book, terms, plan)
    except LedgerError as failure:
        if failure.problems[0].code != "package-missing":
            raise
        print(f"warning: {terms.dataset}: {failure.problems[0].message}", file=sys.stderr)
        counted, more = dict.fromkeys(COUNTED, "?"), None
    return {
        **terms.payload(),
        "epsilon": plain_text(terms.budget.epsilon),
        "delta": plain_text(terms.budget.delta),
        "releases": len(book.releases(terms.dataset)),
        **counted,
        "more_runs": more,
        "closed": book.account(terms.dataset).closed,
    }


def _counted(balance: Balance) -> dict[str, str | None]:
    """A balance in every measure; in rho where the composition counts in it."""
    losses = (balance.spent, balance.remaining, balance.lifetime)
    measures = [
        None if measure is None else plain_text(measure)
        for loss in losses
        for measure in (loss.epsilon, loss.delta, loss.rho)
    ]
    return dict(zip(COUNTED, measures, strict=True))


def _write(
    title: str, facts: Sequence[Facts], columns: Sequence[str], words: int, right: Sequence[int]
) -> None:
    """A table of facts; the first `words` columns are not numbers."""
    rows = [
        [
            text if place < words else with_exponent(text)
            for place, name in enumerate(columns)
            for text in ["" if one[name] is None else str(one[name])]
        ]
        for one in facts
    ]
    header = [name.replace("_", " ") for name in columns]
    if any(one.get("stopped") for one in facts):
        header.append("")
        for row, one in zip(rows, facts, strict=True):
            row.append("stopped by its quality check" if one["stopped"] else "")
    write_table(sys.stdout, title, header, rows, right)


def _print_differences(plan: Plan, accounts: Sequence[Mapping[str, object]]) -> None:
    """Why a spec has no account to run on, if it has none."""
    wanted = terms_of(plan.spec)
    mine = [account for account in accounts if account["dataset"] == wanted.dataset]
    if not mine:
        print(f"`{wanted.dataset}` has no account yet; its first release opens one")
        return
    for word, kept, asked in terms_from(mine[0]).differences(wanted):
        print(f"the {word} of `{wanted.dataset}` is {kept}, and {asked} in the spec")


def _more_runs(book: Ledger, terms: Terms, plan: Plan | None) -> int | None:
    """How many more releases of a plan an account allows, up to a limit.

    In an account with a window, how many in one that is still empty.
    """
    if plan is None or plan.spec.dataset != terms.dataset:
        return None
    account = book.account(terms.dataset)
    if account.closed or list(terms.differences(terms_of(plan.spec))):
        return 0
    return Runs(terms, account.spends, tuple(plan.answers.items())).most


def history(
    dataset: Annotated[
        str | None, typer.Argument(metavar="DATASET", autocompletion=datasets)
    ] = None,
    as_json: AsJson = False,
    path: LedgerFile = None,
) -> None:
    """Print what was charged, entry by entry."""
    releases: list[Facts] = []
    # Some keyboards and shells decompose letters; names of accounts are composed.
    dataset = None if dataset is None else unicodedata.normalize("NFC", dataset)
    with existing_ledger(path) as book:
        if dataset is not None and dataset not in book.accounts():
            raise LedgerError.of(
                "no-such-account",
                f"the ledger `{book.path}` has no account `{dataset}`",
                "`dpcli ledger show` lists them",
            )
        for name, terms in book.accounts().items():
            for entry in book.releases(name) if dataset in (None, name) else ():
                content = entry.content()
                charged = spend(entry.parts, entry.period, terms.neighbors)
                total = balance(replace(terms, window=None), [charged]).lifetime
                releases.append(
                    {
                        "entry": entry.number,
                        "created": content["created"],
                        "dataset": name,
                        "release_id": entry.release_id,
                        "period": entry.period,
                        "epsilon": plain_text(total.epsilon),
                        "delta": plain_text(total.delta),
                        "stopped": content.get("stopped", False),
                        "spec_digest": content["digest"],
                        "head": entry.head,
                        "recovered": entry.recovered is not None,
                        "parts": json.loads(entry.parts),
                    }
                )
    releases.sort(key=lambda one: int(str(one["entry"])))
    if as_json:
        print_json(releases)
        return
    columns = ("entry", "created", "dataset", "release_id", "period", "epsilon", "delta")
    _write("releases", releases, columns, 5, (0, 5, 6))
