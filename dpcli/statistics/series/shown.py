"""The numbers of a series that are shown: the period, the total to date, windows."""

from __future__ import annotations

from typing import Self

from dpcli.fields.statistic_fields import PERIOD, TO_DATE, WINDOW
from dpcli.numeric.arrays import Floats, np
from dpcli.problems.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shown:
    """A sum of estimates of a series: of the last `days`, or of all if that is zero.

    One day is that of the release. A window of several days ends with the last day of the series.
    """

    name: str
    days: int

    @classmethod
    def named(cls, name: str) -> Self:
        """The sum with a name that the spec has checked."""
        fixed = {PERIOD: 1, TO_DATE: 0}
        return cls(name, fixed[name] if name in fixed else int(name.removeprefix(WINDOW)))

    def __str__(self) -> str:
        return self.name

    def weights(self, periods: int) -> Floats:
        """The weight of each of this many daily periods, the first one first."""
        weights = np.ones(periods)
        if self.days:
            weights[: -self.days] = 0
        return weights
