"""The guarantee of a plan in sentences, and how each answer is protected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dpcli.numeric.exact import exact_or_up, rounded_text
from dpcli.planning.plan import Plan, PlannedQuery
from dpcli.privacy.interpretation import (
    at_most,
    failure_text,
    likelihood_ratio,
    loss_between_values,
    percent_at_least,
    percent_at_most,
    posterior_range,
    times_at_most,
)
from dpcli.privacy.loss import Loss
from dpcli.privacy.neighboring import Neighbors
from dpcli.problems.messages import note
from dpcli.queries.query import AnswerWords
from dpcli.specification.model import Spec

PRIOR = 0.1
"""The belief before the release, in examples: one in ten."""


def promise(spec: Spec) -> str:
    """What differential privacy guarantees for the privacy unit of the spec."""
    return note(f"promise.{spec.privacy.neighbors.name.lower()}", unit=spec.unit_noun)


def headline(plan: Plan) -> str:
    """The meaning of the loss in one sentence: the greatest belief in a fact about one unit."""
    loss = plan.cost
    if not loss.epsilon and not loss.delta:
        return note("meaning.nothing", unit=plan.spec.unit_noun)
    return note("meaning.headline", **_belief_facts(_loss_between_values(plan), plan))


def presence_headline(plan: Plan) -> str:
    """The greatest belief that one unit is in the data; empty if that is public or says nothing."""
    loss, protected = plan.cost, plan.spec.privacy.neighbors is Neighbors.ADD_REMOVE
    if not protected or (not loss.epsilon and not loss.delta):
        return ""
    return note("meaning.present", **_belief_facts(loss, plan))


def meaning(plan: Plan) -> Iterator[str]:
    """What a recipient can learn about one unit from all answers of a plan."""
    loss, unit = plan.cost, plan.spec.unit_noun
    if not loss.epsilon and not loss.delta:
        yield note("meaning.nothing", unit=unit)
        return
    plus = f", plus {at_most(loss.delta)}" if loss.delta else ""
    times = times_at_most(likelihood_ratio(loss))
    facts = _belief_facts(_loss_between_values(plan), plan)
    if plan.spec.privacy.neighbors is Neighbors.ADD_REMOVE:
        yield note("meaning.without", times=times, unit=unit, plus=plus)
        yield note("meaning.presence", **_belief_facts(loss, plan))
        yield note("meaning.two_steps", **facts)
    else:
        yield note("meaning.other", times=times, unit=unit, plus=plus)
        yield note("meaning.data_alone", **facts)
    if loss.delta:
        yield note("meaning.more", **facts)


def _loss_between_values(plan: Plan) -> Loss:
    """The loss of all answers between two values of one unit.

    It follows from the rho of the plan if that holds without exceptions, which private keys have.
    """
    loss = plan.cost
    if loss.rho is not None and any(answer.failure_delta for answer in plan.guarantee_counts):
        loss = replace(loss, rho=None)
    return loss_between_values(loss, plan.spec.privacy.neighbors)


def _belief_facts(loss: Loss, plan: Plan) -> dict[str, object]:
    """The least and the greatest belief after `PRIOR`, and the exception with its probability."""
    low, high = posterior_range(loss, PRIOR)
    chance = failure_text(loss)
    return {
        "unit": plan.spec.unit_noun,
        "units": plan.spec.units_noun,
        "fact": plan.spec.unit_in_data,
        "prior": f"{PRIOR:.0%}",
        "low": percent_at_least(low),
        "high": percent_at_most(high),
        "unless": note("meaning.unless", chance=chance) if chance else "",
    }


def protection(planned_query: PlannedQuery, spec: Spec) -> str:
    """How the answer to a query is protected."""
    query, role = planned_query.weighted.query, planned_query.weighted.role
    role = role[:1].upper() + role[1:]
    if planned_query.is_exact:
        return f"{role}: published exactly, because it is the same for all neighbors."
    change = exact_or_up(planned_query.l1)
    if planned_query.calibrated.noise.norm == "l2":
        change = f"{rounded_text(planned_query.l2, 6)}{'' if query.cells == 1 else ' in L2'}"
    words = AnswerWords(
        role=role,
        unit=spec.unit_noun,
        mechanism=planned_query.calibrated.mechanism.name.replace("_", "-"),
        noise=planned_query.calibrated.noise.title,
        scale=rounded_text(planned_query.scale, 6),
        change=change,
        farthest=exact_or_up(planned_query.linf),
        error=rounded_text(planned_query.error(spec.confidence), 6),
        percent=exact_or_up(spec.confidence * 100),
    )
    return query.protection(words)
