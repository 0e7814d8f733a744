"""What a loss means for one person, and how each answer was protected."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpcli.plan.model import Part, Plan, PlannedEntry
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
from dpcli.report.numbers import exact_or_up, root_up, short
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


def meaning(plan: Plan) -> tuple[str, ...]:
    """What somebody can learn of one unit from the answers of a plan."""
    privacy, loss = plan.spec.privacy, plan.spent
    who = one_of(privacy).removeprefix("one ")
    presence = privacy.neighbors is Neighbors.ADD_REMOVE
    if not loss.epsilon and not loss.delta:
        return (f"What was published is the same for all neighbours: it tells of no {who}.",)
    other = f"without this {who}" if presence else f"with other data of this {who}"
    plus = f", plus {at_most(loss.delta)}" if loss.delta else ""
    told = [
        f"No set of outputs was more than {times_at_most(factor(loss))} as likely as {other}{plus}."
    ]
    if presence:
        told.append(
            "Whether somebody is in the data at all is protected: who believed that a certain "
            f"{who} is in them {_believed(loss)}"
        )
        told.append(
            f"What a {who} in the data says is two such steps away: who believed something of it "
            f"{_believed(apart(loss))}"
        )
    else:
        beyond = ", beyond what is public of it," if _has_public(plan) else ""
        told.append(
            f"What a {who} says is protected, not that it is there: who believed something of "
            f"one{beyond} {_believed(loss)}"
        )
    if loss.delta:
        chance = failure(apart(loss) if presence else loss)
        told.append(f"With a probability of at most {one_in(chance)} more may be learnt of it.")
    return tuple(told)


def _has_public(plan: Plan) -> bool:
    """Whether columns of each record are published as they are."""
    return plan.is_local and bool(plan.spec.public)


def _believed(loss: Loss) -> str:
    """What a belief can become."""
    low, high = beliefs(loss, PRIOR)
    return (
        f"with {PRIOR * 100:.0f} % can believe it with at least {percent_at_least(low)} % and at "
        f"most {percent_at_most(high)} % after seeing everything that was published here, whatever "
        "else they know."
    )


def protection(planned: PlannedEntry, privacy: Privacy, confidence: Fraction) -> tuple[str, ...]:
    """How the answers of an entry were protected, question by question."""
    return tuple(
        f"{sentence[0].upper()}{sentence[1:]}"
        for part in planned.parts
        for sentence in _protected(part, privacy, confidence)
    )


def _protected(part: Part, privacy: Privacy, confidence: Fraction) -> Iterator[str]:
    """How one question was answered."""
    unit, moved, query = part.question.unit, part.sensitivity, part.question.query
    role = part.question.role
    if part.public:
        yield f"{role}: given exactly, because it is the same for all neighbours."
        return
    who = one_of(privacy)
    percent = exact_or_up(confidence * 100)
    error = short(part.error(confidence), 6)
    if isinstance(query, ScoreQuery):
        what = part.mechanism.name.replace("_", "-")
        yield (
            f"{role}: chosen by {what} among {query.width:,} candidates that are public, the "
            f"better the likelier; {who} can change how good a candidate is by at most "
            f"{exact_or_up(moved.linf * unit)}. The choice falls short of the best by at most "
            f"{error} in {percent} % of cases."
        )
        return
    gaussian = part.noise.distribution.norm == "l2"
    reach = root_up(moved.l2_squared * unit**2) if gaussian else moved.l1 * unit
    bound = short(reach, 6) if gaussian else exact_or_up(reach)
    cells = query.cells
    many = "each of its numbers" if cells is None else f"{_numbers(cells)}"
    yield (
        f"{role}: {who} can move "
        + ("it" if cells == 1 else "all its numbers together")
        + f" by at most {bound}{' (as a distance)' if gaussian and cells != 1 else ''}. Discrete "
        f"{part.noise.distribution.title} noise of scale {short(part.noise.scale * unit, 6)} was "
        f"added to {many}; it is within {error} in {percent} % of cases."
    )


def _numbers(cells: int) -> str:
    """To what noise was added."""
    return "it" if cells == 1 else f"each of {cells:,} numbers, independently"
