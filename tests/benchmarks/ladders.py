"""What the benchmarks of chosen bounds and of chosen limits share: noisy counts, and tables."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.statistics.design import NoisyAnswer

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Generator = np.random.Generator

CHOICE, SUM = Fraction(1, 10), Fraction(9, 10)
"""The epsilon that chooses, and that of the sum."""

FACTORS = (1, 10, 100)
"""How much too wide the outermost bounds and limits are."""


def rung_above(number: float) -> float:
    """The least of 1, 2, 5, 10, and so on that is not below a number."""
    power = 10.0 ** np.floor(np.log10(max(number, 0.01)))
    return float(next(first * power for first in (1, 2, 5, 10) if first * power >= number))


def noisy(counts: Ints, generator: Generator) -> NoisyAnswer:
    """Counts with the noise of a choice; fast, and from a generator with a seed."""
    drawn = generator.geometric(1 - np.exp(-float(CHOICE)), (2, len(counts)))
    return NoisyAnswer(counts + drawn[0] - drawn[1], DiscreteLaplace(1 / CHOICE))


def print_head(title: str, heading: str, sizes: Sequence[int]) -> None:
    """The title of a table, and a heading for each size and factor."""
    print(title)
    print(heading + "".join(f"{size:>{8 * len(FACTORS)},}" for size in sizes))
    print(" " * len(heading) + "".join(f"{factor:>7}x" for factor in FACTORS) * len(sizes))


def print_line(label: str, ratios: Sequence[float]) -> None:
    """The ratios of one shape of data."""
    print(label + "".join(f"{ratio:8.2f}" for ratio in ratios), flush=True)


def print_levels(ratios: Sequence[float]) -> None:
    """The median and other quantiles of all ratios."""
    levels = np.quantile(ratios, [0.5, 0.75, 0.9, 0.95, 1])
    words = zip(("median", "75%", "90%", "95%", "worst"), levels, strict=True)
    print(", ".join(f"{word} {level:.2f}" for word, level in words), end="\n\n")
