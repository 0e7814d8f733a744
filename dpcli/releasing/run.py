"""The steps of a release: open the account, read, add noise, charge, store.

The command line, programs and the local model run the same lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import field, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Self, final

from dpcli.engine.progress import Progress
from dpcli.ledger.account import low_warnings, sharing_warnings
from dpcli.ledger.charge import NoisyRelease, RandomizedCollection, Receipt, StoredRelease, resolved
from dpcli.ledger.ledger import OpenLedger, open_or_create_ledger
from dpcli.ledger.options import access_warnings, created_text, must_exist
from dpcli.ledger.transaction import LedgerTransaction
from dpcli.planning.completeness import completeness_of
from dpcli.planning.plan import CentralPlan, LocalPlan, PlanT
from dpcli.planning.planner import require_plan_fits
from dpcli.planning.results import NoisyNumbers
from dpcli.planning.words.data import quality_warnings
from dpcli.problems.errors import UsageError
from dpcli.problems.light_dataclasses import dataclass
from dpcli.releasing.request import ReleaseRequest
from dpcli.releasing.steps import (
    add_noise,
    aggregate_data,
    check_quality,
    estimate_statistic,
    reading_warnings,
)

if TYPE_CHECKING:
    from dpcli.engine.sums.aggregate import ConfidentialAnswer
    from dpcli.planning.quality_check import QualityResult
    from dpcli.releasing.series import SeriesOfRelease


@dataclass(slots=True)
class Messages:
    """Messages about a charge: `warnings`, and what was `done`.

    Each is shown when it is known, with whether it is usual, so that a quiet command omits it.
    """

    show: Callable[[str, bool], None] = lambda _text, _usual: None
    warnings: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)

    def warn(self, texts: Iterable[str]) -> None:
        """Add warnings."""
        for text in texts:
            self.warnings.append(text)
            self.show(f"warning: {text}", False)

    def add(self, text: str, *, usual: bool = False) -> None:
        """Add a message of what was done."""
        self.done.append(text)
        self.show(text, usual)


class Run(Generic[PlanT]):
    """A release or a collection, from its request to what the ledger stores.

    `with Run(request, messages) as release:` opens the ledger that pays. If something is
    `stored` under the same id, it is published. Else `begin` checks all that must hold before rows
    are read, and `commit` of the subclass charges and stores. `messages` collects warnings and
    what was done. The plan of the `request` has the bounds that were chosen. Raises BudgetError,
    DataError or LedgerError, and SpecError if the spec names a data file.
    """

    def __init__(self, request: ReleaseRequest[PlanT], messages: Messages) -> None:
        require_plan_fits(request.plan)
        request.plan.spec.require_period()
        if listed := request.plan.spec.named_files:
            from dpcli.specification.named_files import require_public

            # A program may have read the spec before it knew the data.
            require_public(listed, request.files)
        self.request, self._messages = request, messages

    def __enter__(self) -> Self:
        self.request.require_attempt()
        with ExitStack() as opened:
            self.ledger = opened.enter_context(self._paying_ledger())
            self._latest = self.ledger.latest()
            self.request = self.request.attempt(self.ledger)
            # Known before the entry of a choice records the files as well.
            files = resolved(self.request.files)
            self._open_series()
            spec = self.request.plan.spec
            self._shared = self.ledger.new_sharing(spec.dataset, files, spec.part_of)
            self._opened = opened
            self._open_ledger_transaction()
            self._opened = opened.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._opened.__exit__(kind, error, trace)
        if error is None and self.stored is not None:
            self._announce(self.stored)

    @property
    def outcome(self) -> StoredRelease:
        """The stored release. Raises ValueError if nothing is stored yet."""
        if self.stored is None:
            raise ValueError("nothing is stored before it is committed")
        return self.stored

    def begin(self) -> None:
        """Check period and account before rows are read, and take steps that come first.

        If a release with the same id is stored, nothing happens.
        """
        self.require_account()
        self.take_first_steps()

    def require_account(self) -> None:
        """Check the period, and collect warnings, unless the release is stored."""
        if self.stored is None:
            self.request.require_likely_period(self.ledger)
            self._require_next_period()
            access = access_warnings(self.ledger.path, self.ledger.anchor)
            shared = sharing_warnings(self._shared)
            # If the budget refuses after a check, what was shown must not depend on its result.
            self._messages.warn([*access, *shared, *self._data_warnings()])

    def take_first_steps(self) -> None:
        """Answer what the plan depends on, and check the budget; nothing if it is stored."""
        if self.stored is None:
            self._run_first_phase()
        if self.stored is None:
            charge = self.ledger_transaction.charge
            self.ledger.check_budget(replace(charge, events=charge.reserved or charge.events))

    def _open_ledger_transaction(self) -> None:
        self.ledger_transaction = self._opened.enter_context(
            LedgerTransaction(self.ledger, self.request.charge)
        )
        self.stored = self.ledger_transaction.stored

    @contextmanager
    def _paying_ledger(self) -> Iterator[OpenLedger]:
        """The ledger that pays; one that the caller has opened stays open."""
        named, spec = self.request.ledger, self.request.plan.spec
        if not isinstance(named, Path | None):
            from dpcli.ledger.public import opened_ledger

            yield opened_ledger(named)
            return
        with open_or_create_ledger(named, spec.folder, must_exist=must_exist(spec)) as ledger:
            if ledger.created:
                self._messages.add(created_text(ledger.path))
            yield ledger

    def _open_series(self) -> None:
        """Give the plan of the request what is stored of its series."""

    def _require_next_period(self) -> None:
        """Raise an error unless the period can follow those of the series of the plan."""

    def _run_first_phase(self) -> None:
        """Answer what the plan of the request depends on."""

    def _data_warnings(self) -> list[str]:
        return []

    def _announce(self, stored: StoredRelease) -> None:
        """Add messages about what was charged, and a warning if the clock may be wrong."""
        if self.ledger_transaction.charge.created < self._latest:
            self._messages.warn([f"the clock is behind the last release, of {self._latest}"])
        name, plan = stored.release_id, self.request.plan
        share, receipt = plan.spec.privacy.warn_below, stored.receipt
        if receipt is not None and share is not None:
            named = plan.spec.dataset, receipt.balance, receipt.further_budgets
            self._messages.warn(low_warnings(*named, share))
        if stored.receipt is None:
            again = f"{plan.outcome} {name} published again, nothing charged"
            self._messages.add(again, usual=True)
        elif self.request.after_check:
            self._messages.add(
                f"release {name} follows the failed quality check of "
                f"{self.request.after_check}; both are charged, and nothing is refunded"
            )
        elif stored.receipt.first:
            ledger = stored.receipt.ledger
            dataset = plan.spec.dataset
            self._messages.add(
                f"first release of the account `{dataset}` in the ledger {ledger}: nothing "
                "was charged to it before"
            )


@final
class ReleaseRun(Run[CentralPlan]):
    """A release of the central model: `aggregate`, `answer`, `commit`.

    >>> def released(request, messages, render):
    ...     with ReleaseRun(request, messages) as release:
    ...         release.begin()
    ...         if release.stored is None:
    ...             exact = release.aggregate()
    ...             release.commit(release.answer(exact), render)
    ...     return release.outcome

    Where bounds or a limit are to be chosen, `begin` reads the data, checks them, and chooses. If
    that check fails, nothing more is read or answered.
    """

    _checked: QualityResult | None = None
    _failed: NoisyNumbers | None = None
    _series: SeriesOfRelease | None = None

    def _open_series(self) -> None:
        if self.request.corrected and not self.request.plan.followed_states:
            fix = "release the data under another id"
            raise UsageError.about(
                "bad-option", given="`--corrected`", other="a spec without `series`", fix=fix
            )
        if self.request.plan.followed_states:
            from dpcli.releasing.series import SeriesOfRelease

            self._series = SeriesOfRelease(
                self.request.plan, self.ledger, corrected=self.request.corrected
            )
            self.request = replace(self.request, plan=self._series.plan)

    def _require_next_period(self) -> None:
        if self._series:
            self._series.require_next()

    def aggregate(self, progress: Progress | None = None) -> Sequence[ConfidentialAnswer]:
        """Read the data once, and return confidential exact answers; raises DataError."""
        if self._failed is not None:
            return ()
        sealed, request = self._series.sealed if self._series else None, self.request
        return aggregate_data(
            request.plan, request.data, progress, request.engine, request.sha256, sealed
        )

    def answer(self, exact: Sequence[ConfidentialAnswer]) -> NoisyNumbers:
        """Add noise to every answer, and estimate what is published.

        If the quality check fails, no statistic is answered: the numbers are those of the plan of
        the check, and the charge is reduced to it.
        """
        if self._failed is not None:
            return self._failed
        plan = self.request.plan
        check = plan.answered_check
        permit = self.ledger_transaction.draw_noise(None if check is None else tuple(check.events))
        quality = self._checked or check_quality(plan, exact, permit)
        if quality is not None and quality.reasons:
            plan = plan.quality_check_only
            self.ledger_transaction.charge_check_only()
        noisy_statistics, confidence = add_noise(plan, exact, permit), plan.spec.confidence
        statistics = tuple(
            replace(
                estimate_statistic(noisy, confidence),
                completeness=completeness_of(noisy.planned, plan, quality, noisy.answers),
            )
            for noisy in noisy_statistics
        )
        return NoisyNumbers(plan, statistics, quality)

    def commit(
        self, numbers: NoisyNumbers, render: Callable[[NoisyRelease], Mapping[str, bytes]]
    ) -> StoredRelease:
        """Charge for the numbers, and store the outputs that `render` makes of them."""
        charge = self.ledger_transaction.charge
        stamp = charge.release_id, charge.created
        warned = tuple(reading_warnings(numbers.plan, self.request.data))
        series = self._series

        def outputs(receipt: Receipt) -> Mapping[str, bytes]:
            states = series.stored(numbers) if series else {}
            return {**render(NoisyRelease(numbers, *stamp, receipt, warned)), **states}

        stored = self.ledger_transaction.commit(outputs)
        if stored.release_id == charge.release_id:
            self.stored = stored
            return stored
        # Another process checked the data and chose first: the check here is not used.
        self._failed = None
        self._run_first_phase()
        if self.stored is None:
            self.commit(self.answer(self.aggregate()), render)
        return self.outcome

    def _run_first_phase(self) -> None:
        """Check the data, choose open bounds, and use the plan with these bounds."""
        if not self.request.plan.chooses_bounds:
            return
        from dpcli.planning.words.choices import chosen_texts
        from dpcli.releasing.bounds_choice import check_and_choose

        request = self.request
        found = check_and_choose(
            request.plan, request.data, self.ledger, request.charge, request.engine, self._opened,
            request.sha256,
        )  # fmt: skip
        if found is not None and found.transaction is not None:
            self.ledger_transaction = found.transaction
            self._failed = NoisyNumbers(found.plan, (), found.checked)
            return
        if found is not None:
            for text in chosen_texts(found.plan):
                reused = f"Release id {request.release_id} uses this choice again, at no cost."
                self._messages.add(f"{text} {reused}", usual=True)
            self.request, self._checked = replace(request, plan=found.plan), found.checked
        self._open_ledger_transaction()

    def _data_warnings(self) -> list[str]:
        plan, data = self.request.plan, self.request.data
        lost = self._series.warnings() if self._series else ()
        return [*lost, *quality_warnings(plan), *reading_warnings(plan, data)]


@final
class CollectionRun(Run[LocalPlan]):
    """A collection of the local model: `commit` randomizes the records and charges."""

    def commit(
        self,
        render: Callable[[RandomizedCollection], Mapping[str, bytes]],
        *,
        shuffle: bool,
        progress: Progress | None = None,
    ) -> StoredRelease:
        """Randomize every record, charge for that, and store what `render` makes of it.

        The responses are in the outbox of the ledger then.
        """
        # It needs polars, which commands do without until rows are read.
        from dpcli.local.randomize import randomize_records

        self.stored = randomize_records(
            self.request.plan, self.request.data, self.ledger_transaction, render,
            shuffle=shuffle, progress=progress,
        )  # fmt: skip
        return self.stored
