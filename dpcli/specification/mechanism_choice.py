"""Which mechanisms may answer an entry: suitable ones, or the one it names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from dpcli import mechanisms
from dpcli.fields.values import AlreadyReportedError
from dpcli.mechanisms.mechanism import AdditiveMechanism, Mechanism, SelectionMechanism
from dpcli.noise.distribution import ADDITIVE, Family
from dpcli.specification.validation import Section
from dpcli.statistics.design import Design
from dpcli.statistics.statistic import Statistic

AUTO = "auto"
"""The value of `mechanism` that leaves the choice to the plan."""


def suitable_mechanisms(families: Collection[Family]) -> list[Mechanism]:
    """The mechanisms with noise of these families.

    The first is the default. Those that choose come before those that add noise to counts, and the
    first of these is a default too: the better one answers.
    """
    suitable = [one for one in mechanisms.MECHANISMS if one.family in families]
    return sorted(suitable, key=lambda mechanism: mechanism.family in ADDITIVE)


def families_of(
    statistic: Statistic, designs: Callable[[], Sequence[Design]] | None
) -> Collection[Family]:
    """The families of noise that can answer an entry; those of its statistic if it is invalid.

    Only where counts can take the place of choices, they depend on the request.
    """
    if designs is None or not _counts_or_chooses(statistic):
        return statistic.families
    try:
        return {family for design in designs() for family in design.families}
    except AlreadyReportedError:
        return statistic.families


def _counts_or_chooses(statistic: Statistic) -> bool:
    return statistic.chooses and len(statistic.families) > 1


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
        code = "mechanism-not-taken.counts" if _counts_or_chooses(statistic) else code
        code = "mechanism-not-taken.labels" if statistic.selects_labels else code
        code = "mechanism-not-taken.objective" if "slope" in statistic.families else code
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
