"""What periods of a series published, with estimates that were refined later.

All of it follows from noisy answers and days. Old periods are thinned, so that a state stays small.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from typing import Any, NamedTuple, Self

from dpcli.problems.light_dataclasses import dataclass
from dpcli.statistics.estimates import Estimates

DENSE = 32
"""All of these last periods are kept, half of as many before them, and so on."""

MAX_LINES = 12
"""Numbers of a period that are kept. A chart is drawn for each."""


class Ends(NamedTuple):
    """A number and the ends of its interval, in units of the last printed decimal."""

    value: int
    lower: int
    upper: int


def printed(estimates: Estimates) -> list[Ends]:
    """The numbers of estimates, as they are printed."""
    count, found = len(estimates.decimals), [Ends(0, 0, 0)] * len(estimates)
    columns = map(estimates.rounded, (estimates.value, estimates.lower, estimates.upper))
    for at, (value, lower, upper) in enumerate(zip(*columns, strict=True)):
        found[at::count] = map(Ends, map(int, value), map(int, lower), map(int, upper))
    return found


@dataclass(frozen=True, slots=True)
class PublishedPeriod:
    """What a release published about its period, which never changes.

    `revised` has estimates of the same numbers from later answers, by the index of a number.
    """

    number: int
    day: int
    numbers: tuple[Ends, ...]
    revised: dict[int, Ends] = field(default_factory=dict)

    def to_json(self) -> list[Any]:
        """The period as values of JSON."""
        revised = [[at, *ends] for at, ends in self.revised.items()]
        return [self.number, self.day, self.numbers, revised]

    @classmethod
    def from_json(cls, stated: Sequence[Any]) -> Self:
        """The period that `to_json` wrote; TypeError or ValueError for others."""
        number, day, numbers, revised = stated
        known = tuple(Ends(*map(int, ends)) for ends in numbers)
        return cls(int(number), int(day), known, {int(at): Ends(*ends) for at, *ends in revised})

    def with_revised(self, changed: dict[int, Ends]) -> PublishedPeriod:
        """The period with later estimates of some numbers."""
        return replace(self, revised={**self.revised, **changed})


History = tuple[PublishedPeriod, ...]
"""Periods in the order of their numbers."""


def thinned(periods: Iterable[PublishedPeriod], count: int) -> History:
    """The periods of which a chart is drawn, after `count` periods.

    What is left out after some period is left out ever after.
    """

    def is_kept(number: int) -> bool:
        step: int = 2 ** ((count - 1 - number) // DENSE).bit_length()
        return number % step == 0

    return tuple(period for period in periods if is_kept(period.number))


def lines_of(groups: int, shown: int, cells: int) -> tuple[int, ...]:
    """The indices of the published numbers that are kept: those of the first cells.

    Each group has `shown` numbers of each of its `cells`, in this order. The kept numbers are
    ordered by cell.
    """
    most = max(1, MAX_LINES // shown)
    return tuple(
        (group * shown + at) * cells + cell
        for group, cell in [(one // cells, one % cells) for one in range(min(most, groups * cells))]
        for at in range(shown)
    )
