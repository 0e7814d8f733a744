"""The neighboring relation: which datasets a guarantee makes hard to tell apart."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import final

from dpcli.privacy.unit import RowUnit, Unit


class Neighbors(Enum):
    """How two neighboring datasets differ in one privacy unit.

    Under ADD_REMOVE (unbounded) one has a unit that the other lacks. Under
    CHANGE_ONE (bounded) a unit's rows are replaced; the number of rows is then
    public, because neighbors agree on it (Dwork and Roth 2014, section 2.3).
    """

    ADD_REMOVE = "add-remove"
    CHANGE_ONE = "change-one"


@final
@dataclass(frozen=True, slots=True)
class Relation:
    """What the guarantee is about: who is protected, and how neighbors differ."""

    unit: Unit
    neighbors: Neighbors

    @property
    def size_is_public(self) -> bool:
        """Whether all neighbors have the same number of rows."""
        return self.neighbors is Neighbors.CHANGE_ONE and isinstance(self.unit, RowUnit)
