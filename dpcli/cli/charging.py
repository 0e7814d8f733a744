"""The ledger of a command: what its account allows, and a charge to it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dpcli.cli.console import begin_log, current_log, logged_step, print_line
from dpcli.ledger import options
from dpcli.ledger.balance import balance, recorded_cost, terms_from_spec
from dpcli.ledger.options import (
    DEFAULT,
    access_warnings,
    is_absent,
    ledger_of,
    must_exist,
    require_creatable,
    require_no_history,
)
from dpcli.planning.plan import CentralPlan, Plan, PlanT
from dpcli.planning.planner import require_plan_fits
from dpcli.privacy.loss import loss_text, remaining_text
from dpcli.problems.errors import DpcliError, LedgerError, StoppedBySignal

if TYPE_CHECKING:
    from dpcli.cli.outputs import Outputs
    from dpcli.ledger.forecast import BalanceForecast
    from dpcli.ledger.ledger import OpenLedger
    from dpcli.releasing.run import Messages, Run

options.announce_waiting = partial(
    print_line, "waiting for other processes that use the ledger ..."
)

REPORT = " --report check.md"
"""Options of `dpcli ledger export` for a failed check, which has no table."""


def existing_ledger(named: Path | None, *, unchecked: bool = False) -> closing[OpenLedger]:
    """The `named` ledger, or the default ledger of the current folder.

    Raises LedgerError if it does not exist.
    """
    from dpcli.ledger.ledger import OpenLedger

    return closing(OpenLedger.open(named or Path(DEFAULT), unchecked=unchecked))


def forecast_balance(
    plan: Plan,
    spec: Path,
    named: Path | None,
    data: Sequence[str] = (),
    times: int | None = None,
    *,
    any_period: bool = False,
) -> BalanceForecast:
    """The forecast for a release, and for `times` runs of it; it includes a refusal.

    The refusal is the one that `dpcli release` would raise first: for the budget of the spec, then
    for a ledger that cannot be used, then by the account. Prints a warning if other accounts were
    charged for the same file, or if a release could not create its ledger: a forecast needs none.
    """
    from dpcli.ledger.account import Account
    from dpcli.ledger.charge import planned_cost
    from dpcli.ledger.forecast import BalanceForecast, forecast_charge

    path, dataset, over = ledger_of(named, spec.parent), plan.spec.dataset, None
    try:
        require_plan_fits(plan)
    except DpcliError as failure:
        over, times = failure, None
    may_open = not must_exist(plan.spec)
    cost, part_of = planned_cost(plan), plan.spec.part_of
    request = terms_from_spec(plan.spec), cost, times
    try:
        if named is None and is_absent(path):
            if not may_open:
                raise LedgerError.about("ledger-must-exist", path=path)
            require_no_history(path)
            account = Account(path, exists=False)
            forecast = forecast_charge(account, *request, may_open=may_open)
            forecast = replace(forecast, obstacle=_obstacle(path.absolute()))
        else:
            from dpcli.ledger.charge import resolved, today

            with existing_ledger(path) as ledger:
                warn(access_warnings(ledger.path, ledger.anchor))
                account = ledger.account(dataset, part_of=part_of)
                forecast = forecast_charge(account, *request, may_open=may_open)
                shared = ledger.sharing(dataset, resolved(data), part_of)
                forecast = replace(forecast, shared=shared)
                if not any_period:
                    account.require_likely_period(request[0], cost.period, today())
                if isinstance(plan, CentralPlan) and plan.followed_states:
                    from dpcli.releasing.series import SeriesOfRelease

                    SeriesOfRelease(plan, ledger).require_unchanged()
    except DpcliError as failure:
        forecast = BalanceForecast(path, path.exists(), refused=failure)
    warn(forecast.warnings)
    return forecast if over is None else replace(forecast, refused=over, after=None)


def _obstacle(path: Path) -> str:
    """Why a release could not create a ledger; empty if it could."""
    try:
        require_creatable(path)
    except LedgerError as failure:
        return (
            f"a release could not create its ledger here: {failure.problems[0].message}. "
            "`dpcli ledger init PATH` creates one elsewhere, and `--ledger PATH` or DPCLI_LEDGER "
            "names it"
        )
    return ""


def warn(texts: list[str]) -> list[str]:
    """Print warnings on standard error, and return them."""
    for text in texts:
        print_line(f"warning: {text}")
    return texts


@contextmanager
def published(
    run: Run[PlanT], inputs: Sequence[Path], outputs: Outputs, files: Sequence[str]
) -> Iterator[None]:
    """Begin a run, commit it in the block, and finally publish its outputs.

    A release id that was charged before costs nothing. Outputs that must be mistakes, such as
    outputs that would replace `inputs`, are refused before a ledger is created or anything is read.
    If nothing is stored, `files` (local data files) that do not exist are refused as well.
    """
    from dpcli.engine.files.source import drain_stdin, require_files
    from dpcli.releasing.steps import require_quality

    request = run.request
    again = f"run the command again with --release-id {request.release_id}"
    begin_log(release=request.release_id, dataset=request.plan.spec.dataset, step="open")
    # Only a ledger knows which outputs may be there already, and which data are not needed.
    is_new = is_absent(request.path)
    outputs.require_valid(inputs, exist_ok=not is_new)
    if is_new:
        require_files(files)

    def require_valid() -> None:
        stored, book = run.stored, run.ledger
        if stored is not None and stored.later:
            # The outputs of a later check may be in the files of this one.
            require_quality(stored, request.path)
        # What failed checks have published may be replaced by what a later one publishes.
        named = request.release_id, request.plan.spec.dataset
        failed = book.failed_checks(*named) if request.check_again else ()
        outputs.require_valid([*inputs, *book.files()], stored, failed)
        if stored is None:
            require_files(files)

    try:
        with run:
            _begin(run, require_valid)
            yield
            # A check that is made again would be charged again.
            stored = run.outcome
            path = shlex.quote(str(request.path))
            kind = REPORT if stored.stopped else ""
            export = f"run `{stored.export_command()} --ledger {path}{kind}`"
            with logged_step("publish", "written") as facts:
                outputs.publish(stored, export if request.check_again else again)
                facts["files"] = [str(path) for path in outputs.files(stored)]
    except (KeyboardInterrupt, StoppedBySignal):
        interrupted = f"interrupted; {again}, which charges it once at most"
        if request.check_again:
            interrupted = (
                "interrupted; `dpcli ledger history` shows whether this check was charged; "
                f"{again} and `--check-again` publishes it if it passed, and charges for "
                "another check if it failed or nothing was charged"
            )
        print_line(interrupted)
        raise
    if run.outcome.receipt is None:
        drain_stdin(request.files)
    with logged_step("end", "stopped by its quality check" if run.outcome.stopped else "done"):
        pass


def _begin(run: Run[PlanT], require_valid: Callable[[], None]) -> None:
    """Check outputs, ledger and account, and take the steps before statistics."""
    with logged_step("open", "checked before rows are read"):
        require_valid()
        run.require_account()
        reads = run.stored is None and run.request.plan.chooses_bounds
        if not reads:
            run.take_first_steps()
    if reads:
        # The same text if the check fails, which is not charged yet.
        with logged_step("choose", "first counts done"):
            run.take_first_steps()
            # This takes time, in which other processes may write files.
            require_valid()


@contextmanager
def logged_commit(run: Run[PlanT]) -> Iterator[None]:
    """Log what the release costs with the entry of its choice, and what is left."""
    with logged_step("commit", "stored in the ledger") as facts:
        yield
        receipt, charged = run.outcome.receipt, "nothing"
        if receipt is not None:
            from dpcli.ledger.charge import SUFFIX

            terms, costs = receipt.terms, [run.ledger_transaction.charge.cost]
            choice = run.ledger.entry_of(f"{run.outcome.release_id}{SUFFIX}", terms.dataset)
            if choice is not None:
                costs.append(recorded_cost(choice.events_json, choice.period, terms))
            charged = loss_text(balance(replace(terms, window=None), costs).lifetime)
            facts |= {"remaining": remaining_text(receipt.balance.remaining)}
        facts |= {"charged": charged}


def shown_messages(*, quiet: bool) -> Messages:
    """Messages of a charge that are printed on standard error."""
    from dpcli.releasing.run import Messages

    if log := current_log():
        log.quiet = quiet
    return Messages(lambda text, usual: None if quiet and usual else print_line(text))
