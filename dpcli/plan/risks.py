"""Risks of a release: what can void or weaken its guarantee.

Judged from public facts alone, after NIST SP 800-226 (Near, Darais, Lefkovitz and Howarth
2025): the parameters, the unit of privacy, algorithms and their bias, how they run, and
everything around them. The sentences are in `reference/risks.toml`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from dpcli.columns import NumericColumn
from dpcli.messages import fill
from dpcli.plan.model import Plan, PlannedEntry
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
from dpcli.privacy.relation import Neighbors, PersonUnit
from dpcli.reference import texts

SMALL_EPSILON = 1
"""Up to it, a belief of one in ten can become one in two at most."""

LARGE_EPSILON = 10
"""From it on, a belief of one in a thousand can become near certainty."""

FEWEST_FAILURES = 100
"""Delta times the population stays below one divided by this."""

SEVERAL = 6
"""Names that are listed before the rest is only counted."""


class Verdict(Enum):
    """What is found about a risk."""

    MET = "met"
    WARNED = "warned"
    OPEN = "for the steward to answer"


MET, WARNED, OPEN = Verdict


@dataclass(frozen=True, slots=True)
class Finding:
    """A risk, the verdict on it and why, and what the data owner declares about it.

    `asks` is the key under `declarations:` that answers it, if one does.
    """

    risk: str
    question: str
    verdict: Verdict
    words: str
    declared: str = ""
    asks: str = ""

    @property
    def sentences(self) -> Iterator[str]:
        """What is found, and the answer to it or how to give one."""
        yield self.words
        if self.declared:
            yield f"The data owner declares: {self.declared}"
        elif self.verdict is OPEN:
            yield f"To answer it, declare `{self.asks or 'population'}` in the spec."


def risks(plan: Plan, window: int | None = None) -> tuple[Finding, ...]:
    """What is found about every risk that a plan can have.

    `window` is the days that the budget of the account covers, if it does not cover all. A risk
    that only people can judge is met when the data owner has answered it; what a program can
    judge, no answer changes.
    """
    facts, found = _facts(plan, window), []
    for name, judge in JUDGES.items():
        judged = judge(plan, window)
        if judged is not None:
            verdict, *keys = judged
            table = texts("risks")[name]
            words = " ".join(fill(table[key], **facts) for key in keys)
            asks = table.get("asks", "")
            declared = plan.spec.declarations.answer(asks) if asks else ""
            if declared and verdict is OPEN:
                verdict = MET
            found.append(Finding(name, table["question"], verdict, words, declared, asks))
    return tuple(found)


def _facts(plan: Plan, window: int | None) -> dict[str, object]:
    """Everything that a sentence about a risk may name."""
    spec, entries = plan.spec, plan.entries
    privacy, unit, budget = spec.privacy, spec.privacy.unit, spec.privacy.budget
    # Where presence is protected, two values of a person are two neighbors apart.
    loss = apart(budget) if privacy.neighbors is Neighbors.ADD_REMOVE else budget
    prior, shown = (0.001, "0.1") if budget.epsilon >= LARGE_EPSILON else (0.1, "10")
    people, person = spec.declarations.population or 1, isinstance(unit, PersonUnit)
    return {
        "one": spec.one,
        "units": "people" if person else f"{spec.one}s",
        "dataset": spec.dataset,
        "id": unit.column if isinstance(unit, PersonUnit) else "",
        "rows": unit.rows if isinstance(unit, PersonUnit) else 0,
        "spent": loss_text(plan.spent),
        "budget": loss_text(budget),
        "window": window,
        "prior": shown,
        "belief": percent_at_most(beliefs(loss, prior)[1]),
        "chance": one_in(failure(loss)) if loss.delta else "",
        "delta": at_most(budget.delta),
        "population": people,
        "exposed": at_most(budget.delta * people),
        "enough": at_least(Fraction(1, people * FEWEST_FAILURES), 1),
        "clamped": _few(one.name for one in spec.columns if isinstance(one, NumericColumn)),
        "steps": _few(one.column.name for one in spec.responses if one.steps),
        "changed": _few(one.name for one in entries if _changes(one)),
        "raw": _few(one.name for one in entries if one.entry.raw),
        "grouped": _few(one.name for one in entries if one.entry.request.by),
    }


Judged = tuple[Verdict, *tuple[str, ...]]
"""A verdict, and the keys of the sentences that give the reason for it."""


def _epsilon(plan: Plan, window: int | None) -> Judged:
    """The budget counts, which bounds what all releases together reveal."""
    budget = plan.spec.privacy.budget
    small = budget.epsilon <= SMALL_EPSILON
    keys = ["spends", "all_of_window" if window else "all"]
    keys += ["unless" if budget.delta else "belief"]
    keys += ["longer"] if window else []
    keys += [] if small else ["large" if budget.epsilon < LARGE_EPSILON else "huge"]
    return MET if small and not window else WARNED, *keys


def _delta(plan: Plan, _: int | None) -> Judged:
    delta, people = plan.spec.privacy.budget.delta, plan.spec.declarations.population
    if not delta:
        return MET, "zero"
    if people is None:
        return OPEN, "unknown"
    return (MET, "small") if delta * people * FEWEST_FAILURES <= 1 else (WARNED, "large")


def _unit(plan: Plan, _: int | None) -> Judged:
    person = isinstance(plan.spec.privacy.unit, PersonUnit)
    return (MET, "person") if person else (OPEN, "row")


def _identity(plan: Plan, _: int | None) -> Judged | None:
    unit = plan.spec.privacy.unit
    if not isinstance(unit, PersonUnit):
        return None
    return (OPEN, "ids", "each") if unit.each else (OPEN, "ids")


def _neighbors(plan: Plan, _: int | None) -> Judged:
    presence = plan.spec.privacy.neighbors is Neighbors.ADD_REMOVE
    return (MET, "protected") if presence else (WARNED, "public")


def _clipping(plan: Plan, _: int | None) -> Judged:
    """That bounds clamp is public; where they come from, a program cannot know."""
    numeric = any(isinstance(column, NumericColumn) for column in plan.spec.columns)
    return (OPEN, "clamped", "known") if numeric else (OPEN, "known")


def _limits(plan: Plan, _: int | None) -> Judged | None:
    return (WARNED, "limited") if isinstance(plan.spec.privacy.unit, PersonUnit) else None


def _bias(plan: Plan, _: int | None) -> Judged:
    if plan.is_local:
        stepped = any(response.steps for response in plan.spec.responses)
        return (WARNED, "steps") if stepped else (MET, "no_steps")
    if not any(map(_changes, plan.entries)):
        return MET, "none"
    raw = any(planned.entry.raw for planned in plan.entries)
    return (WARNED, "changed", "raw") if raw else (WARNED, "changed")


def _changes(planned: PlannedEntry) -> bool:
    """Whether the published numbers are others than noise around the answers."""
    entry = planned.entry
    notes = entry.statistic.notes(entry.request)
    return bool(entry.post or notes or entry.statistic.chooses or entry.keys is not None)


def _groups(plan: Plan, _: int | None) -> Judged | None:
    if plan.is_local:
        return OPEN, "local"
    return (OPEN, "groups") if any(one.entry.request.by for one in plan.entries) else None


def _by_model(plan: Plan, _: int | None) -> Judged:
    return OPEN, "local" if plan.is_local else "central"


JUDGES: dict[str, Callable[[Plan, int | None], Judged | None]] = {
    "epsilon": _epsilon,
    "delta": _delta,
    "unit": _unit,
    "identity": _identity,
    "neighbors": _neighbors,
    "clipping": _clipping,
    "limits": _limits,
    "bias": _bias,
    "small groups": _groups,
    "arithmetic": lambda *_: (MET, "exact"),
    "side channels": lambda *_: (OPEN, "any"),
    "other releases": lambda *_: (OPEN, "any"),
    "access": _by_model,
    "collection": _by_model,
}
"""Every risk, in the order in which they are shown, and who judges it by public facts alone.

None where a plan has no such risk.
"""


def _few(names: Iterator[str]) -> str:
    """Some names in a sentence."""
    found = list(dict.fromkeys(names))
    if len(found) <= SEVERAL:
        return ", ".join(found)
    return f"{', '.join(found[:SEVERAL])} and {len(found) - SEVERAL} others"
