"""Gaussian noise on every record's number."""

from __future__ import annotations

from dpcli.mechanisms.gaussian import Gaussian as GaussianMechanism
from dpcli.randomizers.added import added
from dpcli.randomizers.base import Asked, Channel, Randomizer


class Gaussian(Randomizer):
    """Adds discrete Gaussian noise to every record's number: epsilon and delta.

    The number is rounded to the grid and clamped to its bounds first; the noise is
    calibrated exactly for their width, and needs a `delta` far below one divided by the
    number of records: each of them spends it.

    Privacy: any two records' numbers are at most the width apart, and the discrete Gaussian
    hides a change of that size up to (epsilon, delta) (Canonne, Kamath and Steinke 2020,
    theorem 7). Laplace noise is smaller wherever a single number is all that a record
    reports; Gaussian noise composes better over many columns under `composition: zcdp`.

    The mean of n responses estimates the mean of the clamped numbers without bias; its
    variance is that of the noise divided by n.
    """

    name = "gaussian"
    numeric = True
    needs_delta = True

    def channel(self, asked: Asked) -> Channel:
        """Noise for the width of the column."""
        return added(asked, GaussianMechanism())
