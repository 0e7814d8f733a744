"""Mechanisms of the central model: how an answer gets its noise.

`mechanism.py` defines what a mechanism states about itself; open it first. `pure`, `gaussian` and
`objective_perturbation` have those that a spec may name. `calibrated_mechanism.py` calibrates one
to a query and is the only place that opens confidential values. `query_sensitivity` gives it the
sensitivity of a query. `local/` has the mechanisms of the local model.

To add a mechanism, write one file and add one line to `MECHANISMS`.
"""

from __future__ import annotations

from typing import Final

from dpcli.mechanisms.gaussian import Gaussian
from dpcli.mechanisms.mechanism import Mechanism
from dpcli.mechanisms.objective_perturbation import ObjectivePerturbation
from dpcli.mechanisms.pure import Exponential, Geometric, Laplace, PermuteAndFlip

MECHANISMS: Final[tuple[Mechanism, ...]] = (
    Laplace(),
    Gaussian(),
    Geometric(),
    PermuteAndFlip(),
    Exponential(),
    ObjectivePerturbation(),
)
"""Every mechanism that a spec may name.

The first additive mechanism is the default for numbers, the first selection mechanism for choices.
"""
