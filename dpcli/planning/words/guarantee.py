"""The guarantee of a plan in sentences, and what it does not protect."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dpcli.numeric.exact import exact_or_up, rounded_text, short_up
from dpcli.planning.plan import CentralPlan, LocalPlan, Plan, PlannedQuery
from dpcli.privacy.interpretation import (
    at_most,
    exception_text,
    likelihood_ratio,
    loss_between_values,
    percent_at_least,
    percent_at_most,
    posterior_range,
    times_at_most,
)
from dpcli.privacy.loss import Loss
from dpcli.privacy.unit import Neighbors, PersonUnit
from dpcli.queries.query import AnswerWords
from dpcli.specification.model import Spec

PRIOR = 0.1
"""The prior belief in the examples: one in ten."""

STRENGTHS = {"strong": 0.5, "moderate": 0.9, "weak": 0.99}
"""The greatest belief in a fact, after `PRIOR`, by the word for the protection."""


def strength(loss: Loss, neighbors: str) -> str:
    """The protection of a fact about a unit in a word of `STRENGTHS`, or `no limit`."""
    # A rho would have to hold without exceptions.
    between = loss_between_values(replace(loss, rho=None), Neighbors(neighbors))
    high = posterior_range(between, PRIOR)[1]
    return next((word for word, most in STRENGTHS.items() if high <= most), "no limit")


def promise(spec: Spec) -> str:
    """What differential privacy guarantees for the privacy unit of the spec."""
    unit = spec.unit_noun
    data = f"Data that differ in one {unit}"
    if spec.privacy.neighbors is Neighbors.ADD_REMOVE:
        data = f"Data with or without one {unit}"
    return (
        f"{data} give similar answers: no set of outputs is more than exp(epsilon) times "
        "as likely under one as under the other, plus delta."
    )


def headline(plan: Plan) -> str:
    """The loss's meaning in one sentence: the greatest belief in a fact about a unit."""
    loss, spec = plan.cost, plan.spec
    if not loss.epsilon and not loss.delta:
        return _nothing(spec)
    _, high, unless = _belief(_loss_between_values(plan))
    if float(high) > 100 * STRENGTHS["weak"]:
        return no_limit(spec.unit_in_data)
    return (
        f"A recipient who knows the data of all other {spec.units_noun} and was {PRIOR:.0%} "
        f"sure of a fact about a {spec.unit_in_data} can be at most {high}% sure after this "
        f"release{unless}."
    )


def no_limit(unit: str) -> str:
    """That a release, or a budget, protects no fact about a unit."""
    return (
        f"This epsilon does not limit what can be learned about a {unit}: a belief of {PRIOR:.0%} "
        "in a fact can become more than 99%."
    )


def _nothing(spec: Spec) -> str:
    return (
        "What was published is the same for all neighbors: it reveals nothing about a "
        f"{spec.unit_noun}."
    )


def presence_headline(plan: Plan) -> str:
    """The greatest belief that a unit is present; empty if public, or at zero loss."""
    loss, protected = plan.cost, plan.spec.privacy.neighbors is Neighbors.ADD_REMOVE
    if not protected or (not loss.epsilon and not loss.delta):
        return ""
    _, high, unless = _belief(loss)
    unit, units = plan.spec.unit_noun, plan.spec.units_noun
    return (
        f"A recipient who knows the data of all other {units} and was {PRIOR:.0%} sure that a "
        f"certain {unit} is in the data at all can be at most {high}% sure of that after this "
        f"release{unless}."
    )


def meaning(plan: Plan) -> Iterator[str]:
    """What a recipient can learn about one unit from all answers of a plan."""
    loss, unit, units = plan.cost, plan.spec.unit_noun, plan.spec.units_noun
    if not loss.epsilon and not loss.delta:
        yield _nothing(plan.spec)
        return
    plus = f", plus {at_most(loss.delta)}" if loss.delta else ""
    times = times_at_most(likelihood_ratio(loss))
    low, high, unless = _belief(_loss_between_values(plan))
    if plan.spec.privacy.neighbors is Neighbors.ADD_REMOVE:
        presence = _belief(loss)
        yield f"No set of outputs was more than {times} as likely as without this {unit}{plus}."
        yield (
            f"Whether a {unit} is in the data at all: a recipient who knows the data of all "
            f"other {units} and was {PRIOR:.0%} sure that a certain {unit} is in it as well "
            f"can be at least {presence[0]}% and at most {presence[1]}% sure of it after "
            f"seeing everything that was published here{presence[2]}."
        )
        yield (
            f"A fact about a {unit} in the data, which is two such steps away: a recipient "
            f"who knows the data of all other {units} and was {PRIOR:.0%} sure of it can be "
            f"at least {low}% and at most {high}% sure of it after seeing everything that was "
            f"published here{unless}. What is learned from other {units} is learned with or "
            "without this one, and has no bound."
        )
    else:
        fact = plan.spec.unit_in_data
        yield (
            f"No set of outputs was more than {times} as likely as with other data of this "
            f"{unit}{plus}."
        )
        yield (
            f"What a {unit} says is protected, not that it is there: a recipient who knows "
            f"the data of all other {units} and was {PRIOR:.0%} sure of a fact about a {fact} "
            f"can be at least {low}% and at most {high}% sure of it after seeing everything "
            f"that was published here{unless}. What is learned from other {units} is learned "
            "with or without this one, and has no bound."
        )
    if loss.delta:
        yield f"Where an exception occurs, anything may be learned about the {unit}."


def _loss_between_values(plan: Plan) -> Loss:
    """The loss of all answers between datasets that differ in the value of one unit.

    It follows from the rho of the plan, unless an answer has a failure delta, as with private keys.
    """
    loss = plan.cost
    if loss.rho is not None and any(answer.failure_delta for answer in plan.guarantee_counts):
        loss = replace(loss, rho=None)
    return loss_between_values(loss, plan.spec.privacy.neighbors)


def _belief(loss: Loss) -> tuple[str, str, str]:
    """The belief in percent after the prior `PRIOR`, at least and at most; exception."""
    low, high = posterior_range(loss, PRIOR)
    return percent_at_least(low), percent_at_most(high), exception_text(loss)


def protection(planned_query: PlannedQuery, spec: Spec) -> str:
    """How the answer to a query is protected."""
    query, role = planned_query.weighted.query, planned_query.weighted.role
    role = role[:1].upper() + role[1:]
    if planned_query.is_exact:
        return f"{role}: published exactly, because it is the same for all neighbors."
    change = exact_or_up(planned_query.l1)
    if planned_query.calibrated.noise.norm == "l2":
        change = (
            f"{exact_or_up(short_up(planned_query.l2, 7))}{'' if query.cells == 1 else ' in L2'}"
        )
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


def composition_notes(plan: CentralPlan) -> Iterator[str]:
    """How losses are composed, where that is not a plain sum."""
    privacy = plan.spec.privacy
    branches: dict[str, dict[int, list[str]]] = {}
    for planned in plan.statistics:
        if planned.branch is not None:
            column, index = planned.branch
            branches.setdefault(column, {}).setdefault(index, []).append(planned.name)
    unit = plan.spec.unit_noun
    counted = "so only the value whose answers reveal most counts"
    if privacy.neighbors is Neighbors.CHANGE_ONE:
        counted = (
            "so the value whose answers reveal most counts, "
            f"or the two that do for one {unit} that is removed and one that is added"
        )
    for column, names_by_branch in branches.items():
        names = "; ".join(map(", ".join, names_by_branch.values()))
        yield (f"{names}: about disjoint values of {column}, of which a {unit} has one, {counted}")
    if privacy.composition.name != "sequential":
        yield (composition_rule(plan))


def composition_rule(plan: Plan) -> str:
    """The composition of the plan, and the theorem that gives its bound, in words."""
    return f"losses are added up by {plan.spec.privacy.composition.name}: {plan.bound.name}"


def limitations(plan: CentralPlan) -> Iterator[str]:
    """What a release does not protect."""
    yield from COMMON_LIMITATIONS
    if isinstance(plan.spec.privacy.unit, PersonUnit):
        yield (
            "A person with several ids counts as several people: ids are compared as texts, "
            "without the spaces around them."
        )
    yield from _conditions(plan)


def collection_limitations(plan: LocalPlan, *, shuffled: bool) -> Iterator[str]:
    """What a collection does not protect, such as the order unless it is `shuffled`."""
    yield (
        "A person with several records reveals that many times as much, and a record that is "
        "randomized again pays again: the mean of many responses reveals the true value."
    )
    if not shuffled:
        yield (
            "Responses stand in the order of the file: where the order reveals whose response is "
            "whose, each is protected by its own noise alone, and an order by something private "
            "reveals that. `--shuffle` hides the order."
        )
    yield "Rounding, clamping and constants for missing cells come before the noise and are public."
    yield from (*COMMON_LIMITATIONS, *_conditions(plan))


COMMON_LIMITATIONS = (
    "Timing and memory use are not protected.",
    "People who also appear in other datasets or releases lose privacy there too.",
    (
        "Rows are read by the rules of CSV: a writer that does not escape quotes can merge rows, "
        "and merged rows count as one."
    ),
    (
        "A privacy unit that is too small, or bounds chosen by looking at the data, void the "
        "guarantee."
    ),
)
"""What neither a release nor a collection protects."""


def _conditions(plan: Plan) -> Iterator[str]:
    if condition := plan.spec.privacy.composition.condition:
        yield condition
    yield from reader_warnings(plan)


def unprotected_notes(plan: LocalPlan) -> Iterator[str]:
    """What a collection does not randomize."""
    yield "the number of records"
    if names := ", ".join(column.name for column in plan.spec.public):
        yield f"{names}: declared public, and published as they are"


def shuffle_condition(plan: LocalPlan) -> str:
    """Among which records shuffling hides a response, and from whom."""
    names = ", ".join(column.name for column in plan.spec.public)
    among = f" that agree in {names}, by which others can be distinguished" if names else ""
    return f"this number of records{among}; against those who see the shuffled responses alone"


def reader_warnings(plan: Plan) -> Iterator[str]:
    """What readers of the plan, and of some of its numbers, must know."""
    if not plan.spec.dataset.isascii():
        from dpcli.specification.dataset_names import mixed_scripts_warning

        yield from filter(None, [mixed_scripts_warning(plan.spec.dataset)])
    for planned in plan.all_statistics:
        yield from planned.entry.statistic.warnings(planned.entry.inputs)
