"""Answers are given only if the ledger charges for them, each of them once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import pytest

from dpcli.data.kinds import Axis
from dpcli.data.labels import CategoryColumn
from dpcli.ledger.charge import Charge
from dpcli.ledger.ledger import OpenLedger
from dpcli.ledger.transaction import LedgerTransaction
from dpcli.mechanisms.calibrated_mechanism import CalibratedMechanism
from dpcli.mechanisms.pure import Laplace
from dpcli.numeric.arrays import integer_array
from dpcli.privacy.confidential import Cells, Confidential, NoisePermit
from dpcli.privacy.loss import Loss
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation, RowUnit
from dpcli.problems.errors import LedgerError
from dpcli.queries.query import LinearQuery
from tests.support.ledgers import charge, render

COUNT, RELATION = LinearQuery(), Relation(RowUnit(), Neighbors.ADD_REMOVE)
SEALED: Confidential[Cells] = Confidential(integer_array([7]), COUNT, RELATION.unit)


def of(epsilon: str, relation: Relation = RELATION) -> CalibratedMechanism:
    """The mechanism of a count with this epsilon."""
    target = Loss(Fraction(epsilon))
    (mechanism,) = CalibratedMechanism.calibrate(Laplace(), [COUNT], relation, target)
    return mechanism


def events(*epsilons: str) -> Charge:
    """A charge for counts with these epsilons."""
    charges = [charge("r", epsilon, budget="9") for epsilon in epsilons]
    return replace(charges[0], events=tuple(event for single in charges for event in single.events))


@pytest.fixture
def transaction(ledger: OpenLedger) -> Iterator[LedgerTransaction]:
    """A transaction for one count with an epsilon of 1/2."""
    with LedgerTransaction(ledger, events("1/2")) as opened:
        yield opened


def test_each_answer_is_given_once(ledger: OpenLedger) -> None:
    """Noise that is drawn twice for one charge would reveal more than what is charged."""
    with LedgerTransaction(ledger, events("1/2", "1/2", "1/4")) as transaction:
        permit = transaction.draw_noise()
        for epsilon in ("1/2", "1/4", "1/2"):
            of(epsilon).answer(SEALED, permit)
        for epsilon in ("1/2", "1/4"):
            with pytest.raises(ValueError, match="given before"):
                of(epsilon).answer(SEALED, permit)


def test_an_answer_that_is_charged_in_its_older_form_is_given_once(ledger: OpenLedger) -> None:
    """Older charges under change-one lack the sensitivity to one unit that is added or removed."""
    column = CategoryColumn("g", (("f", "f"), ("m", "m")))
    query, relation = LinearQuery(by=(Axis(column),)), Relation(RowUnit(), Neighbors.CHANGE_ONE)
    (mechanism,) = CalibratedMechanism.calibrate(Laplace(), [query], relation, Loss(Fraction(1)))
    older = replace(mechanism.event, add_remove_sensitivity=None)
    assert older != mechanism.event
    charged = charge("r", budget="9")
    terms = replace(charged.terms, neighbors="change-one")
    sealed = Confidential(integer_array([7, 8]), query, relation.unit)
    with LedgerTransaction(ledger, replace(charged, terms=terms, events=(older,))) as transaction:
        permit = transaction.draw_noise()
        mechanism.answer(sealed, permit)
        with pytest.raises(ValueError, match="given before"):
            mechanism.answer(sealed, permit)


def test_an_answer_with_another_epsilon_is_not_charged_for(transaction: LedgerTransaction) -> None:
    """Neither less noise than what was charged is allowed, nor more."""
    permit = transaction.draw_noise()
    for epsilon in ("1", "1/4"):
        with pytest.raises(ValueError, match="not charged for"):
            of(epsilon).answer(SEALED, permit)
    of("1/2").answer(SEALED, permit)


@pytest.mark.parametrize(
    "relation",
    [
        Relation(RELATION.unit, Neighbors.CHANGE_ONE),
        Relation(PersonUnit("who", 1, 1, 1), Neighbors.ADD_REMOVE),
    ],
    ids=["neighbors", "unit"],
)
def test_the_relation_is_that_of_the_account(
    relation: Relation, transaction: LedgerTransaction
) -> None:
    """A count of rows that is exact under change-one stays confidential under add-remove."""
    sealed = Confidential(integer_array([7]), COUNT, relation.unit)
    with pytest.raises(ValueError, match="another unit or other neighbors"):
        of("1/2", relation).answer(sealed, transaction.draw_noise())


def test_noise_is_drawn_once_and_within_the_block(ledger: OpenLedger) -> None:
    """Outside of `with`, and with a second permit, answers would not be charged."""
    transaction = LedgerTransaction(ledger, events("1/2"))
    with pytest.raises(ValueError, match="drawn once"):
        transaction.draw_noise()
    with transaction:
        permit = transaction.draw_noise()
        with pytest.raises(ValueError, match="drawn once"):
            transaction.draw_noise()
    with pytest.raises(ValueError, match="not charged for"):
        of("1/2").answer(SEALED, permit)
    again = pytest.raises(ValueError, match="not charged for")
    with pytest.raises(LedgerError, match="failed after its noise"), transaction, again:
        of("1/2").answer(SEALED, permit)


def test_a_permit_ends_with_the_charge(transaction: LedgerTransaction) -> None:
    """A later answer would not be in the outputs that were stored."""
    permit = transaction.draw_noise()
    transaction.commit(render)
    with pytest.raises(ValueError, match="not charged for"):
        of("1/2").answer(SEALED, permit)


def test_a_stopped_release_has_answered_the_check_alone(ledger: OpenLedger) -> None:
    """The charge is that of the check, so no other answer may be known, then or later."""
    with LedgerTransaction(ledger, events("1/4", "1/2")) as transaction:
        permit = transaction.draw_noise(events("1/4").events)
        of("1/4").answer(SEALED, permit)
        transaction.charge_check_only()
        with pytest.raises(ValueError, match="not charged for"):
            of("1/2").answer(SEALED, permit)
    with LedgerTransaction(ledger, replace(events("1/4", "1/2"), release_id="s")) as transaction:
        permit = transaction.draw_noise(events("1/4").events)
        of("1/2").answer(SEALED, permit)
        with pytest.raises(ValueError, match="more was answered"):
            transaction.charge_check_only()


def test_the_charge_of_a_transaction_cannot_be_replaced(transaction: LedgerTransaction) -> None:
    """Answers are charged as announced, in the ledger where they were announced."""
    transaction.draw_noise()
    for name in ("charge", "ledger"):
        with pytest.raises(AttributeError):
            setattr(transaction, name, None)


def test_a_forged_permit_opens_nothing() -> None:
    """An allocated permit has no rule, and an object like a permit is refused."""
    with pytest.raises(AttributeError):
        of("1/2").answer(SEALED, NoisePermit.__new__(NoisePermit))
    with pytest.raises(TypeError, match="cannot be subclassed"):
        of("1/2").answer(SEALED, type("Alike", (), {"use": print})())
