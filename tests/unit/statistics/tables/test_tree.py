"""Numbers of trees: least squares, agreement in printed digits, and whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from dpcli.numeric.arrays import Array, Floats
from dpcli.statistics.tables.agreement import NEAR_ZERO
from dpcli.statistics.tables.tree import TreeFit
from tests.support.rules import also_slow
from tests.support.trees import Parents, random_tree, sizes_of, sums_of_leaves


def fit_of(parents: Parents, variances: Sequence[float]) -> TreeFit:
    """The fit; its noise has an excess kurtosis of one."""
    moments = zip(sizes_of(parents), variances, strict=True)
    noises = [np.tile([[one], [one**2]], size) for size, one in moments]
    return TreeFit([of.tolist() for of in parents], noises)


def misses(levels: Sequence[Array], parents: Parents) -> int:
    """How many numbers are not the sum of their parts."""
    missed = 0
    for (above, below), of in zip(pairwise(levels), parents, strict=True):
        sums = np.zeros(above.shape, dtype=object)
        for index, parent in enumerate(of):
            sums[..., parent] += below[..., index]
        missed += int((sums != above).sum())
    return missed


def least_squares(parents: Parents, variances: Sequence[float]) -> tuple[Floats, Floats]:
    """The matrix from measured to estimated numbers, and their covariance."""
    design = np.vstack(sums_of_leaves(parents))
    weights = 1 / np.repeat(variances, sizes_of(parents))
    covariance = np.linalg.inv((design.T * weights) @ design)
    return design @ covariance @ (design.T * weights), design @ covariance @ design.T


@pytest.mark.parametrize("seed", also_slow(range(20), range(20, 300)))
def test_estimates_are_those_of_least_squares_and_agree(seed: range) -> None:
    """For random trees: numbers and moments of their noise; printed digits add up exactly."""
    for one in seed:
        random = np.random.default_rng(one)
        parents = random_tree(random, int(random.integers(1, 5)))
        variances = random.uniform(0.2, 9, len(parents) + 1).tolist()
        sizes = sizes_of(parents)
        fit = fit_of(parents, variances)
        matrix, covariance = least_squares(parents, variances)
        measured = random.integers(-50, 200, (3, sum(sizes)))
        parts = np.split(measured.astype(object), np.cumsum(sizes)[:-1], axis=1)
        found = fit.rounded(parts, Fraction(100))

        best = measured @ matrix.T
        assert np.abs(np.hstack(found).astype(float) / 100 - best).max() < 0.0125
        assert np.allclose(np.concatenate(fit.variances), np.diag(covariance), rtol=1e-4)
        fourth = matrix**4 @ np.repeat(np.square(variances), sizes)
        assert np.allclose(np.concatenate(fit.fourth_cumulants), fourth, rtol=1e-3, atol=1e-6)
        assert not misses(found, parents)


def test_three_levels_of_places_have_the_stated_errors() -> None:
    """One country, 16 regions and 400 districts: 1.68, 1.65 and 1.70, for one count with all."""
    parents = [np.zeros(16, int), np.repeat(np.arange(16), 25)]
    deviations = [np.sqrt(level.mean()) for level in fit_of(parents, [3.0] * 3).variances]

    assert np.allclose(deviations, [1.68, 1.65, 1.70], rtol=0.005)


@pytest.mark.parametrize("trees", also_slow(60, 10_000))
def test_whole_numbers_of_random_trees_agree_and_are_not_negative(trees: int) -> None:
    """Each number is the sum of its parts, and within one of its share of the total above it."""
    random = np.random.default_rng(trees)
    for _ in range(trees):
        parents = random_tree(random, int(random.integers(1, 4)))
        fit, sizes = fit_of(parents, [1.0] * (len(parents) + 1)), sizes_of(parents)
        spread = int(random.choice([1, 10, 1000]))
        parts = [random.integers(-spread, 2 * spread, (2, size)).astype(object) for size in sizes]
        for units in (Fraction(1), Fraction(100), Fraction(1, 2)):
            found = fit.nonnegative(parts, units)

            assert not misses(found, parents)
            assert min(level.min() for level in found) >= 0


@pytest.mark.parametrize("bits", [20, 50, 60, 90])
def test_whole_numbers_of_any_size_agree_and_keep_what_is_known(bits: int) -> None:
    """Beyond whole floats, and beyond 64 bits, known leaves and all sums are exact too."""
    random = np.random.default_rng(bits)
    for _ in range(30):
        parents = random_tree(random, 2)
        sizes = sizes_of(parents)
        noises = [np.ones((2, size)) for size in sizes]
        known = np.flatnonzero(random.random(sizes[-1]) < 0.3)
        known = known[: sizes[-1] - 1]
        noises[-1][:, known] = [[NEAR_ZERO], [0.0]]
        parts = [
            np.array([[int(one * 2**bits) for one in random.normal(0.2, 1, size)]], dtype=object)
            for size in sizes
        ]
        parts[-1][:, known] = 123
        *above, leaves = TreeFit([of.tolist() for of in parents], noises).nonnegative(
            parts, Fraction(1)
        )

        assert not misses([*above, leaves], parents)
        assert min(level.min() for level in (*above, leaves)) >= 0
        assert leaves[0, known].max(initial=0) <= 123


def test_whole_numbers_are_near_linear_ones_that_are_positive() -> None:
    """Where no number is near zero, each is within one for each level of the linear one."""
    random = np.random.default_rng(5)
    parents = random_tree(random, 3, most=6)
    fit = fit_of(parents, [1.0] * 4)
    leaves = random.integers(1_000, 2_000, len(parents[-1]))
    exact = [leaves]
    for of in reversed(parents):
        exact.insert(0, np.bincount(of, exact[0]).astype(int))
    noisy = [(level + random.integers(-3, 4, len(level)))[None].astype(object) for level in exact]
    whole, linear = fit.nonnegative(noisy, Fraction(1)), fit.rounded(noisy, Fraction(100))
    far = [abs(a - b / 100).max() for a, b in zip(whole, linear, strict=True)]

    assert max(far) < 2
