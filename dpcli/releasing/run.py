"""The steps of a release: open the account, read, add noise, charge, store.

The command line, programs and the local model run the same lines. A plan that leaves bounds or
limits open chooses them in a first phase:

The histograms are answered and charged for in an entry of their own, whose name is the id of the
release with `+bounds`. The entry stores the noisy counts and the chosen bounds. They are public
from then on: the second phase is an ordinary release with these bounds.

Privacy: both phases are charged, so their losses add up by the composition of the account, which
allows that the second phase depends on the answers of the first, as any later release may. The
spec alone decides the mechanisms and the targets of the losses, whatever was chosen. If the limit
on rows per person is chosen too, no histogram depends on it: people are counted once, by the number
of all their rows, and histograms of cells use one random row of each person. Before anything is
read, the account must have enough for both phases. After a crash between them the same release id
finds the stored counts: nothing is answered or charged twice. A data file may change in between;
each phase is then about the file that it read, and is charged for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Self, final

from dpcli.engine.files.source import Input, MemoryTable
from dpcli.engine.progress import Progress
from dpcli.ledger.account import sharing_warnings
from dpcli.ledger.charge import (
    STDIN,
    SUFFIX,
    Charge,
    NoisyRelease,
    RandomizedCollection,
    StoredRelease,
    resolved,
)
from dpcli.ledger.ledger import OpenLedger
from dpcli.ledger.options import access_warnings
from dpcli.ledger.transaction import LedgerTransaction
from dpcli.planning.plan import CentralPlan, LocalPlan, PlanT
from dpcli.planning.planner import allocate, make_plan, require_plan_fits
from dpcli.planning.results import NoisyNumbers, NoisyStatistic, is_limited
from dpcli.planning.words.data import quality_warnings
from dpcli.problems.errors import UsageError
from dpcli.releasing.request import Messages, ReleaseRequest
from dpcli.releasing.steps import (
    Engine,
    add_noise,
    aggregate_data,
    check_quality,
    estimate_statistic,
    reading_warnings,
)
from dpcli.specification.chosen_bounds import (
    from_json,
    narrowest_and_widest,
    to_json,
    with_chosen_bounds,
)
from dpcli.statistics.bounds.chosen_bounds import ChosenBounds

if TYPE_CHECKING:
    from dpcli.engine.sums.aggregate import ConfidentialAnswer


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
        if listed := request.plan.spec.named_files:
            from dpcli.specification.named_files import require_public

            # A program may have read the spec before it knew the data.
            require_public(listed, request.files)
        self.request, self._messages = request, messages

    def __enter__(self) -> Self:
        self.request.require_attempt()
        with ExitStack() as opened:
            self.ledger = opened.enter_context(self.request.opened(self._messages))
            self._latest = self.ledger.latest()
            self.request = self.request.attempt(self.ledger)
            # Known before the entry of a choice records the files as well.
            files = resolved(self.request.files)
            self._shared = self.ledger.new_sharing(self.request.plan.spec.dataset, files)
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
        """Check period and account before rows are read, and choose bounds left open.

        If a release with the same id is stored, nothing happens.
        """
        if self.stored is None:
            self.request.require_likely_period(self.ledger)
            self._choose_bounds()
        if self.stored is None:
            access = access_warnings(self.ledger.path, self.ledger.anchor)
            shared = sharing_warnings(self._shared)
            self._messages.warn([*access, *shared, *self._data_warnings()])
            self.ledger.check_budget(self.ledger_transaction.charge)

    def _open_ledger_transaction(self) -> None:
        self.ledger_transaction = self._opened.enter_context(
            LedgerTransaction(self.ledger, self.request.charge)
        )
        self.stored = self.ledger_transaction.stored

    def _choose_bounds(self) -> None:
        """Let noisy counts choose the bounds that the plan leaves open."""

    def _data_warnings(self) -> list[str]:
        return []

    def _announce(self, stored: StoredRelease) -> None:
        """Add messages about what was charged, and a warning if the clock may be wrong."""
        if self.ledger_transaction.charge.created < self._latest:
            self._messages.warn([f"the clock is behind the last release, of {self._latest}"])
        name, plan = stored.release_id, self.request.plan
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
    """

    def aggregate(self, progress: Progress | None = None) -> Sequence[ConfidentialAnswer]:
        """Read the data once, and return confidential exact answers; raises DataError."""
        return aggregate_data(self.request.plan, self.request.data, progress, self.request.engine)

    def answer(self, exact: Sequence[ConfidentialAnswer]) -> NoisyNumbers:
        """Add noise to every answer, and estimate what is published.

        If the quality check fails, only the check is charged and answered: the numbers are those of
        its plan, and the charge is reduced to it.
        """
        plan = self.request.plan
        permit = self.ledger_transaction.draw_noise(
            None if plan.quality is None else plan.quality_check_only.charged_events
        )
        quality = check_quality(plan, exact, permit)
        if quality is not None and quality.reasons:
            plan = plan.quality_check_only
            self.ledger_transaction.charge_check_only()
        noisy_statistics, confidence = add_noise(plan, exact, permit), plan.spec.confidence
        statistics = tuple(
            estimate_statistic(noisy, confidence, limited=is_limited(noisy.planned, plan, quality))
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
        self.stored = self.ledger_transaction.commit(
            lambda receipt: render(NoisyRelease(numbers, *stamp, receipt, warned))
        )
        return self.stored

    def _choose_bounds(self) -> None:
        """Let noisy counts choose the open bounds, and use the plan with these bounds."""
        if not self.request.plan.chooses_bounds:
            return
        request = self.request
        plan = choose_bounds(
            request.plan, request.data, self.ledger, request.charge, request.engine
        )
        from dpcli.planning.words.choices import chosen_texts

        for text in chosen_texts(plan):
            reused = f"Release id {request.release_id} uses this choice again, at no cost."
            self._messages.add(f"{text} {reused}", usual=True)
        self.request = replace(request, plan=plan)
        self._open_ledger_transaction()

    def _data_warnings(self) -> list[str]:
        plan, data = self.request.plan, self.request.data
        return [*quality_warnings(plan), *reading_warnings(plan, data)]


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


BOUNDS = "bounds.json"
"""The stored noisy counts of a choice of bounds and limits, and what they chose."""


def choose_bounds(
    plan: CentralPlan,
    data: tuple[Input, ...],
    ledger: OpenLedger,
    charge: Charge,
    engine: Engine = "local",
    progress: Progress | None = None,
) -> CentralPlan:
    """The plan with the bounds that noisy counts of the data choose, or chose before.

    `charge` is that of the release itself. Raises BudgetError, DataError, LedgerError, or
    UsageError for data that can be read only once.
    """
    require_readable_twice(data, engine)
    only = plan.bounds_only
    events = only.charged_events
    name, reserved = charge.release_id + SUFFIX, (*events, *charge.events)
    with LedgerTransaction(
        ledger, replace(charge, release_id=name, events=events, reserved=reserved)
    ) as transaction:
        stored = transaction.stored
        if stored is None:
            # Without enough budget, the costly plans below are not made.
            ledger.check_budget(replace(charge, events=reserved))
            # Check the narrowest and the widest bounds before data are read: a failure after the
            # choice would reveal what was chosen. Losses are rounded, so those of two plans with
            # the same targets differ in their last digits.
            for bounded in narrowest_and_widest(plan.spec):
                released = allocate(bounded)[len(bounded.choices) :]
                possible = (event for planned in released for event in planned.events)
                ledger.check_budget(replace(charge, events=(*events, *possible)))
            stored = _answer(only, data, transaction, engine, progress)
    (entry,) = ledger.entries("release_id = ?", name)
    chosen = {
        histogram: replace(bounds, entry=entry.number, head=entry.head)
        for histogram, bounds in from_json(stored.outputs[BOUNDS]).items()
    }
    return make_plan(with_chosen_bounds(plan.spec, chosen))


def require_readable_twice(data: Sequence[Input], engine: Engine) -> None:
    """Raise UsageError for standard input, pipes, streams and sealed parts.

    Each phase reads the data: a source that is empty the second time would be released as empty.
    """
    if engine == "partials":
        raise UsageError.about("chosen-bounds.partials")
    names = [name for name in data if isinstance(name, str)]
    is_stream = any(isinstance(table, MemoryTable) and table.is_stream for table in data)
    if STDIN in names or is_stream or (engine == "local" and any(map(_is_pipe, names))):
        raise UsageError.about("chosen-bounds")


def _is_pipe(name: str) -> bool:
    """Whether a path exists but is not a regular file, so that opening it may block."""
    with suppress(OSError, ValueError):
        return Path(name).exists() and not Path(name).is_file()
    return False


def _answer(
    only: CentralPlan,
    data: tuple[Input, ...],
    transaction: LedgerTransaction,
    engine: Engine,
    progress: Progress | None,
) -> StoredRelease:
    """Answer and charge for the histograms, and store the bounds that they choose."""
    exact = aggregate_data(only, data, progress, engine)
    noisy = add_noise(only, exact, transaction.draw_noise())
    chosen = bounds_from(only, noisy)
    return transaction.commit(lambda _: {BOUNDS: to_json(chosen)})


def bounds_from(only: CentralPlan, noisy: Sequence[NoisyStatistic]) -> dict[str, ChosenBounds]:
    """The bounds that noisy counts choose, by histogram; this is post-processing."""
    return {
        choice.name: choice.choose(statistic.answers[0])
        for choice, statistic in zip(only.spec.choices, noisy, strict=True)
    }
