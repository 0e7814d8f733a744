"""How often intervals by a perturbed objective contain the coefficients without noise."""

from __future__ import annotations

import re
from math import sqrt

import pytest

from dpcli.noise.k_norm import KNormNoise
from dpcli.numeric.arrays import Floats, np
from tests.support.objective_surveys import Model, Regression, shaped, tail
from tests.support.streams import Stream
from tests.support.surveys import CONFIDENCE

FEW, MANY = 100, 10_000

extended = pytest.mark.extended

Setting = tuple[Model, str, int, int, str, float, float]
"""The model, shape, inputs, rows, epsilon, sum of slopes, and intercept."""

EXACT: list[Setting] = [
    ("linear", "normal", 1, 3000, "1", 0.6, 0.0),
    ("linear", "labels", 1, 300, "3", 0.6, 0.0),
    ("linear", "normal", 1, 1000, "3", 0.6, 0.0),
    ("linear", "clamped", 1, 3000, "3", 0.5, 0.0),
    ("linear", "labels", 2, 3000, "1", 0.95, 0.0),
    ("linear", "normal", 2, 3000, "3", 0.6, 0.0),
]
"""Squares whose products are much larger than their noise."""

BOUNDS: list[Setting] = [
    ("logistic", "labels", 1, 1000, "1", 0.5, 0.0),
    ("logistic", "normal", 1, 300, "3", 1.0, 0.0),
    ("logistic", "normal", 1, 3000, "1", 3.0, -0.5),
    ("logistic", "normal", 1, 3000, "3", 1.0, -4.0),
    ("logistic", "clamped", 1, 3000, "3", 1.5, 0.0),
    ("logistic", "correlated", 2, 3000, "3", 1.0, 0.0),
    ("linear", "normal", 1, 300, "1", 0.6, 0.0),
    ("linear", "normal", 1, 3000, "0.3", 0.6, 0.0),
    ("linear", "skewed", 1, 1000, "3", 0.6, 0.0),
    # The limit of the coefficients is reached with or without noise.
    ("linear", "labels", 1, 300, "1", 1.0, 0.0),
    ("linear", "labels", 1, 1000, "1", 1.3, 0.0),
]
"""Logistic losses, limits of coefficients, and products that noise may hide."""


def regression(setting: Setting) -> Regression:
    """Rows whose outcome depends on all inputs alike."""
    model, shape, inputs, rows, epsilon, slope, intercept = setting
    x, generator = shaped(shape, inputs, rows), np.random.default_rng(3)
    mixed = x[:, 1:].mean(axis=1)
    if model == "linear":
        outcome = np.clip(intercept + slope * mixed + generator.normal(0, 0.2, rows), -1, 1)
        return Regression(model, x, outcome.round(2), epsilon)
    odds = np.exp(intercept + slope * (mixed - mixed.mean()))
    true: Floats = (generator.random(rows) < odds / (1 + odds)).astype(np.float64)
    return Regression(model, x, true, epsilon)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_tail_of_weighted_sums_is_that_of_evenly_spaced_vectors(
    size: int, stream: Stream
) -> None:
    """A formula and the fixed vectors of the code agree on P[|w'b| > c]."""
    levels = np.random.default_rng(1).random((size + 1, 200_000))
    weights = np.array([1.0, -0.3, 2.0][:size])
    sums = abs(weights @ KNormNoise.vectors(levels))
    for width in (0.5, 2.0, 6.0):
        assert tail(weights, width) == pytest.approx((sums > width).mean(), abs=0.004)


@pytest.mark.parametrize(
    "setting", [*EXACT[:4], *(pytest.param(one, marks=extended) for one in EXACT[4:])]
)
def test_expected_coverage_of_squares(setting: Setting, stream: Stream) -> None:
    """The exact probability that intervals hold, given the products, is 94% to 97% on average."""
    coverage = regression(setting).expected_coverage(20)

    assert (coverage >= 0.94).all(), coverage
    assert (coverage <= 0.97).all(), coverage


@pytest.mark.slow
@pytest.mark.parametrize("setting", EXACT)
def test_intervals_of_squares_have_the_stated_confidence(setting: Setting, stream: Stream) -> None:
    """Where products are precise, 95% intervals hold in 93% to 97% of releases."""
    found = regression(setting).survey(MANY)

    assert found.informative > 0.9
    assert (found.coverage >= 0.93).all(), found
    assert (found.coverage <= 0.97).all(), found


@pytest.mark.extended
@pytest.mark.parametrize(
    ("setting", "releases"),
    [*((setting, FEW) for setting in (BOUNDS[0], BOUNDS[-2]))]
    + [pytest.param(setting, MANY, marks=pytest.mark.slow) for setting in BOUNDS],
)
def test_intervals_from_bounds_hold_at_least_as_often_as_stated(
    setting: Setting, releases: int, stream: Stream
) -> None:
    """At least 93% of 95% intervals hold; those that are all that is possible count as such."""
    found = regression(setting).survey(releases)

    margin = 3 * sqrt(0.05 / releases) * (releases == FEW)
    assert (found.coverage >= 0.93 - margin).all(), found


@pytest.mark.parametrize("model", ["linear", "logistic"])
def test_most_releases_have_intervals_with_the_rows_that_plans_state(
    model: Model, stream: Stream
) -> None:
    """With the stated number of rows of typical inputs, about nine of ten releases do."""
    generator = np.random.default_rng(5)
    size = 20
    few = np.ones((size, 2)), generator.integers(0, 2, size).astype(np.float64)
    plan = Regression(model, *few, "1").plan
    (said,) = (
        sentence
        for sentence in plan.design.sentences(plan.noises, CONFIDENCE)
        if "expect intervals" in sentence
    )
    (stated,) = re.findall(r"from about ([\d,]+) rows", said)
    rows = int(stated.replace(",", ""))
    typical = 0.5 + np.sqrt(0.1) * np.where(np.arange(rows) % 2, 1, -1)
    x = np.stack([np.ones(rows), typical.round(2)], axis=1)
    outcome = generator.integers(0, 2, rows).astype(np.float64)

    found = Regression(model, x, outcome, "1").survey(60)
    assert 0.8 <= found.informative <= 0.99
