"""Hazards of the parameters: large epsilon, large delta, known presence."""

from __future__ import annotations

from dpcli.hazards.base import Hazard, Judged, Verdict, few_digits
from dpcli.plan.local import AnyPlan
from dpcli.privacy.loss import loss_text
from dpcli.privacy.meaning import beliefs
from dpcli.privacy.relation import Neighbors, RowUnit

SMALL_EPSILON = 1
"""Up to it, a belief of one in ten can grow to about one in four at most."""

LARGE_EPSILON = 10
"""From it on, a belief of one in a thousand can become near certainty."""

FEWEST_FAILURES = 100
"""Delta times the population stays below one divided by this."""


def _epsilon(plan: AnyPlan) -> Judged:
    """The budget, for it bounds what all releases together reveal."""
    budget = plan.spec.privacy.budget
    prior = 0.001 if budget.epsilon >= LARGE_EPSILON else 0.1
    told = "one in a thousand" if budget.epsilon >= LARGE_EPSILON else "one in ten"
    most = beliefs(budget, prior)[1]
    words = (
        f"this release spends {loss_text(plan.spent)}, all releases up to {loss_text(budget)}: "
        f"somebody who believed something of a person with {told} can believe it with "
        f"{few_digits(100 * most, 3)} % at most after all of them"
    )
    if budget.epsilon <= SMALL_EPSILON:
        return Verdict.MET, words
    if budget.epsilon < LARGE_EPSILON:
        return Verdict.WARNED, f"{words}; an epsilon of 1 or less protects more"
    return Verdict.WARNED, f"{words}; an epsilon that large promises hardly anything by itself"


def _delta(plan: AnyPlan) -> Judged:
    """Delta against the number of people."""
    delta = plan.spec.privacy.budget.delta
    people = plan.spec.declarations.population
    if not delta:
        return Verdict.MET, "delta is zero: the bound by epsilon holds without exception"
    if people is None:
        return Verdict.OPEN, (
            f"the promise may fail with a probability of up to {few_digits(float(delta))}; that "
            "must be far below one divided by the number of people, which `population` declares"
        )
    expected = few_digits(float(delta * people))
    words = (
        f"delta is {few_digits(float(delta))}; times a population of {people:,} that is {expected}"
    )
    if delta * people * FEWEST_FAILURES <= 1:
        return Verdict.MET, f"{words}, at most one hundredth"
    return Verdict.WARNED, (
        f"{words}, above one hundredth: somebody's data could be exposed whole within delta; "
        f"lower it below {few_digits(1 / people / FEWEST_FAILURES, 1)}"
    )


def _neighbors(plan: AnyPlan) -> Judged:
    """Whether presence itself is protected."""
    privacy = plan.spec.privacy
    one = "record" if isinstance(privacy.unit, RowUnit) else "person"
    if privacy.neighbors is Neighbors.ADD_REMOVE:
        return Verdict.MET, f"whether a {one} is in the data at all is protected too"
    return Verdict.WARNED, (
        f"what a {one} says is protected, not that it is there: the number of "
        f"{'records' if one == 'record' else 'people'} is public. Compare the epsilon only with "
        "others of the same kind"
    )


EPSILON = Hazard("epsilon", "Is the privacy loss small enough to mean something?", _epsilon)
DELTA = Hazard("delta", "Is delta far below one divided by the number of people?", _delta)
NEIGHBORS = Hazard("neighbors", "Is it protected that somebody is in the data?", _neighbors)
