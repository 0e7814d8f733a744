"""The first phase where a plan leaves bounds or limits open: check, then choose.

One pass over the data has the exact answers of the quality check and of the histograms. The check
is answered first. If it fails, the histograms are not answered, and the check alone is charged,
under the id of the release, as without choices. If it passes, the histograms are answered, and both
are charged in an entry of their own, whose name is the id of the release with `+bounds`. The entry
stores the noisy answers and the chosen bounds. They are public from then on: the second phase is an
ordinary release with these bounds, which answers no check.

Privacy: all that is answered is charged, so losses add up by the composition of the account, which
allows that an answer is only given after others, and depends on them. The spec alone decides the
mechanisms and the targets of the losses, whatever was chosen. If the limit on rows per person is
chosen too, nothing in this phase depends on it: people are counted once, by all their rows, and
histograms of cells use one random row of each person. Before anything is read, the account must
have enough for both phases. After a crash in this phase nothing was shown, and nothing is charged;
after a crash between the phases the same release id finds the stored answers: nothing is answered
or charged twice. A data file may change in between; each phase is then about the file that it read,
and is charged for. What another process stored for this release first is used in place of the
answers here, whatever they were: these are then neither shown nor charged.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from dpcli.engine.files.source import Input, MemoryTable
from dpcli.ledger.charge import STDIN, SUFFIX, Charge
from dpcli.ledger.entries import unpacked_outputs
from dpcli.ledger.ledger import OpenLedger
from dpcli.ledger.transaction import LedgerTransaction
from dpcli.numeric.arrays import integer_array
from dpcli.planning.plan import CentralPlan
from dpcli.planning.planner import allocate, make_plan
from dpcli.planning.quality_check import QualityResult, quality_result
from dpcli.planning.results import NoisyStatistic
from dpcli.problems.errors import LedgerError, Problem, UsageError
from dpcli.problems.light_dataclasses import dataclass
from dpcli.releasing.steps import Engine, add_noise, aggregate_data, answer_check
from dpcli.specification.chosen_bounds import (
    from_json,
    narrowest_and_widest,
    to_json,
    with_chosen_bounds,
)
from dpcli.specification.model import ChargedEntry
from dpcli.statistics.bounds.chosen_bounds import ChosenBounds
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.quality.quality_counts import fault_order

BOUNDS = "bounds.json"
"""The stored noisy counts of a choice of bounds and limits, and what they chose."""

CHECK = "check.json"
"""The stored noisy answers of a check that passed, with the names of its counts."""


@dataclass(frozen=True, slots=True)
class FirstPhase:
    """What the first phase found: the plan to go on with, and the result of a check.

    The `transaction` in which the check failed charges for it alone; else it is None.
    """

    plan: CentralPlan
    checked: QualityResult | None = None
    transaction: LedgerTransaction | None = None


def check_and_choose(
    plan: CentralPlan,
    data: tuple[Input, ...],
    ledger: OpenLedger,
    charge: Charge,
    engine: Engine,
    opened: ExitStack,
    sha256: Sequence[str] = (),
) -> FirstPhase | None:
    """Check the data, and let noisy counts choose bounds; or what was found before.

    `charge` is that of the release itself. The transaction ends with the block of `opened`. The
    result is None if another process has stored the release in the meantime. Raises BudgetError,
    DataError, LedgerError, or UsageError for data that can be read only once.
    """
    require_readable_twice(data, engine)
    first = plan.first_phase
    events, own = first.charged_events, charge.release_id
    name, reserved = own + SUFFIX, (*events, *charge.events)
    outcomes = replace(
        charge, release_id=name, events=events, reserved=reserved, outcomes=(name, own)
    )
    transaction = opened.enter_context(LedgerTransaction(ledger, outcomes))
    stored = transaction.stored
    if stored is None:
        # Without enough budget, the costly plans below are not made.
        ledger.check_budget(replace(charge, events=reserved))
        # Check the narrowest and the widest bounds before data are read: a failure after the
        # choice would reveal what was chosen. Losses are rounded, so those of two plans with
        # the same targets differ in their last digits.
        for bounded in narrowest_and_widest(plan.spec):
            released = allocate(bounded)[-len(plan.statistics) :]
            possible = (event for planned in released for event in planned.events)
            ledger.check_budget(replace(charge, events=(*events, *possible)))
        exact = aggregate_data(first, data, None, engine, sha256)
        check = first.answered_check
        permit = transaction.draw_noise(None if check is None else tuple(check.events))
        outputs: dict[str, bytes] = {}
        if check is not None:
            answers = answer_check(first, exact, permit)
            result = quality_result(plan, answers)
            if result.reasons:
                transaction.charge_check_only()
                return FirstPhase(plan.quality_check_only, result, transaction)
            outputs[CHECK] = _check_to_json(plan, answers)
        outputs[BOUNDS] = to_json(bounds_from(first, add_noise(first, exact, permit)))
        stored = transaction.commit(lambda _: outputs)
    if stored.release_id != name:
        return None
    return _reused(plan, stored.outputs, _entry_of(name, ledger, charge))


def _entry_of(name: str, ledger: OpenLedger, charge: Charge) -> ChargedEntry:
    entry = ledger.entry_of(name, charge.terms.dataset)
    assert entry is not None
    return ChargedEntry(entry.number, entry.head)


def _reused(plan: CentralPlan, outputs: Mapping[str, bytes], charged: ChargedEntry) -> FirstPhase:
    """The second phase of a plan, by what an entry stores.

    Its check has passed. Without one, or with other counts, which other versions stored, the second
    phase has to check the data.
    """
    spec = plan.spec
    with _require_stored(charged.entry):
        chosen = {
            histogram: replace(bounds, entry=charged.entry, head=charged.head)
            for histogram, bounds in from_json(outputs[BOUNDS]).items()
        }
        answers = _check_from_json(plan, outputs)
        if answers is not None and spec.quality is not None:
            spec = replace(spec, quality=replace(spec.quality, charged=charged))
        spec = with_chosen_bounds(spec, chosen)
    second = make_plan(spec)
    if answers is None:
        return FirstPhase(second)
    with _require_stored(charged.entry):
        return FirstPhase(second, replace(quality_result(second, answers), missed={}, over=()))


@contextmanager
def _require_stored(number: int) -> Iterator[None]:
    """Raise LedgerError for outputs of an entry that no version stored."""
    try:
        yield
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError):
        raise LedgerError.about("ledger-unusable.outputs", number=number) from None


def choice_faults(ledger: OpenLedger) -> Iterator[str]:
    """A sentence about each stored choice or check that no release could use."""
    for entry in ledger.entries():
        problems: list[Problem] = []
        with LedgerError.collected(problems):
            outputs = unpacked_outputs(entry.number, ledger.outputs(entry.number))
            with _require_stored(entry.number):
                if BOUNDS in outputs:
                    from_json(outputs[BOUNDS])
                if CHECK in outputs:
                    _stored_check(outputs)
        yield from (f"entry {entry.number}: {problem.message}" for problem in problems)


def _check_to_json(plan: CentralPlan, answers: Sequence[NoisyAnswer]) -> bytes:
    values = [answer.values.tolist() for answer in answers]
    return json.dumps({"counts": _labels(plan), "answers": values}, ensure_ascii=False).encode()


def _check_from_json(
    plan: CentralPlan, outputs: Mapping[str, bytes]
) -> tuple[NoisyAnswer, ...] | None:
    """The stored answers of the check of a plan; None if there are none."""
    if CHECK not in outputs or plan.quality is None:
        return None
    labels, answers = _stored_check(outputs)
    if labels != _labels(plan) or len(answers) != len(plan.quality.queries):
        return None
    return tuple(
        NoisyAnswer(integer_array(values), noise)
        for values, noise in zip(answers, plan.quality.noises, strict=True)
    )


def _stored_check(outputs: Mapping[str, bytes]) -> tuple[list[str], list[list[int]]]:
    """The names of the counts of a check, and its answers."""
    stored = json.loads(outputs[CHECK])
    labels, answers = list(stored["counts"]), [list(values) for values in stored["answers"]]
    if {type(number) for values in answers for number in values} - {int}:
        raise TypeError("noisy answers are whole numbers")
    return labels, answers


def _labels(plan: CentralPlan) -> list[str]:
    assert plan.quality is not None
    return list(fault_order(plan.quality.entry.inputs).labels)


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


def bounds_from(first: CentralPlan, noisy: Sequence[NoisyStatistic]) -> dict[str, ChosenBounds]:
    """The bounds that noisy counts choose, by histogram; this is post-processing."""
    return {
        choice.name: choice.choose(statistic.answers[0])
        for choice, statistic in zip(first.spec.choices, noisy, strict=True)
    }
