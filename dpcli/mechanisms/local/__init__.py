"""Local randomizers: how one record can respond for itself, one line each."""

from __future__ import annotations

from typing import Final

from dpcli.mechanisms.local.additive import Added, Gaussian, Laplace
from dpcli.mechanisms.local.matrix import Matrix, Tabular
from dpcli.mechanisms.local.pure_protocols import (
    Bits,
    GeneralizedRandomizedResponse,
    RandomizedResponse,
    Symmetric,
    UnaryEncoding,
)
from dpcli.mechanisms.local.randomizer import Channel, Randomizer

RANDOMIZERS: tuple[Randomizer, ...] = (
    RandomizedResponse(),
    GeneralizedRandomizedResponse(),
    UnaryEncoding(),
    Laplace(),
    Gaussian(),
    Matrix(),
)
"""Every local randomizer; adding one is one class and one line here."""

CHANNELS: Final[tuple[type[Channel], ...]] = (Symmetric, Bits, Added, Tabular)
"""Every kind of randomizer with its probabilities settled: no other one opens a record's cells."""
