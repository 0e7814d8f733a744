"""The Gaussian mechanism: (epsilon, delta) from the L2 sensitivity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import count
from math import erfc, exp, isqrt, sqrt

from dpcli.mechanisms.mechanism import AdditiveMechanism, Answers, CalibrationError, DominatingPairs
from dpcli.noise.discrete_gaussian import DiscreteGaussian
from dpcli.noise.distribution import Noise
from dpcli.numeric.exact import short_up
from dpcli.numeric.interval_arithmetic import log_up, round_down, round_up, sqrt_down, sqrt_up
from dpcli.numeric.search import search_min
from dpcli.privacy.deltas import ChangedCells, cells_delta, joint_delta, rounding_variance
from dpcli.privacy.loss import ROUNDING_BITS, Loss, RoundedGaussianPair
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.privacy.zcdp_conversion import float_log, zcdp_delta, zcdp_epsilon

SIGMA_BITS = 30
"""Significant bits of a published sigma: rounding up adds less than 2^-29 of it."""

SHIFT_BITS = 30
"""Bits after the point of an L2 sensitivity, which is rounded up."""

TOLERANCE = 2.0**-16
"""Relative distance from the least sigma at which the search stops."""


class Gaussian(AdditiveMechanism):
    """Adds discrete Gaussian noise of standard deviation about sigma to every cell.

    P[noise = k] is proportional to exp(-k^2 / (2 sigma^2)), over all whole numbers of
    steps. Sigma is an exact rational; delta is proven and rounded up.

    calibration `exact` (any epsilon): a sigma whose delta is within the target, while that of
    a sigma smaller by 2^-16 of it is not. If one cell changes, by at most D, that delta is

        P[Y > epsilon sigma^2/D - D/2] - exp(epsilon) P[Y > epsilon sigma^2/D + D/2]

    with Y the discrete noise itself (Canonne, Kamath and Steinke 2020, theorem 7). The
    condition for continuous noise (Balle and Wang 2018) would accept slightly too little
    noise. If more cells change, delta is the smaller of two upper bounds: all L0 cells
    change by Linf, where only the sum of the noises matters; or rho = L2^2/(2 sigma^2), and
    for every alpha > 1

        delta <= exp((alpha - 1)(alpha rho - epsilon))
            (1 - 1/alpha)^alpha / (alpha - 1).

    calibration `classic` (epsilon at most 1): sigma = L2 sqrt(2 ln(1.25/delta))/epsilon
    (Dwork and Roth 2014, theorem A.1). Above epsilon 1 it gives too little noise, and is
    refused. It adds more noise than `exact` needs.

    Several answers of one entry are protected jointly: the squares of L2/sigma are in
    proportion to the weights, and the last two bounds hold for their sum.

    Privacy: the loss of an output has the shape of a normal distribution, so it exceeds
    epsilon only in a tail of the noise; delta is what that tail can reveal. Delta is
    recomputed from sigma with directed rounding, whichever calibration chose it, and
    samples are exact (Canonne, Kamath and Steinke 2020), so it holds as computed. Under
    `composition: zcdp` its rho is L2^2/(2 sigma^2) (the same, theorem 4), and `rho:` may be
    given instead of epsilon.

    >>> noise("gaussian", change=1, epsilon="1", delta="1e-6")
    'scale 4.2308, epsilon 1, delta 1e-06'
    """

    name = "gaussian"
    distribution = DiscreteGaussian
    needs_delta = True
    calibrations = ("exact", "classic")

    def calibrate(
        self,
        sensitivities: Sequence[Sensitivity],
        target: Loss,
        weights: Sequence[Fraction],
        calibration: str = "exact",
    ) -> list[Noise]:
        """Noise with a sigma by the named formula, rounded up to a short rational.

        For several answers, sigma is s L2 / sqrt(weight), with one s for all of them. Raises
        CalibrationError without a delta, for `classic` above epsilon 1, or if no sigma is found.
        """
        _require_delta(target.delta)
        weighted = zip(sensitivities, weights, strict=True)
        norms = [sqrt_up(sensitivity.l2_squared / weight) for sensitivity, weight in weighted]

        def noises(scale: Fraction) -> list[Noise]:
            return [DiscreteGaussian(round_up(scale * norm, SIGMA_BITS)) for norm in norms]

        def loss(scale: Fraction) -> Loss:
            answers = [*zip(noises(scale), sensitivities, strict=True)]
            return self.loss(answers, target.epsilon)

        return noises(_classic(target) if calibration == "classic" else _min_scale(loss, target))

    def loss(self, answers: Answers, epsilon: Fraction) -> Loss:
        """The loss of all answers at `epsilon`: the least proven delta, rounded up."""
        delta = Fraction(1)
        if sum(sensitivity.l0 for _, sensitivity in answers) > 1:
            rhos = (sensitivity.l2_squared / (2 * noise.scale**2) for noise, sensitivity in answers)
            delta = zcdp_delta(sum(rhos, start=Fraction(0)), epsilon)
            changed = [
                ChangedCells(noise.scale, sensitivity.l0, sensitivity.l2_squared)
                for noise, sensitivity in answers
            ]
            delta = min(delta, joint_delta(changed, epsilon))
        if len(answers) == 1:
            ((noise, sensitivity),) = answers
            delta = min(delta, cells_delta(noise.scale, sensitivity.l0, sensitivity.linf, epsilon))
        return Loss(epsilon, delta)

    def losses_at_delta(self, answers: Answers, delta: Fraction) -> list[Loss]:
        """The epsilon and the delta of all answers, divided in proportion to their rhos.

        Raises CalibrationError without a delta.
        """
        _require_delta(delta)
        rhos = [self.zcdp_rho(noise, sensitivity) for noise, sensitivity in answers]
        rho = sum(rhos, start=Fraction(0))
        epsilon = zcdp_epsilon(rho, delta)
        return [Loss(epsilon * part / rho, delta * part / rho) for part in rhos]

    def least_loss(self, noise: Noise, sensitivity: Sensitivity, delta: Fraction) -> Loss:
        """The loss of continuous noise, raised until it is proven; at most that by rho."""
        bound = super().least_loss(noise, sensitivity, delta)
        shift = float(sqrt_up(Fraction(sensitivity.l2_squared)) / noise.scale)
        near = Fraction(_continuous_epsilon(shift, float(delta)))
        for raised in (Fraction(1, 1 << bits) for bits in range(12, 4, -2)):
            tried = self.loss([(noise, sensitivity)], short_up(near * (1 + raised)))
            if tried.epsilon >= bound.epsilon:
                break
            if tried.delta <= delta:
                return Loss(tried.epsilon, delta)
        return bound

    def zcdp_rho(self, noise: Noise, sensitivity: Sensitivity) -> Fraction:
        """L2^2/(2 sigma^2), exact if its denominator is small, otherwise rounded up."""
        rho = sensitivity.l2_squared / (2 * noise.scale**2)
        return rho if rho.denominator < 10**12 else short_up(rho)

    def dominating_pairs(self, noise: Noise, sensitivity: Sensitivity) -> DominatingPairs:
        """The noise shifted by `linf` in each of `l0` cells, or on the line by L2.

        The weaker pair is taken: noise on the line has a slightly smaller variance, but L2 can be
        much less than that of `l0` cells that all change by `linf`.
        """
        variance = noise.scale**2 - rounding_variance(sensitivity.l0, ROUNDING_BITS)
        all_cells = sensitivity.l0 * sensitivity.linf**2
        if sensitivity.l2_squared * noise.scale**2 >= all_cells * variance:
            return (noise.dominating_pair(noise.scale, sensitivity.linf, sensitivity.l0),)
        shift = isqrt((sensitivity.l2_squared << 2 * SHIFT_BITS) - 1) + 1
        return (RoundedGaussianPair(round_down(sqrt_down(variance) * 2**SHIFT_BITS, 64), shift),)


def _require_delta(delta: Fraction) -> None:
    if delta <= 0:
        raise CalibrationError(
            "`gaussian` needs a delta above zero",
            "add `delta: 1e-6`, or more to `privacy: budget:` for shares of it; or use "
            "`mechanism: laplace`, which needs none",
        )


def _classic(target: Loss) -> Fraction:
    """The sigma of the classic formula for L2 = 1; CalibrationError above epsilon 1."""
    if target.epsilon > 1:
        raise CalibrationError(
            "the classic calibration is valid for epsilon up to 1 only", "use the exact calibration"
        )
    spread = 2 * log_up(Fraction(5, 4) / target.delta)
    return round_up(sqrt_up(spread) / target.epsilon, SIGMA_BITS)


def _excess(delta: Fraction, allowed: Fraction) -> float:
    """The logarithm of `delta` / `allowed`; positive exactly if `delta` is greater."""
    size = float_log(delta / allowed) if delta > 0 else -1e3
    # A float can lose the sign of a tiny difference; the comparison cannot.
    return max(size, 1e-15) if delta > allowed else min(size, 0.0)


def _min_scale(loss: Callable[[Fraction], Loss], target: Loss) -> Fraction:
    """A short scale whose loss meets `target`; one smaller by `TOLERANCE` does not.

    The search starts at the sigma of continuous noise for L2 = 1, and uses the secant method in
    logarithms. The loss of the result was computed for that very scale, so neither floats nor
    rounding can make it wrong. Raises CalibrationError if no scale was found.
    """

    def excess(scale: float) -> float:
        return _excess(loss(_short(scale)).delta, target.delta)

    low = high = _continuous_sigma(float(target.epsilon), float(target.delta))
    width = TOLERANCE * 8
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
        tried_excess = excess(tried)
        if tried_excess > 0:
            low, low_excess = tried, tried_excess
            break
        low = high = tried
        high_excess, width = tried_excess, width * 4
        if high < 1e-9:
            return _short(high)
    for step in count():
        if high <= low * (1 + TOLERANCE):
            break
        # The secant converges slowly where delta bends, so each third step is a bisection.
        fraction = low_excess / (low_excess - high_excess) if step % 3 < 2 else 0.5
        tried = low * (high / low) ** min(max(fraction, 0.02), 0.98)
        # Step past the estimate, to the farther end, so that both ends move.
        tried *= 1 + TOLERANCE / 4 if high - tried > tried - low else 1 - TOLERANCE / 4
        tried_excess = excess(tried)
        if tried_excess > 0:
            low, low_excess = tried, tried_excess
        else:
            high, high_excess = tried, tried_excess
    return _short(high)


def _short(sigma: float) -> Fraction:
    return round_up(Fraction(sigma), SIGMA_BITS)


def _continuous_delta(shift: float, epsilon: float) -> float:
    """The delta at epsilon of normal noise that is shifted by some deviations."""
    near = erfc((epsilon / shift - shift / 2) / sqrt(2)) / 2
    far = erfc((epsilon / shift + shift / 2) / sqrt(2)) / 2
    return near - (exp(epsilon) * far if epsilon < 500 else 0.0)


def _continuous_epsilon(shift: float, delta: float) -> float:
    """About the least epsilon of continuous noise at delta (Balle and Wang 2018)."""
    return search_min(
        lambda epsilon: _continuous_delta(shift, epsilon) <= delta,
        0.0,
        1.0,
        lambda low, high: high - low < high * 2.0**-30,
    )


@lru_cache(maxsize=1024)
def _continuous_sigma(epsilon: float, delta: float) -> float:
    """About the least sigma of continuous noise for L2 = 1 (Balle and Wang 2018)."""
    bits = search_min(
        lambda power: _continuous_delta(2.0**-power, epsilon) <= delta,
        -30.0,
        100.0,
        lambda low, high: high - low < 2.0**-52,
    )
    return float(2.0**bits)
