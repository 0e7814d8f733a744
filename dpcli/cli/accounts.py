"""The ledger of a command: what its account allows, and a charge to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dpcli.cli.console import notify, say
from dpcli.errors import DpcliError, LedgerError, StoppedBySignal
from dpcli.ledger import sqlite
from dpcli.ledger.account import Account, BalanceForecast
from dpcli.ledger.balance import RecordedCost, period_number
from dpcli.ledger.charge import Charge, StoredRelease, charge_for, resolved
from dpcli.ledger.filesystem import is_absent, require_no_history, require_place
from dpcli.ledger.ledger import Ledger
from dpcli.ledger.open_charge import OpenCharge
from dpcli.ledger.options import DEFAULT, charged_ledger, ledger_of, must_exist
from dpcli.ledger.terms import terms_from_spec
from dpcli.messages import note, quoted_list
from dpcli.planning.plan import Plan
from dpcli.planning.planner import require_plan_fits

if TYPE_CHECKING:
    from dpcli.cli.outputs import Outputs

sqlite.notice = partial(notify, "waiting")


@contextmanager
def open_ledger(named: Path | None, spec: Path, *, must_exist: bool = False) -> Iterator[Ledger]:
    """The ledger that is charged; one that is created is announced."""
    with charged_ledger(named, spec.parent, must_exist=must_exist) as ledger:
        if ledger.created:
            notify("created", path=ledger.path)
        yield ledger


def existing_ledger(named: Path | None, *, unchecked: bool = False) -> closing[Ledger]:
    """The named ledger, or the default one of this folder; it must exist."""
    return closing(Ledger.open(named or Path(DEFAULT), unchecked=unchecked))


def forecast_balance(
    plan: Plan,
    spec: Path,
    named: Path | None,
    period: str | None,
    data: Sequence[str] = (),
    times: int | None = None,
) -> BalanceForecast:
    """What a release would meet, and that many of them; a refusal is part of the answer.

    Refused is what `dpcli release` would refuse first: what the budget of the spec does not
    allow, then a ledger that cannot be used, then what the account does not accept. Warns of
    other accounts that were charged for the same file.
    """
    path, dataset, over = ledger_of(named, spec.parent), plan.spec.dataset, None
    try:
        require_plan_fits(plan)
    except DpcliError as failure:
        over, times = failure, None
    may_open = not must_exist(plan.spec)
    cost = RecordedCost(
        tuple(plan.guarantee_counts.items()), None if period is None else period_number(period)
    )
    asked = terms_from_spec(plan.spec), cost, times
    try:
        if named is None and is_absent(path):
            if not may_open:
                raise LedgerError.about("ledger-must-exist", path=path)
            require_place(path)
            require_no_history(path)
            found = Account(path, exists=False).forecast(*asked, may_open=may_open)
        else:
            with existing_ledger(path) as ledger:
                found = ledger.account(dataset).forecast(*asked, may_open=may_open)
                found = replace(found, shared=ledger.sharing(dataset, resolved(data)))
    except DpcliError as failure:
        found = BalanceForecast(path, path.exists(), refused=failure)
    warn(sharing_warnings(found.shared))
    return found if over is None else replace(found, refused=over, after=None)


def warn(texts: list[str]) -> list[str]:
    """Print warnings on standard error, and hand them back."""
    for text in texts:
        say(f"warning: {text}")
    return texts


def sharing_warnings(shared: Mapping[str, set[str]]) -> list[str]:
    """A warning if other accounts, each with its own budget, were charged for the same files."""
    files = sorted({Path(path).name for paths in shared.values() for path in paths})
    facts = {"names": quoted_list(shared), "count": len(shared), "files": quoted_list(files)}
    return [note("notice.shared", **facts)] if shared else []


@dataclass(frozen=True, slots=True)
class ChargeRequest:
    """What a command line asks to be charged for: a plan, its data, and its account.

    `inputs` are the files that it reads, which no output may replace.
    """

    plan: Plan
    spec: Path
    data: tuple[str, ...]
    inputs: tuple[Path, ...]
    release_id: str
    ledger: Path | None
    period: str | None
    quiet: bool

    @property
    def path(self) -> Path:
        """The ledger."""
        return ledger_of(self.ledger, self.spec.parent)

    @property
    def charge(self) -> Charge:
        """What it will be charged for, now."""
        return charge_for(
            self.plan,
            self.release_id,
            self.period,
            files=resolved(self.data),
            may_open=not must_exist(self.plan.spec),
        )


def charge_and_publish(
    request: ChargeRequest,
    outputs: Outputs,
    make: Callable[..., StoredRelease],
    render: Callable[..., object],
) -> tuple[StoredRelease, list[str]]:
    """Charge for a request and publish what it makes; the same release id again costs nothing.

    `make` is `dpcli.releasing.release` or `dpcli.local.randomize.randomize_records`. Returns
    what was
    stored and warnings. Outputs that must be a mistake are refused before a ledger is created or
    anything is read.
    """
    from dpcli.cli.progress import shown_progress
    from dpcli.engine.source import drain_stdin

    spec = request.plan.spec
    again = f"run the command again with --release-id {request.release_id}"
    # Only a ledger knows which outputs may be there already.
    outputs.require(request.inputs, exist_ok=not is_absent(request.path))
    demanded = must_exist(spec)
    try:
        with open_ledger(request.ledger, request.spec, must_exist=demanded) as book:
            charge = request.charge
            with OpenCharge(book, charge) as open_charge:
                outputs.require([*request.inputs, *book.files()], open_charge.stored)
                latest = book.latest()
                warned = warn(sharing_warnings(book.sharing(spec.dataset, charge.files)))
                with shown_progress(quiet=request.quiet) as progress:
                    stored = make(
                        request.plan, request.data, open_charge, render, progress=progress
                    )
            outputs.publish(stored, again)
    except (KeyboardInterrupt, StoppedBySignal):
        notify("interrupted", again=again)
        raise
    if charge.created < latest:
        warned += warn([note("notice.clock", latest=latest)])
    if stored.receipt is None:
        drain_stdin(request.data)
        if not request.quiet:
            what = "responses" if request.plan.is_local else "release"
            notify("again", what=what, name=request.release_id)
    elif stored.receipt.first:
        notify("first", dataset=spec.dataset, ledger=stored.receipt.ledger)
    return stored, warned
