"""Distributions of noise: a file and a line each, in NOISES."""

from __future__ import annotations

from typing import Final

from dpcli.noise.base import Noise
from dpcli.noise.choice import ExponentialChoice, PermuteAndFlipChoice
from dpcli.noise.gaussian import DiscreteGaussian
from dpcli.noise.laplace import DiscreteLaplace

NOISES: Final[tuple[type[Noise], ...]] = (
    DiscreteLaplace,
    DiscreteGaussian,
    PermuteAndFlipChoice,
    ExponentialChoice,
)
"""Every distribution that mechanisms may be calibrated to."""
