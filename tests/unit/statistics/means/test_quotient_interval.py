"""Intervals of quotients in closed form are those of very many draws."""

from __future__ import annotations

from fractions import Fraction
from math import erf, exp, log, sqrt

import numpy as np
import pytest

from dpcli.noise.discrete_gaussian import DiscreteGaussian
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import NO_NOISE, Noise
from dpcli.numeric.arrays import Floats, Ints, integer_array
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.intervals import FiducialInterval, Printed
from dpcli.statistics.means.quotient import Quotient, QuotientInterval
from tests.support.rules import mostly_extended

CONFIDENCE = Fraction(19, 20)
BOUNDS = (0.0, 100.0)
MEAN = Quotient((100, 0), (1, 1), Printed(Fraction(1), 2, (Fraction(0), Fraction(100))))
CENTERED = Quotient((1, 0), (0, 1), Printed(Fraction(1), 2, (Fraction(-50), Fraction(50))))


def interval(quotient: Quotient, answers: list[NoisyAnswer]) -> QuotientInterval:
    """The interval of a quotient within its limits."""
    return QuotientInterval(quotient, answers, CONFIDENCE)


def sums(rows: Ints, means: Floats, noise: Noise) -> list[NoisyAnswer]:
    """Noisy sums of distances from zero and from a hundred."""
    above = np.rint(rows * means).astype(np.int64)
    exact = (above, rows * 100 - above)
    return [
        NoisyAnswer(integer_array(one + np.array(noise.sample(len(one)))), noise) for one in exact
    ]


@pytest.mark.parametrize(
    "noise",
    mostly_extended(
        [DiscreteLaplace(Fraction(1000)), DiscreteGaussian(Fraction(900))],
        DiscreteLaplace(Fraction(1000)),
    ),
)
def test_a_closed_form_covers_as_often_as_it_states_and_is_as_wide_as_draws(noise: Noise) -> None:
    """For groups of 20 to 2,000 rows; 0.8 percent are five standard errors."""
    random, cells = np.random.default_rng(5), 20_000
    rows, means = random.integers(20, 2000, cells), random.uniform(5, 95, cells)
    answers = sums(rows, means, noise)
    solved, drawn = interval(MEAN, answers), FiducialInterval(answers, MEAN.outcome, CONFIDENCE)
    truth = np.rint(rows * means) / rows
    lower, upper = (ends[0].clip(*BOUNDS) for ends in (solved.lower, solved.upper))
    assert abs(np.mean((lower <= truth) & (truth <= upper)) - 0.95) < 0.008
    wide = [
        np.subtract(*(ends[0].clip(*BOUNDS) for ends in (one.upper, one.lower)))
        for one in (solved, drawn)
    ]
    assert 0.97 < wide[0].mean() / wide[1].mean() < 1.01


def test_cells_whose_divisor_may_be_zero_have_the_ends_of_draws() -> None:
    """Where too many plausible divisors are below the least one, there is no end at all."""
    noise = DiscreteLaplace(Fraction(1000))
    answers = sums(np.full(3000, 40), np.full(3000, 50.0), noise)
    solved, drawn = interval(MEAN, answers), FiducialInterval(answers, MEAN.outcome, CONFIDENCE)
    is_open = np.isinf(drawn.lower[0])
    assert 0.3 < is_open.mean() < 0.7
    assert np.mean(is_open == np.isinf(solved.lower[0])) > 0.99


def test_one_noise_gives_the_quantiles_of_the_noise() -> None:
    """A sum over a public number of rows: the ends are those of a single Laplace noise."""
    noise = DiscreteLaplace(Fraction(500))
    answers = [
        NoisyAnswer(integer_array([1200, -700]), noise),
        NoisyAnswer(integer_array([100, 100]), NO_NOISE),
    ]
    found = interval(CENTERED, answers)
    half = 500 * log(1 / 0.05) / 100
    assert found.lower[0] == pytest.approx([12 - half, -7 - half], rel=2e-2)
    assert found.upper[0] == pytest.approx([12 + half, -7 + half], rel=2e-2)
    assert (found.upper[0] - found.lower[0] >= 2 * half).all()


def test_a_public_divisor_that_is_the_least_one_is_certain() -> None:
    """One public row: the interval is that of the noise of its value."""
    noise = DiscreteLaplace(Fraction(20))
    answers = [NoisyAnswer(integer_array([5]), noise), NoisyAnswer(integer_array([1]), NO_NOISE)]
    half = 20 * log(1 / 0.05)
    found = interval(CENTERED, answers)
    assert found.lower[0] == pytest.approx([5 - half], rel=2e-2)
    assert found.upper[0] == pytest.approx([5 + half], rel=2e-2)


def test_an_interval_beyond_a_limit_is_as_wide_as_the_noise() -> None:
    """It is cut later, and a number at a limit is judged by its width before that."""
    noise, half = DiscreteLaplace(Fraction(500)), 500 * log(1 / 0.05) / 100
    answers = [
        NoisyAnswer(integer_array([-7_000, 5_100, 9_000]), noise),
        NoisyAnswer(integer_array([100, 100, 100]), NO_NOISE),
    ]
    found = interval(CENTERED, answers)
    assert found.upper[0] - found.lower[0] == pytest.approx(np.full(3, 2 * half), rel=3e-2)

    printed = CENTERED.estimates(answers, CONFIDENCE).within([(Fraction(-50), Fraction(50))])
    assert (printed.upper > printed.lower).all()
    assert (printed.widths > 0).all()


@pytest.mark.parametrize("second", [0.0, 1.0, 3.0, 3.0000001, 9.0])
def test_the_tail_of_two_laplace_noises_is_that_of_their_convolution(second: float) -> None:
    """By numerical integration of the density of one times the tail of the other."""
    steps = np.linspace(-400, 400, 800_001)
    density = np.exp(-abs(steps) / 3) / 6
    for beyond in (-5.0, 0.0, 2.0, 20.0):
        rest = beyond - steps
        if second:
            tails = np.where(
                rest < 0, 1 - np.exp(rest / second) / 2, np.exp(-abs(rest) / second) / 2
            )
        else:
            tails = (rest < 0).astype(float) + (rest == 0) / 2
        tail = np.sum(density * tails) * (steps[1] - steps[0])
        scales = np.array([[3.0], [second]])
        stated = DiscreteLaplace.excess(np.array([beyond]), scales, 0.025)
        assert 0.025 / exp(stated[0]) == pytest.approx(tail, rel=2e-3)


def test_the_tail_of_two_normal_noises_is_normal() -> None:
    """Zero is reached where the tail of the joint deviation is the risk."""
    scales = np.array([[3.0], [4.0]])
    z = 1.959963985
    assert 1 - erf(z / sqrt(2)) == pytest.approx(0.05)
    assert DiscreteGaussian.excess(np.array([5 * z]), scales, 0.025) == pytest.approx(0, abs=1e-6)
