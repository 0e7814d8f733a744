"""Laws of running series: what a person changes, and what the estimates are of."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from dpcli.mechanisms.gaussian import Gaussian
from dpcli.mechanisms.pure import Laplace
from dpcli.noise.discrete_gaussian import DiscreteGaussian
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import Noise
from dpcli.numeric.arrays import Array, integer_array
from dpcli.privacy.events import CORRECTED
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.privacy.series import BLOCK, KEPT, UNIT, coefficients, of_periods, squared_norm
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation, RowUnit
from dpcli.queries.series import SeriesQuery
from dpcli.statistics.series.designs import BlocksSeries, RootSeries, root_weights
from tests.support.rules import mostly_extended
from tests.support.series import DESIGNS, design_of, released

HORIZON = 10


def _answers(
    query: SeriesQuery, changes: Array, lost: frozenset[tuple[int, int]] = frozenset()
) -> Array:
    """The exact answers of all periods to sums with the shape (periods, cells)."""
    rows = []
    for period, change in enumerate(changes):
        earlier = [
            None if (one, period) in lost else changes[one] for one in range(period - 1, -1, -1)
        ]
        rows.append(query.with_earlier(integer_array(change), earlier[: query.kept], period))
    return np.array(rows)


@pytest.mark.parametrize("periods", mostly_extended([1, 2, 3, 7], 1, 2, 3))
def test_rows_in_some_periods_change_answers_by_at_most_the_norm_of_successive_columns(
    periods: int,
) -> None:
    """Of all sets of periods and directions within a short horizon, none exceeds the claim."""
    query, largest = design_of(RootSeries).query, 0
    for chosen in itertools.combinations(range(HORIZON), periods):
        for signs in itertools.product((1, -1), repeat=min(periods, 3)):
            changes = np.zeros((HORIZON, 2), np.int64)
            for at, period in enumerate(chosen):
                # Two cells: the rows of a person move between them, or are in one.
                changes[period, at % 2 if signs[0] < 0 else 0] = signs[at % len(signs)]
            largest = max(largest, int((_answers(query, changes) ** 2).sum()))
    claim = squared_norm(periods)
    assert largest <= claim
    # With a long horizon, successive periods reach it.
    changes = np.zeros((KEPT + periods, 1), np.int64)
    changes[:periods] = 1
    assert int((_answers(query, changes) ** 2).sum()) == claim


@pytest.mark.parametrize("periods", [1, 2, 7, 20, 27])
@pytest.mark.parametrize("kind", DESIGNS)
def test_the_charge_for_several_periods_covers_the_answers_that_they_change(
    kind: type[RootSeries | BlocksSeries], periods: int
) -> None:
    """In blocks, rows of several periods add up in one answer: rho is no sum over periods."""
    query = design_of(kind).query
    changes = np.zeros((KEPT + 2 * BLOCK, 1), np.int64)
    changes[:periods] = 1
    changed = [int(change) for change in _answers(query, changes).flatten() if change]
    scale, one = Fraction(300), query.sensitivity(Relation(RowUnit(), Neighbors.ADD_REMOVE))
    mechanism: Laplace | Gaussian = Gaussian() if kind is RootSeries else Laplace()
    noise = mechanism.distribution(scale)
    cells = (Sensitivity(1, change, change**2, change) for change in changed)
    rho = sum(mechanism.zcdp_rho(noise, cell) for cell in cells)
    parts = [*of_periods(query.overlap or "", one, periods)]
    charged = sum(count * mechanism.zcdp_rho(noise, part) for part, count in parts)
    assert rho <= charged * Fraction(1_000_001, 1_000_000)
    assert charged <= rho * Fraction(101, 100)
    assert sum(part.l1 * count for part, count in parts) >= sum(changed)


@pytest.mark.parametrize("kind", DESIGNS)
def test_a_correction_costs_one_more_answer_about_the_sums_of_its_period(
    kind: type[RootSeries | BlocksSeries],
) -> None:
    """Later answers have the corrected sums in place of the old ones, and change no more."""
    query = design_of(kind).query
    one = query.sensitivity(Relation(RowUnit(), Neighbors.ADD_REMOVE))
    answer = query.with_earlier(integer_array([1]), (), 0)
    for corrections in (1, 3):
        parts = [*of_periods((query.overlap or "") + CORRECTED, one, corrections)]
        norms = [(part.l1 * count, part.l2_squared * count) for part, count in parts]
        assert norms == [(corrections * answer.sum(), corrections * (answer**2).sum())]


def test_sums_that_are_lost_never_change_answers_more() -> None:
    """A sum that is left out from a period on makes the norm smaller."""
    query, generator = design_of(RootSeries).query, np.random.default_rng(1)
    for _ in range(200):
        changes = generator.integers(0, 2, (HORIZON, 2))
        count = int(changes.any(axis=1).sum())
        largest = int(changes.sum(axis=1).max()) ** 2
        lost = frozenset(
            (one, later)
            for one in range(HORIZON)
            for later in range(int(generator.integers(one + 1, HORIZON + 4)), HORIZON)
        )
        found = int((_answers(query, changes, lost) ** 2).sum())
        assert found <= max(largest, 1) * squared_norm(max(count, 1))


@pytest.mark.parametrize("unit", [RowUnit(), PersonUnit("id", 3, 2, 2)])
@pytest.mark.parametrize("neighbors", list(Neighbors))
def test_sensitivities_are_those_of_all_answers_with_the_sums_of_a_period(
    unit: RowUnit | PersonUnit, neighbors: Neighbors
) -> None:
    """All norms of a series are those of the sums times the norms of a column."""
    relation = Relation(unit, neighbors)
    root, blocks = (design_of(kind).query for kind in DESIGNS)
    sums, column = root.of.sensitivity(relation), np.array(coefficients())
    found = root.sensitivity(relation)
    assert (found.l1, found.linf) == (sums.l1 * column.sum(), sums.linf * UNIT)
    assert found.l2_squared == sums.l2_squared * (column**2).sum()
    changes = np.zeros((2 * BLOCK, 1), np.int64)
    changes[BLOCK // 2] = 1
    answers = _answers(blocks, changes)
    assert blocks.sensitivity(relation).l1 == sums.l1 * answers.sum()
    assert blocks.sensitivity(relation).l2_squared == sums.l2_squared * (answers**2).sum()


@pytest.mark.parametrize("kind", DESIGNS)
def test_estimates_without_noise_are_the_exact_sums_whatever_was_lost(
    kind: type[RootSeries | BlocksSeries],
) -> None:
    """Periods, totals to date and windows are right up to rounding."""
    generator = np.random.default_rng(2)
    sums = generator.integers(-50, 1000, (70, 3))
    lost = [(3, 5), (10, 11), (20, 60), (30, 31), (31, 40), (69, 70)]
    noise = (DiscreteGaussian if kind is RootSeries else DiscreteLaplace)(Fraction(5))
    series = released(design_of(kind), sums, noise, lost=lost, shown=range(70), noisy=False)
    for period, found in series:
        values = (found.value * float(found.step)).reshape(3, 3)
        expected = sums[period], sums[: period + 1].sum(0), sums[: period + 1][-7:].sum(0)
        assert np.abs(values - np.array(expected).T).max() <= 0.2


@pytest.mark.parametrize("kind", DESIGNS)
def test_a_corrected_period_is_in_all_later_numbers(kind: type[RootSeries | BlocksSeries]) -> None:
    """Totals and windows have the new sums in place of the old ones."""
    generator = np.random.default_rng(3)
    sums = generator.integers(0, 1000, (50, 3))
    corrections = [(12, 9, sums[9] + 7), (25, 24, sums[24] * 2), (26, 24, sums[24] * 3)]
    noise = (DiscreteGaussian if kind is RootSeries else DiscreteLaplace)(Fraction(5))
    series = released(
        design_of(kind), sums, noise, corrections=corrections, shown=range(50), noisy=False
    )
    now, seen = sums.copy(), set[int]()
    for period, found in series:
        own = period
        if period in seen:
            count, own, changed = corrections.pop(0)
            assert count == period + 1
            now[own] = changed
        seen.add(period)
        values = (found.value * float(found.step)).reshape(3, 3)
        expected = now[own], now[: period + 1].sum(0), now[: period + 1][-7:].sum(0)
        assert np.abs(values - np.array(expected).T).max() <= 0.2
    assert not corrections


@pytest.mark.parametrize("kind", DESIGNS)
def test_windows_have_the_days_that_they_name_in_whatever_order_these_arrive(
    kind: type[RootSeries | BlocksSeries],
) -> None:
    """The last seven days can be those that arrived first, long before all others."""
    generator = np.random.default_rng(4)
    last, late = np.arange(200, 207), np.arange(200)
    days = np.concatenate([last[:1], late[:60], last[1:], generator.permutation(late[60:])])
    sums = generator.integers(0, 1000, (len(days), 2))
    noise = (DiscreteGaussian if kind is RootSeries else DiscreteLaplace)(Fraction(5))
    released_days = days.tolist()
    series = released(
        design_of(kind), sums, noise, shown=range(len(days)), days=released_days, noisy=False
    )
    for period, found in series:
        values = (found.value * float(found.step)).reshape(2, 3)
        known = days[: period + 1]
        week = sums[: period + 1][known > known.max() - 7]
        expected = sums[period], sums[: period + 1].sum(0), week.sum(0)
        assert np.abs(values - np.array(expected).T).max() <= 0.2


LOST = ((3, 5), (10, 11), (20, 25), (35, 50))
PAIRS = ((5, 4), (27, 25), (28, 25), (47, 46))
"""The number of periods before each correction, and the corrected period."""


@pytest.mark.parametrize("runs", mostly_extended([400, 4_000], 400))
@pytest.mark.parametrize(
    ("kind", "noise"),
    [
        (RootSeries, DiscreteGaussian(Fraction(1100))),
        (BlocksSeries, DiscreteLaplace(Fraction(2))),
        (BlocksSeries, DiscreteLaplace(Fraction(40))),
    ],
)
@pytest.mark.parametrize("mishaps", [False, True])
def test_intervals_and_stated_errors_of_series_hold(
    kind: type[RootSeries | BlocksSeries], noise: Noise, runs: int, *, mishaps: bool
) -> None:
    """In early and late periods, also after sums were lost, and others corrected."""
    last = 364 if runs > 400 else 99
    sums, shown = np.full((last + 1, runs), 30), (0, 4, 27, 28, 99, last)
    lost = LOST if mishaps else ()
    corrections = [(*pair, sums[0]) for pair in PAIRS if mishaps]
    slack = 5 * sqrt(0.05 * 0.95 / runs)
    series = released(design_of(kind), sums, noise, shown=shown, lost=lost, corrections=corrections)
    for period, found in series:
        exact = np.array([30, 30 * (period + 1), 30 * min(period + 1, 7)])
        lower, upper = (
            (part * float(found.step)).reshape(-1, 3) for part in (found.lower, found.upper)
        )
        covered = ((lower <= exact) & (exact <= upper)).mean(axis=0)
        assert (covered >= 0.945 - slack).all(), (period, covered)
        most = 0.96 + slack if noise.scale > 30 else 0.985
        assert (covered <= most).all(), (period, covered)
        errors = found.value.reshape(-1, 3) * float(found.step) - exact
        stated = np.sqrt([float(part or 0) for part in found.variances])
        assert errors.std(axis=0) == pytest.approx(stated, rel=5 / sqrt(runs))


def test_errors_of_a_year_are_those_of_the_root() -> None:
    """Root mean square and worst error of totals to date, in units of one period's noise.

    With all coefficients and without rounding, they are 2.78 and 2.94 (Henzinger, Upadhyay and
    Upadhyay 2023); a cut after 180 periods gives 2.77 and 3.14.
    """
    norm = sqrt(squared_norm(1)) / UNIT
    errors = [norm * float(np.linalg.norm(root_weights(np.ones(n)))) for n in range(1, 366)]
    assert sqrt(np.mean(np.square(errors))) == pytest.approx(2.77, abs=0.005)
    assert errors[-1] == pytest.approx(3.14, abs=0.005)
