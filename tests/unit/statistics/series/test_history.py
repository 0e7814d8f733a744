"""What the periods of a series published, as reports draw it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.numeric.arrays import Array, integer_array
from dpcli.privacy.series import BLOCK
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.series import history
from dpcli.statistics.series.designs import BlocksSeries
from dpcli.statistics.series.history import DENSE, History, PublishedPeriod, thinned
from dpcli.statistics.series.past import Past, PublicState, fresh
from tests.support.series import design_of

CONFIDENCE = Fraction(95, 100)

SHOWN = 3


def released(sums: Array, noise: DiscreteLaplace, corrected: Collection[int] = ()) -> History:
    """The history of blocks of these sums, of the shape (periods, runs).

    After each `corrected` period there is a correction of it, with the same sums.
    """
    design, state = design_of(BlocksSeries), fresh(sums.shape[1]).state
    kept: list[tuple[Array, Array]] = []
    for day in sorted([*range(len(sums)), *corrected]):
        corrects = day if state.count > day else None
        past = Past(state, tuple(own for _, own in kept), day, str(day), corrects=corrects)
        earlier = [] if corrects is not None else [part for part, _ in kept]
        exact = integer_array(sums[day])
        answer = design.query.with_earlier(exact, earlier, 0 if corrects is not None else day)
        answers = [NoisyAnswer(answer + np.array(noise.sample(len(answer), many=True)), noise)]
        known = replace(design, past=past)
        shown = known.history(known.estimate(answers, CONFIDENCE), answers, CONFIDENCE)
        state, own = known.next_state(answers)
        state = replace(state, history=shown)
        kept = [(exact, own), *kept[corrects is not None :]][: design.query.kept]
    again = PublicState.from_json(state.to_json())
    assert again.history == state.history
    return again.history


def test_of_old_periods_fewer_and_fewer_are_kept_and_none_comes_back() -> None:
    """The last ones are all there, and ten years need little more than one."""
    kept: History = ()
    for count in range(1, 3651):
        kept = thinned([*kept, PublishedPeriod(count - 1, count, ())], count)
        if count in (1, 32, 200, 365, 3650):
            numbers = [period.number for period in kept]
            assert numbers[0] == 0
            assert numbers[-DENSE:] == [*range(max(0, count - DENSE), count)]
            at_once = thinned((PublishedPeriod(at, at, ()) for at in range(count)), count)
            assert [period.number for period in at_once] == numbers
            gaps = np.diff(numbers)
            assert (gaps[:-1] >= gaps[1:]).all()
    assert len(kept) < 150


def test_numbers_of_later_estimates_hold_and_published_ones_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """When a block ends, its totals to date are known better; intervals contain what is true."""
    runs = 400
    monkeypatch.setattr(history, "MAX_LINES", SHOWN * runs)
    sums = np.full((BLOCK + 2, runs), 50)
    found = released(sums, DiscreteLaplace(Fraction(20)))
    assert [period.number for period in found] == [*range(BLOCK + 2)]
    slack = 5 * sqrt(0.05 * 0.95 / runs)
    for period in found:
        true = {0: 50, 1: 50 * (period.number + 1)}
        assert {at % SHOWN for at in period.revised} == ({0, 1} if period.number < 19 else set())
        for at, exact in true.items():
            for ends in (period.numbers[at::SHOWN], [*period.revised.values()][at * runs :][:runs]):
                inside = [lower <= exact * 100 <= upper for _, lower, upper in ends]
                assert not inside or np.mean(inside) >= 0.945 - slack
    late = found[BLOCK - 2]
    widths = [ends.upper - ends.lower for ends in (late.numbers[1], late.revised[1])]
    assert widths[1] < widths[0] / 2


def test_a_correction_stands_beside_what_was_published() -> None:
    """Its period is that of the day; its total to date is that of the last period."""
    before = released(np.full((4, 1), 50), DiscreteLaplace(Fraction(1, 10)))
    after = released(np.full((4, 1), 50), DiscreteLaplace(Fraction(1, 10)), corrected=[3])
    for first, second in zip(before, after, strict=True):
        assert first.numbers[0].value == second.numbers[0].value == 5000
        assert [*second.revised] == ([0, 1, 2] if second.number == 3 else [])
    assert after[3].revised[1].value == 20_000


def test_of_many_groups_the_first_are_kept() -> None:
    """Each number of a cell is kept, or none."""
    assert history.lines_of(2, 3, 1) == (0, 1, 2, 3, 4, 5)
    # Ten bins: period and total of the first six.
    assert history.lines_of(1, 2, 10) == (0, 10, 1, 11, 2, 12, 3, 13, 4, 14, 5, 15)
    assert len(history.lines_of(1000, 5, 7)) == 10
