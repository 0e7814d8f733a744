"""Rungs beyond the last accepted count: the least expected error over tails that agree."""

from __future__ import annotations

from itertools import product
from math import exp, inf, log, log2
from random import Random

import numpy as np
import pytest

from dpcli.statistics.bounds.rule import best_position

CANDIDATES = [2**power for power in range(14)]
SCALE = 10.0


def plain_position(
    counts: list[int], candidates: list[int], last: int, scale: float, clamping_weight: float
) -> int:
    """The same choice in plain Python, a tail and a bin at a time."""
    inner = [0, *candidates[:-1]]
    lows = [low or candidates[0] / 2 for low in inner]
    width = [log2(candidate / low) for candidate, low in zip(candidates, lows, strict=True)]
    middle = [log2(candidate * low) / 2 for candidate, low in zip(candidates, lows, strict=True)]
    positions = range(max(last - 3, 0), min(last + 5, len(candidates)))
    level = max(counts[last - 1] / scale, 1)
    tails = []
    for third, curvature, ends in product(
        range(-21, 4), (0, -0.125, -0.25, -0.5, -1, -2, -4), range(positions[-1] - last + 1)
    ):
        expected, agreement = {}, ends * log(0.5)
        for position in positions:
            one, all_of_it = (middle[at] - middle[last - 1] for at in (position, last))
            exponent = third / 3 * one + curvature / 2 * one * (one - all_of_it)
            density = level / width[last - 1] * 2**exponent
            count = density * width[position] if position <= last + ends else 0.0
            spread = 1 + count / 20
            agreement -= abs(counts[position] / scale - count) / spread + log(spread)
            expected[position] = count
        tails.append((agreement, expected))
    most = max(agreement for agreement, _ in tails)
    least, best = inf, last
    for position in positions:
        if position < last:
            continue
        bias, total = 0.0, 0.0
        for agreement, expected in tails:
            short = sum(
                expected[at] * (min(inner[at] * 4 / 3, candidates[at]) - candidates[position])
                for at in positions
                if at > position
            )
            bias += exp(agreement - most) * short**2
            total += exp(agreement - most)
        error = clamping_weight**2 * bias / total + 2 * (candidates[position] / 9) ** 2
        if error < least:
            least, best = error, position
    return best


def noisy(counts: list[float], generator: np.random.Generator) -> list[int]:
    """The counts with Laplace noise."""
    return [round(count + generator.laplace(0, SCALE)) for count in counts]


@pytest.mark.parametrize("clamping_weight", [1.0, 0.4])
@pytest.mark.parametrize("ratio", [0.15, 0.3, 0.6])
def test_the_choice_is_that_of_a_plain_evaluation(ratio: float, clamping_weight: float) -> None:
    """Tails, weights and errors are what their definitions say."""
    generator = np.random.default_rng(1)
    positions = []
    for size in (300, 3_000, 30_000):
        counts = noisy([size * ratio**position for position in range(10)], generator)
        last = max(position for position in range(1, 8) if counts[position] > 40 or position == 1)
        found = best_position(counts, CANDIDATES[:10], last, SCALE, 2.0, clamping_weight)
        assert found == plain_position(counts, CANDIDATES[:10], last, SCALE, clamping_weight)
        positions.append(found - last)
    assert ratio < 0.5 or max(positions) > 0


@pytest.mark.parametrize("decline", [0.2, 0.35, 0.5])
def test_a_tail_is_followed_as_far_as_it_pays(decline: float) -> None:
    """Where counts decline by a fixed ratio, the mean square of the error is less than half."""
    true = [20_000 * decline**position for position in range(14)]
    last = max(position for position in range(14) if true[position] > 8 * SCALE)
    inner = [0, *CANDIDATES]

    def error(position: int) -> float:
        short = sum(
            true[at] * (inner[at] + (CANDIDATES[at] - inner[at]) / 3 - CANDIDATES[position])
            for at in range(position + 1, 14)
        )
        return float(short**2 + 2 * (CANDIDATES[position] * SCALE / 9) ** 2)

    generator, errors = np.random.default_rng(2), []
    for _ in range(200):
        position = best_position(noisy(true, generator), CANDIDATES, last, SCALE, 2.0)
        errors.append(error(position))
    assert sum(errors) / 200 < error(last) / 2


@pytest.mark.parametrize(
    "counts",
    [
        [400, 800, 1600, 0, 0, 0, 0, 0],
        [4000, 2000, 1000, -12, 9, 0, 3, 0],
        [0, 3, 1000, 12, 15, 0, 3, 0],
        [4000, 500, 60, 1, 0, 0, 0, 0],
    ],
)
def test_an_end_is_not_passed(counts: list[int]) -> None:
    """Nothing is added where counts end, rise alone, or decline to what is not worth its noise."""
    assert best_position(counts, CANDIDATES[:8], 2, SCALE, 2.0) == 2


def test_the_first_and_the_outermost_place_stay() -> None:
    """One accepted count shows no decline, and nothing lies beyond the outermost rung."""
    assert best_position([900, 20, 20], [1, 2, 4], 0, SCALE, 2.0) == 0
    assert best_position([900, 500, 300], [1, 2, 4], 2, SCALE, 2.0) == 2
    assert best_position([], [], 0, SCALE, 2.0) == 0


def test_choices_keep_their_order() -> None:
    """Counts in other units choose the same; rows that are worth less never choose more."""
    random, moved = Random(3), 0
    for _ in range(300):
        ratio = random.uniform(0.1, 0.9)
        counts = [
            round(3_000 * ratio**position) + random.randint(-20, 20) for position in range(12)
        ]
        last = random.randrange(1, 12)
        whole = best_position(counts, CANDIDATES[:12], last, SCALE, 2.0)
        scaled = best_position(
            [8 * count for count in counts], CANDIDATES[:12], last, 8 * SCALE, 2.0
        )
        less = best_position(counts, CANDIDATES[:12], last, SCALE, 2.0, 0.3)
        assert last <= less <= whole == scaled
        moved += less < whole
    assert moved
