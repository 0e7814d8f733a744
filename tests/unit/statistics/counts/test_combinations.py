"""Counts of several answers of a row, from rows by combinations of answers."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.numeric.arrays import integer_array
from dpcli.privacy.accounting.composition import SequentialComposition
from dpcli.statistics.counts.combinations import (
    CombinationQuery,
    CountsFromCombinations,
    block_sizes,
    count_variance,
)
from dpcli.statistics.design import NoisyAnswer
from tests.laws.test_audit import least_epsilon
from tests.support.streams import Stream
from tests.support.surveys import CONFIDENCE, assert_covers, by_item
from tests.unit.statistics.counts.test_selections import planned

SUM = SequentialComposition()

RUNS = 10_000


def design(count: int) -> CountsFromCombinations:
    """The design of the plan for counts of this number of columns."""
    chosen = planned(count, "laplace").design
    assert isinstance(chosen, CountsFromCombinations)
    return chosen


@pytest.mark.parametrize(
    ("count", "blocks", "factor"),
    [
        (2, 1, 1.414),
        (3, 1, 1.5),
        (4, 2, 1.633),
        (6, 2, 1.732),
        (8, 4, 1.789),
        (9, 3, 1.837),
        (64, 22, 2.046),
    ],
)
def test_counts_have_less_noise_than_separate_ones(count: int, blocks: int, factor: float) -> None:
    """One row changes a number of each block, and separate counts would all change."""
    (query,) = planned(count, "laplace").queries
    assert query.l1 == blocks
    sizes = design(count).combinations.sizes
    assert count / (blocks * sqrt(count_variance(sizes))) == pytest.approx(factor, abs=0.001)


def test_no_other_sizes_of_blocks_have_less_noise() -> None:
    """Every number of blocks is tried, for up to 40 columns."""
    for count in range(2, 41):
        by_blocks = [
            blocks * sqrt(count_variance(block_sizes(count, blocks)))
            for blocks in range(1, count + 1)
        ]
        chosen = design(count).combinations.blocks
        assert by_blocks[chosen - 1] == pytest.approx(min(by_blocks), rel=1e-9)


@pytest.mark.parametrize("count", [2, 3, 4, 5, 7, 12])
@pytest.mark.parametrize("scale", [2, 3, 40])
def test_published_counts_have_the_stated_errors(count: int, scale: int, stream: Stream) -> None:
    """Errors are as expected, 10,000 intervals hold in 94 to 96.5%, and numbers agree."""
    chosen, noise = design(count), DiscreteLaplace(Fraction(scale))
    query = chosen.combinations
    rows = np.arange(1, query.cells_per_group + 1)
    blocks = query.divided(rows[np.newaxis])
    # The same number of rows in every block, of which the last combination has the rest.
    for block in blocks:
        block[0, -1] += 1000 - block.sum()
    truth = [
        int(block[0][np.arange(len(block[0])) >> bit & 1 == 1].sum())
        for size, block in zip(query.sizes, blocks, strict=True)
        for bit in range(size)
    ]
    exact = np.tile(rows, RUNS)
    answer = NoisyAnswer(exact + np.array(noise.sample(len(exact))), noise)
    estimates = chosen.estimate([answer], CONFIDENCE)
    errors = by_item(estimates, estimates.value, count) - truth
    expected = chosen.expected_error([sqrt(noise.discrete_variance)])
    assert sqrt(np.mean(errors**2)) == pytest.approx(expected, rel=0.03)
    assert_covers(estimates, truth, 0.94, 0.965)
    widths = estimates.upper - estimates.value
    assert max(widths) * estimates.step == chosen.error([noise], CONFIDENCE)


@pytest.mark.parametrize("count", [3, 6])
@pytest.mark.parametrize("times", [1, 6])
def test_releases_reveal_no_more_than_stated(count: int, times: int, stream: Stream) -> None:
    """Releases show less than epsilon 1 of a row; with a sixth of the noise, they show more.

    The row has all answers, so it adds one to each published count.
    """
    (query,) = planned(count, "laplace").queries
    chosen, runs, noise = design(count), 20_000, query.calibrated.noise
    cells, sums = chosen.combinations.cells_per_group, []
    for added in (0, 1):
        exact = np.zeros((runs, cells), np.int64)
        for block in chosen.combinations.divided(exact):
            block[:, -1] = added * times
        samples = np.array(noise.sample(exact.size))
        estimates = chosen.estimate([NoisyAnswer(exact.ravel() + samples, noise)], CONFIDENCE)
        sums.append(estimates.value.reshape(runs, count).sum(axis=1).astype(float))
    bound = least_epsilon(sums[0], sums[1], 0.0)
    assert bound <= 1 if times == 1 else bound > 1


@pytest.mark.parametrize("count", [4, 5, 6, 9])
@pytest.mark.parametrize("epsilon", [5, 9, 12])
def test_intervals_of_counts_with_little_noise_cover(
    count: int, epsilon: int, stream: Stream
) -> None:
    """A sum of a few weighted steps of noise is not normal; at least 95% of intervals hold."""
    chosen, runs = design(count), 20_000
    noise = DiscreteLaplace(Fraction(len(chosen.combinations.sizes), epsilon))
    # Each of 1,024 combinations of all tests has one row.
    parts = [np.full(2**size, 1024 >> size) for size in chosen.combinations.sizes]
    exact = np.tile(np.concatenate(parts), runs)
    answer = NoisyAnswer(exact + np.array(noise.sample(exact.size)), noise)
    estimates = chosen.estimate([answer], CONFIDENCE)
    least = 0.95 - 4 * (0.05 * 0.95 / runs) ** 0.5
    assert_covers(estimates, np.full(count, 512), least, 1)


def test_without_noise_counts_are_exact() -> None:
    """Half the sum of the signed rows and of all rows is the count, in every block."""
    chosen, noise = design(5), DiscreteLaplace(Fraction(1, 10**6))
    exact = np.array([4, 1, 2, 3, 0, 5, 6, 79, 10, 20, 30, 40])
    estimates = chosen.estimate([NoisyAnswer(exact, noise)], CONFIDENCE)
    assert [float(number.value or 0) for number in estimates] == [88, 90, 90, 60, 70]


@pytest.mark.parametrize("count", [3, 5])
def test_large_numbers_stay_exact(count: int) -> None:
    """No sum of noisy numbers overflows."""
    chosen, noise, large = design(count), DiscreteLaplace(Fraction(10**30)), 3 << 60
    query = chosen.combinations
    every = integer_array([large] * query.cells_per_group)
    estimates = chosen.estimate([NoisyAnswer(every, noise)], CONFIDENCE)
    rows = Fraction(large * query.blocks, 1) / sum(Fraction(1, 2**size) for size in query.sizes)
    assert {number.value for number in estimates} == {rows / 2}
    assert all((number.upper or 0) - rows / 2 > 10**30 for number in estimates)


def test_a_group_has_counts_of_its_own() -> None:
    """Numbers are divided by group first, then by block."""
    chosen, noise = design(2), DiscreteLaplace(Fraction(1, 10**6))
    exact = np.array([0, 1, 2, 4, 8, 0, 0, 3])
    estimates = chosen.estimate([NoisyAnswer(exact, noise)], CONFIDENCE)
    assert [int(number.value or 0) for number in estimates] == [5, 6, 3, 3]
    assert estimates.step == 1


@pytest.mark.parametrize(("limit", "is_combined"), [(3, False), (5, False), (6, True), (9, True)])
def test_few_counted_answers_need_no_combinations(limit: int, is_combined: bool) -> None:
    """Ten counts of which one row changes up to five have less noise alone."""
    statistic = planned(10, "laplace", fields=f"max_selected: {limit}, ")
    assert isinstance(statistic.design, CountsFromCombinations) == is_combined


@pytest.mark.parametrize("count", [2, 3, 10, 64])
def test_a_changed_row_of_a_single_group_changes_as_many_separate_counts(count: int) -> None:
    """It changes two numbers of each block, but each count by one at most."""
    (query,) = planned(count, "laplace", "change-one").queries
    assert query.l1 == count
    assert not isinstance(query.weighted.query, CombinationQuery)


def test_a_changed_row_may_change_two_groups() -> None:
    """Separate counts of either group then change, so combinations need less noise."""
    statistic = planned(4, "laplace", "change-one", by="[c4]")
    (query,) = statistic.queries
    assert isinstance(query.weighted.query, CombinationQuery)
    assert query.l1 == 4


def test_shares_of_rho_are_for_separate_counts() -> None:
    """Rho depends on squares of changes, of which combinations save less."""
    shared = design(6)
    assert shared.serves("l1", "epsilon", SUM)
    assert not shared.serves("l1", "rho", SUM)
    assert not shared.serves("l2", "epsilon", SUM)


def test_each_block_has_a_test() -> None:
    """No block is empty, and there is at least one."""
    tests = design(4).combinations.tests
    for blocks in (0, 5):
        with pytest.raises(ValueError, match="each block"):
            CombinationQuery(tests=tests, blocks=blocks)


def test_the_reason_is_about_blocks_if_there_are_several() -> None:
    """A plan states how the counts follow, and their error."""
    first, error = planned(3, "laplace").design.sentences(
        [DiscreteLaplace(Fraction(1))], CONFIDENCE
    )
    assert "sum of the combinations" in first
    assert error == "each number is within 5 of the noise-free one in 95% of cases"
    assert "divided into 2 blocks" in design(4).reason
