"""How each risk of a release is judged, from its plan and public facts alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from dpcli.columns import NumericColumn
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
from dpcli.privacy.relation import Neighbors, PersonUnit, RowUnit

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


@dataclass(frozen=True, slots=True)
class Context:
    """What risks are judged by: a plan, and the days of a window if the account has one."""

    plan: Plan
    window: int | None = None

    @property
    def one(self) -> str:
        """Who is protected, in a word."""
        if self.plan.is_local:
            return "record"
        return "row" if isinstance(self.plan.spec.privacy.unit, RowUnit) else "person"


Judged = tuple[Verdict, str]


def epsilon(context: Context) -> Judged:
    """The budget, which bounds what all releases together reveal."""
    privacy = context.plan.spec.privacy
    budget, presence = privacy.budget, privacy.neighbors is Neighbors.ADD_REMOVE
    # Where presence is protected, two values of a person are two neighbors apart.
    loss = apart(budget) if presence else budget
    prior, shown = (0.001, "0.1") if budget.epsilon >= LARGE_EPSILON else (0.1, "10")
    window = f" in any {context.window} consecutive days" if context.window else ""
    unless = f", except with a probability of at most {one_in(failure(loss))}" if loss.delta else ""
    words = (
        f"this release spends {loss_text(context.plan.spent)}, all releases{window} together at "
        f"most {loss_text(budget)}. After these, a recipient who was {shown}% sure of a fact "
        f"about a {context.one} can be at most {percent_at_most(beliefs(loss, prior)[1])}% "
        f"sure{unless}"
    )
    if context.window:
        words += ". Over longer periods losses add up without limit"
    if budget.epsilon <= SMALL_EPSILON:
        return Verdict.WARNED if context.window else Verdict.MET, words
    if budget.epsilon < LARGE_EPSILON:
        return Verdict.WARNED, f"{words}. An epsilon of 1 or less protects more"
    return Verdict.WARNED, f"{words}. An epsilon this large promises hardly anything by itself"


def delta(context: Context) -> Judged:
    """Delta against the number of people."""
    delta = context.plan.spec.privacy.budget.delta
    people = context.plan.spec.declarations.population
    if not delta:
        return Verdict.MET, "delta is zero: the bound given by epsilon holds without exception"
    if people is None:
        return Verdict.OPEN, (
            f"delta is {at_most(delta)}: outputs that the bound given by epsilon does not allow "
            "may have up to this probability. It must be far below 1 divided by the number of "
            "people, which `population` declares"
        )
    words = (
        f"delta is {at_most(delta)}; multiplied by a population of {people:,} it is "
        f"{at_most(delta * people)}"
    )
    if delta * people * FEWEST_FAILURES <= 1:
        return Verdict.MET, f"{words}, which is at most 0.01"
    return Verdict.WARNED, (
        f"{words}, which is above 0.01: within this delta a person's data could be exposed in "
        f"full. Lower it to {at_least(Fraction(1, people * FEWEST_FAILURES), 1)} or less"
    )


def unit(context: Context) -> Judged:
    """Whether people are protected, or single rows."""
    unit, one = context.plan.spec.privacy.unit, context.one
    if not isinstance(unit, RowUnit):
        return Verdict.MET, (
            f"all rows of a person are protected together; the column {unit.column} identifies "
            "the person"
        )
    return Verdict.OPEN, (
        f"each {one} is protected separately, which protects people only if no person has two. "
        f"For a person with k {one}s, epsilon counts k times, and delta more than k times"
    )


def identity(context: Context) -> Judged | None:
    """Whether an id identifies a person."""
    unit = context.plan.spec.privacy.unit
    if isinstance(unit, RowUnit):
        return None
    each = "; each row without an id counts as a separate person" if unit.each else ""
    return Verdict.OPEN, (
        f"a person with several values of {unit.column} counts as several people, and is "
        f"protected less{each}"
    )


def neighbors(context: Context) -> Judged:
    """Whether presence itself is protected."""
    one = context.one
    if context.plan.spec.privacy.neighbors is Neighbors.ADD_REMOVE:
        return Verdict.MET, f"whether a {one} is in the data at all is protected as well"
    return Verdict.WARNED, (
        f"the data of a {one} are protected, but not that the {one} is in the data: the number of "
        f"{'people' if one == 'person' else one + 's'} is public. Compare this epsilon only with "
        "guarantees of the same kind"
    )


def clipping(context: Context) -> Judged:
    """Where bounds come from; that they clamp is public."""
    columns = context.plan.spec.columns
    clamped = [column.name for column in columns if isinstance(column, NumericColumn)]
    what = (
        f"values of {_few(clamped)} outside their bounds are clamped to them; " if clamped else ""
    )
    return Verdict.OPEN, (
        f"{what}bounds, categories, limits and candidates must be known without the data: "
        "choosing them by looking at the data leaks information outside the guarantee"
    )


def limits(context: Context) -> Judged | None:
    """What the limits on people leave out."""
    unit = context.plan.spec.privacy.unit
    if not isinstance(unit, PersonUnit):
        return None
    return Verdict.WARNED, (
        f"of a person with more than {unit.rows:,} row{'s' * (unit.rows != 1)} only that many are "
        "used: counts and sums are too low by the rows left out, and people with many rows have "
        "less weight. Intervals cover the noise alone"
    )


def bias(context: Context) -> Judged:
    """What moves noisy numbers in one direction on average."""
    plan = context.plan
    if plan.is_local:
        steps = [one.column.name for one in plan.spec.responses if one.steps]
        if steps:
            return Verdict.WARNED, (
                f"estimates of {_few(steps)} are moved into their valid range, and are biased "
                "near its ends"
            )
        return Verdict.MET, "estimates are unbiased, and may lie outside their valid range"
    moved = [planned.entry.request.name for planned in plan.entries if any(_moves(planned))]
    if not moved:
        return Verdict.MET, "noise is symmetric around zero, and the answers are not post-processed"
    raw = [one.entry.request.name for one in plan.entries if one.entry.raw]
    also = f"; for {_few(raw)} the noisy numbers are published as well" if raw else ""
    return Verdict.WARNED, (
        f"{_few(moved)}: processing after the noise, or selection, moves numbers in one "
        f"direction on average, most where groups are small{also}"
    )


def _moves(planned: PlannedEntry) -> Iterator[bool]:
    """Whether the published numbers are others than noise around the answers."""
    entry = planned.entry
    yield bool(entry.post)
    yield bool(entry.statistic.notes(entry.request))
    yield entry.statistic.chooses
    yield entry.keys is not None


def fairness(context: Context) -> Judged | None:
    """That noise hides small groups more than large ones."""
    if context.plan.is_local:
        return Verdict.OPEN, (
            "groups of few records have wide intervals: decisions based on these numbers are less "
            "reliable for small groups"
        )
    grouped = [one.entry.request.name for one in context.plan.entries if one.entry.request.by]
    if not grouped:
        return None
    return Verdict.OPEN, (
        f"{_few(grouped)}: every group gets the same noise, which is a larger part of the numbers "
        "of a small group; decisions based on them are less reliable for minorities"
    )


def arithmetic(_: Context) -> Judged:
    """Floating point and weak generators, which have broken other implementations."""
    return Verdict.MET, (
        "from the cell to the noisy answer there are only integers and exact fractions; noise is "
        "discrete, sampled exactly with the random generator of the operating system, and its loss "
        "is recomputed from the parameters that it was sampled with. Values derived from noisy "
        "answers, and intervals, may be rounded"
    )


def timing(_: Context) -> Judged:
    """Time and memory, which depend on the data."""
    return Verdict.OPEN, (
        "the run time and the memory of a release depend on the data and are not protected; no one "
        "from whom the data are protected may be able to measure them"
    )


def other_releases(context: Context) -> Judged:
    """What else is published about the same people."""
    return Verdict.OPEN, (
        f"the account {context.plan.spec.dataset} adds up what is released from it; what is "
        "published about the same people elsewhere, with or without noise, comes on top"
    )


def access(context: Context) -> Judged:
    """Who could go around the noise."""
    whom = "the records before they respond" if context.plan.is_local else "the data"
    return Verdict.OPEN, (
        "noise protects against people who see only what is published. Anyone who can read "
        f"{whom}, or rewrite the ledger together with its anchor, does not need to attack it"
    )


def collection(context: Context) -> Judged:
    """Who has seen the data already."""
    if context.plan.is_local:
        return Verdict.OPEN, (
            "each record responds before it is collected; this protects against the collector "
            "only if it happens where the records are"
        )
    return Verdict.OPEN, (
        "the data were collected without noise, so everyone who handled them before this release "
        "had to be trusted"
    )


def _few(names: list[str]) -> str:
    """Some names in a sentence."""
    names = list(dict.fromkeys(names))
    if len(names) <= SEVERAL:
        return ", ".join(names)
    return f"{', '.join(names[:SEVERAL])} and {len(names) - SEVERAL} others"
