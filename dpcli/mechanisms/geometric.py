"""The geometric mechanism: the field's other name for discrete Laplace noise."""

from __future__ import annotations

from dpcli.mechanisms.laplace import Laplace


class Geometric(Laplace):
    """Adds two-sided geometric noise: the same as `laplace`, under its other name.

    P[noise = k] = (1 - a)/(1 + a) a^|k| with a = exp(-epsilon / L1), over all whole numbers
    of steps; that is discrete Laplace noise of scale L1 / epsilon.

    Privacy: as for `laplace`: the probabilities of an output under neighbors have a ratio
    of at most a^-L1 = exp(epsilon) (Ghosh, Roughgarden and Sundararajan 2009, who show that
    no other noise is better for a single count).
    """

    name = "geometric"
