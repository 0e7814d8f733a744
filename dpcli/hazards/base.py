"""What a hazard is: a question about a plan, and what is found of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from dpcli.plan.local import AnyPlan
from dpcli.privacy.decimals import decimal_text


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


Judged = tuple[Verdict, str]


@dataclass(frozen=True, slots=True)
class Hazard:
    """One way in which the promise of a release can fail, and who can tell.

    `judge` sees the plan alone: nothing that is told depends on a record; it says nothing
    where there is no such hazard. A hazard that only people can judge is met when the
    steward has answered it; what a program can judge, no answer changes.
    """

    name: str
    question: str
    judge: Callable[[AnyPlan], Judged | None]
    asks: str = ""

    def find(self, plan: AnyPlan) -> Finding | None:
        """What is found of it in a plan."""
        judged = self.judge(plan)
        if judged is None:
            return None
        verdict, words = judged
        declared = plan.spec.declarations.answer(self.asks) if self.asks else ""
        if declared and verdict is Verdict.OPEN:
            verdict = Verdict.MET
        return Finding(self.name, self.question, verdict, words, declared, self.asks)


def few_digits(value: float, digits: int = 2) -> str:
    """A positive number in plain digits, with so many that count."""
    exact = Fraction(value)
    places = 0
    while exact and exact * 10**places < 10 ** (digits - 1) and places < 30:
        places += 1
    text = decimal_text(exact, places)
    return text.rstrip("0").rstrip(".") if "." in text else text
