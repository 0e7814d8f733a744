"""The ledger of a command: what its account allows, and a charge to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dpcli.cli.console import notify, print_line
from dpcli.errors import DpcliError, LedgerError, StoppedBySignal
from dpcli.ledger import waiting
from dpcli.ledger.account import Account, BalanceForecast, sharing_warnings
from dpcli.ledger.balance import RecordedCost, period_number
from dpcli.ledger.filesystem import is_absent, require_no_history, require_place
from dpcli.ledger.options import DEFAULT, charged_ledger, ledger_of, must_exist
from dpcli.ledger.terms import terms_from_spec
from dpcli.planning.plan import Plan
from dpcli.planning.planner import require_plan_fits

if TYPE_CHECKING:
    from dpcli.charging import ChargeRequest
    from dpcli.cli.outputs import Outputs
    from dpcli.ledger.charge import StoredRelease
    from dpcli.ledger.ledger import OpenLedger
    from dpcli.ledger.open_charge import OpenCharge

waiting.notice = partial(notify, "waiting")

QUIET = ("again", "bounds")
"""Notices that `--quiet` leaves out."""


@contextmanager
def open_ledger(
    named: Path | None, spec: Path, *, must_exist: bool = False
) -> Iterator[OpenLedger]:
    """The ledger that is charged; one that is created is announced."""
    with charged_ledger(named, spec.parent, must_exist=must_exist) as ledger:
        if ledger.created:
            notify("created", path=ledger.path)
        yield ledger


def existing_ledger(named: Path | None, *, unchecked: bool = False) -> closing[OpenLedger]:
    """The named ledger, or the default one of this folder; it must exist."""
    from dpcli.ledger.ledger import OpenLedger

    return closing(OpenLedger.open(named or Path(DEFAULT), unchecked=unchecked))


def forecast_balance(
    plan: Plan,
    spec: Path,
    named: Path | None,
    period: str | None,
    data: Sequence[str] = (),
    times: int | None = None,
    *,
    any_period: bool = False,
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
    request = terms_from_spec(plan.spec), cost, times
    try:
        if named is None and is_absent(path):
            if not may_open:
                raise LedgerError.about("ledger-must-exist", path=path)
            require_place(path)
            require_no_history(path)
            forecast = Account(path, exists=False).forecast(*request, may_open=may_open)
        else:
            from dpcli.ledger.charge import resolved, today

            with existing_ledger(path) as ledger:
                warn(ledger.access_warnings())
                account = ledger.account(dataset)
                forecast = account.forecast(*request, may_open=may_open)
                forecast = replace(forecast, shared=ledger.sharing(dataset, resolved(data)))
                if not any_period:
                    account.require_likely_period(cost.period, today())
    except DpcliError as failure:
        forecast = BalanceForecast(path, path.exists(), refused=failure)
    warn(sharing_warnings(forecast.shared))
    return forecast if over is None else replace(forecast, refused=over, after=None)


def warn(texts: list[str]) -> list[str]:
    """Print warnings on standard error, and hand them back."""
    for text in texts:
        print_line(f"warning: {text}")
    return texts


def charge_and_publish(
    request: ChargeRequest,
    inputs: Sequence[Path],
    outputs: Outputs,
    make: Callable[..., StoredRelease],
    render: Callable[..., object],
    *,
    quiet: bool,
    is_local: bool = True,
) -> tuple[StoredRelease, list[str]]:
    """Charge for a request and publish what it makes; the same release id again costs nothing.

    `make` is `dpcli.releasing.run_release` or `dpcli.local.randomize.randomize_records`. Returns
    what was stored, and warnings. Outputs that must be a mistake, such as those that would replace
    `inputs`, are refused before a ledger is created or anything is read. So are data files that do
    not exist, if they are plain files of this machine (`is_local`) and nothing is stored.
    """
    from dpcli.charging import Notices, charge
    from dpcli.cli.progress import shown_progress
    from dpcli.engine.source import drain_stdin, require_files
    from dpcli.releasing import require_quality

    files = request.files if is_local else ()
    again = f"run the command again with --release-id {request.release_id}"

    def require(open_charge: OpenCharge) -> None:
        if open_charge.stored is not None and open_charge.stored.later:
            # The outputs of a later check may be in the files of this one.
            require_quality(open_charge.stored, request.path)
        # What failed checks have published may be replaced by what a later one publishes.
        book = open_charge.ledger
        failed = book.failed_checks(request.release_id) if request.check_again else ()
        outputs.require_valid([*inputs, *book.files()], open_charge.stored, failed)
        if open_charge.stored is None:
            require_files(files)

    def make_with_progress(plan: Plan, open_charge: OpenCharge) -> StoredRelease:
        with shown_progress(quiet=quiet) as progress:
            return make(plan, request.data, open_charge, render, progress=progress)

    def publish(stored: StoredRelease) -> None:
        # A check that is made again would be charged again.
        export = f"run `dpcli ledger export {stored.release_id}`"
        outputs.publish(stored, export if request.check_again else again)

    notices = Notices(lambda name, text: None if quiet and name in QUIET else print_line(text))
    # Only a ledger knows which outputs may be there already, and which data are not needed.
    is_new = is_absent(request.path)
    outputs.require_valid(inputs, exist_ok=not is_new)
    if is_new:
        require_files(files)
    try:
        stored = charge(request, make_with_progress, notices, require=require, publish=publish)
    except (KeyboardInterrupt, StoppedBySignal):
        notify("interrupted_check" if request.check_again else "interrupted", again=again)
        raise
    if stored.receipt is None:
        drain_stdin(request.files)
    return stored, notices.warnings
