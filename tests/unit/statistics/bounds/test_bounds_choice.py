"""Chosen bounds: ladders, the sensitivity of their counts, and the rule that chooses."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest

from dpcli.data.candidate_bounds import GRID_KINDS, GridKind
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.number_columns import NumberColumn
from dpcli.mechanisms.query_sensitivity import query_sensitivity
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.numeric.arrays import integer_array
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation, RowUnit, Unit
from dpcli.statistics.bounds.chosen_bounds import BOUNDS_HISTOGRAM, BoundsChoice
from dpcli.statistics.bounds.rule import FALSE_ALARM, WINDOW, BoundsGrid, BoundsRule
from dpcli.statistics.design import NoisyAnswer
from tests.oracles.opened import cells_of
from tests.oracles.plain import evaluate

BOUNDS = [(0, 1), (0, 37), (-25, 12), (3, 60), (-60, -3), (-8, 0), (0, 1000)]
STEPS = [Fraction(1), Fraction(1, 100), Fraction(1, 4), Fraction(5)]
KINDS = pytest.mark.parametrize("kind", GRID_KINDS, ids=lambda kind: kind.name)


def column(bounds: tuple[int, int], step: Fraction = Fraction(1)) -> NumericColumn:
    """A column with these outermost bounds, in steps."""
    return NumberColumn("x", step, bounds)


def choice(
    bounds: tuple[int, int], kind: GridKind = GRID_KINDS[0], coverage: Fraction = Fraction(1)
) -> BoundsChoice:
    """A choice of bounds within these."""
    return BoundsChoice(BoundsGrid(column(bounds), kind), coverage, Fraction(1, 10))


@KINDS
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("step", STEPS, ids=str)
def test_every_value_is_in_one_bin_whose_end_is_its_nearest_rung(
    kind: GridKind, bounds: tuple[int, int], step: Fraction
) -> None:
    """Bins follow each other, and the outer end of each is the least rung that contains it."""
    grid = BoundsGrid(column(bounds, step), kind)
    low, high = bounds
    bins = grid.bins
    candidates = sorted({*grid.above, *grid.below})

    assert [value for first, last in bins for value in range(first, last + 1)] == list(
        range(low, high + 1)
    )
    for first, last in bins:
        outer = first if first < 0 else last
        assert outer in candidates
        assert not any(
            max(abs(first), abs(last)) <= abs(candidate) < abs(outer)
            for candidate in candidates
            if candidate * outer > 0
        )
    for candidate in candidates:
        number = abs(candidate * step)
        while kind.base != 2 and number >= kind.base:
            number /= kind.base
        while kind.base != 2 and number < 1:
            number *= kind.base
        power_of_two = (
            number.numerator & (number.numerator - 1)
            == 0
            == (number.denominator & (number.denominator - 1))
        )
        assert candidate in bounds or (power_of_two if kind.base == 2 else number in kind.firsts)


UNITS: list[Unit] = [RowUnit(), PersonUnit("id", 1, 2, 2), PersonUnit("id", 2, 2, 3)]


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("neighbors", Neighbors)
def test_no_neighbor_changes_the_counts_by_more_than_the_sensitivity(
    unit: Unit, neighbors: Neighbors
) -> None:
    """Over all neighbors of small files, the greatest change in L1 is the stated sensitivity."""
    (design,) = BOUNDS_HISTOGRAM.designs(
        choice((0, 10)).inputs, relation := Relation(unit, neighbors)
    )
    (weighted,) = design.queries
    limit = 1 if isinstance(unit, RowUnit) else unit.max_rows
    # All that one unit can be: values in any bin, one missing, or fewer rows.
    cells = [*product(["1", "2", "4", "9", ""], repeat=limit)]
    others = [[], ["b,9\n"]]

    def counts(rows: list[str]) -> list[int]:
        (answer,) = evaluate([weighted.query], ("id,x\n" + "".join(rows)).encode(), unit)
        return cells_of(answer)

    changes = []
    for rows in others:
        units = [[f"a,{value}\n" for value in values] for values in cells]
        before = [counts(rows)] if neighbors is Neighbors.ADD_REMOVE else [
            counts(rows + one) for one in units
        ]  # fmt: skip
        after = [counts(rows + one) for one in units]
        changes += [
            sum(abs(a - b) for a, b in zip(one, two, strict=True))
            for one in before
            for two in after
        ]

    assert max(changes) == query_sensitivity(weighted.query, relation).l1


@pytest.mark.parametrize("scale", [Fraction(2), Fraction(10), Fraction(100, 7)], ids=str)
@pytest.mark.parametrize(
    ("kind", "most", "bins"), [(0, 2, 2), (0, 10**9, 28), (1, 2**59, 60)], ids=str
)
def test_noise_alone_seldom_chooses(scale: Fraction, kind: int, most: int, bins: int) -> None:
    """Over all bins and windows of bins, noise exceeds a threshold at most that often."""
    noise = DiscreteLaplace(scale)
    grid = BoundsGrid(column((0, most)), GRID_KINDS[kind])
    assert len(grid.axis) == bins
    rule = BoundsRule.of(noise, grid, Fraction(1), 1.0)
    reach = int(60 * scale)
    one = np.exp(-abs(np.arange(-reach, reach + 1)) / float(scale))
    one, exceeded = one / one.sum(), []
    distribution = np.ones(1)
    for threshold in rule.thresholds:
        # The exact distribution of the sum of one more noise, but for far tails.
        distribution = np.convolve(distribution, one)
        middle = len(distribution) // 2
        exceeded.append(bins * distribution[middle + threshold + 1 :].sum())

    assert sum(exceeded) <= FALSE_ALARM
    assert exceeded[0] > FALSE_ALARM / WINDOW / 4


def test_neighboring_counts_are_clear_together() -> None:
    """Four counts that noise could give one by one are too many together."""
    assert chosen([0, 0, 70, 70, 70, 70, 0, 0, 0, 0], (0, 1000)) == (0, 50)
    assert chosen([0, 0, 70, 70, 70, 70, 40, 0, 0, 0], (0, 1000))[1] >= 100
    answer = NoisyAnswer(integer_array([0, 0, 55, 55] + [0] * 6), DiscreteLaplace(Fraction(10)))
    assert not choice((0, 1000)).choose(answer).decided


def chosen(
    counts: list[int], bounds: tuple[int, int], kind: GridKind = GRID_KINDS[0]
) -> tuple[int, int]:
    """The bounds that these counts choose, with noise of scale 10."""
    answer = NoisyAnswer(integer_array(counts), DiscreteLaplace(Fraction(10)))
    found = choice(bounds, kind).choose(answer)
    return int(found.lower), int(found.upper)


def test_far_bins_of_noise_do_not_widen_the_bounds() -> None:
    """A count that would be accepted next to the others is not accepted far beyond them."""
    # The rungs are 1, 2, 5, 10, 20, 50, 100, 200, 500 and 1,000.
    near = [300, 900, 400, 40, 0, 0, 0, 0, 0, 0]
    far = [300, 900, 400, 0, 0, 0, 0, 40, 0, 0]
    assert chosen(near, (0, 1000)) == (0, 10)
    assert chosen(far, (0, 1000)) == (0, 5)
    assert chosen([300, 900, 400, 0, 0, 0, 0, 0, 0, 200], (0, 1000)) == (0, 1000)


def test_a_tail_that_declines_into_the_noise_adds_rungs() -> None:
    """After 4,000, 800 and 160 rows about 32 are likely, and after 4,000, 2,000 and 160 few."""
    assert chosen([4000, 800, 160, 30, 6, 0, 0, 0, 0, 0], (0, 1000)) == (0, 10)
    assert chosen([4000, 2000, 160, 0, -3, 0, 0, 0, 0, 0], (0, 1000)) == (0, 5)
    assert chosen([4000, 400, 40, 4, 0, 0, 0, 0, 0, 0], (0, 1000)) == (0, 5)
    _, upper = chosen([400, 240, 144, 86, 28, 20, 8, 5, 3, 0], (0, 1000))
    assert upper > 50


def test_few_rows_leave_the_outermost_bounds() -> None:
    """Without a clear bin nothing is decided."""
    quiet = [20, -3, 31, 8, -14, 2, 0, 5, -6, 1]
    answer = NoisyAnswer(integer_array(quiet), DiscreteLaplace(Fraction(10)))
    found = choice((0, 1000)).choose(answer)

    assert not found.decided
    assert [found.lower, found.upper] == [0, 1000]
    assert found.counts == tuple(quiet)


@pytest.mark.parametrize(
    ("counts", "bounds", "expected"),
    [
        # The bins are [-10,-6], [-5,-3], -2, -1, [0,1], 2, [3,5], [6,10].
        ([0, 0, 0, 0, 900, 900, 0, 0], (-10, 10), (0, 2)),
        ([0, 900, 900, 0, 0, 0, 0, 0], (-10, 10), (-5, 0)),
        ([0, 900, 0, 0, 0, 900, 0, 0], (-10, 10), (-5, 2)),
        # [-10,-6], [-5,-3], -2, -1, and zero is in the last of them.
        ([0, 900, 0, 0], (-10, 0), (-5, 0)),
        # [7,10], [11,20], [21,50] and [51,60].
        ([900, 900, 0, 0], (7, 60), (7, 20)),
    ],
)  # fmt: skip
def test_sides_are_chosen_by_themselves(
    counts: list[int], bounds: tuple[int, int], expected: tuple[int, int]
) -> None:
    """A side without an accepted bin ends at zero, and a side without rungs stays."""
    assert len(choice(bounds).grid.axis) == len(counts)
    assert chosen(counts, bounds) == expected


def test_cover_leaves_out_the_largest_values() -> None:
    """The bounds are the narrowest ones that contain the share of the accepted counts."""
    counts, noise = [500, 400, 90, 10, 0, 0, 0, 0, 0, 0], DiscreteLaplace(Fraction(1))
    uppers = [
        choice((0, 1000), coverage=Fraction(coverage))
        .choose(NoisyAnswer(integer_array(counts), noise))
        .upper
        for coverage in ("1", "0.99", "0.9", "0.5")
    ]
    assert uppers == [10, 5, 2, 1]


@KINDS
@pytest.mark.parametrize("bounds", BOUNDS)
def test_the_narrowest_bounds_are_those_of_a_single_clear_bin(
    bounds: tuple[int, int], kind: GridKind
) -> None:
    """Counts in a bin next to zero choose them, and every choice contains one of them."""
    one = choice(bounds, kind)
    bins = range(len(one.grid.axis))
    found = [chosen([999 * (at == clear) for at in bins], bounds, kind) for clear in bins]
    narrowest = {(int(inner.lower), int(inner.upper)) for inner in one.extremes[:2]}

    assert narrowest <= set(found)
    assert all(any(low <= a and b <= high for a, b in narrowest) for low, high in found)


def test_any_noisy_counts_give_bounds_in_order() -> None:
    """Whatever the noise is, the bounds are rungs in order, and clamp a constant."""
    random = Random(7)
    for _ in range(2_000):
        bounds = random.choice(BOUNDS)
        kind = random.choice(GRID_KINDS)
        one = choice(bounds, kind, Fraction(random.randint(1, 10), 10))
        counts = [random.randint(-30, 30) * random.choice([1, 1, 100]) for _ in one.grid.bins]
        answer = NoisyAnswer(integer_array(counts), DiscreteLaplace(Fraction(random.randint(1, 9))))
        found = one.choose(answer)
        made = one.with_chosen(found)

        assert bounds[0] <= found.lower < found.upper <= bounds[1]
        assert {found.lower, found.upper} <= {*one.grid.above, *one.grid.below, 0, *bounds}
        assert made.limits == (int(found.lower), int(found.upper))
