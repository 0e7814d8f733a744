"""Tests of noise reject what differs from its probabilities, and accept what does not."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from dpcli.noise.discrete_gaussian import DiscreteGaussian
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import Noise
from dpcli.noise.vector_noise import VectorNoise
from dpcli.numeric.arrays import Array
from dpcli.proof.noise_test import FALSE_ALARM, NoiseFrequencies, binomial_fault

NOISES = [
    DiscreteLaplace(Fraction(5)),
    DiscreteGaussian(Fraction(5)),
    VectorNoise(Fraction(5), 4, "cube"),
]

ROWS = 12_000


def faults(noise: Noise, drawn: Array) -> list[str]:
    """What is found of draws, which should be of this noise."""
    sample = NoiseFrequencies(noise)
    sample.add(drawn)
    return list(sample.faults())


def draws(noise: Noise) -> Array:
    """Draws of four numbers."""
    return np.array(noise.sample(4 * ROWS, many=True)).reshape(-1, 4)


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: str(noise.kind))
def test_right_noise_is_accepted_and_noise_of_another_scale_is_not(noise: Noise) -> None:
    """A fifth more or less is enough."""
    assert faults(noise, draws(noise)) == []
    for factor in (Fraction(4, 5), Fraction(5, 4)):
        assert faults(noise, draws(type(noise)(noise.scale * factor, *_shape(noise))))


def _shape(noise: Noise) -> tuple[int, str] | tuple[()]:
    return (noise.size, noise.body) if isinstance(noise, VectorNoise) else ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda drawn: drawn * [1, 1, 0, 1], "number 3 has no noise more often"),
        (lambda drawn: drawn[:, [0, 0, 2, 3]], "numbers 1 apart have the same noise"),
        (lambda drawn: drawn[:, [0, 1, 0, 3]], "numbers 2 apart have the same noise"),
        (lambda drawn: np.repeat(drawn[::2], 2, axis=0), "successive answers have the same noise"),
        (lambda drawn: drawn + 1, "occurs"),
    ],
)
def test_noise_that_is_missing_repeated_or_moved_is_found(
    change: Callable[[Array], Array], said: str
) -> None:
    """Each is said in words of its own."""
    noise = NOISES[0]
    assert any(said in fault for fault in faults(noise, change(draws(noise))))


@pytest.mark.parametrize(
    "noise",
    [
        DiscreteLaplace(Fraction(1000)),
        DiscreteGaussian(Fraction(10**5)),
        DiscreteLaplace(Fraction(10**9)),
        VectorNoise(Fraction(10**6), 4, "cube"),
    ],
    ids=lambda noise: f"{noise.kind} {noise.scale}",
)
def test_wide_noise_with_a_larger_step_is_found(noise: Noise) -> None:
    """It shows the last digits of a number, and has the tails that it must have."""
    drawn = draws(noise)
    assert faults(noise, drawn) == []
    for step in (2, 5, 8):
        found = faults(noise, drawn // step * step)
        assert "noise is a multiple of 30 more often than it should" in found


def test_zeros_of_wide_vectors_are_expected() -> None:
    """The tails of such noise are known for some numbers only."""
    noise = VectorNoise(Fraction(3000), 4, "cube")
    assert noise.resolution > 1
    assert faults(noise, np.array(noise.sample(400_000, many=True)).reshape(-1, 4)) == []


def test_noise_that_two_queries_share_is_found() -> None:
    """Also if one of them has fewer numbers."""
    sample, noise = NoiseFrequencies(NOISES[0]), draws(NOISES[0])
    sample.compare("two", noise[:-1], noise[1:, :2])
    assert list(sample.faults()) == []
    sample.compare("two", noise, noise[:, :2])
    assert list(sample.faults()) == ["two have the same noise more often than it should"]


def test_the_binomial_test_has_few_false_alarms() -> None:
    """A frequency near its probability is accepted; one far above or below is rejected."""
    assert binomial_fault(60, 1000, 0.05) == ""
    assert binomial_fault(150, 1000, 0.05) == "more"
    assert binomial_fault(1, 1000, 0.05) == "less"
    assert binomial_fault(0, 0, 0.05) == ""
    assert binomial_fault(20, 20, 0.05) == "more"
    # The probability of n successes in n trials is p^n.
    assert binomial_fault(10, 10, FALSE_ALARM**0.1 * 1.01) == ""
    assert binomial_fault(10, 10, FALSE_ALARM**0.1 * 0.99) == "more"
