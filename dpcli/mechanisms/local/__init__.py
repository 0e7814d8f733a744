"""Mechanisms of the local model: how each record responds for itself.

`local_mechanism.py` defines `LocalMechanism`, which a spec names, and `CalibratedRandomizer`, which
has fixed probabilities; open this file first. `labels` has the mechanisms for labels, and
`additive` the mechanisms for numbers (Laplace and Gaussian noise).

To add a mechanism, write one file and add one line to each of the two registries below.
"""

from __future__ import annotations

from typing import Final

from dpcli.mechanisms.local.additive import AdditiveRandomizer, LocalGaussian, LocalLaplace
from dpcli.mechanisms.local.labels import (
    GeneralizedRandomizedResponse,
    KaryRandomizer,
    Matrix,
    MatrixRandomizer,
    RandomizedResponse,
    UnaryEncoding,
    UnaryEncodingRandomizer,
)
from dpcli.mechanisms.local.local_mechanism import CalibratedRandomizer, LocalMechanism

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
