"""Local randomizers: how one record can respond for itself, one line each."""

from __future__ import annotations

from typing import Final

from dpcli.mechanisms.local.additive import AdditiveRandomizer, LocalGaussian, LocalLaplace
from dpcli.mechanisms.local.local_mechanism import CalibratedRandomizer, LocalMechanism
from dpcli.mechanisms.local.matrix import Matrix, MatrixRandomizer
from dpcli.mechanisms.local.randomized_response import (
    GeneralizedRandomizedResponse,
    KaryRandomizer,
    RandomizedResponse,
)
from dpcli.mechanisms.local.unary_encoding import UnaryEncoding, UnaryEncodingRandomizer

LOCAL_MECHANISMS: tuple[LocalMechanism, ...] = (
    RandomizedResponse(),
    GeneralizedRandomizedResponse(),
    UnaryEncoding(),
    LocalLaplace(),
    LocalGaussian(),
    Matrix(),
)
"""Every local randomizer; adding one is one class and one line here."""

CALIBRATED_RANDOMIZERS: Final[tuple[type[CalibratedRandomizer], ...]] = (
    KaryRandomizer,
    UnaryEncodingRandomizer,
    AdditiveRandomizer,
    MatrixRandomizer,
)
"""Every kind of randomizer with its probabilities settled: no other one opens a record's cells."""
