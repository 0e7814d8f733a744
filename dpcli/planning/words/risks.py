"""The risks that can void or weaken the guarantee of a plan.

They follow NIST SP 800-226 (Near, Darais, Lefkovitz and Howarth 2025): parameters, privacy unit,
algorithms and their bias, execution, and deployment. Verdicts depend on public facts only. The
sentences are in `problems/risks.toml`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import StrEnum
from fractions import Fraction

from dpcli.data.grid_columns import numeric_columns
from dpcli.fields.json import JsonObject
from dpcli.planning.plan import CentralPlan, LocalPlan, Plan, PlannedStatistic
from dpcli.planning.words.data import limits_groups
from dpcli.planning.words.guarantee import PRIOR, STRENGTHS, headline, presence_headline
from dpcli.privacy.interpretation import (
    at_least,
    at_most,
    exception_text,
    loss_between_values,
    percent_at_most,
    posterior_range,
)
from dpcli.privacy.loss import loss_text
from dpcli.privacy.unit import Neighbors, PersonUnit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.problems.messages import fill_sentence
from dpcli.problems.reference import texts

SMALL_EPSILON = 1
"""Up to this epsilon, a belief of one in ten becomes at most one in two."""


LARGE_EPSILON = 10
"""From this epsilon on, a belief of one in a thousand can become near certainty."""


FAILURE_MARGIN = 100
"""Delta times the population should be at most one divided by this."""


MAX_NAMES = 6
"""Names that a sentence lists; it only counts further ones."""


class Verdict(StrEnum):
    """The verdict on a risk; only the data owner can answer an open question.

    A risk that the data owner has answered is declared, not met: no program can check the answer.
    """

    MET = "met"
    WARNED = "warned"
    DECLARED = "declared"
    OPEN = "open"

    @classmethod
    def _missing_(cls, value: object) -> Verdict | None:
        """The verdict that earlier versions wrote in another way."""
        return cls.OPEN if value == "for the steward to answer" else None


MET, WARNED, DECLARED, OPEN = Verdict

DECLARATIONS = {
    "population": "how many people the data may be about, roughly",
    "privacy_unit": "why no person has two rows, or why each person has exactly one id",
    "bounds": "where bounds, categories, limits and candidates come from",
    "fairness": "for whom the numbers are too noisy, and what was done about it",
    "timing": "who can see how long a release takes or how much memory it uses",
    "other_releases": "what else is published about the same people, now or later",
    "access": "who may read the data and the ledger, and how both are protected",
    "collection": "how the data were collected, and who has seen them on the way",
}
"""What the data owner states at each key of `declarations`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(JsonObject):
    """A risk, its verdict with the reason, and what the data owner declares about it."""

    risk: str
    description: str
    """The risk as a question."""
    verdict: Verdict
    found: str
    """What dpcli states about it."""
    warning: str | None
    """The same to readers in one sentence, where it is warned of."""
    answer: str | None
    """What the spec declares."""
    declared_as: str | None
    """The key under `declarations` that answers it."""
    advice: str | None = None
    """What the author of the spec can do about a warning."""

    @property
    def sentences(self) -> Iterator[str]:
        """The reason, and the answer of the data owner, or that there is none."""
        yield self.found
        if self.answer:
            end = "" if self.answer.endswith((".", "!", "?")) else "."
            yield f"The data owner declares: {self.answer}{end}"
        if self.verdict is DECLARED:
            yield "No program can check what is declared."
        elif self.verdict is OPEN:
            yield f"The data owner has not declared {DECLARATIONS[self._asks]}."

    @property
    def prompt(self) -> str:
        """What the author of the spec can do about it; empty if nothing."""
        if self.verdict is OPEN:
            return f"Answer under `declarations: {self._asks}:` in the spec."
        return self.advice or ""

    @property
    def _asks(self) -> str:
        return self.declared_as or "population"


def risks(plan: Plan, window: int | None = None) -> tuple[Finding, ...]:
    """A finding for every risk that a plan can have.

    `window` is the number of days that the budget of the account covers; None if it covers all.
    A risk that only people can judge is declared if the data owner has answered it. An answer does
    not change the verdict on a risk that a program can judge.
    """
    own = _of_release(plan) if isinstance(plan, CentralPlan) else _of_collection(plan)
    facts, findings = _facts(plan, window) | own[0], []
    for name, verdict, *keys in _verdicts(plan, window, own[1]):
        table = texts("risks")[name]
        words = " ".join(fill_sentence(table[key], **facts) for key in keys if key)
        asks = table.get("asks", "")
        declared = plan.spec.declarations.answer(asks) if asks else ""
        answered = DECLARED if declared and verdict is OPEN else verdict
        warned = [
            fill_sentence(table[key], **facts) if verdict is WARNED and key in table else None
            for key in ("warning", "advice")
        ]
        findings.append(
            Finding(
                risk=name,
                description=table["question"],
                verdict=answered,
                found=words,
                warning=warned[0],
                answer=declared or None,
                declared_as=asks or None,
                advice=warned[1],
            )
        )
    return tuple(findings)


def records_risk(plan: Plan) -> Finding:
    """Whether one record can change how others are read."""
    return next(finding for finding in risks(plan) if finding.risk == "records")


def _facts(plan: Plan, window: int | None) -> dict[str, object]:
    spec = plan.spec
    privacy, unit, budget = spec.privacy, spec.privacy.unit, spec.privacy.budget
    # A rho would have to hold without exceptions, and later releases may have private keys.
    loss = loss_between_values(replace(budget, rho=None), privacy.neighbors)
    prior, shown = (0.001, "0.1") if budget.epsilon >= LARGE_EPSILON else (0.1, "10")
    people = spec.declarations.population or 1
    return {
        "unit": spec.unit_noun,
        "units": spec.units_noun,
        "dataset": spec.dataset,
        "id": unit.column if isinstance(unit, PersonUnit) else "",
        "spent": loss_text(plan.cost),
        "budget": loss_text(budget),
        "window": window,
        "prior": shown,
        "headline": headline(plan),
        "present_headline": presence_headline(plan),
        "belief": percent_at_most(posterior_range(loss, prior)[1]),
        "unless": exception_text(loss),
        "present": percent_at_most(posterior_range(budget, prior)[1]),
        "unless_present": exception_text(budget),
        "delta": at_most(budget.delta),
        "population": people,
        "exposed": at_most(budget.delta * people),
        "enough": at_least(Fraction(1, people * FAILURE_MARGIN), 1),
        "clamped": _listed(column.name for column in numeric_columns(spec.columns)),
        "chosen": _listed(choice.noun for choice in spec.choices),
    }


RiskVerdict = tuple[str, Verdict, *tuple[str, ...]]
"""A risk, the verdict on it, and the keys of the sentences with the reason."""


def _of_release(plan: CentralPlan) -> tuple[dict[str, object], list[RiskVerdict]]:
    """The arguments of sentences on risks, and the verdicts, that only a release has."""
    statistics, unit = plan.statistics, plan.spec.privacy.unit
    facts: dict[str, object] = {
        "rows": min(_row_limits(plan), default=0),
        "advice": fill_sentence(texts("risks")["limits"][_advice(plan)]),
        "changed": _listed(planned.name for planned in statistics if _is_biased(planned)),
        "raw": _listed(planned.name for planned in statistics if planned.entry.raw),
        "grouped": _listed(planned.name for planned in statistics if planned.entry.inputs.by),
    }
    limits = [("limits", *_limits(plan))] if isinstance(unit, PersonUnit) else []
    changed = (WARNED, "changed", "raw" if facts["raw"] else "")
    bias = ("bias", *(changed if facts["changed"] else (MET, "none")))
    groups = [("small groups", OPEN, "groups")] if facts["grouped"] else []
    return facts, [*limits, bias, *groups]


def _of_collection(plan: LocalPlan) -> tuple[dict[str, object], list[RiskVerdict]]:
    """The arguments and the verdicts, as `_of_release`, that only a collection has."""
    steps = _listed(response.column.name for response in plan.spec.responses if response.steps)
    bias = (WARNED, "steps") if steps else (MET, "no_steps")
    return {"changed": steps}, [("bias", *bias), ("small groups", OPEN, "local")]


def _verdicts(plan: Plan, window: int | None, own: Iterable[RiskVerdict]) -> Iterator[RiskVerdict]:
    """Every verdict in report order; `own` are those of only this kind of plan."""
    privacy, unit = plan.spec.privacy, plan.spec.privacy.unit
    # The budget decides, because it bounds what all releases together reveal.
    epsilon, delta = privacy.budget.epsilon, privacy.budget.delta
    size = "" if epsilon <= SMALL_EPSILON else "large" if epsilon < LARGE_EPSILON else "huge"
    verdict = WARNED if size or window else MET
    longer = "longer" if window else ""
    words = (*_meaning(plan, window), longer, size)
    yield "epsilon", verdict, *words
    yield "delta", *_delta(delta, plan.spec.declarations.population)
    if isinstance(unit, PersonUnit):
        yield "unit", MET, "person"
        yield "identity", OPEN, "ids", "each" if unit.singletons_without_id else ""
    else:
        yield "unit", OPEN, "row"
    multiline = plan.spec.dialect.multiline
    yield ("records", WARNED, "cells") if multiline else ("records", MET, "lines")
    presence = privacy.neighbors is Neighbors.ADD_REMOVE
    yield ("neighbors", MET, "protected") if presence else ("neighbors", WARNED, "public")
    # A program knows that bounds clamp values, but not where the bounds come from.
    numeric = numeric_columns(plan.spec.columns)
    chosen = "chosen" if plan.spec.choices else ""
    yield "clipping", OPEN, "clamped" if numeric else "", chosen, "known"
    yield from own
    yield "arithmetic", MET, "exact"
    yield "side channels", OPEN, "any"
    yield "other releases", OPEN, "any"
    for risk in ("access", "collection"):
        yield risk, OPEN, plan.kind


def _meaning(plan: Plan, window: int | None) -> Iterator[str]:
    """The keys of sentences on what this release, and all releases, reveal."""
    budget = plan.spec.privacy.budget
    presence = plan.spec.privacy.neighbors is Neighbors.ADD_REMOVE
    yield from ("spends", "means")
    if presence_headline(plan):
        yield "means_present"
    yield "all_of_window" if window else "all"
    if plan.cost == budget:
        yield "alone"
        return
    between = loss_between_values(replace(budget, rho=None), plan.spec.privacy.neighbors)
    is_limited = posterior_range(between, PRIOR)[1] <= STRENGTHS["weak"]
    yield "belief" if is_limited else "no_limit"
    if presence and is_limited:
        yield "present"
        if plan.spec.privacy.composition.takes_rho:
            yield "exceptions"


def _delta(delta: Fraction, people: int | None) -> tuple[Verdict, str]:
    if not delta:
        return MET, "zero"
    if people is None:
        return OPEN, "unknown"
    return (DECLARED, "small") if delta * people * FAILURE_MARGIN <= 1 else (WARNED, "large")


def _limits(plan: CentralPlan) -> tuple[Verdict, *tuple[str, ...]]:
    limits = _row_limits(plan)
    limited = "limited_each" if len(limits) > 1 else "limited" if limits else ""
    groups = "groups" if any(map(limits_groups, plan.statistics)) else ""
    if not limited and not groups:
        return MET, "none"
    return WARNED, limited, "counted" if plan.quality else "", groups, "noise"


def _row_limits(plan: CentralPlan) -> set[int]:
    """The limits on the rows of a person that leave out rows of some statistic."""
    limits = (
        part.weighted.query.row_limit(planned.unit)
        for planned in plan.statistics or plan.released_statistics
        if isinstance(planned.unit, PersonUnit)
        for part in planned.queries
    )
    return set(filter(None, limits))


def _advice(plan: CentralPlan) -> str:
    """The key of the advice on limits, by what noisy counts show of their effect."""
    return "advice_counted" if plan.quality else "advice_uncounted"


def _is_biased(planned: PlannedStatistic) -> bool:
    """Whether published numbers may be biased, as they are not just noisy answers."""
    entry = planned.entry
    notes = entry.statistic.sentences(entry.inputs)
    return bool(entry.post or notes or entry.statistic.chooses or entry.selected_by is not None)


def _listed(names: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(names))
    if len(distinct) <= MAX_NAMES:
        return ", ".join(distinct)
    return f"{', '.join(distinct[:MAX_NAMES])} and {len(distinct) - MAX_NAMES} others"
