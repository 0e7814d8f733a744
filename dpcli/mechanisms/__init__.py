"""How a question may be answered. One line each, in MECHANISMS."""

from __future__ import annotations

from typing import Final

from dpcli.mechanisms.gaussian import Gaussian
from dpcli.mechanisms.laplace import Geometric, Laplace
from dpcli.mechanisms.mechanism import Mechanism
from dpcli.mechanisms.selection import Exponential, PermuteAndFlip

MECHANISMS: Final[tuple[Mechanism, ...]] = (
    Laplace(),
    Gaussian(),
    Geometric(),
    PermuteAndFlip(),
    Exponential(),
)
"""Every mechanism that a spec may name; the first of its kind is the default."""
