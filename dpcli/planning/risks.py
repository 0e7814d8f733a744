"""Risks of a release: what can void or weaken its guarantee.

Judged from public facts alone, after NIST SP 800-226 (Near, Darais, Lefkovitz and Howarth
2025): the parameters, the unit of privacy, algorithms and their bias, how they run, and
everything around them. The sentences are in `reference/risks.toml`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from dpcli.columns import NumericColumn
from dpcli.messages import fill_sentence
from dpcli.planning.plan import Plan, PlannedStatistic
from dpcli.privacy.interpretation import (
    at_least,
    at_most,
    failure_probability,
    loss_at_distance_two,
    one_in,
    percent_at_most,
    posterior_range,
)
from dpcli.privacy.loss import loss_text
from dpcli.privacy.neighboring import Neighbors
from dpcli.privacy.unit import PersonUnit
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

    `asks` is the key under `declarations:` that answers it, if one does; a `warning` says in a
    sentence what to do.
    """

    risk: str
    question: str
    verdict: Verdict
    words: str
    declared: str = ""
    asks: str = ""
    warning: str = ""

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
    for name, verdict, *keys in _judged(plan, window):
        table = texts("risks")[name]
        words = " ".join(fill_sentence(table[key], **facts) for key in keys if key)
        asks = table.get("asks", "")
        declared = plan.spec.declarations.answer(asks) if asks else ""
        met = MET if declared and verdict is OPEN else verdict
        warning = fill_sentence(table["warning"], **facts) if verdict is WARNED else ""
        found.append(Finding(name, table["question"], met, words, declared, asks, warning))
    return tuple(found)


def _facts(plan: Plan, window: int | None) -> dict[str, object]:
    spec, entries = plan.spec, plan.statistics
    privacy, unit, budget = spec.privacy, spec.privacy.unit, spec.privacy.budget
    # Where presence is protected, two values of a person are two neighbors apart.
    loss = loss_at_distance_two(budget) if privacy.neighbors is Neighbors.ADD_REMOVE else budget
    prior, shown = (0.001, "0.1") if budget.epsilon >= LARGE_EPSILON else (0.1, "10")
    people, person = spec.declarations.population or 1, isinstance(unit, PersonUnit)
    return {
        "unit": spec.unit_noun,
        "units": "people" if person else f"{spec.unit_noun}s",
        "dataset": spec.dataset,
        "id": unit.column if isinstance(unit, PersonUnit) else "",
        "rows": unit.max_rows if isinstance(unit, PersonUnit) else 0,
        "spent": loss_text(plan.cost),
        "budget": loss_text(budget),
        "window": window,
        "prior": shown,
        "belief": percent_at_most(posterior_range(loss, prior)[1]),
        "chance": one_in(failure_probability(loss)) if loss.delta else "",
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


RiskVerdict = tuple[str, Verdict, *tuple[str, ...]]
"""A risk, the verdict on it, and the keys of the sentences that give the reason."""


def _judged(plan: Plan, window: int | None) -> Iterator[RiskVerdict]:
    """Every risk that a plan has, in the order in which they are shown, by public facts alone."""
    privacy, unit, local = plan.spec.privacy, plan.spec.privacy.unit, plan.is_local
    # The budget counts: it bounds what all releases together reveal.
    epsilon, delta = privacy.budget.epsilon, privacy.budget.delta
    size = "" if epsilon <= SMALL_EPSILON else "large" if epsilon < LARGE_EPSILON else "huge"
    spends = "all_of_window" if window else "all"
    belief, longer = "unless" if delta else "belief", "longer" if window else ""
    verdict = WARNED if size or window else MET
    yield "epsilon", verdict, "spends", spends, belief, longer, size
    yield "delta", *_delta(delta, plan.spec.declarations.population)
    if isinstance(unit, PersonUnit):
        yield "unit", MET, "person"
        yield "identity", OPEN, "ids", "each" if unit.singletons_without_id else ""
    else:
        yield "unit", OPEN, "row"
    presence = privacy.neighbors is Neighbors.ADD_REMOVE
    yield ("neighbors", MET, "protected") if presence else ("neighbors", WARNED, "public")
    # That bounds clamp is public; where they come from, a program cannot know.
    numeric = any(isinstance(column, NumericColumn) for column in plan.spec.columns)
    yield "clipping", OPEN, "clamped" if numeric else "", "known"
    if isinstance(unit, PersonUnit):
        yield "limits", WARNED, "limited"
    yield "bias", *_bias(plan)
    if local or any(one.entry.request.by for one in plan.statistics):
        yield "small groups", OPEN, "local" if local else "groups"
    yield "arithmetic", MET, "exact"
    yield "side channels", OPEN, "any"
    yield "other releases", OPEN, "any"
    for risk in ("access", "collection"):
        yield risk, OPEN, "local" if local else "central"


def _delta(delta: Fraction, people: int | None) -> tuple[Verdict, str]:
    if not delta:
        return MET, "zero"
    if people is None:
        return OPEN, "unknown"
    return (MET, "small") if delta * people * FEWEST_FAILURES <= 1 else (WARNED, "large")


def _bias(plan: Plan) -> tuple[Verdict, *tuple[str, ...]]:
    if plan.is_local:
        stepped = any(response.steps for response in plan.spec.responses)
        return (WARNED, "steps") if stepped else (MET, "no_steps")
    if not any(map(_changes, plan.statistics)):
        return MET, "none"
    return WARNED, "changed", "raw" if any(one.entry.raw for one in plan.statistics) else ""


def _changes(planned: PlannedStatistic) -> bool:
    """Whether the published numbers are others than noise around the answers."""
    entry = planned.entry
    notes = entry.statistic.notes(entry.request)
    return bool(entry.post or notes or entry.statistic.chooses or entry.keys is not None)


def _few(names: Iterable[str]) -> str:
    found = list(dict.fromkeys(names))
    if len(found) <= SEVERAL:
        return ", ".join(found)
    return f"{', '.join(found[:SEVERAL])} and {len(found) - SEVERAL} others"
