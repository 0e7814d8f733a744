"""Samples per second of the samplers on one core: `python tests/benchmarks/sampling.py`.

It prints numbers and asserts nothing, because times depend on the machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from dpcli.noise.discrete_gaussian import discrete_gaussian_array, discrete_gaussian_scalar
from dpcli.noise.discrete_laplace import discrete_laplace_array, discrete_laplace_scalar

COUNT, SLOW_COUNT, REPEATS = 1_000_000, 3_000, 5
SCALES = [("10", Fraction(10)), ("1000", Fraction(1000)), ("2^30", Fraction(1 << 30))]


def rate(draw: Callable[[int], object], count: int) -> float:
    """The median number of samples per second of processor time on one core."""
    draw(count // 10)
    times = []
    for _ in range(REPEATS):
        start = process_time()
        draw(count)
        times.append(process_time() - start)
    return count / median(times)


def one_by_one(draw: Callable[[Fraction], int], scale: Fraction, count: int) -> list[int]:
    """`count` samples of a scalar sampler."""
    return [draw(scale) for _ in range(count)]


def opendp_rate(scale: Fraction, make: str) -> float | None:
    """The rate of OpenDP, if it is installed."""
    try:
        dp: Any = import_module("opendp.prelude")
    except ImportError:
        return None
    dp.enable_features("contrib")
    space = (
        dp.vector_domain(dp.atom_domain(T=int)),
        (dp.l1_distance(T=int) if make == "make_laplace" else dp.l2_distance(T=float)),
    )
    measurement = getattr(dp.m, make)(*space, scale=float(scale))
    return rate(lambda count: measurement([0] * count), SLOW_COUNT * 10)


def main() -> None:
    """One line for each distribution and scale."""
    print(f"{'distribution':<14}{'scale':>8}{'array/s':>14}{'scalar/s':>12}{'opendp/s':>12}")
    for name, array, scalar, make in (
        ("laplace", discrete_laplace_array, discrete_laplace_scalar, "make_laplace"),
        ("gaussian", discrete_gaussian_array, discrete_gaussian_scalar, "make_gaussian"),
    ):
        for label, scale in SCALES:
            fast = rate(partial(array, scale), COUNT)
            slow = rate(partial(one_by_one, scalar, scale), SLOW_COUNT)
            other = opendp_rate(scale, make)
            shown = "-" if other is None else f"{other:,.0f}"
            print(f"{name:<14}{label:>8}{fast:>14,.0f}{slow:>12,.0f}{shown:>12}")


if __name__ == "__main__":
    main()
