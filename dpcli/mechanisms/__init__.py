"""How a question may be answered. One file and one line each, in MECHANISMS."""

from __future__ import annotations

from dpcli.mechanisms.calibration import Mechanism
from dpcli.mechanisms.gaussian import Gaussian
from dpcli.mechanisms.laplace import Geometric, Laplace
from dpcli.mechanisms.selection import Exponential, PermuteAndFlip

MECHANISMS: tuple[Mechanism, ...] = (
    Laplace(),
    Gaussian(),
    Geometric(),
    PermuteAndFlip(),
    Exponential(),
)
"""Every mechanism that a spec may name; the first of its kind is the default."""
