"""What a loss means for one person, and how each answer was protected."""

from __future__ import annotations

from collections.abc import Iterator

from dpcli.messages import note
from dpcli.numeric.number_text import exact_or_up, rounded_text
from dpcli.planning.plan import Plan, PlannedQuery, PlannedStatistic
from dpcli.privacy.interpretation import (
    at_most,
    failure_probability,
    likelihood_ratio,
    loss_at_distance_two,
    one_in,
    percent_at_least,
    percent_at_most,
    posterior_range,
    times_at_most,
)
from dpcli.privacy.loss import Loss
from dpcli.privacy.neighboring import Neighbors
from dpcli.scores import ScoreQuery
from dpcli.specification.model import Spec

PRIOR = 0.1
"""A belief that people can picture: one in ten."""


def promise(spec: Spec) -> str:
    """What differential privacy promises here."""
    return note(f"promise.{spec.privacy.neighbors.name.lower()}", unit=spec.unit_noun)


def headline(plan: Plan) -> str:
    """The meaning of the loss in one sentence: the greatest belief in a fact about one unit."""
    loss = plan.cost
    if not loss.epsilon and not loss.delta:
        return note("meaning.nothing", unit=plan.spec.unit_noun)
    facts = _believed(_about_data(plan), plan)
    unless = note("meaning.unless", **facts) if loss.delta else ""
    return note("meaning.headline", unless=unless, **facts)


def meaning(plan: Plan) -> Iterator[str]:
    """What a recipient can learn about one unit from the answers of a plan."""
    loss, unit = plan.cost, plan.spec.unit_noun
    if not loss.epsilon and not loss.delta:
        yield note("meaning.nothing", unit=unit)
        return
    plus = f", plus {at_most(loss.delta)}" if loss.delta else ""
    times = times_at_most(likelihood_ratio(loss))
    facts = _believed(_about_data(plan), plan)
    if plan.spec.privacy.neighbors is Neighbors.ADD_REMOVE:
        yield note("meaning.without", times=times, unit=unit, plus=plus)
        yield note("meaning.presence", **_believed(loss, plan))
        yield note("meaning.two_steps", **facts)
    else:
        yield note("meaning.other", times=times, unit=unit, plus=plus)
        yield note("meaning.data_alone", **facts)
    if loss.delta:
        yield note("meaning.more", **facts)


def _about_data(plan: Plan) -> Loss:
    """The loss between two data of one unit: two steps where its presence is protected."""
    presence = plan.spec.privacy.neighbors is Neighbors.ADD_REMOVE
    return loss_at_distance_two(plan.cost) if presence else plan.cost


def _believed(loss: Loss, plan: Plan) -> dict[str, object]:
    """What a recipient can believe at most and at least after `PRIOR`, and how surely."""
    low, high = posterior_range(loss, PRIOR)
    unit, public = plan.spec.unit_noun, plan.is_local and plan.spec.public
    return {
        "unit": unit,
        "fact": f"{unit}, beyond what is public about it," if public else unit,
        "prior": f"{PRIOR:.0%}",
        "low": percent_at_least(low),
        "high": percent_at_most(high),
        "chance": one_in(failure_probability(loss)) if loss.delta else "",
    }


def protection(planned: PlannedStatistic, spec: Spec) -> tuple[str, ...]:
    """How the answers of an entry were protected, query by query."""
    return tuple(_protected(part, spec) for part in planned.queries)


def _protected(part: PlannedQuery, spec: Spec) -> str:
    query = part.weighted.query
    facts: dict[str, object] = {
        "role": part.weighted.role[:1].upper() + part.weighted.role[1:],
        "unit": spec.unit_noun,
        "error": rounded_text(part.error(spec.confidence), 6),
        "percent": exact_or_up(spec.confidence * 100),
    }
    if part.is_exact:
        return note("protection.exact", **facts)
    if isinstance(query, ScoreQuery):
        mechanism, most = part.mechanism.name.replace("_", "-"), exact_or_up(part.linf)
        facts |= {"mechanism": mechanism, "candidates": query.cells_per_group, "most": most}
        return note("protection.chosen", **facts)
    most = exact_or_up(part.l1)
    if part.noise.norm == "l2":
        most = f"{rounded_text(part.l2, 6)}{'' if query.cells == 1 else ' (as a distance)'}"
    key = {None: "private", 1: "one"}.get(query.cells, "several")
    noise, scale = part.noise.title, rounded_text(part.scale, 6)
    facts |= {"most": most, "noise": noise, "scale": scale, "cells": query.cells}
    return note(f"protection.{key}", **facts)
