"""What every utility is: scores of candidates, from how many rows lie where."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from dpcli.privacy.sensitivity import Influence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    # Machine words, or Python integers where words could overflow.
    Table = NDArray[Any]

Points = tuple[int, ...] | range
"""Rising whole numbers: steps of a grid, or places."""


class Utility(ABC):
    """How good each candidate is, as a whole number; more is better.

    Rows are counted in classes, and a utility makes the score of every candidate of
    the counts of one group.
    """

    @property
    @abstractmethod
    def candidates(self) -> int:
        """How many candidates there are."""

    @property
    @abstractmethod
    def influence(self) -> Influence:
        """How far a row moves the scores apart, for the table of sensitivities.

        What matters for a choice is the range of a change: the most that one
        candidate gains on another. `big` bounds it where a row comes or goes, and
        `high - low` where a row changes.
        """

    @abstractmethod
    def scores(self, counts: Table) -> Table:
        """The score of each candidate (columns) in each group (rows).

        `counts` has a row for each group and a column for each class, of whole numbers
        that cannot overflow.
        """
