"""Bounds are below what is true, and events are those that show most."""

from __future__ import annotations

from math import exp, inf, log

import numpy as np
import pytest

from dpcli.numeric.arrays import Floats
from dpcli.proof.bounds import Claim, Event

PURE, NORMAL = Claim("epsilon", 1.0, 0.0, 1e-6), Claim("mu", 1.0, 0.0, 1e-6)

COUNT = 20_000


def coin(heads: float) -> Floats:
    """Scores of which exactly this share is one, and the others are minus one."""
    return np.where(np.arange(COUNT) < heads * COUNT, 1.0, -1.0)


def test_both_ends_show_more_of_neighbors_that_are_symmetric() -> None:
    """Randomized response with epsilon 1: as many draws again."""
    p = exp(1) / (1 + exp(1))
    scores = [coin(1 - p), coin(p)]
    event = PURE.best_event(scores, 300_000)
    assert (event.sides, event.high, event.low) == (2, 1.0, -1.0)
    both = PURE.bound(event, *event.counts(scores), COUNT)
    one = Event(high=1.0)
    alone = PURE.bound(one, *one.counts(scores), COUNT)
    assert alone.shown < both.shown < 1
    assert both.faults == []


def test_one_end_shows_more_where_the_other_is_no_event() -> None:
    """What one neighbor has never, and the other half of the time."""
    event = PURE.best_event([coin(0.2), np.where(coin(0.2) > 0, 1.0, 0.0)], COUNT)
    assert (event.sides, event.high, event.low) == (1, inf, -1.0)


@pytest.mark.parametrize("claim", [PURE, NORMAL], ids=lambda claim: str(claim.measure))
def test_more_than_the_claim_is_a_fault(claim: Claim) -> None:
    """At least twice as much is noticed, and is said with its measure."""
    scores = [coin(0.05), coin(0.95)]
    bound = claim.bound(Event(high=1.0), *Event(high=1.0).counts(scores), COUNT)
    assert 2 < bound.shown < (log(19) if claim is PURE else 3.3)
    assert bound.faults == [
        f"outputs show that {claim.measure} is {bound.shown:.4g} or more, not 1"
    ]


def test_a_delta_explains_rare_events() -> None:
    """An event that one neighbor never has, with less than the delta."""
    claim = Claim("epsilon", 1.0, 0.1, 1e-6)
    assert claim.bound(Event(high=1.0), round(0.09 * COUNT), 0, COUNT).shown == 0
    assert claim.bound(Event(high=1.0), round(0.2 * COUNT), 0, COUNT).faults
