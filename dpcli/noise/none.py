"""No noise, for what no neighbor can change."""

from __future__ import annotations

from fractions import Fraction
from typing import final

from dpcli.noise.distribution import Noise
from dpcli.noise.sampling import Draws


@final
class NoNoise(Noise):
    """Always zero, of scale zero: for a constant that no neighbor can change."""

    kind = "none"

    def sample(self, count: int, *, many: bool = False) -> Draws:  # noqa: ARG002 - they are few
        """Zeros."""
        return [0] * count

    def tail(self, least: int) -> float:  # noqa: ARG002 - there is none
        """Zero."""
        return 0.0


NO_NOISE = NoNoise(Fraction(0))
"""No noise, for an answer of sensitivity zero: no neighbor can change it."""
