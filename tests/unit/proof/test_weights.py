"""Probabilities by definition agree with sums over all values, and norms with plain ones."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product
from math import exp

import numpy as np
import pytest

from dpcli.noise.discrete_gaussian import DiscreteGaussian
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import Noise
from dpcli.proof.weights import IMPOSSIBLE, choice_probabilities, gaussian_mu, tail_of, vector_norms
from tests.support.mechanisms import LOG_WEIGHT
from tests.support.norms import norm_of

NOISES = [DiscreteLaplace(Fraction(3, 2)), DiscreteGaussian(Fraction(7, 3))]


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: str(noise.kind))
def test_tails_are_sums_of_probabilities(noise: Noise) -> None:
    """On both sides of zero."""
    values = range(-80, 81)
    weights = [exp(LOG_WEIGHT[noise.kind](float(noise.scale), value)) for value in values]
    for cut in (-9, -1, 0, 1, 2, 12):
        share = sum(w for w, value in zip(weights, values, strict=True) if value >= cut)
        assert tail_of(noise)(cut) == pytest.approx(share / sum(weights), rel=1e-9)


def test_tails_of_wide_noise_do_not_round_to_zero() -> None:
    """The ratio of two probabilities is nearly one, which a float cannot tell from one."""
    scale = 10**20
    tail = tail_of(DiscreteLaplace(Fraction(scale)))
    assert tail(scale) == pytest.approx(exp(-1) / 2)
    assert tail(-scale) == pytest.approx(1 - exp(-1) / 2)


def test_choices_have_the_probabilities_of_their_definition() -> None:
    """Permute-and-flip: over all orders and all sides of the coins."""
    scores, scale = np.array([3.0, 1.0, 0.0]), Fraction(2)
    heads = [exp((score - 3) / 2) for score in scores]
    expected = [0.0] * 3
    for order, sides in product(permutations(range(3)), product((True, False), repeat=3)):
        chance = 1 / 6
        for p, side in zip(heads, sides, strict=True):
            chance *= p if side else 1 - p
        first = next((at for at in order if sides[at]), None)
        if first is not None:
            expected[first] += chance
    assert choice_probabilities("permute_and_flip", scale, scores) == pytest.approx(expected)
    by_weight = choice_probabilities("exponential", scale, scores)
    assert by_weight == pytest.approx([p / sum(heads) for p in heads])


@pytest.mark.parametrize(
    "body",
    ["cube", "zero-one", "exchange", "tables-2-2", "moved-tables-2-2", "exchanged-tables-2-2"],
)
def test_norms_are_those_of_plain_python(body: str) -> None:
    """For all small vectors that the noise can be."""
    vectors = [vector for vector in product((-1, 0, 2), repeat=4)
               if "tables" not in body or sum(vector[:2]) == sum(vector[2:])]  # fmt: skip
    if body == "exchanged-tables-2-2":
        vectors = [vector for vector in product((-1, 0, 1), repeat=4)
                   if sum(vector[:2]) == sum(vector[2:]) == 0]  # fmt: skip
    found = vector_norms(4, body, np.array(vectors)).tolist()
    assert found == [norm_of(body, vector) for vector in vectors]


@pytest.mark.parametrize(
    ("body", "vector"),
    [
        ("fixed-sum", [1, 0, 0, 0]),
        ("tables-2-2", [1, 0, 0, 0]),
        ("exchanged-tables-2-2", [1, 0, 1, 0]),
    ],
)
def test_a_change_that_noise_cannot_be_is_above_every_sensitivity(
    body: str, vector: list[int]
) -> None:
    """The sums of noise are fixed, or those of several tables are the same."""
    assert vector_norms(4, body, np.array([vector])).tolist() == [IMPOSSIBLE]


def test_narrow_gaussian_noise_reveals_slightly_more_than_its_mu() -> None:
    """P[noise >= 0] and P[noise >= 1] of scale 1 are further apart than normal quantiles."""
    assert 1.04 < gaussian_mu(DiscreteGaussian(Fraction(1))) < 1.06
    assert 1 <= gaussian_mu(DiscreteGaussian(Fraction(100))) < 1.001
