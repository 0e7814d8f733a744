"""One reading of a dummy: its answers, with the noise of the plan and with none.

The only place of the package where noise is made to vanish. It does so for answers that it has
itself read from a `Dummy`, which has itself invented its rows: there is nothing to hand in
that could be about somebody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, cast, final

from dpcli.engine.dialect import Inspection
from dpcli.mechanisms.base import in_groups
from dpcli.mechanisms.calibration import UNCHANGEABLE
from dpcli.mechanisms.laplace import Laplace
from dpcli.plan.model import Part, Plan, PlannedEntry
from dpcli.privacy.confidential import Cells, Confidential, Group, Groups
from dpcli.privacy.noise import Noise
from dpcli.privacy.relation import PersonUnit, Unit
from dpcli.privacy.threshold import Selection
from dpcli.queries import LinearQuery, Query
from dpcli.release import Answered, check_quality, perturbed
from dpcli.simulation.dummy import Dummy

if TYPE_CHECKING:
    from dpcli.engine.rollup import Sealed

_SILENCE = Noise("laplace", Fraction(1, 1000))
"""Noise that is zero but for one time in 10^434."""

_EVERY = Selection(-(1 << 200), Fraction(1))
"""Shows every group that there is."""

UNLIMITED = 1 << 30
"""Rows and groups that no dummy has as many of."""


@dataclass(frozen=True, slots=True)
class Exact:
    """What is behind the noisy answers to an entry: numbers, or scores of candidates.

    Part by part; cell by cell, group by group. `groups` are all groups of the dummy where
    keys are private.
    """

    planned: PlannedEntry
    values: tuple[Cells, ...]
    groups: tuple[Group, ...] | None


@final
class Reading:
    """The answers to all questions of a plan about one dummy, from one pass over it.

    If `limited`, people are bounded as the plan says, with a new draw of their rows; else
    all of their rows count, as in no release.
    """

    def __init__(self, plan: Plan, dummy: Dummy, *, limited: bool = True) -> None:
        from dpcli.engine.aggregate import aggregate

        if type(dummy) is not Dummy:
            raise TypeError("only rows that were invented are read here")
        self._plan = plan
        queries, unit = plan.queries, plan.spec.privacy.unit
        if not limited:
            queries, unit = tuple(map(_unlimited, queries)), _everything(unit)
        dataset = dummy.dataset()
        inspection = Inspection(dataset)
        self.__sealed: Sequence[Sealed] = aggregate(queries, unit, dataset, inspection)

    def noisy(self) -> tuple[Answered, ...]:
        """The answers with fresh noise, as a release has them."""
        return perturbed(self._plan, self.__sealed)

    def stopped(self) -> bool:
        """Whether the quality check, with fresh noise, stops a release of these rows."""
        checked = check_quality(self._plan, self.__sealed)
        return checked is not None and bool(checked.missed)

    def exact(self) -> tuple[Exact, ...]:
        """The answers without noise."""
        sealed = iter(self.__sealed)
        if self._plan.quality is not None:
            for _ in self._plan.quality.parts:
                next(sealed)
        own = [[(part, next(sealed)) for part in planned.parts] for planned in self._plan.entries]
        groups = {
            planned.entry.request.name: _groups(parts[0][1])
            for planned, parts in zip(self._plan.entries, own, strict=True)
            if planned.entry.selects
        }
        found = []
        for planned, parts in zip(self._plan.entries, own, strict=True):
            shown = groups[planned.entry.keys] if planned.entry.keys else None
            values = tuple(_values(part, answer, shown) for part, answer in parts)
            found.append(Exact(planned, values, shown))
        return tuple(found)


def _groups(sealed: Sealed) -> tuple[Group, ...]:
    """Every group of a dummy."""
    noisy = Laplace().select(_SILENCE, _EVERY, cast("Confidential[Groups]", sealed))
    return tuple(noisy.value)


def _values(part: Part, sealed: Sealed, groups: Sequence[Group] | None) -> Cells:
    """The numbers of a dummy's cells, or the scores of its candidates."""
    if groups is not None:
        width = part.question.query.width
        sealed = in_groups(cast("Confidential[Groups]", sealed), groups, width)
    noise = UNCHANGEABLE if part.public else _SILENCE
    return Laplace().answer(noise, part.sensitivity, cast("Confidential[Cells]", sealed)).value


def _unlimited(query: Query) -> Query:
    """The same question where what people add up is not clamped, unless they are counted."""
    if not isinstance(query, LinearQuery) or query.totals is None:
        return query
    counted = not query.factors and query.totals == (0, 1)
    return query if counted else replace(query, totals=None)


def _everything(unit: Unit) -> Unit:
    """The unit without its limits."""
    if not isinstance(unit, PersonUnit):
        return unit
    return PersonUnit(unit.column, UNLIMITED, UNLIMITED, UNLIMITED, unit.each)
