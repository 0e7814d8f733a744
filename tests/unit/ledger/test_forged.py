"""Charges, ledgers and permits that user code forges are refused before an answer is given."""

from __future__ import annotations

import copy
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from fractions import Fraction

import pytest

from dpcli.ledger.balance import require_proven
from dpcli.ledger.charge import Charge
from dpcli.ledger.ledger import OpenLedger
from dpcli.ledger.transaction import LedgerTransaction
from dpcli.mechanisms.calibrated_mechanism import CalibratedMechanism
from dpcli.mechanisms.gaussian import Gaussian
from dpcli.mechanisms.pure import Laplace
from dpcli.numeric.arrays import integer_array
from dpcli.planning.planner import make_plan
from dpcli.privacy.confidential import Cells, Confidential
from dpcli.privacy.events import MechanismEvent
from dpcli.privacy.loss import Loss
from dpcli.privacy.unit import Neighbors, Relation, RowUnit
from dpcli.problems.errors import LedgerError
from dpcli.queries.query import LinearQuery
from dpcli.specification.load import parse_spec
from tests.support.ledgers import charge, render
from tests.support.rules import mostly_extended

COUNT, RELATION = LinearQuery(), Relation(RowUnit(), Neighbors.ADD_REMOVE)
SEALED: Confidential[Cells] = Confidential(integer_array([7]), COUNT, RELATION.unit)
(COUNTED,) = CalibratedMechanism.calibrate(Laplace(), [COUNT], RELATION, Loss(Fraction(1)))
CHARGE = replace(charge("r", "1"), events=(COUNTED.event,))


@pytest.fixture
def transaction(ledger: OpenLedger) -> Iterator[LedgerTransaction]:
    """A transaction for one count."""
    with LedgerTransaction(ledger, CHARGE) as opened:
        yield opened


class FreeLedger(OpenLedger):  # type: ignore[misc]
    """A ledger that charges nothing."""

    def commit(self, *_: object) -> None:  # type: ignore[override]
        """Charge nothing."""


class FreeCharge(Charge):  # type: ignore[misc]
    """A charge that costs nothing."""


def test_ledgers_and_charges_have_no_subclasses(ledger: OpenLedger) -> None:
    """A subclass could charge less than it permits."""
    free = FreeCharge(CHARGE.terms, "r", "d", "now", None, CHARGE.events)
    with closing(FreeLedger.open(ledger.path)) as other:
        for book, wanted in ((other, CHARGE), (ledger, free)):
            with pytest.raises(TypeError, match="cannot be subclassed"):
                LedgerTransaction(book, wanted)


def test_no_attribute_hides_a_method_of_a_ledger(ledger: OpenLedger) -> None:
    """A charge calls the methods of the class."""
    with pytest.raises(AttributeError):
        setattr(ledger, "commit", lambda *_: None)  # noqa: B010 - as user code would


class CheapEvent(MechanismEvent):  # type: ignore[misc]
    """An event with a small loss that claims to be the answer to a count."""

    @property
    def parameters(self) -> tuple[object, ...]:
        """The parameters of the count."""
        return COUNTED.event.parameters


class Equal(str):
    """A text that equals all other texts."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, _: object) -> bool:
        return True

    def __ne__(self, _: object) -> bool:
        return False


def test_a_permit_covers_what_the_entry_will_hold(ledger: OpenLedger) -> None:
    """Events that compare differently from how they are written cover nothing else."""
    tiny = charge("r", "1/1000").events[0]
    cheap = CheapEvent("", "", "laplace", tiny.loss, tiny.scale, tiny.sensitivity)
    with LedgerTransaction(ledger, replace(CHARGE, events=(cheap,))) as transaction:
        permit = transaction.draw_noise()
        with pytest.raises(ValueError, match="not charged for"):
            COUNTED.answer(SEALED, permit)


def test_a_permit_is_for_the_terms_that_the_entry_will_hold(ledger: OpenLedger) -> None:
    """Neighbors that equal all others are compared as they are written."""
    terms = replace(CHARGE.terms, neighbors=Equal("change-one"))
    with LedgerTransaction(ledger, replace(CHARGE, terms=terms)) as transaction:
        permit = transaction.draw_noise()
        with pytest.raises(ValueError, match="other neighbors"):
            COUNTED.answer(SEALED, permit)


def test_events_are_copied_when_the_charge_opens(ledger: OpenLedger) -> None:
    """A list of events that is emptied later is charged as it was."""
    events = [COUNTED.event]
    with LedgerTransaction(ledger, replace(CHARGE, events=events)) as transaction:  # type: ignore[arg-type]
        permit = transaction.draw_noise()
        events.clear()
        COUNTED.answer(SEALED, permit)
        transaction.commit(render)
    assert ledger.balance(CHARGE.terms).spent.epsilon == 1


COPIES: list[Callable[[LedgerTransaction], object]] = [
    copy.copy,
    lambda one: copy.copy(one.draw_noise()),
    lambda one: copy.deepcopy(one.draw_noise(), {id(one.ledger): one.ledger}),
    lambda one: setattr(one, "stored", None),
]


@pytest.mark.parametrize("way", COPIES)
def test_a_transaction_cannot_be_copied(
    way: Callable[[LedgerTransaction], object], transaction: LedgerTransaction
) -> None:
    """A copy of it or of its permit would count answers by itself."""
    with pytest.raises((TypeError, AttributeError)):
        way(transaction)


def concurrent_answers(transaction: LedgerTransaction) -> int:
    """The number of eight threads that get the same answer."""
    permit, gate = transaction.draw_noise(), threading.Barrier(8)
    given: list[object] = []

    def ask() -> None:
        gate.wait()
        with suppress(ValueError):
            given.append(COUNTED.answer(SEALED, permit))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return len(given)


def test_threads_share_what_is_charged(ledger: OpenLedger) -> None:
    """If several threads ask at the same time, one gets the answer."""
    usual, terms = sys.getswitchinterval(), replace(CHARGE.terms, budget=Loss(Fraction(99)))
    sys.setswitchinterval(1e-7)
    try:
        for run in range(20):
            wanted = replace(CHARGE, terms=terms, release_id=f"r{run}")
            with LedgerTransaction(ledger, wanted) as transaction:
                assert concurrent_answers(transaction) == 1
    finally:
        sys.setswitchinterval(usual)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_gets_no_answer(transaction: LedgerTransaction) -> None:
    """Both processes would give the answer, and one of them would be charged."""
    permit = transaction.draw_noise()
    child = os.fork()
    if not child:
        try:
            COUNTED.answer(SEALED, permit)
        except ValueError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_answers_that_are_protected_jointly_are_charged_together(ledger: OpenLedger) -> None:
    """One of several Gaussians alone reveals more than its part of their loss."""
    target, share = Loss(Fraction(1), Fraction(1, 1000)), Fraction(1, 100)
    queries = [LinearQuery(), LinearQuery()]
    both = CalibratedMechanism.calibrate(Gaussian(), queries, RELATION, target, [share, 1 - share])
    events = tuple(replace(one.event, statistic="both", joint=True) for one in both)
    terms = replace(CHARGE.terms, budget=Loss(Fraction(9), Fraction(1, 2)))
    for part in ((events[0],), tuple(replace(one, joint=None) for one in events)):
        with LedgerTransaction(ledger, replace(CHARGE, terms=terms, events=part)) as transaction:
            refused = pytest.raises(ValueError, match="charged together")
            with refused:
                transaction.draw_noise()
    with LedgerTransaction(ledger, replace(CHARGE, terms=terms, events=events)) as transaction:
        transaction.draw_noise()


GAUSSIANS = """\
dpcli: 1
dataset: town
privacy: {{unit: {{column: id, max_rows: 3}}, neighbors: add-remove, {rule}}}
columns:
  id: {{type: id}}
  age: {{type: integer, bounds: [0, 110]}}
  place: {{type: category}}
statistics:
  - {{name: one, statistic: mean, column: age, mechanism: gaussian, {price}}}
  - {{name: two, statistic: count, by: [place], keys: private, mechanism: gaussian, {keys}}}
  - {{name: three, statistic: variance, column: age, mechanism: gaussian, {price}}}
"""

RULES = [
    ("budget: {epsilon: 9, delta: 1e-4}", "epsilon: 1, delta: 1e-6"),
    ("budget: {epsilon: 9, delta: 1e-4}, composition: advanced", "share: 1"),
    ("budget: {rho: 2, delta: 1e-4}, composition: zcdp", "rho: 0.13"),
    ("budget: {epsilon: 9, delta: 1e-4}, composition: zcdp", "share: 1"),
]


@pytest.mark.parametrize(
    ("rule", "price"), mostly_extended(RULES, RULES[0], *RULES[2:], unpack=True)
)
def test_plans_state_losses_that_are_proven(rule: str, price: str) -> None:
    """No release is refused because a mechanism proves less than the planner states."""
    keys = "rho: 0.1, delta: 1e-6" if "rho" in rule else "epsilon: 1, delta: 1e-6"
    spec = parse_spec(GAUSSIANS.format(rule=rule, price=price, keys=keys), "spec.yaml")
    events = make_plan(spec).charged_events
    require_proven(events)
    with pytest.raises(ValueError, match="charged together"):
        require_proven(replace(event, joint=None) for event in events)


def test_an_entry_for_other_answers_does_not_pay(ledger: OpenLedger) -> None:
    """Code that charges the same name nothing while noise is drawn gets no release."""
    with LedgerTransaction(ledger, CHARGE) as transaction:
        COUNTED.answer(SEALED, transaction.draw_noise())
        ledger.commit(replace(CHARGE, events=()), render)
        with pytest.raises(LedgerError, match="`r`"):
            transaction.commit(render)


def test_an_entry_for_the_same_answers_pays_for_the_release(ledger: OpenLedger) -> None:
    """Of two processes that release the same at once, one is charged, and both publish that."""
    with LedgerTransaction(ledger, CHARGE) as transaction:
        COUNTED.answer(SEALED, transaction.draw_noise())
        first = ledger.commit(CHARGE, render)
        assert transaction.commit(render).outputs == first.outputs
    assert ledger.balance(CHARGE.terms).spent.epsilon == 1


def test_a_quality_check_is_a_part_of_its_charge(ledger: OpenLedger) -> None:
    """Events that state a smaller loss of the same answers are refused."""
    disjoint = tuple(
        replace(event, disjoint=("sex", place)) for place, event in enumerate(CHARGE.events)
    )
    for check in (disjoint, CHARGE.events * 2, charge("r", "1/1000").events):
        with LedgerTransaction(ledger, CHARGE) as transaction, pytest.raises(ValueError):  # noqa: PT011
            transaction.draw_noise(check)
    assert ledger.releases("town") == []


def test_a_part_of_a_joint_calibration_is_no_quality_check(ledger: OpenLedger) -> None:
    """One of several answers that are protected jointly reveals more than its part of the loss."""
    target = Loss(Fraction(1, 2), Fraction(1, 10**6))
    weights = (Fraction(1, 2), Fraction(1, 2))
    each = CalibratedMechanism.calibrate(Gaussian(), [COUNT, COUNT], RELATION, target, weights)
    events = tuple(replace(calibrated.event, statistic="s", joint=True) for calibrated in each)
    terms = replace(CHARGE.terms, budget=Loss(Fraction(1), Fraction(1, 10**5)))
    with LedgerTransaction(ledger, replace(CHARGE, terms=terms, events=events)) as transaction:
        with pytest.raises(ValueError, match="charged together"):
            transaction.draw_noise(events[:1])
        transaction.draw_noise(events)
