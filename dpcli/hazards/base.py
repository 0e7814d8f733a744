"""What a hazard is: a question about a plan, and what is found of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from dpcli.plan.model import Plan
from dpcli.privacy.relation import RowUnit


class Verdict(Enum):
    """What is said of a hazard."""

    MET = "met"
    WARNED = "warned"
    OPEN = "for the steward to answer"


@dataclass(frozen=True, slots=True)
class Finding:
    """A hazard, what is said of it and why, and what the steward declares of it.

    `asks` is the key under `declarations:` that answers it, if one does.
    """

    hazard: str
    question: str
    verdict: Verdict
    words: str
    declared: str = ""
    asks: str = ""


@dataclass(frozen=True, slots=True)
class Situation:
    """What hazards are judged by: a plan, and the days of a window if the account has one."""

    plan: Plan
    window: int | None = None

    @property
    def one(self) -> str:
        """Who is protected, in a word."""
        if self.plan.is_local:
            return "record"
        return "row" if isinstance(self.plan.spec.privacy.unit, RowUnit) else "person"


Judged = tuple[Verdict, str]


@dataclass(frozen=True, slots=True)
class Hazard:
    """One way in which the promise of a release can fail, and who can tell.

    `judge` sees public facts alone: nothing that is told depends on a record; it says nothing
    where there is no such hazard. A hazard that only people can judge is met when the
    steward has answered it; what a program can judge, no answer changes.
    """

    name: str
    question: str
    judge: Callable[[Situation], Judged | None]
    asks: str = ""

    def find(self, situation: Situation) -> Finding | None:
        """What is found of it."""
        judged = self.judge(situation)
        if judged is None:
            return None
        verdict, words = judged
        declared = situation.plan.spec.declarations.answer(self.asks) if self.asks else ""
        if declared and verdict is Verdict.OPEN:
            verdict = Verdict.MET
        return Finding(self.name, self.question, verdict, words, declared, self.asks)
