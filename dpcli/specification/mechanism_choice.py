"""Which mechanisms may answer an entry: suitable ones, or the one it names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpcli import mechanisms
from dpcli.mechanisms.mechanism import AdditiveMechanism, Mechanism, SelectionMechanism
from dpcli.mechanisms.objective_perturbation import ObjectivePerturbation
from dpcli.spec_values import AlreadyReportedError
from dpcli.specification.context import SpecContext
from dpcli.specification.validation import Section
from dpcli.statistics.statistic import Request, Statistic

AUTO = "auto"
"""The value of `mechanism` that leaves the choice to the plan."""


def suitable_mechanisms(statistic: Statistic, *, may_count: bool = True) -> list[Mechanism]:
    """The mechanisms that can answer a statistic.

    The first is the default. If a statistic counts or chooses, those that choose come first; the
    others follow if it `may_count`, and the first of them is a default too: the better one answers.
    """
    family: type[Mechanism] = SelectionMechanism if statistic.chooses else AdditiveMechanism
    family = ObjectivePerturbation if statistic.minimizes else family
    suitable = [one for one in mechanisms.MECHANISMS if isinstance(one, family)]
    if statistic.counts_or_chooses and may_count:
        suitable += [one for one in mechanisms.MECHANISMS if isinstance(one, AdditiveMechanism)]
    return suitable


def answers_by_counts(
    statistic: Statistic, request: Callable[[], Request] | None, context: SpecContext
) -> bool:
    """Whether noisy counts can answer what is otherwise chosen; true if the request is invalid."""
    if not statistic.counts_or_chooses or request is None:
        return False
    try:
        queries = statistic.queries(request(), context.relation)
    except AlreadyReportedError:
        return True
    return not queries[0].query.chooses


def read_mechanisms(
    section: Section[Any], statistic: Statistic, suitable: list[Mechanism]
) -> tuple[Mechanism, ...]:
    """The mechanism that the entry names, or those among which the plan takes the best one.

    Where counts can take the place of choices, the plan takes the better of both.
    """
    name = section.values.mechanism
    if name == AUTO:
        return tuple(suitable)
    if name is None:
        counting = [one for one in suitable[1:] if isinstance(one, AdditiveMechanism)]
        return (suitable[0], *(counting[:1] if statistic.chooses else ()))
    named = tuple(mechanism for mechanism in suitable if mechanism.name == name)
    if not named:
        code = "mechanism-not-taken.choice" if statistic.chooses else "mechanism-not-taken"
        code = "mechanism-not-taken.counts" if statistic.counts_or_chooses else code
        code = "mechanism-not-taken.labels" if statistic.selects_labels else code
        code = "mechanism-not-taken.objective" if statistic.minimizes else code
        names = [mechanism.name for mechanism in suitable]
        raise section.report(code, "mechanism", mechanism=name, able=names)
    return named


def with_intervals(chosen: tuple[Mechanism, ...]) -> tuple[Mechanism, ...]:
    """Without those that choose, where noisy counts can answer: choices have no interval."""
    counting = tuple(one for one in chosen if isinstance(one, AdditiveMechanism))
    return counting or chosen


def with_known_error(chosen: tuple[Mechanism, ...]) -> tuple[Mechanism, ...]:
    """Without those whose answers have no error that a search can reach: counts, next to choices.

    The error of a number that follows from several counts depends on the rows.
    """
    choosing = tuple(one for one in chosen if isinstance(one, SelectionMechanism))
    return choosing or chosen
