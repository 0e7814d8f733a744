"""What a loss means for one person, and how each answer was protected."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpcli.plan.model import Part, PlannedEntry
from dpcli.privacy.loss import Loss
from dpcli.privacy.meaning import HUGE, beliefs, factor
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
        f"Data {how} give nearly the same answers: no output is more than "
        "exp(epsilon) times as likely under one as under the other, up to delta."
    )


def meaning(loss: Loss, privacy: Privacy) -> tuple[str, ...]:
    """What somebody can learn of one unit from answers with that loss."""
    who = one_of(privacy).removeprefix("one ")
    times = factor(loss)
    likely = f"{times:.3g}" if times < 1e6 and loss.epsilon < HUGE else "a million or more"
    low, high = (100 * belief for belief in beliefs(loss, PRIOR))
    told = [
        f"No output was more than {likely} times as likely as it would have been without this "
        f"{who}'s data."
        if privacy.neighbors is Neighbors.ADD_REMOVE
        else f"No output was more than {likely} times as likely as it would have been with other "
        f"data of this {who}.",
    ]
    told.append(
        f"Somebody who believed something of one {who} with {PRIOR * 100:.0f} % can believe it "
        f"with at least {low:.3g} % and at most {high:.3g} % after seeing everything that was "
        "published here, whatever else they know."
    )
    if loss.delta:
        told.append(
            f"With a probability of at most 1 in {round(1 / loss.delta):,} this may fail for a "
            f"{who}."
        )
    return tuple(told)


def protection(planned: PlannedEntry, privacy: Privacy, confidence: Fraction) -> tuple[str, ...]:
    """How the answers of an entry were protected, question by question."""
    return tuple(
        sentence for part in planned.parts for sentence in _protected(part, privacy, confidence)
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
    gaussian = part.noise.kind == "gaussian"
    reach = root_up(moved.l2_squared * unit**2) if gaussian else moved.l1 * unit
    bound = short(reach, 6) if gaussian else exact_or_up(reach)
    cells = query.cells
    many = "each of its numbers" if cells is None else f"{_numbers(cells)}"
    yield (
        f"{role}: {who} can move "
        + ("it" if cells == 1 else "all its numbers together")
        + f" by at most {bound}{' (as a distance)' if gaussian and cells != 1 else ''}. Discrete "
        f"{part.noise.kind.capitalize()} noise of scale {short(part.noise.scale * unit, 6)} was "
        f"added to {many}; it is within {error} in {percent} % of cases."
    )


def _numbers(cells: int) -> str:
    """To what noise was added."""
    return "it" if cells == 1 else f"each of {cells:,} numbers, independently"
