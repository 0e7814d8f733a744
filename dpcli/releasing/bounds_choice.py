"""The choice of bounds and limits that a plan leaves open, before a release.

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

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from dpcli.engine.files.source import Input, MemoryTable
from dpcli.ledger.charge import STDIN, SUFFIX, Charge, StoredRelease
from dpcli.ledger.ledger import OpenLedger
from dpcli.ledger.transaction import LedgerTransaction
from dpcli.planning.plan import CentralPlan
from dpcli.planning.planner import allocate, make_plan
from dpcli.planning.results import NoisyStatistic
from dpcli.problems.errors import UsageError
from dpcli.releasing.steps import Engine, add_noise, aggregate_data
from dpcli.specification.chosen_bounds import (
    from_json,
    narrowest_and_widest,
    to_json,
    with_chosen_bounds,
)
from dpcli.statistics.bounds.chosen_bounds import ChosenBounds

BOUNDS = "bounds.json"
"""The stored noisy counts of a choice of bounds and limits, and what they chose."""


def choose_bounds(
    plan: CentralPlan,
    data: tuple[Input, ...],
    ledger: OpenLedger,
    charge: Charge,
    engine: Engine = "local",
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
            stored = _answer(only, data, transaction, engine)
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
    only: CentralPlan, data: tuple[Input, ...], transaction: LedgerTransaction, engine: Engine
) -> StoredRelease:
    """Answer and charge for the histograms, and store the bounds that they choose."""
    exact = aggregate_data(only, data, None, engine)
    noisy = add_noise(only, exact, transaction.draw_noise())
    chosen = bounds_from(only, noisy)
    return transaction.commit(lambda _: {BOUNDS: to_json(chosen)})


def bounds_from(only: CentralPlan, noisy: Sequence[NoisyStatistic]) -> dict[str, ChosenBounds]:
    """The bounds that noisy counts choose, by histogram; this is post-processing."""
    return {
        choice.name: choice.choose(statistic.answers[0])
        for choice, statistic in zip(only.spec.choices, noisy, strict=True)
    }
