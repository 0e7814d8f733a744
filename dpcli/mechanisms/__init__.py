"""How a question may be answered. One file and one line each, in MECHANISMS."""

from __future__ import annotations

from dpcli.mechanisms.base import Mechanism
from dpcli.mechanisms.gaussian import Gaussian
from dpcli.mechanisms.laplace import Laplace

MECHANISMS: tuple[Mechanism, ...] = (
    Laplace(),
    Gaussian(),
)
"""Every mechanism that a spec may name; the first is the default."""
