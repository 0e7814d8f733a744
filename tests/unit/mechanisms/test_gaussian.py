"""The Gaussian mechanism: known deltas, and bounds against plain sums."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log, sqrt

import numpy as np
import pytest

from dpcli.mechanisms.gaussian import Gaussian
from dpcli.mechanisms.mechanism import CalibrationError
from dpcli.numeric.interval_arithmetic import Interval
from dpcli.privacy import deltas
from dpcli.privacy.deltas import ChangedCells, cells_delta, joint_delta
from dpcli.privacy.loss import Loss
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.privacy.zcdp_conversion import zcdp_delta
from tests.support.mechanisms import fitted

COUNT = Sensitivity(1, 1, 1, 1)


def coarse(step: int) -> Sensitivity:
    """One cell that changes by at most this number of steps."""
    return Sensitivity(1, step, step * step, step)


@pytest.mark.parametrize(
    ("epsilon", "continuous", "delta"), [("1", "4.2246788", 1.0197e-6), ("2", "2.2304763", 1.1e-6)]
)
def test_continuous_noise_is_too_little(epsilon: str, continuous: str, delta: float) -> None:
    """At the continuous sigma for delta 1e-6, the discrete noise has a larger delta."""
    proven = cells_delta(Fraction(continuous), 1, 1, Fraction(epsilon))
    assert abs(float(proven) - delta) < delta * 1e-3


@pytest.mark.parametrize(
    ("epsilon", "delta", "least"),
    [
        ("1", "1e-6", 4.2246788),
        ("2", "1e-6", 2.2304763),
        ("10", "1e-6", 0.5410868),
        ("0.1", "1e-9", 50.2098183),
    ],
)
def test_on_a_fine_grid_sigma_is_the_continuous_one(epsilon: str, delta: str, least: float) -> None:
    """If the sensitivity is many steps, sigma is that of Balle and Wang 2018."""
    noise, _ = fitted(Gaussian(), coarse(2000), Loss(Fraction(epsilon), Fraction(delta)))
    assert least * 0.999999 <= float(noise.scale) / 2000 <= least * 1.0001


def test_sigma_has_few_digits() -> None:
    """A published sigma is a rational of at most 30 significant bits."""
    for epsilon in ("0.3", "1", "7"):
        noise, _ = fitted(Gaussian(), coarse(123_457), Loss(Fraction(epsilon), Fraction("1e-7")))
        odd = noise.scale.numerator // (noise.scale.numerator & -noise.scale.numerator)
        assert odd.bit_length() <= 30


def test_classic_is_the_formula_rounded_up() -> None:
    """The classic sigma is sqrt(2 ln(1.25/delta)) L2/epsilon, and hardly larger."""
    noise, _ = fitted(Gaussian(), COUNT, Loss(Fraction(1, 2), Fraction("1e-6")), "classic")
    formula = sqrt(2 * log(1.25e6)) / 0.5
    assert formula * (1 - 1e-15) < float(noise.scale) < formula * (1 + 1e-8)


def test_classic_is_refused_above_one() -> None:
    """Above epsilon one the classic formula gives too little noise, and is refused."""
    with pytest.raises(CalibrationError, match="up to 1 only") as refusal:
        fitted(Gaussian(), COUNT, Loss(Fraction(10), Fraction("1e-6")), "classic")
    assert "exact" in refusal.value.hint


@pytest.mark.parametrize("variance", [3, 100, 1025, 4000])
@pytest.mark.parametrize("start", [-90, -1, 0, 1, 5, 40, 56, 57, 200, 400])
def test_enclosed_tails_hold_the_sums(variance: int, start: int) -> None:
    """The integral with its correction encloses the sum that it replaces."""
    narrow = deltas._narrow_tails(Fraction(variance), start, start + 1, Fraction(200))
    wide = deltas._wide_tail(Fraction(variance), start)
    if narrow[0].low > 0:
        assert wide.low <= narrow[0].low <= narrow[0].high <= wide.high
    assert wide.low <= narrow[0].high < narrow[0].low + Fraction(1, 1 << 100)


@pytest.mark.parametrize("variance", [Fraction(1, 50), Fraction(1), Fraction(40)])
def test_sums_agree_with_floats(variance: Fraction) -> None:
    """Certified sums contain the sums of floats, except for rounding."""
    reach = range(-120, 121)
    weights = {y: exp(-y * y / (2 * float(variance))) for y in reach}
    for start in (-7, 0, 1, 4, 90):
        near, far, total = deltas._narrow_tails(variance, start, start + 3, Fraction(1))
        for tail, first in ((near, start), (far, start + 3)):
            plain = sum(weight for y, weight in weights.items() if y >= first)
            assert abs(float(tail.low) - plain) <= 1e-12 * plain + 1e-30
        assert abs(float(total) - sum(weights.values())) < 1e-12 * float(total)


def test_both_ways_of_summing_meet() -> None:
    """On both sides of the switch from sums to integrals, delta is the same curve."""
    edge = sqrt(deltas.LARGEST_SUMMED)
    below, above = (
        float(cells_delta(Fraction(edge * side), 1, 1, Fraction(1, 20))) for side in (1, 1 + 1e-9)
    )
    assert abs(below / above - 1) < 1e-3


def test_the_zcdp_bound_is_above_the_exact_delta() -> None:
    """The bound for every mechanism of that rho is at least the delta of the Gaussian."""
    for sigma, epsilon in ((1, "0.01"), (1, "8"), (5, "0.1"), (5, "1"), (300, "0.01")):
        rho = Fraction(1, 2 * sigma**2)
        assert zcdp_delta(rho, Fraction(epsilon)) >= cells_delta(
            Fraction(sigma), 1, 1, Fraction(epsilon)
        )


def test_the_zcdp_bound_has_known_values() -> None:
    """For rho 1/2 at epsilon 5 the bound is that of Canonne, Kamath and Steinke 2020."""
    best = min(
        exp((a - 1) * (a / 2 - 5)) / (a - 1) * (1 - 1 / a) ** a
        for a in (1 + i / 1000 for i in range(1, 20_000))
    )
    assert abs(float(zcdp_delta(Fraction(1, 2), Fraction(5))) / best - 1) < 1e-6


def test_several_cells_need_noise_in_proportion_to_l2() -> None:
    """Four cells of one step each need about the noise of one cell of two steps."""
    target = Loss(Fraction(1), Fraction("1e-6"))
    four, _ = fitted(Gaussian(), Sensitivity(4, 4, 4, 1), target)
    one, _ = fitted(Gaussian(), coarse(2), target)
    assert abs(float(four.scale / one.scale) - 1) < 1e-3


def test_unevenness_is_an_upper_bound() -> None:
    """The bound on how unevenly sums fall on residues is above a direct count."""
    for sigma, cells in ((Fraction(1, 2), 2), (Fraction(4, 5), 2), (Fraction(1), 3)):
        reach = range(-9, 10)
        weights = {y: exp(-y * y / (2 * float(sigma) ** 2)) for y in reach}
        sums = {0: 1.0}
        for _ in range(cells):
            sums = {
                s: sum(sums.get(s - y, 0.0) * weights[y] for y in reach)
                for s in range(-9 * cells, 9 * cells + 1)
            }
        spread = 2 * cells * float(sigma) ** 2
        shares = [sums[s] / exp(-s * s / spread) for s in range(cells)]
        bound = float(deltas._unevenness(sigma, cells))
        assert max(shares) / min(shares) <= (1 + bound) / (1 - bound) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("sigma", "epsilon"),
    [("1e-30", "1"), ("1e-3", "1e6"), ("5", "1e6"), ("1e12", "1e-9"), ("1e6", "2e4"), ("40", "0")],
)
def test_extreme_parameters_have_a_bound(sigma: str, epsilon: str) -> None:
    """However odd the parameters, delta is a number from zero to one."""
    for cells, change in ((1, 1), (3, 7), (1000, 1 << 40)):
        assert 0 <= cells_delta(Fraction(sigma), cells, change, Fraction(epsilon)) <= 1
        rho = Fraction(cells * change**2) / (2 * Fraction(sigma) ** 2)
        assert 0 <= zcdp_delta(rho, Fraction(epsilon)) <= 1


def test_a_rounded_delta_is_short_and_above() -> None:
    """A published delta is rounded up to a short number."""
    exact = Interval.of(1) / 3
    short = deltas._shorten(exact.low)
    assert exact.high < short < exact.high * (1 + Fraction(1, 1 << 40))


def summed_delta(sigmas: tuple[float, ...], changes: tuple[int, ...], epsilon: float) -> float:
    """The delta of a vector whose cells change by these steps, summed over all outputs."""
    ratios = np.zeros(1)
    noises = np.ones(1)
    for sigma, change in zip(sigmas, changes, strict=True):
        outputs = np.arange(-int(12 * sigma), int(12 * sigma) + 1)
        weights = np.exp(-(outputs**2) / (2 * sigma**2))
        losses = (change**2 - 2 * outputs * change) / (2 * sigma**2)
        noises = np.multiply.outer(noises, weights / weights.sum()).ravel()
        ratios = np.add.outer(ratios, losses).ravel()
    return float((noises * np.maximum(1 - np.exp(epsilon - ratios), 0)).sum())


@pytest.mark.parametrize(
    ("sigmas", "changes", "epsilon", "most"),
    [
        ((5, 40), (1, 8), 1.0, 1.11),
        ((2, 9), (1, 5), 0.5, 1.07),
        ((8, 8, 8), (1, 1, 1), 1.0, 1.15),
        ((20, 55), (3, 7), 0.1, 1.002),
        pytest.param((12, 12, 30), (5, 2, 9), 0.3, 1.01, marks=pytest.mark.slow),
        ((1.5, 20), (1, 10), 2.0, 2.0),
    ],
)
def test_the_joint_delta_is_an_upper_bound_that_is_close(
    sigmas: tuple[float, ...], changes: tuple[int, ...], epsilon: float, most: float
) -> None:
    """It is above the sum over all outputs, and above it by little unless noise is narrow."""
    cells = [
        ChangedCells(Fraction(sigma), 1, change**2)
        for sigma, change in zip(sigmas, changes, strict=True)
    ]
    exact = summed_delta(sigmas, changes, epsilon)
    proven = float(joint_delta(cells, Fraction(epsilon)))
    assert exact <= proven <= exact * most


def test_two_answers_need_hardly_more_noise_than_one_of_their_norm() -> None:
    """A count and a sum together need the sigma of continuous noise for their joint L2."""
    target = Loss(Fraction(1), Fraction("1e-6"))
    answers = [coarse(40), coarse(2000)]
    noises = Gaussian().calibrate_and_verify(answers, target, [Fraction(2, 5), Fraction(3, 5)])
    scales = [
        float(noise.scale) * sqrt(weight / one.l2_squared)
        for noise, weight, one in zip(noises, (2 / 5, 3 / 5), answers, strict=True)
    ]
    assert all(4.2246788 * 0.999999 <= scale <= 4.2246788 * 1.0002 for scale in scales)


def test_cells_that_change_unequally_need_the_noise_of_their_norm() -> None:
    """A user with 20 rows in 7 cells of at most 30 needs less than if all cells changed by 30."""
    target = Loss(Fraction(1), Fraction("1e-6"))
    uneven = Sensitivity(7, 200, 5600, 30)
    noise, _ = fitted(Gaussian(), uneven, target)
    assert float(noise.scale) <= 4.2246788 * sqrt(5600) * 1.0002


def test_narrow_noise_has_no_joint_bound() -> None:
    """Noise that is narrower than the rounding gets the bound one, and others decide."""
    assert joint_delta([ChangedCells(Fraction(1, 3), 2, 2)], Fraction(1)) == 1
