"""What is public about earlier periods of a series: each release stores it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Self

from dpcli.numeric.arrays import Array, integer_array
from dpcli.problems.light_dataclasses import dataclass
from dpcli.statistics.series.history import History, PublishedPeriod


@dataclass(frozen=True, slots=True)
class PeriodOfSeries:
    """A period that was answered: its day, and the name of its sealed sums.

    The `day` is a proleptic ordinal.
    """

    day: int
    token: str


@dataclass(frozen=True, slots=True, eq=False)
class RecentPeriod:
    """A period that windows of days can have: its number, day and estimates."""

    number: int
    day: int
    estimates: Array


@dataclass(frozen=True, slots=True, eq=False)
class PublicState:
    """What a release stores about a series; a function of noisy answers and days.

    Attributes:
        design: The digest of what periods of a series have in common.
        count: How many periods were answered.
        first: The first day of all periods.
        last: The last day of all periods, which may have arrived before others.
        kept: The last periods whose sums later answers may need, the last one first.
        gone: Sums that are in no answer from a period on: the numbers of both periods.
        corrections: How many periods there were before each correction, and the number of the
            corrected one.
        total: Estimates of the totals to date, in units of the last decimal.
        recent: The periods of the last days, in any order.
        history: What periods published, of which reports draw charts.
    """

    design: str
    count: int = 0
    first: int = 0
    last: int = 0
    kept: tuple[PeriodOfSeries, ...] = ()
    gone: tuple[tuple[int, int], ...] = ()
    corrections: tuple[tuple[int, int], ...] = ()
    total: Array | None = None
    recent: tuple[RecentPeriod, ...] = ()
    history: History = ()

    def to_json(self) -> bytes:
        """The state as JSON."""
        stated: dict[str, Any] = {
            "design": self.design,
            "count": self.count,
            "first": self.first,
            "last": self.last,
            "kept": [[period.day, period.token] for period in self.kept],
            "gone": self.gone,
            "corrections": self.corrections,
            "total": [] if self.total is None else list(map(int, self.total)),
            "recent": [[one.number, one.day, [*map(int, one.estimates)]] for one in self.recent],
            "history": [period.to_json() for period in self.history],
        }
        return json.dumps(stated, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, content: bytes) -> Self:
        """The state that `to_json` wrote.

        Raises KeyError, TypeError or ValueError for another text.
        """
        stated = json.loads(content)
        return cls(
            str(stated["design"]),
            int(stated["count"]),
            int(stated["first"]),
            int(stated["last"]),
            tuple(PeriodOfSeries(int(day), str(token)) for day, token in stated["kept"]),
            _pairs(stated["gone"]),
            _pairs(stated["corrections"]),
            integer_array(stated["total"]),
            tuple(
                RecentPeriod(int(number), int(day), integer_array(estimates))
                for number, day, estimates in stated["recent"]
            ),
            # States of earlier versions have none.
            tuple(map(PublishedPeriod.from_json, stated.get("history", ()))),
        )


def _pairs(stated: list[list[int]]) -> tuple[tuple[int, int], ...]:
    return tuple((int(first), int(second)) for first, second in stated)


@dataclass(frozen=True, slots=True, eq=False)
class Past:
    """The public state before a period, and what is known of sums that are kept.

    `estimates` has those of each of the `kept` periods, None where the sealed sums were lost.
    `day` and `token` are those of the period. The `digest` is that of the stored state. If the
    release `corrects` an earlier period, that is its number.
    """

    state: PublicState
    estimates: tuple[Array | None, ...]
    day: int
    token: str
    digest: str = ""
    corrects: int | None = None

    @property
    def own(self) -> int:
        """The index of the period among those that are kept, the last one first."""
        return 0 if self.corrects is None else self.state.count - 1 - self.corrects

    @property
    def count(self) -> int:
        """How many periods the series has with this one."""
        return self.state.count + (self.corrects is None)

    @property
    def first(self) -> int:
        """The first day of the series."""
        return min(self.state.first, self.day) if self.state.count else self.day

    @property
    def last(self) -> int:
        """The last day of the series."""
        return max(self.state.last, self.day) if self.state.count else self.day

    @property
    def corrections(self) -> tuple[tuple[int, int], ...]:
        """The corrections, with that of this release."""
        own = () if self.corrects is None else ((self.state.count, self.corrects),)
        return (*self.state.corrections, *own)

    @property
    def kept(self) -> tuple[PeriodOfSeries, ...]:
        """The kept periods with this one, the last one first."""
        period, before = PeriodOfSeries(self.day, self.token), self.state.kept
        after = before if self.corrects is None else before[self.own + 1 :]
        return (*(before[: self.own] if self.own else ()), period, *after)

    @property
    def gone(self) -> tuple[tuple[int, int], ...]:
        """The sums that are in no answer from some period on, this one included."""
        known, count = dict(self.state.gone), self.state.count
        lost = (count - 1 - at for at, one in enumerate(self.estimates) if one is None)
        return (*self.state.gone, *((period, count) for period in lost if period not in known))

    def after(self, total: Array, recent: tuple[RecentPeriod, ...], most_kept: int) -> PublicState:
        """The state after the period, with new estimates."""
        return replace(
            self.state,
            count=self.count,
            first=self.first,
            last=self.last,
            kept=self.kept[:most_kept],
            gone=self.gone,
            corrections=self.corrections,
            total=total,
            recent=recent,
        )


def fresh(cells: int) -> Past:
    """The past of a series without a period."""
    return Past(PublicState("", total=integer_array([0] * cells)), (), 0, "")
