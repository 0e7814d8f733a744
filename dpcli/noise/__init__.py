"""Distributions of noise: a file and a line each, in NOISES."""

from __future__ import annotations

from typing import Final

from dpcli.noise.discrete_gaussian import DiscreteGaussian
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import Noise
from dpcli.noise.selection import ExponentialChoice, PermuteAndFlipChoice

NOISES: Final[tuple[type[Noise], ...]] = (
    DiscreteLaplace,
    DiscreteGaussian,
    PermuteAndFlipChoice,
    ExponentialChoice,
)
"""Every distribution that mechanisms may be calibrated to."""
