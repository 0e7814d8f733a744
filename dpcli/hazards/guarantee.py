"""Hazards of the parameters: large epsilon, large delta, known presence."""

from __future__ import annotations

from fractions import Fraction

from dpcli.hazards.base import Hazard, Judged, Situation, Verdict
from dpcli.privacy.loss import loss_text
from dpcli.privacy.meaning import (
    apart,
    at_least,
    at_most,
    beliefs,
    failure,
    one_in,
    percent_at_most,
)
from dpcli.privacy.relation import Neighbors

SMALL_EPSILON = 1
"""Up to it, a belief of one in ten can become one in two at most."""

LARGE_EPSILON = 10
"""From it on, a belief of one in a thousand can become near certainty."""

FEWEST_FAILURES = 100
"""Delta times the population stays below one divided by this."""


def _epsilon(found: Situation) -> Judged:
    """The budget, for it bounds what all releases together reveal."""
    privacy = found.plan.spec.privacy
    budget, presence = privacy.budget, privacy.neighbors is Neighbors.ADD_REMOVE
    # Where presence is protected, what somebody gave is two neighbours away from anything else.
    loss = apart(budget) if presence else budget
    prior, told = (0.001, "0.1") if budget.epsilon >= LARGE_EPSILON else (0.1, "10")
    all_of_them = f"any {found.window} consecutive days" if found.window else "all releases"
    but = f", but for a chance of {one_in(failure(loss))}" if loss.delta else ""
    words = (
        f"this release spends {loss_text(found.plan.spent)}, {all_of_them} up to "
        f"{loss_text(budget)}; after these, somebody who believed something of a {found.one} with "
        f"{told} % can believe it with {percent_at_most(beliefs(loss, prior)[1])} % at most{but}"
    )
    if found.window:
        words += ". Over longer times losses add up without end"
    if budget.epsilon <= SMALL_EPSILON:
        return Verdict.WARNED if found.window else Verdict.MET, words
    if budget.epsilon < LARGE_EPSILON:
        return Verdict.WARNED, f"{words}. An epsilon of 1 or less protects more"
    return Verdict.WARNED, f"{words}. An epsilon that large promises hardly anything by itself"


def _delta(found: Situation) -> Judged:
    """Delta against the number of people."""
    delta = found.plan.spec.privacy.budget.delta
    people = found.plan.spec.declarations.population
    if not delta:
        return Verdict.MET, "delta is zero: the bound by epsilon holds without exception"
    if people is None:
        return Verdict.OPEN, (
            f"delta is {at_most(delta)}: so likely may an output be that the bound by epsilon does "
            "not allow. It must be far below one divided by the number of people, which "
            "`population` declares"
        )
    words = (
        f"delta is {at_most(delta)}; times a population of {people:,} that is "
        f"{at_most(delta * people)}"
    )
    if delta * people * FEWEST_FAILURES <= 1:
        return Verdict.MET, f"{words}, at most one hundredth"
    return Verdict.WARNED, (
        f"{words}, above one hundredth: somebody's data could be exposed whole within delta; "
        f"lower it to {at_least(Fraction(1, people * FEWEST_FAILURES), 1)} or less"
    )


def _neighbors(found: Situation) -> Judged:
    """Whether presence itself is protected."""
    one = found.one
    if found.plan.spec.privacy.neighbors is Neighbors.ADD_REMOVE:
        return Verdict.MET, f"whether a {one} is in the data at all is protected too"
    return Verdict.WARNED, (
        f"what a {one} says is protected, not that it is there: the number of "
        f"{'people' if one == 'person' else one + 's'} is public. Compare the epsilon only with "
        "others of the same kind"
    )


EPSILON = Hazard("epsilon", "Is the privacy loss small enough to mean something?", _epsilon)
DELTA = Hazard("delta", "Is delta far below one divided by the number of people?", _delta)
NEIGHBORS = Hazard("neighbors", "Is it protected that somebody is in the data?", _neighbors)
