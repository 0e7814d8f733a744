"""What a loss means for one person, and how each answer was protected."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpcli.plan.model import Part, Plan, PlannedEntry
from dpcli.plan.numbers import exact_or_up, root_up, short
from dpcli.privacy.loss import Loss
from dpcli.privacy.meaning import (
    apart,
    at_most,
    beliefs,
    factor,
    failure,
    one_in,
    percent_at_least,
    percent_at_most,
    times_at_most,
)
from dpcli.privacy.relation import Neighbors, RowUnit
from dpcli.queries import ScoreQuery
from dpcli.spec.model import Privacy

PRIOR = 0.1
"""A belief that people can picture: one in ten."""


def one_of(privacy: Privacy) -> str:
    """Who is protected, in two words."""
    return "one row" if isinstance(privacy.unit, RowUnit) else "one person"


def promise(privacy: Privacy) -> str:
    """What differential privacy promises here."""
    who = one_of(privacy)
    how = {
        Neighbors.ADD_REMOVE: f"with or without {who}",
        Neighbors.CHANGE_ONE: f"that differ in {who}",
    }[privacy.neighbors]
    return (
        f"Data {how} give nearly the same answers: no set of outputs is more than "
        "exp(epsilon) times as likely under one as under the other, plus delta."
    )


def headline(plan: Plan) -> str:
    """The meaning of the loss in one sentence: the greatest belief in a fact about one unit."""
    privacy, loss = plan.spec.privacy, plan.spent
    who = one_of(privacy).removeprefix("one ")
    if not loss.epsilon and not loss.delta:
        return _nothing(who)
    about = apart(loss) if privacy.neighbors is Neighbors.ADD_REMOVE else loss
    _, high = beliefs(about, PRIOR)
    chance = ""
    if loss.delta:
        chance = f", except with a probability of at most {one_in(failure(about))}"
    return (
        f"A recipient who was {PRIOR:.0%} sure of a fact about a {who}{_beyond(plan)} can be at "
        f"most {percent_at_most(high)}% sure after this release, whatever else they know"
        f"{chance}."
    )


def meaning(plan: Plan) -> tuple[str, ...]:
    """What a recipient can learn about one unit from the answers of a plan."""
    privacy, loss = plan.spec.privacy, plan.spent
    who = one_of(privacy).removeprefix("one ")
    presence = privacy.neighbors is Neighbors.ADD_REMOVE
    if not loss.epsilon and not loss.delta:
        return (_nothing(who),)
    other = f"without this {who}" if presence else f"with other data of this {who}"
    plus = f", plus {at_most(loss.delta)}" if loss.delta else ""
    times = times_at_most(factor(loss))
    sentences = [f"No set of outputs was more than {times} as likely as {other}{plus}."]
    if presence:
        sentences.append(
            f"Presence in the data is protected: a recipient who was {PRIOR:.0%} sure that a "
            f"certain {who} is in them {_belief(loss)}"
        )
        sentences.append(
            f"What a {who} in the data says is two such steps away: a recipient who was "
            f"{PRIOR:.0%} sure of a fact about it {_belief(apart(loss))}"
        )
    else:
        sentences.append(
            f"What a {who} says is protected, not that it is there: a recipient who was "
            f"{PRIOR:.0%} sure of a fact about one{_beyond(plan)} {_belief(loss)}"
        )
    if loss.delta:
        chance = failure(apart(loss) if presence else loss)
        sentences.append(
            f"With a probability of at most {one_in(chance)}, more may be learned about it."
        )
    return tuple(sentences)


def _nothing(who: str) -> str:
    return f"What was published is the same for all neighbors: it reveals nothing about a {who}."


def _beyond(plan: Plan) -> str:
    """What facts are meant where columns of each record are published as they are."""
    return ", beyond what is public about it," if plan.is_local and plan.spec.public else ""


def _belief(loss: Loss) -> str:
    low, high = beliefs(loss, PRIOR)
    return (
        f"can be at least {percent_at_least(low)}% and at most {percent_at_most(high)}% sure of "
        "it after seeing everything that was published here, whatever else they know."
    )


def protection(planned: PlannedEntry, privacy: Privacy, confidence: Fraction) -> tuple[str, ...]:
    """How the answers of an entry were protected, question by question."""
    return tuple(
        f"{sentence[0].upper()}{sentence[1:]}"
        for part in planned.parts
        for sentence in _protected(part, privacy, confidence)
    )


def _protected(part: Part, privacy: Privacy, confidence: Fraction) -> Iterator[str]:
    unit, moved, query = part.question.unit, part.sensitivity, part.question.query
    role = part.question.role
    if part.public:
        yield f"{role}: published exactly, because it is the same for all neighbors."
        return
    who = one_of(privacy)
    percent = exact_or_up(confidence * 100)
    error = short(part.error(confidence), 6)
    if isinstance(query, ScoreQuery):
        what = part.mechanism.name.replace("_", "-")
        yield (
            f"{role}: chosen by {what} among {query.width:,} public candidates, better ones with "
            f"a higher probability; {who} can change how good a candidate is by at most "
            f"{exact_or_up(moved.linf * unit)}. The choice falls short of the best by at most "
            f"{error} in {percent}% of cases."
        )
        return
    gaussian = part.noise.distribution.norm == "l2"
    bound = root_up(moved.l2_squared * unit**2) if gaussian else moved.l1 * unit
    size = short(bound, 6) if gaussian else exact_or_up(bound)
    cells = query.cells
    added = "it" if cells == 1 else "each of its numbers"
    if cells is not None and cells > 1:
        added = f"each of {cells:,} numbers, independently"
    yield (
        f"{role}: {who} can change "
        + ("it" if cells == 1 else "all its numbers together")
        + f" by at most {size}{' (as a distance)' if gaussian and cells != 1 else ''}. Discrete "
        f"{part.noise.distribution.title} noise of scale {short(part.noise.scale * unit, 6)} was "
        f"added to {added}; the noise is within "
        f"{error} in {percent}% of cases."
    )
