"""Mechanisms of the local model: how each record responds for itself.

`local_mechanism.py` defines `LocalMechanism`, which a spec names, and `CalibratedRandomizer`, the
same with its probabilities fixed; open it first. There is one file for each kind:
`randomized_response`, `unary_encoding`, `additive` (Laplace and Gaussian noise) and `matrix`.

To add a mechanism, write one file and add one line to each of the two registries below.
"""

from __future__ import annotations

from typing import Final

from dpcli.mechanisms.local.additive import AdditiveRandomizer, LocalGaussian, LocalLaplace
from dpcli.mechanisms.local.local_mechanism import CalibratedRandomizer, LocalMechanism
from dpcli.mechanisms.local.matrix import Matrix, MatrixRandomizer
from dpcli.mechanisms.local.pure_protocols import (
    GeneralizedRandomizedResponse,
    KaryRandomizer,
    RandomizedResponse,
    UnaryEncoding,
    UnaryEncodingRandomizer,
)

LOCAL_MECHANISMS: tuple[LocalMechanism, ...] = (
    RandomizedResponse(),
    GeneralizedRandomizedResponse(),
    UnaryEncoding(),
    LocalLaplace(),
    LocalGaussian(),
    Matrix(),
)
"""Every local mechanism that a spec may name."""

CALIBRATED_RANDOMIZERS: Final[tuple[type[CalibratedRandomizer], ...]] = (
    KaryRandomizer,
    UnaryEncodingRandomizer,
    AdditiveRandomizer,
    MatrixRandomizer,
)
"""Every kind of calibrated randomizer; no other kind opens the cells of a record."""
