"""Repeatable entropy and tests of goodness of fit; for tests only."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from fractions import Fraction
from hashlib import shake_128
from math import erfc, exp, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcli.noise import entropy

CUT = 1e-6
"""A p-value under this rejects; the streams are fixed, so no test can flake."""


class Stream:
    """A source of bytes that depends on its name only."""

    def __init__(self, name: str) -> None:
        self.name, self.calls = name, 0

    def __call__(self, count: int) -> bytes:
        self.calls += 1
        return shake_128(f"{self.name}/{self.calls}".encode()).digest(count)


@pytest.fixture
def stream(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Stream:
    """A stream named after the test, instead of the generator of the system."""
    replacement = Stream(request.node.name)
    monkeypatch.setattr(entropy, "source", replacement)
    return replacement


def stream_named(name: str) -> object:
    """A fixture for a module whose tests all draw from a stream of this name."""

    @pytest.fixture(autouse=True)
    def named(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(entropy, "source", Stream(name))

    return named


class Script:
    """A source of prepared bytes, which then ends."""

    def __init__(self, *parts: bytes) -> None:
        self.rest = b"".join(parts)

    def __call__(self, count: int) -> bytes:
        if count > len(self.rest):
            raise EOFError
        part, self.rest = self.rest[:count], self.rest[count:]
        return part


Cdf = Callable[[int], float]
"""k -> P[X <= k]."""


def laplace_cdf(scale: Fraction) -> Cdf:
    """The distribution function of the discrete Laplace distribution."""
    ratio = exp(-1 / float(scale))

    def cdf(k: int) -> float:
        if k < 0:
            return exp(k / float(scale)) / (1 + ratio)
        return 1 - exp(-(k + 1) / float(scale)) / (1 + ratio)

    return cdf


def gaussian_cdf(sigma: float) -> Cdf:
    """The distribution function of the discrete Gaussian distribution, by its sum."""
    reach = int(12 * sigma) + 3
    weights = np.exp(-(np.arange(-reach, reach + 1, dtype=np.float64) ** 2) / (2 * sigma**2))
    sums = np.cumsum(weights) / weights.sum()
    return lambda k: float(sums[min(max(k + reach, 0), 2 * reach)])


def p_value(draws: Sequence[int] | NDArray[np.int64], cdf: Cdf, scale: float) -> float:
    """Pearson's chi-square test over bins of similar probability and two fine tails."""
    count = len(draws)
    levels = [j / 200 for j in range(1, 200)]
    levels += [level for i in range(12) if (level := 40 * 2**i / count) < 0.005]
    levels = sorted({*levels, *(1 - level for level in levels)})
    reach = int(60 * scale) + 60
    cuts = sorted({bisect_left(_Values(cdf, -reach, reach), level) - reach for level in levels})
    below = [0.0, *(cdf(cut) for cut in cuts), 1.0]
    expected = np.diff(below) * count
    observed = np.bincount(np.searchsorted(cuts, np.asarray(draws)), minlength=len(cuts) + 1)
    bins = expected > 10
    statistic = float((((observed - expected) ** 2)[bins] / expected[bins]).sum())
    return chi_square_tail(statistic, int(bins.sum()) - 1)


class _Values:
    """An increasing function on a range, as a sequence that can be searched."""

    def __init__(self, cdf: Cdf, low: int, high: int) -> None:
        self.cdf, self.low, self.high = cdf, low, high

    def __len__(self) -> int:
        return self.high - self.low

    def __getitem__(self, index: int) -> float:
        return self.cdf(self.low + index)


def two_sample_p_value(
    first: Sequence[int] | NDArray[np.int64], second: Sequence[int] | NDArray[np.int64]
) -> float:
    """Pearson's test that two samples have one distribution, over 40 shared bins."""
    cuts = np.unique(np.quantile(np.concatenate([first, second]), np.arange(1, 40) / 40))
    table = np.array(
        [
            np.bincount(np.searchsorted(cuts, np.asarray(sample)), minlength=len(cuts) + 1)
            for sample in (first, second)
        ],
        dtype=np.float64,
    )
    table = table[:, table.sum(axis=0) > 10]
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    return chi_square_tail(float(((table - expected) ** 2 / expected).sum()), table.shape[1] - 1)


def chi_square_tail(statistic: float, freedom: int) -> float:
    """P[chi-square > statistic], closely enough (Wilson and Hilferty 1931)."""
    spread = 2 / (9 * freedom)
    z = ((statistic / freedom) ** (1 / 3) - (1 - spread)) / sqrt(spread)
    return erfc(z / sqrt(2)) / 2
