"""How many rows have a category."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcli.privacy.sensitivity import Influence
from dpcli.utilities.base import Utility

if TYPE_CHECKING:
    from dpcli.utilities.base import Table


@dataclass(frozen=True)
class Frequency(Utility):
    """The number of rows of each category.

    Sensitivity: a row that comes raises one score by one and lowers none, so the distance
    of two scores changes by 1; where a row changes, one rises and another falls: 2.
    """

    categories: int

    @property
    def candidates(self) -> int:
        """How many categories there are."""
        return self.categories

    @property
    def influence(self) -> Influence:
        """From -1 to 1."""
        return Influence(-1, 1)

    def scores(self, counts: Table) -> Table:
        """The counts themselves."""
        return counts
