"""Discrete Gaussian samples follow exp(-k^2 / (2 sigma^2)), on both paths."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from dpcli.noise import bernoulli, entropy
from dpcli.noise import discrete_gaussian as noise
from dpcli.noise.bernoulli import Threshold
from dpcli.noise.discrete_gaussian import (
    DiscreteGaussian,
    discrete_gaussian_array,
    discrete_gaussian_scalar,
)
from tests.support.rules import mostly_extended
from tests.support.streams import CUT, Script, Stream, gaussian_cdf, p_value, two_sample_p_value

SIGMAS = [
    Fraction(1, 2),
    Fraction(1),
    Fraction(2),
    Fraction(3_162_277_660_168_379, 10**15),
    Fraction(1000),
]
MANY, FEW = 1_000_000, 4_000


@pytest.mark.parametrize("sigma", SIGMAS, ids=float)
def test_array_path_fits(stream: Stream, sigma: Fraction) -> None:
    """A million samples fit the exact probabilities."""
    draws = discrete_gaussian_array(sigma, MANY)
    assert p_value(draws, gaussian_cdf(float(sigma)), float(sigma)) > CUT


@pytest.mark.parametrize("sigma", SIGMAS, ids=float)
@pytest.mark.parametrize(
    "error", mostly_extended([Fraction(9, 10), Fraction(11, 10)], Fraction(9, 10)), ids=float
)
def test_the_test_has_power(stream: Stream, sigma: Fraction, error: Fraction) -> None:
    """Samples whose sigma is wrong by a tenth do not fit."""
    draws = discrete_gaussian_array(sigma * error, MANY)
    assert p_value(draws, gaussian_cdf(float(sigma)), float(sigma)) < CUT


@pytest.mark.parametrize("sigma", SIGMAS, ids=float)
def test_scalar_path_fits(stream: Stream, sigma: Fraction) -> None:
    """Samples in pure Python fit the exact probabilities, and those of the array path."""
    draws = [discrete_gaussian_scalar(sigma) for _ in range(FEW)]
    assert p_value(draws, gaussian_cdf(float(sigma)), float(sigma)) > CUT
    assert two_sample_p_value(draws, discrete_gaussian_array(sigma, 50 * FEW)) > CUT


def test_near_ties_are_decided_exactly(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a margin so large that many samples need certified digits, all samples fit."""
    monkeypatch.setattr(bernoulli, "MARGIN", 2.0**27)
    draws = discrete_gaussian_array(Fraction(3), 10_000)
    assert p_value(draws, gaussian_cdf(3.0), 3.0) > CUT


def test_floats_and_certified_digits_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same entropy gives the same samples, for every margin of the floats."""
    runs = []
    for margin in (bernoulli.MARGIN, 2.0**28):
        # Continued comparisons draw from a stream of their own, so as not to shift this one.
        monkeypatch.setattr(bernoulli, "MARGIN", margin)
        monkeypatch.setattr(entropy, "source", Stream("agree"))
        monkeypatch.setattr("dpcli.noise.bernoulli.random_bits", lambda bits: 0)
        runs.append(discrete_gaussian_array(Fraction(1000, 7), 3000).tolist())
    assert runs[0] == runs[1]


@pytest.mark.parametrize("proposal", [0, 3, -7, 40])
def test_acceptance_is_decided_at_its_exact_digits(
    monkeypatch: pytest.MonkeyPatch, proposal: int
) -> None:
    """A proposal is kept just below the digits of its probability, and not just above them."""
    sigma, scale = Fraction(10), Fraction(11)
    exponent = (abs(proposal) - sigma**2 / scale) ** 2 / (2 * sigma**2)
    threshold = Threshold.exponential(exponent)
    first, rest = threshold.digits(32), threshold.digits(96) & (1 << 64) - 1
    monkeypatch.setattr(entropy, "CHUNK", 1)
    for bits, more, wanted in (
        (first - 1, None, True),
        (first + 1, None, False),
        (first, rest - 1, True),
        (first, rest + 1, False),
    ):
        continued = b"" if more is None else more.to_bytes(8, "big")
        monkeypatch.setattr(entropy, "source", Script(bits.to_bytes(4, "little"), continued))
        assert bool(noise._accept(sigma, scale, np.array([proposal]))[0]) is wanted


@pytest.mark.parametrize("sigma", [Fraction(1, 2), Fraction(1 << 30)], ids=str)
def test_moments_and_signs(stream: Stream, sigma: Fraction) -> None:
    """Signs are symmetric, and the second moment is that of the distribution."""
    draws = discrete_gaussian_array(sigma, MANY).astype(float)
    positive, negative = int((draws > 0).sum()), int((draws < 0).sum())
    assert abs(positive - negative) < 5 * sqrt(positive + negative)
    variance = float(sigma) ** 2 if sigma > 1 else 0.21515
    assert abs(float((draws**2).mean()) / variance - 1) < 0.01


@pytest.mark.parametrize(
    "sigma",
    [Fraction(10**400 + 1, 10**399), Fraction(10**40), Fraction(1, 10**40), Fraction(1, 10**400)],
    ids=["long", "huge", "tiny", "tinier"],
)
def test_odd_sigmas_work(stream: Stream, sigma: Fraction) -> None:
    """Long fractions and sigmas beyond the array path give samples of the right size."""
    draws = DiscreteGaussian(sigma).sample(4500)
    assert len(draws) == 4500
    second = Fraction(sum(int(draw) ** 2 for draw in draws), 4500)
    assert abs(second - (sigma**2 if sigma > 1 else 0)) <= sigma**2 / 5


@pytest.mark.parametrize("sigma", [Fraction(0), Fraction(-1)])
def test_no_scale_is_refused(sigma: Fraction) -> None:
    """Noise without a positive scale is an error."""
    with pytest.raises(ValueError, match="positive"):
        DiscreteGaussian(sigma).sample(1)
    with pytest.raises(ValueError, match="range"):
        discrete_gaussian_array(sigma, 1)
