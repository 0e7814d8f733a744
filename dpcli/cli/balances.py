"""`dpcli ledger show` and `history`: what was spent, and what is left."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpcli.cli.completing import datasets
from dpcli.cli.ledger_file import AsJson, Named

if TYPE_CHECKING:
    from dpcli.ledger.balance import Balance
    from dpcli.ledger.ledger import Ledger
    from dpcli.ledger.terms import Terms
    from dpcli.plan.model import Plan
    from dpcli.privacy.loss import Loss


def show(
    spec: Annotated[
        Path | None, typer.Option(metavar="SPEC", help="How many more runs of this spec fit.")
    ] = None,
    period: Annotated[
        str | None,
        typer.Option(metavar="YYYY-MM-DD", help="Windows around this day, not the worst ones."),
    ] = None,
    as_json: AsJson = False,
    path: Named = None,
) -> None:
    """Print what every account has spent and what is left.

    Of an account with a window, what its worst window holds, or with --period the
    worst one around that day. With --spec the ledger is the one beside SPEC. Reads the
    ledger and SPEC; writes and spends nothing.

    Examples:
        dpcli ledger show
        dpcli ledger show --spec specs/town.yaml       # how many more runs fit
        dpcli ledger show --json | grep remaining_epsilon

    See also: dpcli ledger history, dpcli explain budget
    """
    from dpcli.cli.console import print_json, write_table
    from dpcli.cli.ledger_file import DEFAULT, existing_ledger
    from dpcli.cli.words import checked_day
    from dpcli.errors import LedgerError
    from dpcli.ledger.balance import period_number
    from dpcli.plan.planner import make_plan
    from dpcli.privacy.decimals import plain_text, with_exponent
    from dpcli.spec.load import read_any

    plan = make_plan(read_any(spec)) if spec else None
    day = period_number(checked_day(period) or period) if period else None
    told = []
    beside = spec.parent / DEFAULT if spec else None
    with existing_ledger(path or beside) as book:
        for terms in book.accounts().values():
            try:
                counted = _counted(book.balance(terms, day))
                more = _more_runs(book, terms, plan)
            except LedgerError as failure:
                if failure.problems[0].code != "package-missing":
                    raise
                print(f"warning: {terms.dataset}: {failure.problems[0].message}", file=sys.stderr)
                counted, more = dict.fromkeys(COUNTED, "?"), None
            told.append(
                {
                    **terms.payload(),
                    "epsilon": plain_text(terms.budget.epsilon),
                    "delta": plain_text(terms.budget.delta),
                    "releases": len(book.releases(terms.dataset)),
                    **counted,
                    "more_runs": more,
                    "closed": book.account(terms.dataset).closed,
                }
            )
    if as_json:
        print_json(told)
        return
    windows = any(account["window"] for account in told)
    deltas = any(account["delta"] != "0" for account in told)
    rhos = any(account["spent_rho"] not in {None, "?"} for account in told)
    columns = (
        "dataset", "unit", "neighbors", "composition", *(("window",) if windows else ()),
        "releases", "epsilon", "spent_epsilon", "remaining_epsilon",
        *(("lifetime_epsilon",) if windows else ()),
        *(("delta", "spent_delta", "remaining_delta") if deltas else ()),
        *(("spent_rho", "remaining_rho") if rhos else ()),
        *(("more_runs",) if plan else ()),
    )  # fmt: skip
    rows = [
        [
            ""
            if account[name] is None
            else str(account[name])
            if name in columns[:4]
            else with_exponent(str(account[name]))
            for name in columns
        ]
        for account in told
    ]
    header = [name.replace("_", " ") for name in columns]
    write_table(sys.stdout, "accounts", header, rows, range(4, len(columns)))
    if plan is not None:
        _say_what_differs(plan, told)


COUNTED = tuple(
    f"{what}_{measure}"
    for what in ("spent", "remaining", "lifetime")
    for measure in ("epsilon", "delta", "rho")
)
"""What is told of a balance."""


def _counted(balance: Balance) -> dict[str, str | None]:
    """A balance in every measure."""
    from dpcli.privacy.decimals import plain_text

    losses = (balance.spent, balance.remaining, balance.lifetime)
    measures = [
        text
        for loss in losses
        for text in (plain_text(loss.epsilon), plain_text(loss.delta), _rho(loss))
    ]
    return dict(zip(COUNTED, measures, strict=True))


def _rho(loss: Loss) -> str | None:
    """The rho of a loss, where the composition counts in it."""
    from dpcli.privacy.decimals import plain_text

    return None if loss.rho is None else plain_text(loss.rho)


def _say_what_differs(plan: Plan, told: Sequence[Mapping[str, object]]) -> None:
    """Why a spec has no account to run on, if it has none."""
    from dpcli.ledger.terms import terms_from, terms_of

    wanted = terms_of(plan.spec)
    mine = [account for account in told if account["dataset"] == wanted.dataset]
    if not mine:
        print(f"`{wanted.dataset}` has no account yet; its first release opens one")
        return
    for word, kept, asked in terms_from(mine[0]).differences(wanted):
        print(f"the {word} of `{wanted.dataset}` is {kept}, the spec says {asked}")


def history(
    dataset: Annotated[
        str | None,
        typer.Argument(metavar="DATASET", help="Only this account.", autocompletion=datasets),
    ] = None,
    as_json: AsJson = False,
    path: Named = None,
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
    from dpcli.cli.console import print_json, write_table
    from dpcli.cli.ledger_file import existing_ledger
    from dpcli.errors import LedgerError
    from dpcli.ledger.balance import balance, spend
    from dpcli.ledger.sqlite import translated_errors
    from dpcli.privacy.decimals import plain_text, with_exponent

    told: list[dict[str, object]] = []
    # Some keyboards and shells decompose letters; names of accounts are composed.
    dataset = None if dataset is None else unicodedata.normalize("NFC", dataset)
    with existing_ledger(path) as book, translated_errors(book.path):
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
                told.append(
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
    told.sort(key=lambda one: int(str(one["entry"])))
    if as_json:
        print_json(told)
        return
    columns = ("entry", "created", "dataset", "release_id", "period", "epsilon", "delta")
    rows = [["" if one[name] is None else str(one[name]) for name in columns[:5]] for one in told]
    for row, one in zip(rows, told, strict=True):
        row += [with_exponent(str(one[name])) for name in columns[5:]]
    header = [name.replace("_", " ") for name in columns]
    if any(one["stopped"] for one in told):
        header.append("")
        for row, one in zip(rows, told, strict=True):
            row.append("stopped by its quality check" if one["stopped"] else "")
    write_table(sys.stdout, "releases", header, rows, (0, 5, 6))


def _more_runs(book: Ledger, terms: Terms, plan: Plan | None) -> int | None:
    """How many more releases of a plan an account allows, up to a limit.

    In an account with a window, how many in one that is still empty.
    """
    from dpcli.ledger.outlook import Runs
    from dpcli.ledger.terms import terms_of

    if plan is None or plan.spec.dataset != terms.dataset:
        return None
    account = book.account(terms.dataset)
    if account.closed or list(terms.differences(terms_of(plan.spec))):
        return 0
    return Runs(terms, account.spends, tuple(plan.answers.items())).most
