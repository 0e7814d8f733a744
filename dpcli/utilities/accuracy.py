"""How well a threshold tells two kinds of rows apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcli.privacy.sensitivity import Influence
from dpcli.utilities.base import Points, Utility

if TYPE_CHECKING:
    from dpcli.utilities.base import Table


@dataclass(frozen=True)
class Accuracy(Utility):
    """The number of rows that a threshold decides correctly.

    A threshold t calls rows with a value of t or more true, and others false; it is right
    about a row when the row's `label` says the same. Finding the threshold that is right
    most often is learning a threshold function in private (Kasiviswanathan, Lee, Nissim,
    Raskhodnikova and Smith 2011).

    Sensitivity: a row that is added or removed changes each score by one or not at all, all
    in one direction: 1. Where a row changes, one score may rise and another fall: 2.
    """

    places: Points

    @property
    def candidates(self) -> int:
        """How many thresholds there are."""
        return len(self.places)

    @property
    def influence(self) -> Influence:
        """From -1 to 1."""
        return Influence(-1, 1)

    def scores(self, counts: Table) -> Table:
        """Rows below that are false, and rows from the threshold on that are true."""
        import numpy as np

        false, true = counts[:, 0::2], counts[:, 1::2]
        places = np.array(self.places)
        below = (np.cumsum(false, axis=1) - false)[:, places]
        upwards = np.cumsum(true[:, ::-1], axis=1)[:, ::-1][:, places]
        scores: Table = below + upwards
        return scores
