"""Discrete Gaussian noise: (epsilon, delta) from the L2 sensitivity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import count
from math import erfc, exp, sqrt

from dpcli.mechanisms.mechanism import AdditiveMechanism, CalibrationError
from dpcli.noise.discrete_gaussian import DiscreteGaussian
from dpcli.noise.distribution import Noise
from dpcli.numeric.exact import short_up
from dpcli.numeric.interval_arithmetic import log_up, round_up, sqrt_up
from dpcli.numeric.search import search_least
from dpcli.privacy.dominating_pairs import DominatingPair
from dpcli.privacy.gaussian_delta import cells_delta
from dpcli.privacy.loss import Loss
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.privacy.zcdp_conversion import float_log, zcdp_delta, zcdp_epsilon

SHORT = 30
"""Significant bits of a published sigma: rounding up costs less than 2^-29 of it."""

CLOSE = 2.0**-16
"""Relative distance from the least sigma at which the search stops."""


class Gaussian(AdditiveMechanism):
    """Adds discrete Gaussian noise of standard deviation about sigma to every cell.

    P[noise = k] is proportional to exp(-k^2 / (2 sigma^2)), over all whole numbers of
    steps. Sigma is an exact rational; delta is proven and rounded up.

    calibration `exact` (any epsilon): a sigma whose delta is within the target, while one
    smaller by 2^-16 of it is not. If one cell changes, by at most D, that delta is

        P[Y > epsilon sigma^2/D - D/2] - exp(epsilon) P[Y > epsilon sigma^2/D + D/2]

    with Y the discrete noise itself, not its continuous counterpart, for which slightly too
    little noise would be enough (Canonne, Kamath and Steinke 2020, theorem 7; the
    continuous condition is that of Balle and Wang 2018). If more cells change, the smaller
    of two upper bounds: all L0 cells change by Linf, where only the sum of the noises
    matters; or rho = L2^2/(2 sigma^2), and for every alpha > 1

        delta <= exp((alpha - 1)(alpha rho - epsilon))
            (1 - 1/alpha)^alpha / (alpha - 1).

    calibration `classic` (epsilon at most 1): sigma = L2 sqrt(2 ln(1.25/delta))/epsilon
    (Dwork and Roth 2014, theorem A.1). Above epsilon 1 it gives too little noise, and is
    refused. It adds more noise than `exact` needs.

    Several answers of one entry are protected jointly: their rhos add up, each in
    proportion to its share, and the second bound above holds for the sum.

    Privacy: the loss of an output has the shape of a normal distribution, so it exceeds
    epsilon only in a tail of the noise; delta is what that tail can reveal. Delta is
    recomputed from sigma with directed rounding, whichever calibration chose it, and
    samples are exact (Canonne, Kamath and Steinke 2020), so it holds as computed. Under
    `composition: zcdp` its rho is L2^2/(2 sigma^2) (the same, theorem 4), and `rho:` may be
    given instead of epsilon.
    """

    name = "gaussian"
    distribution = DiscreteGaussian
    needs_delta = True
    calibrations = ("exact", "classic")

    def calibrate(
        self,
        changes: Sequence[Sensitivity],
        target: Loss,
        shares: Sequence[Fraction],
        calibration: str = "exact",
    ) -> list[Noise]:
        """Sigma by the named formula, rounded up to a short rational.

        Of several answers L2 s / sqrt(share), for the s that L2 = 1 needs by rho alone.
        """
        _require_delta(target.delta)
        if len(changes) == 1:
            square = changes[0].l2_squared
            if calibration == "classic":
                return [DiscreteGaussian(_classic(square, target))]

            def delta(sigma: Fraction) -> Fraction:
                return self.loss([DiscreteGaussian(sigma)], changes, target.epsilon).delta

            return [DiscreteGaussian(_least(delta, target, sqrt(square)))]
        scale = (
            _classic(1, target)
            if calibration == "classic"
            else _least(lambda sigma: zcdp_delta(1 / (2 * sigma**2), target.epsilon), target, 1.0)
        )
        weights = (one.l2_squared / share for one, share in zip(changes, shares, strict=True))
        return [DiscreteGaussian(round_up(scale * sqrt_up(weight), SHORT)) for weight in weights]

    def loss(
        self, noises: Sequence[Noise], changes: Sequence[Sensitivity], epsilon: Fraction
    ) -> Loss:
        """`epsilon` itself, with the least delta that can be proven for it.

        Of several answers by the sum of all rhos.
        """
        delta, each = Fraction(1), list(zip(noises, changes, strict=True))
        if sum(one.l0 for one in changes) > 1:
            rho = sum((one.l2_squared / (2 * noise.scale**2) for noise, one in each), Fraction(0))
            delta = zcdp_delta(rho, epsilon)
        if len(each) == 1:
            ((noise, one),) = each
            delta = min(delta, cells_delta(noise.scale, one.l0, one.linf, epsilon))
        return Loss(epsilon, delta)

    def losses_at_delta(
        self, noises: Sequence[Noise], changes: Sequence[Sensitivity], delta: Fraction
    ) -> list[Loss]:
        """Epsilon of all rhos at `delta`, in parts as large as the rhos."""
        _require_delta(delta)
        rhos = [self.zcdp_rho(noise, one) for noise, one in zip(noises, changes, strict=True)]
        rho = sum(rhos, start=Fraction(0))
        epsilon = zcdp_epsilon(rho, delta)
        return [Loss(epsilon * part / rho, delta * part / rho) for part in rhos]

    def zcdp_rho(self, noise: Noise, sensitivity: Sensitivity) -> Fraction:
        """L2^2/(2 sigma^2), exactly if that is short, else rounded up."""
        rho = sensitivity.l2_squared / (2 * noise.scale**2)
        return rho if rho.denominator < 10**12 else short_up(rho)

    def dominating_pairs(
        self, noise: Noise, sensitivity: Sensitivity
    ) -> tuple[DominatingPair, ...]:
        """The noise, moved by the most in every cell that can change."""
        return (noise.dominating_pair(noise.scale, sensitivity.linf, sensitivity.l0),)


def _require_delta(delta: Fraction) -> None:
    if delta <= 0:
        raise CalibrationError(
            "`gaussian` needs a delta above zero",
            "add `delta: 1e-6`, or more to `privacy: budget:` for shares of it; or use "
            "`mechanism: laplace`, which needs none",
        )


def _classic(square: int, target: Loss) -> Fraction:
    if target.epsilon > 1:
        raise CalibrationError(
            "the classic calibration is valid for epsilon up to 1 only", "use the exact calibration"
        )
    spread = 2 * log_up(Fraction(5, 4) / target.delta) * square
    return round_up(sqrt_up(spread) / target.epsilon, SHORT)


def _excess(delta: Fraction, allowed: Fraction) -> float:
    """Above zero, by the logarithm of their ratio, if and only if delta is too large."""
    size = float_log(delta / allowed) if delta > 0 else -1e3
    # A float can lose the sign of a tiny difference; the comparison cannot.
    return max(size, 1e-15) if delta > allowed else min(size, 0.0)


def _least(delta: Callable[[Fraction], Fraction], target: Loss, norm: float) -> Fraction:
    """A short sigma whose delta meets `target`, at most about `CLOSE` above one whose does not.

    From a bracket around the sigma of continuous noise, by the secant in logarithms; every sigma
    that is returned was tried itself, so neither floats nor rounding can mislead.
    """

    def excess(sigma: float) -> float:
        return _excess(delta(_short(sigma)), target.delta)

    low = high = norm * _continuous_sigma(float(target.epsilon), float(target.delta))
    width = CLOSE * 8
    low_excess, high_excess = 1.0, -1.0
    while (high_excess := excess(high)) > 0:
        low, low_excess = high, high_excess
        high, width = high * (1 + width), width * 4
        if width > 1e9:
            raise CalibrationError(
                "no sigma was found that meets the target", "use a larger epsilon or delta"
            )
    while low >= high:
        tried = low * (1 - width / (1 + width))
        found = excess(tried)
        if found > 0:
            low, low_excess = tried, found
            break
        low = high = tried
        high_excess, width = found, width * 4
        if high < 1e-9:
            return _short(high)
    for step in count():
        if high <= low * (1 + CLOSE):
            break
        # A secant can creep where delta bends, so each third step halves.
        share = low_excess / (low_excess - high_excess) if step % 3 < 2 else 0.5
        tried = low * (high / low) ** min(max(share, 0.02), 0.98)
        # Step past the estimate, towards the farther end, so that both ends close in.
        tried *= 1 + CLOSE / 4 if high - tried > tried - low else 1 - CLOSE / 4
        found = excess(tried)
        if found > 0:
            low, low_excess = tried, found
        else:
            high, high_excess = tried, found
    return _short(high)


def _short(sigma: float) -> Fraction:
    return round_up(Fraction(sigma), SHORT)


def _continuous_sigma(epsilon: float, delta: float) -> float:
    """About the least sigma of continuous noise at L2 = 1 (Balle and Wang 2018)."""

    def outside(sigma: float) -> float:
        near = erfc((epsilon * sigma - 0.5 / sigma) / sqrt(2)) / 2
        far = erfc((epsilon * sigma + 0.5 / sigma) / sqrt(2)) / 2
        return near - (exp(epsilon) * far if epsilon < 500 else 0.0)

    bits = search_least(
        lambda power: outside(2.0**power) <= delta,
        -30.0,
        100.0,
        lambda low, high: high - low < 2.0**-52,
    )
    return float(2.0**bits)
