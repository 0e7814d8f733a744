"""Laws that every local mechanism obeys, from its exact table of probabilities."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log

import mpmath
import numpy as np
import pytest

from dpcli.mechanisms.calibrated_mechanism import respond
from dpcli.mechanisms.local import LOCAL_MECHANISMS
from dpcli.mechanisms.local.additive import AdditiveRandomizer
from dpcli.mechanisms.local.labels import KaryRandomizer, worst_ratio
from dpcli.mechanisms.local.local_mechanism import (
    CalibratedRandomizer,
    RandomizerError,
    RandomizerRequest,
    ResponseCounts,
)
from dpcli.noise import entropy
from dpcli.privacy.confidential import Confidential
from dpcli.problems.messages import message_and_hint
from tests.support.randomizers import Rows, labels, output_of, randomizers, request_for, table_of
from tests.support.streams import CUT, Stream, chi_square_tail

DISCRETE = [
    pytest.param(randomizer, epsilon, id=name)
    for name, randomizer, epsilon in randomizers(discrete=True)
]
NUMERIC = [
    pytest.param(randomizer, epsilon, id=name)
    for name, randomizer, epsilon in randomizers(discrete=False)
]


def worst(rows: Rows) -> Fraction:
    """The greatest ratio of two probabilities in one column, over all pairs of rows."""
    return max(
        one[column] / other[column]
        for one in rows
        for other in rows
        for column in range(len(rows[0]))
        if one[column] or other[column]
    )


def exceeds(ratio: Fraction, epsilon: Fraction) -> bool:
    """Whether a ratio is more than exp(epsilon), to a thousand bits."""
    with mpmath.workprec(1000):
        exact = mpmath.mpf(ratio.numerator) / ratio.denominator
        return bool(exact > mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator))


@pytest.mark.parametrize(("randomizer", "epsilon"), DISCRETE)
def test_no_output_distinguishes_two_inputs_by_more_than_epsilon(
    randomizer: CalibratedRandomizer, epsilon: Fraction
) -> None:
    """Exact tables are within exp(epsilon), for all pairs of inputs and all outputs."""
    rows = table_of(randomizer)

    assert all(sum(row) == 1 and min(row) >= 0 for row in rows)
    assert not exceeds(worst(rows), epsilon)
    assert randomizer.ratio == worst(rows)
    assert randomizer.guarantee.loss.epsilon == epsilon


@pytest.mark.parametrize(("randomizer", "epsilon"), DISCRETE)
def test_epsilon_is_used_up(randomizer: CalibratedRandomizer, epsilon: Fraction) -> None:
    """Rounding to the safe side costs less than a billionth of epsilon."""
    assert exceeds(worst(table_of(randomizer)), epsilon * (1 - Fraction(1, 10**9)))


def test_the_law_rejects_a_true_label_that_is_too_likely() -> None:
    """Randomized response breaks the law if the true label is more likely by 2^-60."""
    truth = _truth(Fraction(1)) + Fraction(1, 2**60)
    loss = LOCAL_MECHANISMS[0].calibrate_and_verify(RandomizerRequest(labels(2), Fraction(1))).loss
    assert exceeds(worst(table_of(KaryRandomizer(loss, truth, 1 - truth, 2))), Fraction(1))


def _truth(epsilon: Fraction) -> Fraction:
    """The probability of the true label in randomized response."""
    randomizer = LOCAL_MECHANISMS[0].calibrate_and_verify(RandomizerRequest(labels(2), epsilon))
    assert isinstance(randomizer, KaryRandomizer)
    return randomizer.p


@pytest.mark.parametrize(("randomizer", "epsilon"), NUMERIC)
def test_noise_hides_the_width_of_the_bounds(
    randomizer: CalibratedRandomizer, epsilon: Fraction
) -> None:
    """Two numbers within the bounds differ by at most epsilon and delta, at all sets of outputs."""
    assert isinstance(randomizer, AdditiveRandomizer)
    scale, (low, high) = randomizer.noise.scale, randomizer.column.limits
    if randomizer.noise.kind == "laplace":
        # log P[z | x] - log P[z | y] = (|z - y| - |z - x|) / scale, greatest at the ends.
        reach = max(
            abs(z - y) - abs(z - x) for x in (low, high) for y in (low, high) for z in (low, high)
        )
        assert reach / scale == epsilon
        assert randomizer.guarantee.loss == randomizer.loss
        return
    sigma, width = float(scale), high - low
    places = range(-int(40 * sigma) - width - 2, int(40 * sigma) + width + 3)
    here = np.array([exp(-(z * z) / (2 * sigma * sigma)) for z in places])
    there = np.array([exp(-((z - width) ** 2) / (2 * sigma * sigma)) for z in places])
    lost = np.maximum(here / here.sum() - exp(float(epsilon)) * there / here.sum(), 0).sum()
    assert lost <= float(randomizer.loss.delta) * (1 + 1e-9)
    assert randomizer.guarantee.loss == randomizer.loss


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "name", [registered.name for registered in LOCAL_MECHANISMS if not registered.numeric]
)
def test_responses_have_the_probabilities_of_the_table(
    name: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Responses to each input follow its row, by a chi-square test."""
    mechanism = next(registered for registered in LOCAL_MECHANISMS if registered.name == name)
    request = request_for(mechanism, Fraction(1, 2), 2 if name == "randomized_response" else 3)
    assert request is not None
    randomizer = mechanism.calibrate_and_verify(request)
    rows = table_of(randomizer)
    monkeypatch.setattr(entropy, "source", Stream(f"{name}-{seed}"))

    assert _p_value(randomizer, rows) > CUT


@pytest.mark.parametrize(
    "name", [registered.name for registered in LOCAL_MECHANISMS if not registered.numeric]
)
def test_the_chi_square_test_rejects_a_slightly_different_table(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table that is wrong by one in fifty is rejected."""
    mechanism = next(registered for registered in LOCAL_MECHANISMS if registered.name == name)
    request = request_for(mechanism, Fraction(1, 2), 2 if name == "randomized_response" else 3)
    assert request is not None
    randomizer = mechanism.calibrate_and_verify(request)
    rows = [[row[0] * 49 / 50, row[1] + row[0] / 50, *row[2:]] for row in table_of(randomizer)]
    monkeypatch.setattr(entropy, "source", Stream(name))

    assert _p_value(randomizer, rows) < CUT


def _p_value(randomizer: CalibratedRandomizer, rows: Rows, count: int = 200_000) -> float:
    """Pearson's test of the responses to `count` records of each input."""
    cells = np.repeat(np.arange(len(rows)), count)
    places = output_of(randomizer, respond(randomizer, Confidential(cells, randomizer)).value)
    observed = np.zeros((len(rows), len(rows[0])))
    np.add.at(observed, (cells, places), 1)
    expected = np.array([[float(chance) * count for chance in row] for row in rows])
    possible = expected > 0
    assert not observed[~possible].any()
    statistic = ((observed - expected)[possible] ** 2 / expected[possible]).sum()
    return chi_square_tail(float(statistic), int(possible.sum()) - len(rows))


@pytest.mark.parametrize("lies", [False, True], ids=["mostly true", "mostly lies"])
def test_false_labels_may_be_more_likely_than_the_true_one(
    lies: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A true label with a probability below 1/k gives epsilon ln(q/p), with exact responses."""
    truth = Fraction(1, 20) if lies else Fraction(1, 2)
    randomizer = LOCAL_MECHANISMS[1].calibrate_and_verify(
        RandomizerRequest(labels(4), probability=truth)
    )
    monkeypatch.setattr(entropy, "source", Stream(f"lies-{lies}"))

    ratio = Fraction(19, 3) if lies else Fraction(3)
    assert not exceeds(ratio, randomizer.loss.epsilon)
    assert exceeds(ratio, randomizer.loss.epsilon * (1 - Fraction(1, 10**9)))
    assert _p_value(randomizer, table_of(randomizer)) > CUT


class TestTwoFairCoins:
    """The textbook survey: the first coin decides whether the second one answers."""

    @pytest.mark.parametrize("truth", [Fraction(3, 4), Fraction(1, 4)], ids=str)
    def test_epsilon_is_the_logarithm_of_three(self, truth: Fraction) -> None:
        """The probabilities 3/4 and 1/4 give ln 3, rounded up in the twelfth digit."""
        randomizer = LOCAL_MECHANISMS[0].calibrate_and_verify(
            RandomizerRequest(labels(2), probability=truth)
        )
        assert log(3) <= randomizer.loss.epsilon <= log(3) * (1 + 1e-11)

    def test_a_million_responses_are_true_in_three_of_four(self, stream: Stream) -> None:
        """10^6 responses of each label match 3/4 and 1/4."""
        randomizer = LOCAL_MECHANISMS[0].calibrate_and_verify(
            RandomizerRequest(labels(2), probability=Fraction(3, 4))
        )
        for true in (0, 1):
            (drawn,) = respond(randomizer, Confidential(np.full(10**6, true), randomizer)).value
            kept = int((drawn == true).sum())
            statistic = (kept - 750_000) ** 2 / 750_000 + (kept - 750_000) ** 2 / 250_000
            assert chi_square_tail(statistic, 1) > CUT

    @pytest.mark.parametrize("ones", [0, 1, 250, 377, 1000])
    def test_the_estimator_is_the_one_of_the_textbook(self, ones: int) -> None:
        """With y the share of ones: 2y - 0.5 at 3/4, and 1.5 - 2y at 1/4, exactly."""
        share = Fraction(ones, 1000)
        for truth, expected in (
            (Fraction(3, 4), 2 * share - Fraction(1, 2)),
            (Fraction(1, 4), Fraction(3, 2) - 2 * share),
        ):
            randomizer = LOCAL_MECHANISMS[0].calibrate_and_verify(
                RandomizerRequest(labels(2), probability=truth)
            )
            zero, one = randomizer.estimates(ResponseCounts(1000, (1000 - ones, ones)))
            assert one == expected
            # The share of zeros says the same of zeros.
            assert zero == 1 - expected


@pytest.mark.parametrize(
    ("place", "wanted"),
    [
        (0, RandomizerRequest(labels(3), Fraction(1))),
        (0, RandomizerRequest(labels(2), probability=Fraction(1, 2))),
        (1, RandomizerRequest(labels(1), Fraction(1))),
        (1, RandomizerRequest(labels(4), probability=Fraction(1, 4))),
    ],
    ids=["three labels for a coin", "a fair coin", "one label", "even odds"],
)
def test_impossible_requests_are_refused_with_a_hint(place: int, wanted: RandomizerRequest) -> None:
    """One label, three labels for a coin, and equal probabilities are refused, with a hint."""
    with pytest.raises(RandomizerError) as refused:
        LOCAL_MECHANISMS[place].calibrate_and_verify(wanted)

    message, hint = message_and_hint(refused.value.code, **refused.value.arguments)
    assert message and hint


def test_worst_ratio_agrees_with_all_pairs() -> None:
    """The worst ratio of a table is that of a search over all pairs of rows."""
    for name, randomizer, _ in randomizers(discrete=True):
        rows = table_of(randomizer)
        pair = worst_ratio(rows)
        assert pair.ratio == worst(rows), name
        assert rows[pair.likely][pair.output] == pair.max_probability
        assert rows[pair.unlikely][pair.output] == pair.min_probability


def test_an_output_that_one_input_never_gives_is_infinite() -> None:
    """Zero for one input only is an infinite ratio; zero for all inputs is not."""
    half, third = Fraction(1, 2), Fraction(1, 3)
    zero = Fraction(0)
    assert worst_ratio([[half, half, zero], [third, third, third]]).epsilon is None
    assert worst_ratio([[half, half, zero], [third, 1 - third, zero]]).ratio == Fraction(3, 2)
