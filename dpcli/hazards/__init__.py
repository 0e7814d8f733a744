"""Hazards of a release: what can void or weaken its promise.

One line per hazard, in the order in which they are told. They follow NIST SP 800-226
(Near, Darais, Lefkovitz and Howarth 2025): the parameters, the unit of privacy,
algorithms and their bias, how they run, and everything around them.
"""

from __future__ import annotations

from dpcli.hazards.base import Finding, Hazard, Situation
from dpcli.hazards.guarantee import DELTA, EPSILON, NEIGHBORS
from dpcli.hazards.numbers import BIAS, CLIPPING, FAIRNESS, LIMITS
from dpcli.hazards.people import IDENTITY, UNIT
from dpcli.hazards.surroundings import ACCESS, ARITHMETIC, COLLECTION, OTHER_RELEASES, TIMING
from dpcli.plan.model import Plan

HAZARDS: tuple[Hazard, ...] = (
    EPSILON,
    DELTA,
    UNIT,
    IDENTITY,
    NEIGHBORS,
    CLIPPING,
    LIMITS,
    BIAS,
    FAIRNESS,
    ARITHMETIC,
    TIMING,
    OTHER_RELEASES,
    ACCESS,
    COLLECTION,
)


def hazards(plan: Plan, window: int | None = None) -> tuple[Finding, ...]:
    """What is found of every hazard that a plan can have.

    `window` has the days that the account's budget is for, if it is not for all of them.
    """
    situation = Situation(plan, window)
    found = (hazard.find(situation) for hazard in HAZARDS)
    return tuple(finding for finding in found if finding is not None)
