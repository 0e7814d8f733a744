"""How a question may be answered. One file and one line each, in MECHANISMS."""

from __future__ import annotations

from dpcli.mechanisms.calibration import Mechanism
from dpcli.mechanisms.exponential import Exponential
from dpcli.mechanisms.gaussian import Gaussian
from dpcli.mechanisms.geometric import Geometric
from dpcli.mechanisms.laplace import Laplace
from dpcli.mechanisms.permute_and_flip import PermuteAndFlip

MECHANISMS: tuple[Mechanism, ...] = (
    Laplace(),
    Gaussian(),
    Geometric(),
    PermuteAndFlip(),
    Exponential(),
)
"""Every mechanism that a spec may name; the first of its kind is the default."""
