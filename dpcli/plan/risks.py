"""Risks of a release: what can void or weaken its guarantee.

Judged from public facts alone, after NIST SP 800-226 (Near, Darais, Lefkovitz and Howarth
2025): the parameters, the unit of privacy, algorithms and their bias, how they run, and
everything around them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dpcli.plan import judging
from dpcli.plan.judging import Context, Judged, Verdict
from dpcli.plan.model import Plan


@dataclass(frozen=True, slots=True)
class Finding:
    """A risk, the verdict on it and why, and what the steward declares about it.

    `asks` is the key under `declarations:` that answers it, if one does.
    """

    hazard: str
    question: str
    verdict: Verdict
    words: str
    declared: str = ""
    asks: str = ""


@dataclass(frozen=True, slots=True)
class Hazard:
    """One way in which the guarantee of a release can fail, and who can judge it.

    `judge` sees public facts alone, so that no finding depends on a record; None where there is
    no such risk. A risk that only people can judge is met when the steward has answered it; what
    a program can judge, no answer changes.
    """

    name: str
    question: str
    judge: Callable[[Context], Judged | None]
    asks: str = ""


HAZARDS: tuple[Hazard, ...] = (
    Hazard("epsilon", "Is the privacy loss small enough to be meaningful?", judging.epsilon),
    Hazard("delta", "Is delta far below 1 divided by the number of people?", judging.delta),
    Hazard(
        "unit", "Are people protected, and not only rows or events?", judging.unit, "privacy_unit"
    ),
    Hazard("identity", "Does each person have exactly one id?", judging.identity, "privacy_unit"),
    Hazard("neighbors", "Is it protected that a person is in the data?", judging.neighbors),
    Hazard(
        "clipping",
        "Were bounds and categories chosen without the data?",
        judging.clipping,
        "bounds",
    ),
    Hazard("limits", "Do limits on people's rows leave much out?", judging.limits),
    Hazard("bias", "Does post-processing bias the numbers?", judging.bias),
    Hazard(
        "small groups",
        "For whom are the numbers too noisy to base decisions on?",
        judging.fairness,
        "fairness",
    ),
    Hazard("arithmetic", "Is the noise exact, and from a secure source?", judging.arithmetic),
    Hazard(
        "side channels", "Can anyone observe more than what is published?", judging.timing, "timing"
    ),
    Hazard(
        "other releases",
        "What else is published about the same people?",
        judging.other_releases,
        "other_releases",
    ),
    Hazard("access", "Who can read the data and the ledger?", judging.access, "access"),
    Hazard(
        "collection", "Who handled the data before this release?", judging.collection, "collection"
    ),
)
"""Every risk, in the order in which they are shown."""


def hazards(plan: Plan, window: int | None = None) -> tuple[Finding, ...]:
    """What is found about every risk that a plan can have.

    `window` is the days that the budget of the account covers, if it does not cover all.
    """
    context, found = Context(plan, window), []
    for one in HAZARDS:
        judged = one.judge(context)
        if judged is not None:
            verdict, words = judged
            declared = plan.spec.declarations.answer(one.asks) if one.asks else ""
            if declared and verdict is Verdict.OPEN:
                verdict = Verdict.MET
            found.append(Finding(one.name, one.question, verdict, words, declared, one.asks))
    return tuple(found)
