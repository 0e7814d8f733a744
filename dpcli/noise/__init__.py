"""Noise: exact samples, tails and widths of each distribution.

`distribution.py` defines `Noise`, what every distribution states; open it first. `discrete_laplace`
and `discrete_gaussian` are added to numbers, `candidate_choice` chooses among candidates by their
scores, and `k_norm` perturbs objectives. `bernoulli` has the exact coins that all samplers use, and
`entropy` the only source of randomness: the operating system. For intervals, `sums` has the widths
of sums of noises, and `laplace_sums` those of continuous Laplace noises.

To add a distribution, write one file and add one line to `NOISES`.
"""

from __future__ import annotations

from typing import Final

from dpcli.noise.distribution import Noise
from dpcli.problems.registry import Classes

NOISES: Final[Classes[Noise]] = Classes(
    "dpcli.noise",
    "discrete_laplace:DiscreteLaplace",
    "discrete_gaussian:DiscreteGaussian",
    "vector_noise:VectorNoise",
    "candidate_choice:PermuteAndFlipChoice",
    "candidate_choice:ExponentialChoice",
    "k_norm:KNormNoise",
)
"""Every distribution that a calibrated mechanism may use."""
