"""Series of simulated periods, one after another, without a ledger."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from operator import itemgetter

import numpy as np

from dpcli.noise.distribution import Noise
from dpcli.numeric.arrays import Array, Floats, integer_array
from dpcli.queries.query import LinearQuery
from dpcli.statistics.design import Inputs, NoisyAnswer
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.series.designs import BlocksSeries, RootSeries, SeriesDesign
from dpcli.statistics.series.past import Past, fresh
from dpcli.statistics.series.shown import Shown

PERIOD, TO_DATE, WEEK = Shown("period", 1), Shown("to_date", 0), Shown("last_7", 7)

DESIGNS: tuple[type[RootSeries | BlocksSeries], ...] = (RootSeries, BlocksSeries)


def design_of(kind: type[RootSeries | BlocksSeries]) -> SeriesDesign:
    """A series of single counts, which shows the period, the total to date and a week."""
    return kind.of(Inputs("n"), "count", LinearQuery(), Fraction(1), (PERIOD, TO_DATE, WEEK))


Correction = tuple[int, int, Array]
"""The number of periods before a correction, the corrected period, and its sums."""


def released(
    design: SeriesDesign,
    sums: Array,
    noise: Noise,
    *,
    lost: Collection[tuple[int, int]] = (),
    corrections: Sequence[Correction] = (),
    shown: Collection[int] = (),
    days: Sequence[int] = (),
    noisy: bool = True,
) -> Iterator[tuple[int, Estimates]]:
    """The estimates of each of the `shown` periods of a series, and the number of the period.

    `sums` has the shape (periods, runs): the runs are independent series. The pairs `lost` are a
    period, and the one before which its sealed sums are lost. Unless `noisy`, answers are exact.
    The estimates of a correction are those after as many periods as there were before it. Periods
    arrive for these `days`, or for one day after another.
    """
    query, state = design.query, fresh(sums.shape[1]).state
    kept: list[tuple[int, Array, Array]] = []
    todo: list[tuple[int, Array, int | None]] = []
    for period, exact in enumerate(sums):
        todo.append((period, exact, None))
        todo += [(one, changed, one) for count, one, changed in corrections if count == period + 1]
    for period, exact, corrects in todo:
        gone = {one for one, since in lost if since <= state.count}
        found = [None if one in gone else (part, known) for one, part, known in kept]
        earlier = [None if one is None or corrects is not None else one[0] for one in found]
        estimates = tuple(None if one is None else one[1] for one in found)
        answer = query.with_earlier(
            integer_array(exact), earlier, 0 if corrects is not None else period
        )
        if noisy:
            answer = answer + np.array(noise.sample(len(answer), many=True))
        day = days[period] if days else period
        past = Past(state, estimates[: query.kept], day, str(period), "", corrects)
        known = replace(design, past=past)
        answers = [NoisyAnswer(answer, noise)]
        if state.count - (corrects is not None) in shown:
            yield state.count - (corrects is not None), known.estimate(answers, Fraction(95, 100))
        state, own = known.next_state(answers)
        others = [one for one in kept if one[0] != period]
        kept = [(period, integer_array(exact), own), *others]
        kept.sort(reverse=True, key=itemgetter(0))
        kept = kept[: query.kept]


def errors_of_year(noise: Noise, runs: int, days: int = 365) -> dict[str, Floats]:
    """The root mean square error of each shown number on each day, over independent runs."""
    design = design_of(RootSeries if noise.kind == "gaussian" else BlocksSeries)
    found: dict[str, list[float]] = {str(one): [] for one in design.shown}
    sums = np.zeros((days, runs), np.int64)
    for _, estimates in released(design, sums, noise, shown=range(days)):
        values = estimates.value.reshape(-1, len(design.shown)) * float(estimates.step)
        for name, errors in zip(found, values.T, strict=True):
            found[name].append(float(np.sqrt(np.mean(errors.astype(float) ** 2))))
    return {name: np.array(errors) for name, errors in found.items()}
