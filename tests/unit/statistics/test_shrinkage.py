"""The ridge of an objective shrinks slopes as much as plans say before any row is read."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dpcli.numeric.arrays import Floats
from dpcli.planning.designs import design_sentences
from dpcli.queries.objectives import ObjectiveQuery
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
    sentence = design_sentences(plan, CONFIDENCE)[1]
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
