"""Local randomizers: how one record can respond for itself, one line each."""

from __future__ import annotations

from dpcli.randomizers.additive import Gaussian, Laplace
from dpcli.randomizers.base import Randomizer
from dpcli.randomizers.matrix import Matrix
from dpcli.randomizers.pure_protocols import (
    GeneralizedRandomizedResponse,
    RandomizedResponse,
    UnaryEncoding,
)

RANDOMIZERS: tuple[Randomizer, ...] = (
    RandomizedResponse(),
    GeneralizedRandomizedResponse(),
    UnaryEncoding(),
    Laplace(),
    Gaussian(),
    Matrix(),
)
"""Every local randomizer; adding one is one class and one line here."""
