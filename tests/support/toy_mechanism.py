"""A mechanism of the tests alone, in one file; `toy_registry` has its registry line."""

from __future__ import annotations

from fractions import Fraction
from math import exp

from dpcli.mechanisms.mechanism import AdditiveMechanism, PureMechanism
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import Noise
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.privacy.zcdp_conversion import pure_rho


class TwoLaplaces(Noise):
    """The sum of two independent discrete Laplace draws of the same scale."""

    kind = "two_laplaces"

    def sample(self, count: int, *, many: bool = False) -> list[int]:
        """Sums of two draws."""
        draws = list(map(int, DiscreteLaplace(self.scale).sample(2 * count)))
        return [one + other for one, other in zip(draws[::2], draws[1::2], strict=True)]

    def positive_tail(self, value: int) -> float:
        """From P[k] = ((1 - q)/(1 + q))^2 q^|k| (|k| + (1 + q^2)/(1 - q^2))."""
        q = exp(-1 / float(self.scale))
        lone = (1 + q * q) / (1 - q * q)
        rest = value / (1 - q) + q / (1 - q) ** 2 + lone / (1 - q)
        return ((1 - q) / (1 + q)) ** 2 * q**value * rest

    def tail_bound(self, value: int) -> Fraction:
        """One of two draws must reach half of it."""
        return 2 * DiscreteLaplace(self.scale).tail_bound(-(-value // 2))

    @property
    def variance(self) -> Fraction:
        """Twice that of one."""
        return 2 * DiscreteLaplace(self.scale).variance


class TwoLaplacesMechanism(PureMechanism, AdditiveMechanism):
    """Adds two discrete Laplace draws of scale L1 / epsilon to every cell.

    Privacy: the answer with one of them is epsilon-private, and the other is post-processing.

    >>> noise("two_laplaces", change=1, epsilon="1/2")
    'scale 2, epsilon 0.5'
    """

    name = "two_laplaces"
    distribution = TwoLaplaces

    def zcdp_rho(self, noise: Noise, sensitivity: Sensitivity) -> Fraction:
        """That of any pure answer."""
        return pure_rho(sensitivity.l1 / noise.scale)
