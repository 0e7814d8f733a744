"""One pass over synthetic rows: answers with the noise of the plan and without.

The only module of the package that makes noise vanish. It does so for answers that it has
read itself from a `SyntheticDataset`, which has generated its rows itself: no function here
accepts rows, a path or a sealed answer, so nothing that it finds can be about a person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, cast, final

from dpcli.engine.plain import Inspection
from dpcli.mechanisms.base import in_groups
from dpcli.mechanisms.calibration import UNCHANGEABLE
from dpcli.mechanisms.pure import Laplace
from dpcli.plan.model import Part, Plan
from dpcli.privacy.confidential import Cells, Confidential, Group, Groups
from dpcli.privacy.noise import DiscreteLaplace
from dpcli.privacy.relation import PersonUnit
from dpcli.privacy.tails import Selection
from dpcli.queries import LinearQuery, Query
from dpcli.release import NoisyEntry, add_noise, check_quality
from dpcli.simulation.synthetic import SyntheticDataset

if TYPE_CHECKING:
    from dpcli.engine.rollup import Sealed

_SILENCE = DiscreteLaplace(Fraction(1, 1000))
"""Noise that is zero except with a probability of 10^-434."""

_EVERY = Selection(-(1 << 200), Fraction(1))
"""Selects every group that there is."""

UNLIMITED = 1 << 30
"""Rows and groups that no synthetic dataset has."""


@dataclass(frozen=True, slots=True)
class NoiselessAnswers:
    """The numbers behind the noisy answers to an entry, or the scores of its candidates.

    Part by part; cell by cell, group by group. `groups` are all groups of the dataset where
    keys are private.
    """

    values: tuple[Cells, ...]
    groups: tuple[Group, ...] | None


@final
class NoiselessRun:
    """The answers to all questions of a plan about one dataset, from one pass over it.

    If `limited`, people are bounded as the plan says, with a new random choice of their rows;
    else all of their rows count, as in no release.
    """

    def __init__(self, plan: Plan, dataset: SyntheticDataset, *, limited: bool = True) -> None:
        from dpcli.engine.aggregate import aggregate

        if type(dataset) is not SyntheticDataset:
            raise TypeError("only synthetic rows are read here")
        self._plan = plan
        queries, unit = plan.queries, plan.spec.privacy.unit
        if not limited:
            queries = tuple(map(_unlimited, queries))
            if isinstance(unit, PersonUnit):
                unit = PersonUnit(unit.column, UNLIMITED, UNLIMITED, UNLIMITED, unit.each)
        rows = dataset.dataset()
        self.__sealed: Sequence[Sealed] = aggregate(queries, unit, rows, Inspection(rows))

    def noisy(self) -> tuple[NoisyEntry, ...]:
        """The answers with fresh noise, as a release has them."""
        return add_noise(self._plan, self.__sealed)

    def stopped(self) -> bool:
        """Whether the quality check, with fresh noise, stops a release of these rows."""
        checked = check_quality(self._plan, self.__sealed)
        return checked is not None and bool(checked.missed)

    def exact(self) -> tuple[NoiselessAnswers, ...]:
        """The answers without noise, entry by entry."""
        quality = self._plan.quality
        sealed = iter(self.__sealed[len(quality.parts) if quality else 0 :])
        own = [[(part, next(sealed)) for part in planned.parts] for planned in self._plan.entries]
        groups = {
            planned.name: _groups(parts[0][1])
            for planned, parts in zip(self._plan.entries, own, strict=True)
            if planned.entry.selects
        }
        found = []
        for planned, parts in zip(self._plan.entries, own, strict=True):
            shown = groups[planned.entry.keys] if planned.entry.keys else None
            found.append(NoiselessAnswers(tuple(_values(*one, shown) for one in parts), shown))
        return tuple(found)


def _groups(sealed: Sealed) -> tuple[Group, ...]:
    noisy = Laplace().select(_SILENCE, _EVERY, cast("Confidential[Groups]", sealed))
    return tuple(noisy.value)


def _values(part: Part, sealed: Sealed, groups: Sequence[Group] | None) -> Cells:
    """The numbers of synthetic cells, or the scores of their candidates."""
    if groups is not None:
        sealed = in_groups(cast("Confidential[Groups]", sealed), groups)
    noise = UNCHANGEABLE if part.public else _SILENCE
    return Laplace().answer(noise, part.sensitivity, cast("Confidential[Cells]", sealed)).value


def _unlimited(query: Query) -> Query:
    """The same query where the sum of a person is not clamped, unless people are counted."""
    if not isinstance(query, LinearQuery) or query.totals is None:
        return query
    counted = not query.factors and query.totals == (0, 1)
    return query if counted else replace(query, totals=None)
