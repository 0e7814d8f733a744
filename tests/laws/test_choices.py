"""Laws of selection mechanisms, and the exact probabilities of their choices."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from math import exp, prod

import numpy as np
import pytest

from dpcli.mechanisms import MECHANISMS
from dpcli.mechanisms.mechanism import SelectionMechanism
from dpcli.noise import candidate_choice
from dpcli.noise.candidate_choice import ChoiceNoise
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import NO_NOISE
from dpcli.numeric.arrays import integer_array
from dpcli.privacy.loss import Loss
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.queries.scores import Rank
from tests.support.mechanisms import fitted
from tests.support.streams import CUT, Stream, chi_square_tail

CHOOSING = [mechanism for mechanism in MECHANISMS if isinstance(mechanism, SelectionMechanism)]

each_choosing = pytest.mark.parametrize("mechanism", CHOOSING, ids=lambda m: str(m.name))

ONE = Sensitivity(1, 1, 1, 1)


def probabilities(name: str, gaps: Sequence[int], scale: Fraction) -> list[float]:
    """The probability of each candidate, by the formula of the mechanism."""
    heads = [exp(-gap / scale) for gap in gaps]
    if name == "exponential":
        return [weight / sum(heads) for weight in heads]
    # Permute-and-flip: the choice is uniform among the heads (McKenna and Sheldon 2020).
    return [
        sum(
            heads[i]
            * prod(heads[j] for j in others)
            * prod(1 - heads[j] for j in range(len(gaps)) if j != i and j not in others)
            / (size + 1)
            for size in range(len(gaps))
            for others in combinations([j for j in range(len(gaps)) if j != i], size)
        )
        for i in range(len(gaps))
    ]


def test_the_formulas_are_those_of_the_lecture() -> None:
    """Scores 3, 2, 3, 0 of sensitivity 4 at epsilon 1: weights exp(score/8)."""
    weights = [exp(score / 8) for score in (3, 2, 3, 0)]
    found = probabilities("exponential", [0, 1, 0, 3], Fraction(8))
    assert found == pytest.approx([weight / sum(weights) for weight in weights])
    assert sum(probabilities("permute_and_flip", [0, 1, 0, 3], Fraction(8))) == pytest.approx(1)


@pytest.mark.parametrize(
    ("array", "count", "off"),
    [
        pytest.param(False, 25_000, Fraction(11, 10), id="loop"),
        pytest.param(True, 250_000, Fraction(11, 10), id="array"),
        pytest.param(False, 100_000, Fraction(21, 20), id="long loop", marks=pytest.mark.slow),
        pytest.param(True, 10**6, Fraction(21, 20), id="million", marks=pytest.mark.extended),
    ],
)
@pytest.mark.parametrize(
    ("scores", "scale"),
    [
        ((3, 2, 3, 0), Fraction(8)),
        ((0,), Fraction(1)),
        ((5, 5), Fraction(1, 3)),
        ((0, 1, 2, 3, 4), Fraction(7, 5)),
        pytest.param((10, 0, 0, 0, 0, 0), Fraction(9, 2), marks=pytest.mark.extended),
    ],
    ids=str,
)
@each_choosing
def test_choices_have_exactly_their_probabilities(
    mechanism: SelectionMechanism,
    scores: tuple[int, ...],
    scale: Fraction,
    array: bool,
    count: int,
    off: Fraction,
    stream: Stream,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Choices among small scores match the formula, on both paths (chi-square).

    In an array, the test detects a scale that is wrong by a tenth; of a million, by a twentieth.
    """
    gaps = [max(scores) - score for score in scores]
    noise = mechanism.distribution(scale)
    assert isinstance(noise, ChoiceNoise)
    if not array:
        monkeypatch.setattr(candidate_choice, "VECTORIZE_FROM", 10**9)
    chosen = noise.pick(np.tile(integer_array(gaps), (count, 1)))
    expected = np.array(probabilities(mechanism.name, gaps, scale)) * count
    observed = np.bincount(chosen, minlength=len(gaps))
    assert observed.sum() == count
    if len(gaps) > 1:
        statistic = float(((observed - expected) ** 2 / expected).sum())
        assert chi_square_tail(statistic, len(gaps) - 1) > CUT
        wrong = np.array(probabilities(mechanism.name, gaps, scale * off)) * count
        detected = float(((observed - wrong) ** 2 / wrong).sum())
        assert not array or len(set(gaps)) == 1 or chi_square_tail(detected, len(gaps) - 1) < CUT


@each_choosing
def test_probabilities_of_neighbors_differ_by_at_most_a_factor_e_epsilon(
    mechanism: SelectionMechanism,
) -> None:
    """For all changes of three scores within the sensitivity, ratios are at most e^epsilon."""
    worst = 0.0
    epsilon = Fraction(1)
    for moved in (1, 2):
        noise, _ = fitted(mechanism, Sensitivity(1, moved, moved**2, moved), Loss(epsilon))
        for here in product(range(4), repeat=3):
            before = probabilities(
                mechanism.name, [max(here) - score for score in here], noise.scale
            )
            for change in product(range(-2, 3), repeat=3):
                if max(change) - min(change) > moved:
                    continue
                there = [a + b for a, b in zip(here, change, strict=True)]
                after = probabilities(
                    mechanism.name, [max(there) - score for score in there], noise.scale
                )
                worst = max(worst, *(a / b for a, b in zip(before, after, strict=True)))
    assert worst <= exp(1) * (1 + 1e-9)
    if mechanism.name == "permute_and_flip":
        assert worst > exp(1) * 0.95


@each_choosing
@pytest.mark.parametrize("count", [2, 5000])
def test_scores_of_any_size_neither_overflow_nor_fail(
    mechanism: SelectionMechanism, count: int
) -> None:
    """With scores of 10^9, 10^40 or minus 10^40, the best candidate is chosen."""
    for best in (10**9, 10**18, 10**19, 10**40):
        for scale in (Fraction(1, 10**9), Fraction(1), Fraction(10**5)):
            scores = [0] * (count - 1) + [best]
            noise = mechanism.distribution(scale)
            assert mechanism.choose(noise, integer_array(scores).reshape(1, -1), 1).tolist() == [
                count - 1
            ]
            scores = [*[-best] * (count - 1), 0]
            assert mechanism.choose(noise, integer_array(scores).reshape(1, -1), 1).tolist() == [
                count - 1
            ]


@each_choosing
def test_several_choices_differ_and_are_made_in_each_group(mechanism: SelectionMechanism) -> None:
    """In each of three groups two of four candidates are chosen, the best ones first."""
    scores = integer_array([9, 1, 7, 2, 0, 5, 6, 1, 3, 3, 900, 800]).reshape(3, 4)
    noise = mechanism.distribution(Fraction(1, 100))
    assert mechanism.choose(noise, scores, 2).tolist() == [0, 2, 2, 1, 2, 3]
    wide = mechanism.choose(mechanism.distribution(Fraction(10**6)), scores, 4)
    assert [sorted(wide[at : at + 4]) for at in (0, 4, 8)] == [[0, 1, 2, 3]] * 3


@each_choosing
def test_a_choice_without_noise_is_the_best(mechanism: SelectionMechanism) -> None:
    """Without noise the first of the best candidates is chosen."""
    scores = integer_array([1, 5, 5, 0]).reshape(1, 4)
    assert mechanism.choose(NO_NOISE, scores, 1).tolist() == [1]
    with pytest.raises(TypeError, match="the noise of choices"):
        mechanism.choose(DiscreteLaplace(Fraction(1)), scores, 1)


@each_choosing
def test_the_shortfall_bound_holds(mechanism: SelectionMechanism, stream: Stream) -> None:
    """The bound on the shortfall of a choice holds with its stated probability."""
    gaps = [0, *([3] * 20), *([40] * 400)]
    noise = mechanism.distribution(Fraction(5))
    assert isinstance(noise, ChoiceNoise)
    most = noise.shortfall(len(gaps), Fraction(19, 20))
    chosen = noise.pick(np.tile(integer_array(gaps), (4000, 1)))
    beyond = sum(gaps[place] > most for place in chosen)
    assert beyond <= 4000 * 0.05 + 60


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(2), Fraction(15)], ids=str)
@pytest.mark.parametrize("quantile", ["1/2", "1/4", "99/100", "3/7"])
@each_choosing
def test_the_expected_error_of_a_rank_is_its_95_percent_point(
    mechanism: SelectionMechanism, quantile: str, scale: Fraction, stream: Stream
) -> None:
    """With one row between candidates, at least 95% of choices miss by no more, and not by far."""
    rank = Rank(range(1_000), Fraction(quantile))
    noise = mechanism.distribution(scale * rank.quantile.denominator)
    assert isinstance(noise, ChoiceNoise)
    count = 2_000
    scores = rank.scores(np.ones((1, 1_000), np.int64))
    gaps = np.tile(scores.max() - scores, (count, 1))
    expected = rank.expected_error(noise, 1_000, Fraction(19, 20))

    missed = gaps[0][noise.pick(gaps)]

    assert (missed > expected).mean() <= 0.065
    # Few candidates are near if the scale is small.
    assert (
        scale < 10 or mechanism.name != "exponential" or (missed > expected * 4 / 5).mean() > 0.05
    )
    assert expected < noise.shortfall(1_000, Fraction(19, 20)) / 3 + noise.scale
