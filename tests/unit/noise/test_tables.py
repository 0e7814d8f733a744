"""K-norm noise for tables with equal sums, against its definition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import chain, product
from math import exp, sqrt

import numpy as np
import pytest
from scipy.stats import chi2

from dpcli.noise.bodies import variance_of
from dpcli.noise.tables import TablesBody, body_named, count_tables, draw_subset
from dpcli.noise.vector_noise import VectorNoise
from dpcli.privacy.norms import TABLES_NORMS, tables_name
from tests.support.norms import norm_of_tables
from tests.support.rules import EXTENDED, also_slow
from tests.support.streams import Stream

CASES = [((2, 2), Fraction(1)), ((3, 2), Fraction(2, 3)), ((1, 2, 2), Fraction(1, 2))]
DRAWS, MANY_DRAWS = 8_000, 1_000_000


def equal_sums(sizes: tuple[int, ...], far: int, *, is_zero: bool) -> Iterator[tuple[int, ...]]:
    """Every tables of these sizes whose sums are equal, with numbers of at most `far`."""
    for total in range(1) if is_zero else range(-far, far + 1):
        each = [
            [table for table in product(range(-far, far + 1), repeat=size) if sum(table) == total]
            for size in sizes
        ]
        for tables in product(*each):
            yield tuple(chain(*tables))


@cache
def probabilities(
    norm: str, sizes: tuple[int, ...], scale: Fraction
) -> dict[tuple[int, ...], float]:
    """The probability of all tables that are likely at all."""
    every = equal_sums(sizes, int(14 * scale) + 2, is_zero=norm == "exchanged-tables")
    weights = {tables: exp(-norm_of_tables(norm, sizes, tables) / float(scale)) for tables in every}
    total = sum(weights.values())
    return {tables: weight / total for tables, weight in weights.items()}


def noise_of(norm: str, sizes: tuple[int, ...], scale: Fraction) -> VectorNoise:
    """The noise of tables."""
    return VectorNoise(scale, sum(sizes), tables_name(norm, sizes))


@pytest.mark.parametrize("norm", TABLES_NORMS)
@pytest.mark.parametrize(("sizes", "scale"), CASES)
@pytest.mark.parametrize("draws", also_slow(DRAWS, MANY_DRAWS))
def test_samples_have_the_probabilities_of_the_definition(
    norm: str, sizes: tuple[int, ...], scale: Fraction, draws: int, stream: Stream
) -> None:
    """By a chi-square test of all likely tables, and of all others together."""
    drawn = np.array(noise_of(norm, sizes, scale).sample(sum(sizes) * draws))
    counts = Counter(map(tuple, drawn.reshape(draws, -1).tolist()))
    expected = probabilities(norm, sizes, scale)
    often = [tables for tables, chance in expected.items() if draws * chance >= 5]
    observed = np.array([counts[tables] for tables in often])
    wanted = draws * np.array([expected[tables] for tables in often])
    rest = draws - wanted.sum()
    distance = ((observed - wanted) ** 2 / wanted).sum()
    distance += (draws - observed.sum() - rest) ** 2 / rest
    assert chi2.sf(distance, len(often)) > 1e-4


@pytest.mark.parametrize("norm", TABLES_NORMS)
@pytest.mark.parametrize(("sizes", "scale"), CASES)
def test_tails_and_covariances_are_those_of_the_definition(
    norm: str, sizes: tuple[int, ...], scale: Fraction
) -> None:
    """Summed over all tables that are likely at all, for each coordinate."""
    noise, count = noise_of(norm, sizes, scale), sum(sizes)
    expected = probabilities(norm, sizes, scale)
    every, chances = np.array([*expected]), np.array([*expected.values()])
    covariance = (every * chances[:, None]).T @ every
    assert noise.covariance(count) == pytest.approx(covariance, rel=2e-3, abs=1e-3)
    assert not noise.covariance(2 * count)[:count, count:].any()
    assert noise.discrete_variance == pytest.approx(max(covariance.diagonal()), rel=2e-3)
    for part in (1, count - 1, count, 2 * count + 1):
        margin = noise.margin_of_sum(part, Fraction(19, 20))
        expected_sum = noise.covariance(part).sum()
        assert margin.variance == pytest.approx(expected_sum, rel=1e-6, abs=1e-9)
    margins = noise.margins(Fraction(19, 20))
    assert len(margins) == count
    for at, margin in enumerate(margins):
        outside = [chances[abs(every[:, at]) > margin.width - step].sum() for step in (0, 1)]
        assert outside[0] <= 0.05 + 1e-4 and (outside[1] > 0.05 - 1e-4 or margin.width == 0)
        assert margin.variance == pytest.approx(covariance[at, at], rel=2e-3, abs=1e-9)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_tables_within_a_radius_are_counted_exactly(size: int) -> None:
    """By enumeration of all vectors with a sum and at most some decreases."""
    for decrease, total in product(range(4), repeat=2):
        far = range(-decrease, decrease + total + 1)
        every = product(far, repeat=size)
        kept = [v for v in every if sum(v) == total and -sum(min(x, 0) for x in v) <= decrease]
        assert count_tables(size, decrease, total) == len(kept)


@EXTENDED
@pytest.mark.parametrize("norm", TABLES_NORMS)
@pytest.mark.parametrize("sizes", [(2, 3), (5, 4, 6, 2), (2,) * 6])
@pytest.mark.parametrize("scale", [Fraction(300), Fraction(10**15 + 1, 7)])
def test_large_scales_have_the_moments_of_continuous_noise(
    norm: str, sizes: tuple[int, ...], scale: Fraction, stream: Stream
) -> None:
    """Each table has its own variance, which plans know, and its margin holds."""
    noise, draws = noise_of(norm, sizes, scale), 1500
    drawn = np.array([float(x) for x in noise.sample(sum(sizes) * draws)]).reshape(draws, -1)
    body = body_named(noise.body)
    assert isinstance(body, TablesBody)
    margins, at = noise.margins(Fraction(19, 20)), 0
    for size in sizes:
        table = drawn[:, at : at + size]
        stated = sqrt(body.variance_in(size)) * float(scale)
        assert table.std() == pytest.approx(stated, rel=0.08)
        assert sqrt(margins[at].variance or 0) == pytest.approx(stated, rel=0.03)
        assert (abs(table) <= margins[at].width).mean() == pytest.approx(0.95, abs=0.02)
        at += size


@pytest.mark.parametrize(
    ("sizes", "deviation"),
    [((2,) * 6, 3.47), ((5, 4, 6, 2), 3.57), ((3,) * 4, 3.18), ((5,) * 5, 4.68)],
)
def test_errors_are_those_of_hit_and_run_samples(sizes: tuple[int, ...], deviation: float) -> None:
    """The root mean square over all cells, against simulated continuous noise."""
    body = body_named(tables_name("tables", sizes))
    assert isinstance(body, TablesBody)
    square = sum(size * body.variance_in(size) for size in sizes) / sum(sizes)
    assert sqrt(square) == pytest.approx(deviation, rel=0.01)


def test_tables_of_one_cell_and_a_public_sum_have_no_noise() -> None:
    """Their only number is the public number of rows."""
    noise = noise_of("exchanged-tables", (1, 1), Fraction(3))
    assert noise.sample(6) == [0] * 6
    assert {margin.width for margin in noise.margins(Fraction(19, 20))} == {0}


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(5, 2), Fraction(400)])
@pytest.mark.parametrize("sizes", [(12, 12, 12, 20, 2), (2, 2, 8, 20, 8, 8)])
def test_variances_of_many_cells_are_those_of_the_noise(
    sizes: tuple[int, ...], scale: Fraction
) -> None:
    """Also of a small table next to a large one: within a few percent at any scale."""
    noise, finer = noise_of("tables", sizes, scale), min(scale, Fraction(4))
    body = body_named(noise.body)
    assert isinstance(body, TablesBody)
    cells = [cells for cells in sizes for _ in range(cells)]
    for at in (0, len(cells) - 1):
        exact = variance_of(body.tails_of(finer, cells[at])) * float(scale / finer) ** 2
        margin = noise.margins(Fraction(19, 20))[at]
        assert margin.variance == pytest.approx(exact, rel=0.025)


@pytest.mark.parametrize("name", ["table-2-2", "tables", "tables-", "tables-0-2", "tables-2-x"])
def test_unknown_bodies_are_refused(name: str) -> None:
    """A name states a norm and the cells of each table."""
    with pytest.raises(ValueError, match="known body"):
        VectorNoise(Fraction(1), 4, name)


def test_subsets_are_uniform(stream: Stream) -> None:
    """Each set of two of four numbers is drawn as often."""
    counts = Counter(tuple(sorted(draw_subset(2, 4))) for _ in range(6000))
    assert len(counts) == 6 and all(abs(count - 1000) < 150 for count in counts.values())
