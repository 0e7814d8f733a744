"""What depends on records and is sealed, and what may be published.

A `Confidential` shows nothing: it cannot be printed, compared, tested, iterated,
hashed or pickled. Only the key in `dpcli.privacy.key` opens it, and only
`dpcli.mechanisms.base` may import the key (import-linter holds this as a test).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NoReturn, TypeVar

from dpcli.arrays import Array, Ints, np

T = TypeVar("T")

Cells = Array
"""Whole numbers, cell by cell."""

Group = tuple[str, ...]
"""The labels of a group whose key is private."""


@dataclass(frozen=True, slots=True, eq=False)
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


class Confidential(Generic[T]):
    """A value computed from records, sealed until a mechanism opens it."""

    __slots__ = ("__sealed",)

    def __init__(self, value: T) -> None:
        self.__sealed = value

    def __repr__(self) -> str:
        return "Confidential(...)"

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError("a confidential value can only be given to a mechanism")

    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __hash__ = __iter__ = __len__ = __getitem__ = __format__ = _refuse
    __int__ = __float__ = __index__ = __reduce_ex__ = __copy__ = _refuse


@dataclass(frozen=True, slots=True)
class Noisy(Generic[T]):
    """A value that a mechanism released; whatever is made of it is free.

    Post-processing a private answer keeps its guarantee (Dwork and Roth 2014,
    proposition 2.1).
    """

    value: T
