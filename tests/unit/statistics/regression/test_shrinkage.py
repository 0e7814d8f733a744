"""The ridge of an objective shrinks slopes as much as plans say before any row is read."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dpcli.numeric.arrays import Floats
from dpcli.statistics.regression.queries import ObjectiveQuery
from tests.support.cli import ROOT
from tests.support.regressions import coefficients, likeliest, people, texts, with_ones
from tests.support.surveys import CONFIDENCE, planned_statistic

SPEC = """\
dpcli: 1
dataset: d
privacy: {{unit: row, neighbors: add-remove, budget: {{epsilon: 9}}}}
columns:
  x1: {{type: number, bounds: [-1, 1], step: 0.001}}
  x2: {{type: number, bounds: [-1, 1], step: 0.001}}
  y: {{type: number, bounds: [-1, 1], step: 0.001}}
  z: {{type: boolean}}
statistics: [{{name: m, statistic: {statistic}, on: [x1, x2], epsilon: {epsilon}}}]
"""

LINEAR, LOGISTIC = (
    "linear_regression, column: y, method: objective",
    "logistic_regression, column: z",
)
SHARES = (0.5, 0.1, 0.01)
STATED = re.compile(
    r"half with ([\d,]+) rows, a tenth with ([\d,]+) and a hundredth with ([\d,]+),"
)


def inputs(rows: int) -> Floats:
    """A column of ones, and two inputs of mean zero and variance 0.1 that are not correlated."""
    generator = np.random.default_rng(3)
    drawn = generator.normal(size=(rows, 2))
    drawn -= drawn.mean(axis=0)
    orthogonal, _ = np.linalg.qr(drawn)
    return np.hstack([np.ones((rows, 1)), orthogonal * np.sqrt(0.1 * rows)])


@pytest.mark.parametrize("epsilon", ["0.5", "2"])
@pytest.mark.parametrize("statistic", [LINEAR, LOGISTIC])
def test_slopes_are_too_small_by_the_stated_shares(statistic: str, epsilon: str) -> None:
    """With the stated numbers of rows, a ridge without noise shrinks slopes by these shares."""
    plan = planned_statistic(SPEC.format(statistic=statistic, epsilon=epsilon))
    sentence = plan.design.sentences(plan.noises, CONFIDENCE)[1]
    found = STATED.search(sentence)
    assert found is not None, sentence
    query = plan.queries[0]
    assert isinstance(query.weighted.query, ObjectiveQuery)
    ridge = float(query.weighted.query.perturbation(query.scale).ridge)
    # A logistic loss at even odds has a quarter of the curvature of squares.
    curvature = 0.25 if statistic is LOGISTIC else 1.0

    for text, share in zip(found.groups(), SHARES, strict=True):
        x = inputs(int(text.replace(",", "")))
        slopes = np.array([0.1, 0.3, -0.2])
        matrix = curvature * x.T @ x
        shrunk = np.linalg.solve(matrix + ridge * np.eye(3), matrix @ slopes)
        assert 1 - shrunk[1:] / slopes[1:] == pytest.approx(share, rel=0.06)


PAGE = ROOT / "docs" / "statistics.md"
FIGURES = re.compile(
    r"r is (\d+) and v is 0\.16\. The ridge alone makes slopes by `objective` too small by (\d+)% "
    r"with 300 rows, and by ([\d.]+)% with 3,000\. For those of a `logistic_regression`, "
    r"r is (\d+), and it is (\d+)% and ([\d.]+)%.* over 1,000 draws, it is (\d+)% and ([\d.]+)%, "
    r"and (\d+)% and ([\d.]+)%\."
)


def page_figures(*, logistic: bool) -> list[float]:
    """The ridge in rows, then how much too small slopes are, as the page states in percent.

    By the ridge alone with 300 and with 3,000 rows, then with noise.
    """
    found = FIGURES.search(" ".join(PAGE.read_text("utf-8").split()))
    assert found is not None
    figures = list(map(float, found.groups()))
    return figures[3:6] + figures[8:] if logistic else figures[:3] + figures[6:8]


def exact_slope(design: Floats, outcomes: Floats, ridge: float, *, logistic: bool) -> float:
    """The slope of a regression with this ridge and without noise."""
    penalty = ridge * np.eye(2)
    if not logistic:
        return float(np.linalg.solve(design.T @ design + penalty, design.T @ outcomes)[1])
    theta = np.zeros(2)
    for _ in range(30):
        shares = 1 / (1 + np.exp(-design @ theta))
        curved = (design.T * (shares * (1 - shares))) @ design + penalty
        theta = theta - np.linalg.solve(curved, design.T @ (shares - outcomes) + ridge * theta)
    return float(theta[1])


@pytest.mark.parametrize("statistic", [LINEAR, LOGISTIC])
def test_the_page_states_what_the_ridge_does(statistic: str) -> None:
    """The figures of the page are those of known rows, at epsilon 1."""
    logistic = statistic is LOGISTIC
    spec = SPEC.format(statistic=statistic, epsilon="1").replace("[x1, x2]", "[x1]")
    plan = planned_statistic(spec)
    query = plan.queries[0]
    assert isinstance(query.weighted.query, ObjectiveQuery)
    ridge = float(query.weighted.query.perturbation(query.scale).ridge)
    in_rows, *stated = page_figures(logistic=logistic)

    # A logistic loss at even odds has a quarter of the curvature of squares.
    assert round(ridge * (4 if logistic else 1)) == in_rows
    assert (
        f"about {in_rows:.0f} rows" in plan.design.sentences(plan.noises, CONFIDENCE)[0] or logistic
    )
    for rows, percent in zip((300, 3000), stated[:2], strict=True):
        x, y, z = people(rows, 1)
        design, outcomes = with_ones(x), z if logistic else y
        free, shrunk = (
            exact_slope(design, outcomes, weight, logistic=logistic) for weight in (0, ridge)
        )
        assert float(f"{100 * (1 - shrunk / free):.2g}") == percent


@pytest.mark.slow
@pytest.mark.parametrize("statistic", [LINEAR, LOGISTIC])
@pytest.mark.parametrize("rows", [300, 3000])
def test_the_page_states_what_draws_show(statistic: str, rows: int) -> None:
    """Slopes of 400 releases are too small by the stated share, within four standard errors."""
    logistic = statistic is LOGISTIC
    stated = page_figures(logistic=logistic)[3 + (rows == 3000)]
    x, y, z = people(rows, 1)
    design = with_ones(x)
    exact = likeliest(design, z)[1] if logistic else exact_slope(design, y, 0, logistic=False)
    drawn = np.concatenate(
        [
            coefficients(f"statistic: {statistic}", "add-remove", texts(x, y, z), 100)[:, 1]
            for _ in range(4)
        ]
    )
    lacks = 100 * (1 - drawn / exact)
    assert lacks.mean() == pytest.approx(stated, abs=4 * lacks.std() / np.sqrt(len(lacks)))
