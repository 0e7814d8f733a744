"""How many rows limits leave out is bounded from below by noisy counts of people."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpcli.noise.discrete_gaussian import DiscreteGaussian
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import NO_NOISE, Noise
from dpcli.numeric.arrays import Ints, integer_array
from dpcli.queries.query import RowsPerUserQuery
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.postprocessing import LIMITED_SHARE
from dpcli.statistics.quality.quality_counts import ERROR_PROBABILITY, bin_starts, min_share

RUNS = 500


def counts_of(rows: Ints, starts: tuple[int, ...]) -> Ints:
    """The number of people in each bin, by the definition of the query."""
    query = RowsPerUserQuery(starts=starts)
    return np.bincount([query.bin_of(int(own)) for own in rows], minlength=len(starts))


def shares(rows: Ints, limit: int, noise: Noise, runs: int = RUNS) -> list[Fraction]:
    """The stated share of left-out rows, in many runs with new noise."""
    starts = bin_starts([limit])
    counts, kept = counts_of(rows, starts), int(np.minimum(rows, limit).sum())
    draws = np.array(noise.sample(runs * len(starts))).reshape(runs, -1)
    totals = np.array(noise.sample(runs)) * limit
    wide = type(noise)(noise.scale * limit) if noise.scale else noise
    return [
        min_share(
            NoisyAnswer(integer_array(counts + drawn), noise),
            starts,
            NoisyAnswer(integer_array([kept + int(more)]), wide),
            limit,
            ERROR_PROBABILITY,
        )
        for drawn, more in zip(draws, totals, strict=True)
    ]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 20, 100, 1_000])
def test_bins_begin_above_the_limit_and_increase(limit: int) -> None:
    """The first bin has people within the limit, the second begins one row above it."""
    starts = bin_starts([limit])

    assert starts[:2] == (1, limit + 1)
    assert list(starts) == sorted(set(starts))
    assert starts[-1] == 128 * limit


def test_bins_of_two_limits_begin_above_both() -> None:
    """A limit on the rows in groups may be below that on all rows."""
    starts = bin_starts([3, 20])

    assert {1, 4, 21, 25} <= set(starts)


@pytest.mark.parametrize("limit", [1, 3, 10])
def test_without_noise_no_more_is_stated_than_is_left_out(limit: int) -> None:
    """The bound is at least half of what is left out where no one has very many rows."""
    rows = np.random.default_rng(limit).geometric(0.1, 5_000)
    (stated,) = shares(rows, limit, NO_NOISE, runs=1)
    left_out = float(np.maximum(rows - limit, 0).sum() / rows.sum())

    assert left_out / 2 <= stated <= left_out


@pytest.mark.parametrize("noise", [DiscreteLaplace(Fraction(25)), DiscreteGaussian(Fraction(40))])
@pytest.mark.parametrize("limit", [1, 3, 20])
@pytest.mark.usefixtures("stream")
def test_a_file_without_left_out_rows_is_flagged_rarely(limit: int, noise: Noise) -> None:
    """Where people have at most as many rows as the limit, at most 5% of runs state any share."""
    rows = np.full(3_000, limit)
    wrong = sum(share > 0 for share in shares(rows, limit, noise))

    assert wrong <= ERROR_PROBABILITY * RUNS


@pytest.mark.parametrize("noise", [DiscreteLaplace(Fraction(25)), DiscreteGaussian(Fraction(40))])
@pytest.mark.usefixtures("stream")
def test_the_stated_share_is_a_lower_bound(noise: Noise) -> None:
    """It is above what is left out in at most 5% of runs, and shows half of a large share."""
    rows = np.random.default_rng(5).geometric(0.1, 4_000)
    left_out = Fraction(int(np.maximum(rows - 3, 0).sum()), int(rows.sum()))
    found = shares(rows, 3, noise)

    assert sum(share > left_out for share in found) <= ERROR_PROBABILITY * RUNS
    assert sum(share > LIMITED_SHARE for share in found) == RUNS
    assert np.median([float(share) for share in found]) > 0.5 * float(left_out)


@pytest.mark.usefixtures("stream")
def test_a_noisy_count_below_zero_states_nothing() -> None:
    """An empty file has no share, whatever the noise is."""
    found = shares(np.ones(0, int), 3, DiscreteLaplace(Fraction(25)))

    assert all(0 <= share <= 1 for share in found)
    assert sum(share > 0 for share in found) <= ERROR_PROBABILITY * RUNS
