"""Random vectors for objective perturbation."""

from __future__ import annotations

from fractions import Fraction
from math import exp, factorial

import numpy as np
import pytest

from dpcli.noise import entropy
from dpcli.noise.k_norm import KNormNoise, KNormVector
from tests.support.streams import Script, Stream


def drawn(size: int, count: int) -> np.ndarray:
    """The middles of the enclosures of some vectors."""
    vectors = (KNormVector(size).enclosure() for _ in range(count))
    return np.array([[float((side.low + side.high) / 2) for side in one] for one in vectors])


@pytest.mark.parametrize("size", [1, 2, 4])
def test_the_largest_coordinate_has_a_gamma_distribution(size: int, stream: Stream) -> None:
    """The density exp(-max |b_j|) gives max |b_j| the gamma distribution of shape `size`."""
    largest = np.sort(np.abs(drawn(size, 1000)).max(axis=1))
    for radius in (0.5, 1.0, 2.0, 4.0):
        below = 1 - exp(-radius) * sum(radius**i / factorial(i) for i in range(size))
        deviation = (below * (1 - below) / 1000) ** 0.5
        assert abs(np.searchsorted(largest, radius) / 1000 - below) < 5 * deviation
    assert stream.calls


def test_coordinates_are_symmetric_and_alike(stream: Stream) -> None:
    """Each coordinate is positive in half of the vectors, and the largest as often as others."""
    vectors = drawn(3, 1000)
    assert abs((vectors > 0).mean(axis=0) - 0.5).max() < 5 * 0.5 / 1000**0.5
    places = np.bincount(np.abs(vectors).argmax(axis=1), minlength=3)
    assert abs(places / 1000 - 1 / 3).max() < 5 * (2 / 9 / 1000) ** 0.5
    assert stream.calls


def test_later_enclosures_lie_within_earlier_ones(stream: Stream) -> None:
    """More digits narrow every interval by 64 bits, and never move it out."""
    vector = KNormVector(3)
    before = vector.enclosure()
    for _ in range(3):
        vector.refine()
        after = vector.enclosure()
        for wide, narrow in zip(before, after, strict=True):
            assert wide.low <= narrow.low < narrow.high <= wide.high
            assert (narrow.high - narrow.low) * 2**50 < wide.high - wide.low
        before = after
    assert stream.calls


def test_digits_that_are_all_zero_are_followed_by_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The logarithm of a number that may be zero has no bound, so more digits are drawn."""
    # One coordinate and two radii: zeros for a radius at first, then other digits.
    first = bytes(8) + bytes(8) + bytes([1] * 8)
    monkeypatch.setattr(entropy, "source", Script(first + bytes([7] * 24) + bytes(5000)))
    (only,) = KNormVector(1).enclosure()
    assert only.low < only.high


@pytest.mark.parametrize("size", [1, 3])
def test_the_width_of_a_coordinate_covers_its_share(size: int, stream: Stream) -> None:
    """The half-width at 90 % contains 90 % of coordinates."""
    width = float(KNormNoise(Fraction(5, 2)).coordinate_width(size, Fraction(9, 10)))
    inside = (np.abs(drawn(size, 1000) * 2.5) <= width).mean()
    assert abs(inside - 0.9) < 5 * (0.09 / 1000) ** 0.5
    assert stream.calls


def test_it_is_not_added_to_numbers() -> None:
    """It has no samples and no tails of whole numbers."""
    noise = KNormNoise(Fraction(1))
    with pytest.raises(ValueError, match="not added"):
        noise.sample(3)
    with pytest.raises(ValueError, match="no tail"):
        noise.positive_tail(1)


@pytest.mark.parametrize("size", [1, 3, 8])
def test_vectors_of_evenly_spaced_numbers_have_the_gamma_distribution(size: int) -> None:
    """The radius is a quantile of shape k + 1, by numbers of another library."""
    from scipy.stats import gamma

    levels = np.array([0.001, 0.5, 0.95, 0.9999])
    others = np.linspace(0.1, 0.9, size)[:, None] * np.ones(4)
    vectors = KNormNoise.vectors(np.vstack([levels, others]))

    radii = gamma.ppf(levels, size + 1)
    assert vectors == pytest.approx(radii * (2 * others - 1), rel=1e-3, abs=1e-12)
