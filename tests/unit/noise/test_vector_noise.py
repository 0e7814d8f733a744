"""K-norm noise on vectors of whole numbers, against its definition."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, exp, factorial, sqrt

import numpy as np
import pytest
from scipy.stats import chi2

from dpcli.noise import radii
from dpcli.noise.bernoulli import Threshold
from dpcli.noise.bodies import BODIES, RadialBody
from dpcli.noise.vector_noise import VectorNoise
from tests.support.norms import norm_of
from tests.support.rules import also_slow, mostly_extended
from tests.support.streams import Stream

DRAWS, MANY_DRAWS = 100_000, 1_000_000


def probabilities(noise: VectorNoise, reach: int) -> dict[tuple[int, ...], float]:
    """The probability of each vector whose coordinates are at most `reach`."""
    scale, far = float(noise.scale), reach + int(20 * noise.scale)
    weights = {
        vector: exp(-norm_of(noise.body, vector) / scale)
        for vector in product(range(-far, far + 1), repeat=noise.size)
        if noise.body != "fixed-sum" or not sum(vector)
    }
    total = sum(weights.values())
    return {
        vector: weight / total
        for vector, weight in weights.items()
        if max(map(abs, vector)) <= reach
    }


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize(
    ("size", "scale"),
    mostly_extended(
        [(2, Fraction(2, 3)), (2, Fraction(7, 4)), (3, Fraction(1))],
        (2, Fraction(2, 3)),
        unpack=True,
    ),
)
@pytest.mark.parametrize("draws", also_slow(DRAWS, MANY_DRAWS))
def test_samples_have_the_probabilities_of_the_definition(
    body: str, size: int, scale: Fraction, draws: int, stream: Stream
) -> None:
    """By a chi-square test of all vectors near zero, and of all others together."""
    noise, reach = VectorNoise(scale, size, body), 3
    if not isinstance(BODIES[body], RadialBody):
        # Their vectors are drawn one by one.
        draws //= 5
    expected = probabilities(noise, reach)
    drawn = np.array(noise.sample(size * draws)).reshape(-1, size)
    near = drawn[(abs(drawn) <= reach).all(axis=1)]
    places = {vector: at for at, vector in enumerate(expected)}
    counts = np.bincount([places[tuple(vector)] for vector in near.tolist()])
    wanted = draws * np.array(list(expected.values()))
    often = wanted >= 5
    counts, wanted = np.resize(counts, len(often))[often], wanted[often]
    observed = np.append(counts, draws - counts.sum())
    wanted = np.append(wanted, draws - wanted.sum())
    distance = ((observed - wanted) ** 2 / wanted).sum()
    assert chi2.sf(distance, len(wanted) - 1) > 1e-4


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize(("size", "scale"), [(2, Fraction(1)), (3, Fraction(1, 2))])
def test_tails_variances_and_covariances_are_those_of_the_definition(
    body: str, size: int, scale: Fraction
) -> None:
    """Summed over all vectors that are likely at all."""
    noise = VectorNoise(scale, size, body)
    every = probabilities(noise, int(24 * scale))
    for value in range(1, 6):
        tail = sum(chance for vector, chance in every.items() if vector[-1] >= value)
        assert noise.positive_tail(value) == pytest.approx(tail, rel=1e-4)
    squares = sum(chance * vector[0] ** 2 for vector, chance in every.items())
    assert noise.discrete_variance == pytest.approx(squares, rel=1e-4)
    shared = sum(chance * vector[0] * vector[-1] for vector, chance in every.items())
    if size > 1:
        assert noise.covariance(size)[0, -1] == pytest.approx(shared, rel=1e-4, abs=1e-9)
    assert noise.covariance(2 * size + 1).shape == (2 * size + 1, 2 * size + 1)


@pytest.mark.parametrize("body", ["zero-one", "cube"])
@pytest.mark.parametrize("size", [1, 2, 5, 9])
def test_weights_of_radii_count_the_draws_within_each_radius(body: str, size: int) -> None:
    """The series of h(q) / (1 - q)^(d + 1) has the numbers of points as its coefficients."""
    shape = BODIES[body]
    assert isinstance(shape, RadialBody)
    degree = shape.dimension(size)
    weights = radii.series_weights(degree, shape.stride)
    assert min(weights) > 0 and sum(weights) == shape.stride**degree * factorial(degree)
    for radius in range(12):
        terms = (
            weight * comb(radius - at + degree, degree)
            for at, weight in enumerate(weights)
            if at <= radius
        )
        assert sum(terms) == (shape.stride * radius + 1) ** degree


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize(
    "scale",
    mostly_extended([Fraction(10**4), Fraction(10**9 + 1, 3), Fraction(10**16)], Fraction(10**16)),
)
def test_large_scales_have_the_moments_of_continuous_noise(
    body: str, scale: Fraction, stream: Stream
) -> None:
    """Whether samples fit 64 bits or not."""
    noise = VectorNoise(scale, 4, body)
    drawn = np.array([float(number) for number in noise.sample(4 * 3000)])
    assert drawn.std() == pytest.approx(sqrt(noise.variance), rel=0.05)
    assert noise.discrete_variance == pytest.approx(float(noise.variance), rel=1e-4)
    share = (abs(drawn) <= noise.half_width(Fraction(19, 20))).mean()
    assert share == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("size", [2, 6, 1024])
def test_the_variance_for_plans_is_that_of_continuous_noise(body: str, size: int) -> None:
    """Of vectors of any size: plans compare it with that of separate numbers."""
    noise = VectorNoise(Fraction(100), size, body)
    assert noise.discrete_variance == pytest.approx(float(noise.variance), rel=0.03)


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("size", [2, 5])
def test_continuous_vectors_have_the_moments_of_plans(body: str, size: int) -> None:
    """Intervals of numbers that share noise follow from such vectors."""
    noise, generator = VectorNoise(Fraction(3), size, body), np.random.default_rng(4)
    drawn = noise.together(lambda rows: generator.random((rows, 40_000)))
    covariance = noise.shape.variance(size) * np.full((size, size), noise.shape.correlation(size))
    np.fill_diagonal(covariance, noise.shape.variance(size))
    assert drawn.shape == (size, 40_000)
    assert np.cov(drawn) == pytest.approx(covariance, abs=0.04 * covariance.max())
    assert abs(drawn.mean(axis=1)).max() < 0.03 * sqrt(covariance.max())


@pytest.mark.parametrize("body", BODIES)
def test_sums_of_any_number_of_coordinates_have_the_variance_of_their_covariance(body: str) -> None:
    """Whole vectors and a part of one; a large number needs no matrix of that size."""
    noise, confidence = VectorNoise(Fraction(2), 5, body), Fraction(19, 20)
    for count in (2, 4, 5, 10, 13):
        wanted = noise.covariance(count).sum()
        found = noise.margin_of_sum(count, confidence).variance
        assert found == pytest.approx(wanted, abs=1e-9)
    each, many = (noise.margin_of_sum(5 * times, confidence) for times in (1, 10**6))
    assert each.variance is not None
    assert many.variance == pytest.approx(10**6 * each.variance, abs=1e-6)


def test_bits_that_do_not_decide_an_offset_are_followed_by_more(stream: Stream) -> None:
    """A number that begins like a threshold is compared with further digits of it."""
    thresholds = [Threshold.exponential(Fraction(3)), Threshold.exponential(Fraction(1))]
    for at, threshold in enumerate(thresholds):
        digits = threshold.digits(64)
        found = {radii._offset_of(thresholds, digits, 64) for _ in range(60)}
        assert found == {at, at + 1}


def test_vectors_are_drawn_whole() -> None:
    """A part of a vector would not have the noise of its norm."""
    with pytest.raises(ValueError, match="all their coordinates"):
        VectorNoise(Fraction(1), 3, "cube").sample(4)
    with pytest.raises(ValueError, match="known body"):
        VectorNoise(Fraction(1), 3, "ball")
