"""`Confidential` values depend on records; `Noisy` values may be published.

A `Confidential` cannot be printed, compared, tested, iterated, hashed or pickled. A type checker
sees no attribute that holds its value. Only `dpcli.mechanisms.calibrated_mechanism` opens it and,
for synthetic rows, `dpcli.simulation.synthetic`. Both modules say so in comments, which a test
counts. A `NoisePermit` lets mechanisms open answers that are charged for, or about synthetic rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Never, NoReturn, TypeVar, final

from dpcli.numeric.arrays import Array, Ints, np
from dpcli.privacy.events import MechanismEvent
from dpcli.privacy.unit import Relation, Unit

T = TypeVar("T")

Cells = Array
"""The cells of an answer: int64, or Python integers where int64 is too small."""

Group = tuple[str, ...]
"""The labels of a group whose key is private."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Groups:
    """The groups in the data, in the order of `names`, and their nonzero cells.

    `group`, `cell` and `value` are arrays of one length: each element adds a `value` to a `cell` of
    the group with index `group`. A group has `width` cells. `answer` is the function of the query
    that turns a table of cells, with a row for each group, into the numbers of the answer.
    """

    names: tuple[Group, ...]
    group: Ints
    cell: Ints
    value: Array
    width: int
    answer: Callable[[Array], Array]

    def cells(self, groups: Sequence[Group]) -> Cells:
        """The cells of these groups, one after another; zeros for a group without rows."""
        rows = {group: row for row, group in enumerate(groups)}
        row = np.array([rows.get(name, -1) for name in self.names], np.int64)[self.group]
        wanted = row >= 0
        table = np.zeros((len(groups), self.width), self.value.dtype)
        np.add.at(table, (row[wanted], self.cell[wanted]), self.value[wanted])
        return self.answer(table)


@final
class Confidential(Generic[T]):
    """A value computed from records, for one query or one randomizer.

    Only a mechanism that was calibrated to this query, or this randomizer, opens it. The answer
    to a query also names the privacy unit for which the rows were bounded.
    """

    __slots__ = ("__origin", "__purpose", "__unit", "__value")

    def __init__(self, value: T, purpose: object, unit: Unit | None = None) -> None:
        # No annotation, so that to a type checker there is no such attribute.
        object.__setattr__(self, "_Confidential__value", value)
        object.__setattr__(self, "_Confidential__purpose", purpose)
        object.__setattr__(self, "_Confidential__unit", unit)
        object.__setattr__(self, "_Confidential__origin", self)

    def __init_subclass__(cls) -> None:
        raise TypeError("a confidential value cannot be subclassed")

    def is_for(self, purpose: object, unit: Unit | None = None) -> bool:
        """Whether the value was made for this query and unit, or for this randomizer.

        Objects are compared by identity: an unregistered class could define an equality that is
        always true.
        """
        own_purpose, own_unit = self.__purpose, self.__unit  # type: ignore[attr-defined]
        return own_purpose is purpose and own_unit is unit

    @property
    def origin(self) -> Confidential[Any]:
        """The complete answer, from which `in_groups` may have selected this value."""
        return self.__origin  # type: ignore[attr-defined, no-any-return]

    def in_groups(self: Confidential[Groups], groups: Sequence[Group]) -> Confidential[Cells]:
        """Cells of selected groups, still confidential; zeros for a group without rows.

        `groups` and their order are already public. Raises TypeError unless labels are plain texts.
        """
        # Read once: a sequence could hold other texts the next time.
        named = [tuple(group) for group in groups]
        if any(type(label) is not str for group in named for label in group):
            raise TypeError("groups are named by plain texts")
        cells: Cells = self.__value.cells(named)  # type: ignore[attr-defined]
        selected = Confidential(cells, self.__purpose, self.__unit)  # type: ignore[attr-defined]
        object.__setattr__(selected, "_Confidential__origin", self.origin)
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
    """A value that a mechanism released.

    Privacy: post-processing keeps the guarantee (Dwork and Roth 2014, proposition 2.1).
    """

    value: T


@final
class NoisePermit:
    """Lets mechanisms open certain answers with noise; its issuer decides which.

    `LedgerTransaction.draw_noise` issues one for the answers that the ledger charges for, each of
    them once, and `SyntheticDataset` one for answers about its own rows. The check of a permit has
    a name that `mypy --strict` lets no other class write; a test counts the classes that write it.
    Code that keeps noisy answers and leaves the transaction by a failure is not charged: then
    nothing is published.
    """

    __slots__ = ("__check",)

    def __init__(self, _made_by_issuer: Never) -> None:
        raise TypeError("only a transaction of a ledger and synthetic rows issue a permit")

    def __init_subclass__(cls) -> None:
        raise TypeError("a permit cannot be subclassed")

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError("a permit is not copied")

    def use(self, event: MechanismEvent, relation: Relation, exact: Confidential[Any]) -> None:
        """Raise ValueError unless the permit covers this answer now."""
        self.__check(event, relation, exact)  # type: ignore[attr-defined]
