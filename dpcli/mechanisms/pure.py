"""Laplace noise, which needs no delta, also under its other name."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from dpcli.mechanisms.mechanism import AdditiveMechanism, PureMechanism
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import Noise
from dpcli.numeric.exact import short_up
from dpcli.numeric.interval_arithmetic import Interval, exp, sqrt_up
from dpcli.privacy.sensitivity import Sensitivity


def worst_case_rho(sensitivity: Sensitivity, rho: Callable[[Fraction], Fraction]) -> Fraction:
    """An upper bound of the rho of an answer, from the `rho` of a change of one cell.

    `rho` must be concave in the square of the change.
    """
    all_in_one_cell = rho(Fraction(sensitivity.l1))
    if sensitivity.l0 == 1:
        return all_in_one_cell
    equal_change = sqrt_up(Fraction(sensitivity.l2_squared, sensitivity.l0))
    return min(sensitivity.l0 * rho(equal_change), all_in_one_cell)


class Laplace(PureMechanism, AdditiveMechanism):
    """Adds discrete Laplace noise of scale L1 / epsilon to every cell.

    P[noise = k] is proportional to exp(-|k| / scale), over all whole numbers of steps.
    Epsilon, scale and sensitivity are exact rationals; delta is zero.

    Privacy: for neighbors whose answers differ by v, the probabilities of any output have
    the ratio exp((sum |z_i - v_i| - |z_i|) / scale), at most exp(|v|_1 / scale) =
    exp(epsilon) (Dwork, McSherry, Nissim and Smith 2006; on the whole numbers, Ghosh,
    Roughgarden and Sundararajan 2009). Samples are exact (Canonne, Kamath and Steinke
    2020), so the ratio holds as computed.

    Under `composition: zcdp` its rho is its mean loss: for one cell that changes by v, with
    u = v/scale and x = 1/scale, u - (1 - exp(-u)) x/sinh(x) (Harrison and Manurangsi 2026).
    The reason: around the middle of the two distributions the loss is symmetric, and its
    moments are the sum C cosh(v s) + cosh((v-2) s) + cosh((v-4) s) + ..., whose zeros are
    all imaginary because C >= 1; so their logarithm is concave in s^2, and lies below the
    tangent, which is the claim. If m cells change, the sum of their rhos, which is concave
    in the squares of v, is at most m times that of v = L2/sqrt(m), and at most that of v =
    L1.

    >>> noise("laplace", change=2, epsilon="1/2")
    'scale 4, epsilon 0.5'
    """

    name = "laplace"
    distribution = DiscreteLaplace

    def zcdp_rho(self, noise: Noise, sensitivity: Sensitivity) -> Fraction:
        """The mean loss, for the worst change of the cells."""
        return worst_case_rho(sensitivity, lambda change: _mean_loss(change, noise.scale))


class Geometric(Laplace):
    """Adds two-sided geometric noise: the same as `laplace`, under its other name.

    P[noise = k] = (1 - a)/(1 + a) a^|k| with a = exp(-epsilon / L1), over all whole numbers
    of steps; that is discrete Laplace noise of scale L1 / epsilon.

    Privacy: as for `laplace`: the probabilities of an output under neighbors have a ratio
    of at most a^-L1 = exp(epsilon) (Ghosh, Roughgarden and Sundararajan 2009, who show that
    no other noise is better for a single count).

    >>> noise("geometric", change=1, epsilon="1")
    'scale 1, epsilon 1'
    """

    name = "geometric"


@lru_cache(maxsize=1024)
def _mean_loss(shift: Fraction, scale: Fraction) -> Fraction:
    """u - (1 - exp(-u)) x/sinh(x) for u = shift/scale and x = 1/scale, rounded up."""
    loss, step = shift / scale, 1 / scale
    if loss <= 1 and step <= Fraction(1, 8):
        return short_up(_small_mean_loss(loss, step))
    fine = Interval.of(step)
    lattice = fine * 2 / (exp(fine) - exp(fine * -1))
    return short_up(((exp(Interval.of(-loss)) - 1) * lattice + loss).high)


def _small_mean_loss(loss: Fraction, step: Fraction) -> Fraction:
    """`_mean_loss` of small numbers, by series in fixed point: plans need many.

    s + (u - s) (1 - x/sinh(x)) for the sum s = u - 1 + exp(-u), where x/sinh(x) is at least
    1 - x^2/6 + 7 x^4/360 - 31 x^6/15120.
    """
    scale = 80 + 2 * (loss.denominator.bit_length() - loss.numerator.bit_length() + 1)
    up = -((-loss.numerator << scale) // loss.denominator)
    term, total, n = up, 0, 1
    while term:
        n += 1
        term = (term * up >> scale) // n
        total += term if n % 2 == 0 else -term
    # The error of each term is below n + 1 units, and the rest of the series below one unit.
    error, bits = n * n, scale + 64
    square = -(-(step.numerator**2 << bits) // step.denominator**2)
    lattice = square // 6 + 1 - 7 * (square * square >> bits) // 360
    lattice += 31 * (square * square * square >> 2 * bits) // 15120 + 2
    correction = lattice * (up - total + error) >> bits
    return Fraction(total + error + correction + 1, 1 << scale)
