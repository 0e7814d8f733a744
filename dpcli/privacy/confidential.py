"""What depends on records and is sealed, and what may be published.

A `Confidential` shows nothing: it cannot be printed, compared, tested, iterated,
hashed or pickled. Its value has a name that `mypy --strict` lets no other class read; those that
open it say so with a comment that a test counts: `dpcli.mechanisms.calibrated_mechanism`, and for
synthetic rows `dpcli.simulation.synthetic`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar, final

from dpcli.numeric.arrays import Array, Ints, np
from dpcli.privacy.unit import Unit

T = TypeVar("T")

Cells = Array
"""Whole numbers, cell by cell."""

Group = tuple[str, ...]
"""The labels of a group whose key is private."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Groups:
    """The groups that are in the data, by `names` in rising order, and their occupied cells.

    Each line adds a `value` to a `cell` of the group at a place among the names. A group has
    `width` cells; if what is asked for are `scores`, they are made of these.
    """

    names: tuple[Group, ...]
    place: Ints
    cell: Ints
    value: Array
    width: int
    scores: Callable[[Array], Array] | None = None

    def cells(self, groups: Sequence[Group]) -> Cells:
        """The cells of these groups, one after another; zeros for one that is not there."""
        rows = {group: row for row, group in enumerate(groups)}
        row = np.array([rows.get(name, -1) for name in self.names], np.int64)[self.place]
        wanted = row >= 0
        table = np.zeros((len(groups), self.width), self.value.dtype)
        np.add.at(table, (row[wanted], self.cell[wanted]), self.value[wanted])
        return table.ravel() if self.scores is None else self.scores(table)


@final
class Confidential(Generic[T]):
    """A value computed from records, sealed for one query or randomizer.

    Only a mechanism that was calibrated for this query opens it, or this randomizer. The answer
    to a query is about rows that were bounded for a privacy unit, and sealed with it.
    """

    __slots__ = ("__sealed", "__sealed_for", "__unit", "__whole")

    def __init__(self, value: T, sealed_for: object, unit: Unit | None = None) -> None:
        # No annotation, so that to a type checker there is no such attribute.
        object.__setattr__(self, "_Confidential__sealed", value)
        object.__setattr__(self, "_Confidential__sealed_for", sealed_for)
        object.__setattr__(self, "_Confidential__unit", unit)
        object.__setattr__(self, "_Confidential__whole", self)

    def __init_subclass__(cls) -> None:
        raise TypeError("a confidential value has no other kinds")

    def is_sealed_for(self, purpose: object, unit: Unit | None = None) -> bool:
        """Whether it was sealed for this very query and unit, or for this randomizer.

        One that is equal does not suffice: what it is made of might say so of everything.
        """
        sealed_for, bounded_for = self.__sealed_for, self.__unit  # type: ignore[attr-defined]
        return sealed_for is purpose and bounded_for is unit

    @property
    def whole(self) -> Confidential[Any]:
        """The answer that was sealed, of which this may have some groups only."""
        return self.__whole  # type: ignore[attr-defined, no-any-return]

    def in_groups(self: Confidential[Groups], groups: Sequence[Group]) -> Confidential[Cells]:
        """The cells of groups that were selected, still sealed; zeros for one without rows.

        Which groups, and in which order, is public by now.
        """
        # Read once: a sequence could hold other texts the next time.
        named = [tuple(group) for group in groups]
        if any(type(one) is not str for group in named for one in group):
            raise TypeError("groups are named by plain texts")
        cells: Cells = self.__sealed.cells(named)  # type: ignore[attr-defined]
        selected = Confidential(cells, self.__sealed_for, self.__unit)  # type: ignore[attr-defined]
        object.__setattr__(selected, "_Confidential__whole", self.whole)
        return selected

    def __repr__(self) -> str:
        return "Confidential(...)"

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError("a confidential value can only be given to a mechanism")

    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __hash__ = __iter__ = __len__ = __getitem__ = __format__ = _refuse
    __int__ = __float__ = __index__ = __reduce_ex__ = __getstate__ = __copy__ = _refuse


@dataclass(frozen=True, slots=True)
class Noisy(Generic[T]):
    """A value that a mechanism released; whatever is made of it is free.

    Post-processing a private answer keeps its guarantee (Dwork and Roth 2014,
    proposition 2.1).
    """

    value: T
