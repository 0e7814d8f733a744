"""Laplace noise on every record's number."""

from __future__ import annotations

from dpcli.mechanisms.laplace import Laplace as LaplaceMechanism
from dpcli.randomizers.added import added
from dpcli.randomizers.base import Asked, Channel, Randomizer


class Laplace(Randomizer):
    """Adds discrete Laplace noise of scale width / epsilon to every record's number.

    The number is rounded to the grid and clamped to its bounds first; the width is the
    upper bound minus the lower bound.

    Privacy: any two records' numbers are at most the width apart, so the probabilities of a
    response have a ratio of at most exp(width / scale) = e^epsilon (Duchi, Jordan and
    Wainwright 2013; the mechanism: Dwork, McSherry, Nissim and Smith 2006).

    The mean of n responses estimates the mean of the clamped numbers without bias; its
    variance is that of the noise, about 2 scale^2, divided by n.
    """

    name = "laplace"
    numeric = True

    def channel(self, asked: Asked) -> Channel:
        """Noise for the width of the column."""
        return added(asked, LaplaceMechanism())
