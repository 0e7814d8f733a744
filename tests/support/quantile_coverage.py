"""How often intervals of quantiles from counts have the exact one, for stated settings."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpcli.noise.discrete_gaussian import DiscreteGaussian
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import Noise
from dpcli.numeric.arrays import Array, Floats
from dpcli.statistics.quantiles.quantile_classes import classes_of_quantiles
from dpcli.statistics.quantiles.tree import CountTree

BLOCK = 500
"""Runs that are computed together."""

EPSILON, RHO = Fraction(1), Fraction(1, 2)


@dataclass(frozen=True)
class Setting:
    """Rows of one shape, and equally spaced quantiles of them among candidates."""

    shape: str
    rows: int
    quantiles: int
    candidates: int = 1001

    def __str__(self) -> str:
        return f"{self.quantiles} of {self.rows:,} {self.shape}, {self.candidates:,} candidates"

    @property
    def shares(self) -> list[Fraction]:
        """The quantiles: quartiles, deciles or percentiles, or the median."""
        return [Fraction(part, self.quantiles + 1) for part in range(1, self.quantiles + 1)]

    def counts(self) -> Array:
        """The rows at each candidate."""
        last, rows = self.candidates - 1, self.rows
        generator = np.random.default_rng(5)
        half = np.arange(rows) < rows // 2
        places: Array
        if self.shape == "incomes":
            places = generator.lognormal(7.5, 0.6, rows) / 10_000 * last
        elif self.shape == "even":
            places = generator.integers(0, last + 1, rows)
        elif self.shape == "tied":
            places = generator.choice(
                generator.choice(last, 40, replace=False), rows, p=generator.dirichlet([2.0] * 40)
            )
        elif self.shape == "two peaks":
            places = generator.normal(np.where(half, 0.2, 0.8) * last, 0.02 * last)
        elif self.shape == "two values":
            places = np.where(half, last // 5, last - last // 5)
        else:
            raise ValueError(self.shape)
        placed = np.clip(places, 0, last).astype(np.int64)
        return np.bincount(placed, minlength=self.candidates)


TWELVE = [
    Setting(shape, rows, quantiles)
    for shape in ("incomes", "tied")
    for rows in (3_000, 30_000)
    for quantiles in (3, 9, 99)
]


@dataclass(frozen=True)
class Coverage:
    """For each quantile, how often its interval has the exact class, and its value is exact."""

    held: Floats
    exact: Floats


def noises_of(tree: CountTree, kind: type[Noise]) -> list[Noise]:
    """The noise of each level, by shares of epsilon or of rho."""
    if kind is DiscreteGaussian:
        scales = [
            Fraction(float(1 / (2 * RHO * share)) ** 0.5).limit_denominator(10**6)
            for share in tree.shares(2)
        ]
        return [DiscreteGaussian(scale) for scale in scales]
    return [DiscreteLaplace(1 / (EPSILON * share)) for share in tree.shares(1)]


def coverage(
    setting: Setting,
    runs: int,
    kind: type[Noise] = DiscreteLaplace,
    confidence: Fraction = Fraction(19, 20),
) -> Coverage:
    """The coverage of each quantile over some runs, of epsilon 1 or rho 1/2."""
    counts, shares = setting.counts(), setting.shares
    tree = CountTree(len(counts))
    noises = noises_of(tree, kind)
    # The first class up to which there are at least the wanted rows, in whole numbers.
    up_to = np.cumsum(counts)
    exact = [
        int(np.searchsorted(up_to * one.denominator, one.numerator * setting.rows))
        for one in shares
    ]
    sums = np.zeros((2, len(shares)))
    for start in range(0, runs, BLOCK):
        count, levels = min(BLOCK, runs - start), []
        for leaves, noise in zip(tree.node_leaves, noises, strict=True):
            nodes = np.add.reduceat(counts, np.arange(0, len(counts), leaves))
            drawn = np.asarray(noise.sample(count * len(nodes), many=True), np.int64)
            levels.append(nodes + drawn.reshape(count, -1))
        found = classes_of_quantiles(tree, levels, noises, shares, confidence)
        for index, (one, place) in enumerate(zip(found, exact, strict=True)):
            sums[0, index] += ((one.lowest <= place) & (place <= one.highest)).sum()
            sums[1, index] += (one.index == place).sum()
    return Coverage(*(sums / runs))
