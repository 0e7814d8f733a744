"""The ledger of a command, what its account allows, and notes around a charge."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from dpcli.errors import Failure, LedgerError, Problem, QualityError, Stopped
from dpcli.ledger import sqlite
from dpcli.ledger.account import Account, Outlook
from dpcli.ledger.account import outlook as account_outlook
from dpcli.ledger.balance import Spend, period_number
from dpcli.ledger.charge import Stored, resolved
from dpcli.ledger.ledger import Ledger, create_ledger
from dpcli.ledger.place import is_absent, require_no_history, require_place
from dpcli.ledger.store import Store
from dpcli.ledger.terms import Terms, terms_of
from dpcli.plan.model import Plan
from dpcli.plan.planner import require_budget
from dpcli.spec.model import Spec

DEFAULT = "dpcli-ledger.sqlite"
"""The ledger next to a spec, made when it is first needed."""

MUST_EXIST = "DPCLI_LEDGER_MUST_EXIST"
"""The variable that demands a ledger, and an account in it, that exist already."""


def must_exist(spec: Spec) -> bool:
    """Whether the spec or the environment demands a ledger and an account that exist."""
    return spec.must_exist or os.environ.get(MUST_EXIST, "") not in {"", "0"}


@contextmanager
def open_ledger(named: Path | None, spec: Path, *, must_exist: bool = False) -> Iterator[Ledger]:
    """The named ledger, which must exist, or the one next to the spec.

    The latter is created if it is absent, which is announced, unless it `must_exist`.
    """
    _announce_waiting()
    path = named or spec.parent / DEFAULT
    if named is None and must_exist and is_absent(path):
        raise LedgerError.about("ledger-must-exist", path=path)
    ledger = Ledger(create_ledger(path) if named is None else Store.open(path))
    if ledger.store.created:
        print(
            f"created the ledger `{path}`: its history is empty, so every budget in it is unspent",
            file=sys.stderr,
        )
    try:
        yield ledger
    finally:
        ledger.close()


@contextmanager
def existing_ledger(named: Path | None, *, doubtful: bool = False) -> Iterator[Ledger]:
    """The named ledger, or the default one of this folder; it must exist."""
    _announce_waiting()
    ledger = Ledger(Store.open(named or Path(DEFAULT), doubtful=doubtful))
    try:
        yield ledger
    finally:
        ledger.close()


def _announce_waiting() -> None:
    sqlite.notice = lambda: print(
        "waiting for other processes that use the ledger ...", file=sys.stderr, flush=True
    )


@dataclass(frozen=True, slots=True)
class Request:
    """What a command line asks about: a plan, its ledger, and the day that it names."""

    plan: Plan
    ledger: Path | None
    spec: Path
    period: str | None = None
    data: Sequence[str] = ()

    @property
    def path(self) -> Path:
        """The ledger that is named, or the one next to the spec."""
        return self.ledger or self.spec.parent / DEFAULT

    @property
    def terms(self) -> Terms:
        """The terms of the spec."""
        return terms_of(self.plan.spec)

    @property
    def day(self) -> int | None:
        """The day as a number."""
        return None if self.period is None else period_number(self.period)

    @property
    def spend(self) -> Spend:
        """What the release would add."""
        return Spend(tuple(self.plan.answers.items()), self.day)


def outlook(request: Request, times: int | None = None) -> Outlook:
    """What a release would meet, and that many of them; a refusal is part of the answer.

    Refused is what `dpcli release` would refuse first: what the budget of the spec does not
    allow, then a ledger that cannot be used, then what the account does not accept. Warns of
    other accounts that were charged for the same file.
    """
    over = None
    try:
        require_budget(request.plan)
    except Failure as failure:
        over = failure
    try:
        found = _in_ledger(request, times if over is None else None)
    except Failure as failure:
        found = Outlook(request.path, request.path.exists(), refused=failure)
    warn(sharing_warnings(request.plan.spec.dataset, found.shared))
    return found if over is None else replace(found, refused=over, after=None)


def _in_ledger(request: Request, times: int | None) -> Outlook:
    """What the ledger allows; LedgerError if it cannot be used."""
    path, dataset = request.path, request.plan.spec.dataset
    opens = not must_exist(request.plan.spec)
    asked = request.terms, request.spend, times
    if request.ledger is None and is_absent(path):
        if not opens:
            raise LedgerError.about("ledger-must-exist", path=path)
        require_place(path)
        require_no_history(path)
        return account_outlook(Account(path), *asked, opens=opens, exists=False)
    with existing_ledger(path) as ledger:
        found = account_outlook(ledger.account(dataset), *asked, opens=opens, exists=True)
        return replace(found, shared=tuple(ledger.sharing(dataset, resolved(request.data))))


@contextmanager
def charging(again: str) -> Iterator[None]:
    """A charge that may be interrupted; `again` says how to ask for the same once more."""
    try:
        yield
    except (KeyboardInterrupt, Stopped):
        print(f"interrupted; {again}, which charges it once at most", file=sys.stderr)
        raise


def warn(texts: list[str]) -> list[str]:
    """Print warnings on standard error, and hand them back."""
    for text in texts:
        print(f"warning: {text}", file=sys.stderr)
    return texts


def clock_warnings(created: str, latest: str) -> list[str]:
    """A warning if a release is dated before the last one in its ledger."""
    return [f"the clock is behind the last release, of {latest}"] if created < latest else []


def require_quality(stored: Stored) -> None:
    """Raise QualityError if the quality check stopped a release, with every reason."""
    if stored.stopped:
        hint = (
            "see `dpcli check SPEC DATA --cells` and `dpcli ledger export "
            f"{stored.release_id} --report check.md`; then correct the spec or the file, and "
            "release it under a new --release-id"
        )
        last = len(stored.stopped) - 1
        raise QualityError(
            Problem("quality-failed", reason, hint if place == last else "")
            for place, reason in enumerate(stored.stopped)
        )


def sharing_warnings(dataset: str, others: Sequence[str]) -> list[str]:
    """A warning if other accounts, each with its own budget, were charged for a file of this."""
    if not others:
        return []
    names = ", ".join(f"`{name}`" for name in others)
    text = (
        f"a file of `{dataset}` was charged to the account{'s' * (len(others) > 1)} {names} as "
        "well: their losses add up for the people in it, and no budget bounds the sum; give all "
        "specs about the same people one `dataset:`"
    )
    return [text]


def announce_account(dataset: str, ledger: str) -> None:
    """Report that this was the first release of an account in its ledger."""
    print(
        f"first release of the account `{dataset}` in the ledger {ledger}: nothing was charged "
        "to it before",
        file=sys.stderr,
    )
