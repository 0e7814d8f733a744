"""Numbers of pairs of parts of two trees: least squares, known tables and whole numbers."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dpcli.numeric.arrays import Array, Bools, Floats
from dpcli.statistics.tables.two_trees import ProductFit
from tests.support.rules import also_slow
from tests.support.trees import Parents, random_tree, sizes_of, sums_of_leaves

Trees = tuple[Parents, Parents]


def random_trees(random: np.random.Generator, depth: int, most: int = 4) -> Trees:
    """Two trees of up to this number of levels below the top."""
    one, other = (random_tree(random, int(random.integers(1, depth + 1)), most) for _ in range(2))
    return one, other


def random_known(random: np.random.Generator, trees: Trees, most: int) -> Bools:
    """The pairs of levels of up to this number of known tables, and of all sums of them."""
    known = np.zeros([len(tree) + 1 for tree in trees], bool)
    for _ in range(int(random.integers(0, most + 1))):
        at, to = (int(random.integers(0, len(tree) + 1)) for tree in trees)
        if (at, to) != (len(trees[0]), len(trees[1])):
            known[: at + 1, : to + 1] = True
    return known


def fit_of(trees: Trees, variances: Floats) -> ProductFit:
    """The fit; its noise has an excess kurtosis of one."""
    parents = [[of.tolist() for of in tree] for tree in trees]
    return ProductFit(parents, np.array([variances, variances**2]))


def tables_of(trees: Trees, leaves: Array) -> list[Array]:
    """The exact numbers of each pair of levels, shape (groups, numbers)."""
    sums = [[level.astype(int).astype(object) for level in sums_of_leaves(tree)] for tree in trees]
    tables = (one @ leaves @ other.T for one, other in product(*sums))
    return [table.reshape(len(leaves), -1) for table in tables]


def sizes_of_pairs(trees: Trees) -> list[int]:
    """The numbers of each pair of levels."""
    return [one * other for one, other in product(*map(sizes_of, trees))]


def least_squares(trees: Trees, variances: Floats) -> tuple[Floats, Floats]:
    """The matrix from measured to estimated numbers, and their covariance."""
    design = np.vstack([np.kron(*pair) for pair in product(*map(sums_of_leaves, trees))])
    own = np.repeat(np.maximum(variances.ravel(), 1e-8), sizes_of_pairs(trees))
    covariance = np.linalg.inv((design.T / own) @ design)
    return design @ covariance @ (design.T / own), design @ covariance @ design.T


@pytest.mark.parametrize("seed", also_slow(range(12), range(12, 200)))
@pytest.mark.parametrize("is_product", [True, False])
def test_estimates_are_those_of_least_squares_with_what_is_known(
    seed: range, is_product: bool
) -> None:
    """Variances are those of the estimates for other variances than products, too."""
    for one in seed:
        random = np.random.default_rng(one)
        trees = random_trees(random, 2, 3)
        known, shape = random_known(random, trees, 2), [len(tree) + 1 for tree in trees]
        variances = np.outer(*(random.uniform(0.3, 4, size) for size in shape))
        if not is_product:
            variances *= random.uniform(0.5, 2, shape)
        variances[known] = 0
        fit, sizes = fit_of(trees, variances), sizes_of_pairs(trees)
        exact = tables_of(trees, random.integers(0, 40, (1, len(trees[0][-1]), len(trees[1][-1]))))
        is_known = np.repeat(known.ravel(), sizes)
        noise = random.integers(-20, 20, sum(sizes))
        measured = np.hstack(exact).astype(int) + ~is_known * noise
        ends = np.cumsum(sizes)[:-1]

        def estimates(numbers: Array, fit: ProductFit = fit, ends: Array = ends) -> Floats:
            found = fit.rounded(np.split(numbers.astype(object), ends, axis=1), Fraction(1))
            return np.hstack(found).astype(float)

        matrix, covariance = least_squares(trees, variances)
        units = 10**6
        steps = estimates(
            np.vstack([measured * units, measured * units + units * np.diag(~is_known)])
        )
        maps = (steps[1:] - steps[0]).T / units
        expected = (maps**2) @ np.repeat(variances.ravel(), sizes)

        assert np.allclose(np.concatenate(fit.variances), expected, rtol=1e-3, atol=1e-3)
        assert (steps[0, is_known] == units * measured[0, is_known]).all()
        if is_product:
            assert np.allclose(steps[0] / units, matrix @ measured[0], atol=2e-3)
            assert np.allclose(expected, np.diag(covariance), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("tables", also_slow(30, 10_000))
def test_numbers_of_random_tables_agree_and_meet_what_is_known(tables: int) -> None:
    """Whole ones are never negative, and known ones are met, where noise is large or small."""
    random = np.random.default_rng(tables)
    for _ in range(tables):
        trees = random_trees(random, 2)
        known, scale = random_known(random, trees, 2), int(random.choice([1, 30, 10**4]))
        shape = [2, len(trees[0][-1]), len(trees[1][-1])]
        leaves = random.integers(0, 2 * scale, shape) * (random.random(shape) < random.random())
        exact = tables_of(trees, leaves.astype(object))
        noise = int(random.choice([1, 10, 1000]))
        measured = [
            table + (not is_known) * random.integers(-noise, noise + 1, table.shape)
            for table, is_known in zip(exact, known.ravel(), strict=True)
        ]
        fit = fit_of(trees, np.where(known, 0.0, random.uniform(0.5, 4, known.shape)))
        for units in (Fraction(1), Fraction(100)):
            linear, whole = fit.rounded(measured, units), fit.nonnegative(measured, units)
            for found in (linear, whole):
                sums = tables_of(trees, found[-1].astype(object).reshape(shape))
                for table, summed, own, is_known in zip(
                    found, sums, exact, known.ravel(), strict=True
                ):
                    assert (table == summed).all()
                    assert not is_known or (table == own * int(units)).all()
            assert min(table.min() for table in whole) >= 0


@pytest.mark.parametrize("bits", [40, 50, 62, 90])
def test_whole_numbers_of_any_size_agree(bits: int) -> None:
    """Beyond whole floats, and beyond 64 bits."""
    random = np.random.default_rng(bits)
    for _ in range(10):
        trees = random_trees(random, 2)
        fit = fit_of(trees, np.ones([len(tree) + 1 for tree in trees]))
        measured = [
            np.array([[int(one * 2**bits) for one in random.normal(0.2, 1, size)]], object)
            for size in sizes_of_pairs(trees)
        ]
        found = fit.nonnegative(measured, Fraction(1))
        leaves = found[-1].astype(object).reshape(1, len(trees[0][-1]), len(trees[1][-1]))

        assert min(table.min() for table in found) >= 0
        for table, sums in zip(found, tables_of(trees, leaves), strict=True):
            assert (table == sums).all()


def test_whole_numbers_are_near_linear_ones_that_are_positive() -> None:
    """Where no number is near zero, each is within two of the linear one."""
    random = np.random.default_rng(7)
    trees = random_tree(random, 2, most=6), random_tree(random, 2, most=6)
    fit = fit_of(trees, np.ones((3, 3)))
    leaves = random.integers(1_000, 2_000, (1, len(trees[0][-1]), len(trees[1][-1])))
    noisy = [
        table + random.integers(-3, 4, table.shape)
        for table in tables_of(trees, leaves.astype(object))
    ]
    whole, linear = fit.nonnegative(noisy, Fraction(1)), fit.rounded(noisy, Fraction(100))

    for one, other in zip(whole, linear, strict=True):
        assert abs(one - other / 100).max() < 2
