"""Discrete Laplace samples follow exp(-|k| / scale), on both paths."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from dpcli.noise import discrete_laplace as noise
from dpcli.noise import entropy
from dpcli.noise.bernoulli import VECTORIZE_FROM, Threshold, sign_array
from dpcli.noise.discrete_laplace import (
    DiscreteLaplace,
    discrete_laplace_array,
    discrete_laplace_scalar,
)
from tests.support.rules import mostly_extended
from tests.support.streams import CUT, Script, Stream, laplace_cdf, p_value, two_sample_p_value

SCALES = [Fraction(1, 2), Fraction(1), Fraction(3), Fraction(10), Fraction(1000, 7)]
WIDE = Fraction((1 << 40) + 1)
MANY, FEW = 1_000_000, 8_000


@pytest.mark.parametrize("scale", [*SCALES, WIDE], ids=str)
def test_array_path_fits(stream: Stream, scale: Fraction) -> None:
    """A million samples fit the exact probabilities."""
    assert p_value(discrete_laplace_array(scale, MANY), laplace_cdf(scale), float(scale)) > CUT


@pytest.mark.parametrize("scale", [*SCALES, WIDE], ids=str)
@pytest.mark.parametrize(
    "error", mostly_extended([Fraction(9, 10), Fraction(11, 10)], Fraction(9, 10)), ids=float
)
def test_the_test_has_power(stream: Stream, scale: Fraction, error: Fraction) -> None:
    """Samples whose scale is wrong by a tenth do not fit."""
    draws = discrete_laplace_array(scale * error, MANY)
    assert p_value(draws, laplace_cdf(scale), float(scale)) < CUT


def test_a_doubled_zero_does_not_fit(stream: Stream) -> None:
    """Without the rejection of negative zeros, samples do not fit."""
    sizes = noise.geometric_array(Fraction(10), MANY)
    signs = np.where(sign_array(MANY), -1, 1)
    assert p_value(sizes * signs, laplace_cdf(Fraction(10)), 10.0) < CUT


def test_a_tiny_scale_gives_zeros(stream: Stream) -> None:
    """Noise of a thousandth of a step is zero, on both paths."""
    draws = [discrete_laplace_scalar(Fraction(1, 1000)) for _ in range(FEW)]
    others = discrete_laplace_array(Fraction(1, 1000), 50 * FEW)
    assert set(draws) == set(others.tolist()) == {0}


@pytest.mark.parametrize("scale", [*SCALES, WIDE], ids=str)
def test_scalar_path_fits(stream: Stream, scale: Fraction) -> None:
    """Samples in pure Python fit the exact probabilities, and those of the array path."""
    draws = [discrete_laplace_scalar(scale) for _ in range(FEW)]
    others = discrete_laplace_array(scale, 50 * FEW)
    assert p_value(draws, laplace_cdf(scale), float(scale)) > CUT
    assert two_sample_p_value(draws, others) > CUT


@pytest.mark.parametrize("scale", [Fraction(3), WIDE], ids=str)
def test_signs_are_symmetric(stream: Stream, scale: Fraction) -> None:
    """Positive and negative samples are equally frequent."""
    draws = discrete_laplace_array(scale, MANY)
    positive, negative = int((draws > 0).sum()), int((draws < 0).sum())
    assert abs(positive - negative) < 5 * sqrt(positive + negative)


def test_low_bits_are_fair_at_a_wide_scale(stream: Stream) -> None:
    """At a scale of 2^40, every low binary digit of a sample is a fair coin."""
    draws = np.abs(discrete_laplace_array(WIDE, MANY))
    for bit in range(24):
        assert abs(int((draws >> bit & 1).sum()) - MANY / 2) < 5 * sqrt(MANY / 4)


def test_the_tail_beyond_the_digits_is_sampled(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the digits cover one scale only, the tail event adds the rest exactly."""
    monkeypatch.setattr(noise, "DIGITS_COVER", 1)
    noise._digit_thresholds.cache_clear()
    draws = discrete_laplace_array(Fraction(10), MANY)
    noise._digit_thresholds.cache_clear()
    assert int(np.abs(draws).max()) > 64
    assert p_value(draws, laplace_cdf(Fraction(10)), 10.0) > CUT


def test_tail_events_add_the_range_of_the_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tail events in a row add twice the range that the digits cover."""
    each, beyond = noise._digit_thresholds(Fraction(1, 100))
    assert each == ()
    # exp(-100) has 144 zeros before its first digit: the fourth part decides.
    below = bytes(1 + 8 + 8) + (beyond.digits(200) - 1).to_bytes(8, "big")
    script = Script(below, below, b"\xff")
    monkeypatch.setattr(entropy, "CHUNK", 1)
    monkeypatch.setattr(entropy, "source", script)
    assert noise.geometric_array(Fraction(1, 100), 1).tolist() == [2]


def test_endless_tails_are_refused_not_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample that does not fit 64 bits is an error, not a small number."""
    certain = Threshold.exponential(Fraction(0))
    monkeypatch.setattr(noise, "_digit_thresholds", lambda scale: ((), certain))
    with pytest.raises(OverflowError, match="64 bits"):
        noise.geometric_array(Fraction(1), 3)


@pytest.mark.parametrize(
    "scale",
    [Fraction(10**400 + 1, 10**399), Fraction(10**60), Fraction(1, 10**60), Fraction(1 << 51)],
    ids=["long", "huge", "tiny", "beyond"],
)
def test_odd_scales_work(stream: Stream, scale: Fraction) -> None:
    """Long fractions and scales beyond the array path give samples of the right size."""
    draws = DiscreteLaplace(scale).sample(5000)
    assert len(draws) == 5000
    mean_size = Fraction(sum(abs(int(draw)) for draw in draws), 5000)
    assert abs(mean_size - (scale if scale > 1 else 0)) <= scale / 10


def test_counts_are_respected() -> None:
    """Any number of samples can be requested."""
    for count in (0, 1, VECTORIZE_FROM, 70_000):
        assert len(DiscreteLaplace(Fraction(5)).sample(count)) == count


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1)])
def test_no_scale_is_refused(scale: Fraction) -> None:
    """Noise without a positive scale is an error."""
    with pytest.raises(ValueError, match="positive"):
        DiscreteLaplace(scale).sample(1)
    with pytest.raises(ValueError, match="range"):
        discrete_laplace_array(scale, 1)
