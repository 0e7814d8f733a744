"""What periods of a series cost together, as recorded events of an account with a window."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpcli.ledger.balance import AccountTerms, balance, recorded_cost
from dpcli.ledger.chain import to_events_json
from dpcli.privacy.events import MechanismEvent
from dpcli.privacy.loss import Loss
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.problems.errors import LedgerError

TERMS = AccountTerms("town", "row", "add-remove", "sequential", Loss(Fraction(100)), 7)


def answer(cells: int, scale: Fraction, mechanism: str = "laplace") -> MechanismEvent:
    """The event of a period in which a person changes this number of cells by one."""
    loss, norms = Loss(cells / scale), Sensitivity(cells, cells, cells, 1)
    return MechanismEvent("n", "n", mechanism, loss, scale, norms, series="blocks 20")


def spent(*events: MechanismEvent) -> Fraction:
    """What the events of successive days cost a window that has all of them."""
    days = (f"2026-01-{day:02}" for day in range(1, 8))
    costs = [
        recorded_cost(to_events_json([event]), day, TERMS)
        for event, day in zip(events, days, strict=False)
    ]
    return balance(TERMS, costs).spent.epsilon


def test_periods_with_other_limits_cost_no_less_than_the_sum_of_their_epsilons() -> None:
    """A series that was recovered may go on with them: L2 over the scale says little of epsilon."""
    many, few = answer(8, Fraction(8)), answer(2, Fraction(39, 10))

    assert spent(many, many, few) >= 2 * spent(many) + spent(few)


@pytest.mark.parametrize("mechanism", ["of-a-later-version", "recovered"])
def test_a_series_with_noise_that_is_not_known_is_refused_by_name(mechanism: str) -> None:
    """It is not an internal fault."""
    with pytest.raises(LedgerError, match=mechanism):
        spent(answer(2, Fraction(4), mechanism))
