"""How near the rank of a candidate is to the rank of a quantile."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcli.privacy.sensitivity import Influence
from dpcli.utilities.base import Points, Utility

if TYPE_CHECKING:
    from dpcli.utilities.base import Table


@dataclass(frozen=True)
class Rank(Utility):
    """By how many rows a candidate misses the quantile; the score is that below zero.

    Of n rows, `below` lie below the candidate and `above` above it. The quantile q
    is right for it if q n lies between `below` and n - `above`, ends included; else the
    distance to the nearer end is what it misses by. Scores count rows in units of
    1/d, with q = p/d in lowest terms, so they are whole numbers.

    Sensitivity: score = -max(0, d below - p n, p n - d (n - above)). A row that comes or
    goes changes d below - p n by d - p or -p, and the other term likewise. One candidate
    can gain as much as another loses, so their distance changes by 2 max(p, d - p) at
    most; where a row changes, by 2 d.
    """

    quantile: Fraction
    places: Points

    @property
    def candidates(self) -> int:
        """How many candidates there are."""
        return len(self.places)

    @property
    def influence(self) -> Influence:
        """From -2p to 2(d - p)."""
        part, whole = self.quantile.numerator, self.quantile.denominator
        return Influence(-2 * part, 2 * (whole - part))

    def scores(self, counts: Table) -> Table:
        """Minus the distance of ranks, in units of 1/d rows."""
        import numpy as np

        part, whole = self.quantile.numerator, self.quantile.denominator
        upto = np.cumsum(counts, axis=1)
        wanted = part * upto[:, -1:]
        if len(self.places) == counts.shape[1]:
            # Places rise, so that every class is a candidate's.
            below = upto - counts
        else:
            places = np.array(self.places)
            below, upto = upto[:, places] - counts[:, places], upto[:, places]
        missed = np.maximum(whole * below - wanted, wanted - whole * upto)
        scores: Table = -np.maximum(missed, 0)
        return scores
