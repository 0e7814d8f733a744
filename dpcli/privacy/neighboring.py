"""The neighboring relation: which datasets a guarantee makes hard to distinguish."""

from __future__ import annotations

from enum import Enum
from typing import final

from dpcli.privacy.unit import RowUnit, Unit
from dpcli.problems.light_dataclasses import dataclass


class Neighbors(Enum):
    """How two neighboring datasets differ in one privacy unit.

    Under ADD_REMOVE (unbounded) one of them has an additional unit. Under CHANGE_ONE (bounded) the
    rows of one unit are replaced; for a row unit the number of rows is then public, because it is
    the same for neighbors (Dwork and Roth 2014, section 2.3).
    """

    ADD_REMOVE = "add-remove"
    CHANGE_ONE = "change-one"


@final
@dataclass(frozen=True, slots=True)
class Relation:
    """The unit that is protected, and how neighbors differ in it."""

    unit: Unit
    neighbors: Neighbors

    @property
    def size_is_public(self) -> bool:
        """Whether all neighbors have the same number of rows."""
        return self.neighbors is Neighbors.CHANGE_ONE and isinstance(self.unit, RowUnit)
