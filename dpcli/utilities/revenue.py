"""What a price would earn: the digital goods auction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcli.privacy.sensitivity import Influence
from dpcli.utilities.base import Points, Utility

if TYPE_CHECKING:
    from dpcli.utilities.base import Table


@dataclass(frozen=True)
class Revenue(Utility):
    """A price times the number of rows whose value is at least that price.

    Each row is an offer; at a price p everyone who offers p or more buys, and pays p
    (McSherry and Talwar 2007, the digital goods auction).

    Sensitivity: a row that is added or removed changes the revenue of the prices up to its
    offer by the price itself, all in one direction, and of others by nothing. So the
    difference of two scores changes by at most the highest price. Where an offer changes,
    the prices between old and new offer change by themselves, again in one direction.
    """

    prices: Points
    places: Points

    @property
    def candidates(self) -> int:
        """How many prices there are."""
        return len(self.prices)

    @property
    def influence(self) -> Influence:
        """From zero to the highest price, in steps."""
        return Influence(0, self.prices[-1])

    def scores(self, counts: Table) -> Table:
        """Price times buyers, in steps of the price."""
        import numpy as np

        buyers = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1]
        scores: Table = buyers[:, np.array(self.places)] * np.array(self.prices, counts.dtype)
        return scores
