"""The error of a mean with Laplace noise has a closed form."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from dpcli.statistics.design import TYPICAL_MEAN
from tests.support.cli import ROOT
from tests.support.rules import mostly_extended
from tests.support.streams import Stream
from tests.support.surveys import CONFIDENCE, assert_covers, noisy_answers, planned_statistic

ROWS, HALF, RUNS = 2000, 50, 20_000

SPEC = """\
dpcli: 1
dataset: d
privacy: {{unit: {unit}, neighbors: {neighbors}, budget: {{epsilon: 2}}}}
columns: {{who: {{type: id}}, x: {{type: integer, bounds: [0, 100]}}}}
statistics: [{{name: m, statistic: mean, column: x, epsilon: 0.5}}]
"""

PEOPLE = "{column: who, max_rows: 3}"


def closed_form(place: float) -> float:
    """The standard deviation for a mean this far from the middle, in half-widths of the bounds."""
    return 2 * sqrt(1 + place**2) * HALF / (ROWS * 0.5)


RELATIONS = (
    ("row", "add-remove", 1.0),
    ("row", "change-one", sqrt(2)),
    (PEOPLE, "add-remove", 3.0),
    (PEOPLE, "change-one", 3 * sqrt(2)),
)
"""The unit, the neighbors, and how many times the error is that of rows added or removed."""

CASES = [(place, *relation) for place in (0.0, 0.5, -0.8) for relation in RELATIONS]
"""Where the values lie, and one of the relations."""


@pytest.mark.parametrize(
    ("place", "unit", "neighbors", "times"), mostly_extended(CASES, *CASES[::3], unpack=True)
)
def test_the_error_of_a_mean_is_that_of_its_closed_form(
    place: float, unit: str, neighbors: str, times: float, stream: Stream
) -> None:
    """Over many releases, the standard deviation is the stated one, and its mean is nearly zero."""
    plan = planned_statistic(SPEC.format(unit=unit, neighbors=neighbors))
    values = np.full((1, ROWS), round(HALF * (1 + place)))
    answers = noisy_answers(plan, {"x": values}, RUNS)
    estimates = plan.design.estimate(answers, CONFIDENCE)
    errors = estimates.value.astype(float) * float(estimates.step) - values[0, 0]

    stated = times * closed_form(place)
    assert errors.std() == pytest.approx(stated, rel=0.03)
    assert abs(errors.mean()) < 0.05 * stated


@pytest.mark.parametrize("relation", RELATIONS, ids=lambda relation: "-".join(relation[:2])[:20])
@pytest.mark.parametrize("place", [0.0, 0.5, -0.98])
def test_intervals_of_means_cover_as_stated(
    place: float, relation: tuple[str, str, float], stream: Stream
) -> None:
    """Of 10,000 intervals, 94 to 96.5% hold, also where noise of the number of rows matters.

    At a bound they are a few more: an interval beyond it is replaced by one that begins there.
    """
    unit, neighbors, _ = relation
    plan = planned_statistic(SPEC.format(unit=unit, neighbors=neighbors))
    values = np.full((1, 300), round(HALF * (1 + place)))
    answers = noisy_answers(plan, {"x": values}, 10_000)
    estimates = plan.design.estimate(answers, CONFIDENCE)
    assert_covers(estimates, values[0, 0], 0.94, 0.965 if place > -0.9 else 0.975)


def test_plans_and_the_page_state_the_closed_form() -> None:
    """Plans compare mechanisms by it, and the page has its factors at three places."""
    plan = planned_statistic(SPEC.format(unit="row", neighbors="add-remove"))
    (query,) = plan.queries
    error = sqrt(2) * float(query.scale)
    expected = plan.design.expected_error([error])
    text = " ".join((ROOT / "docs" / "statistics.md").read_text("utf-8").split())
    middle, between, bound = (2 * sqrt(1 + place**2) for place in (0, 0.5, 1))

    assert expected / ROWS == pytest.approx(closed_form(TYPICAL_MEAN))
    assert f"{middle:g} h / (n epsilon) for a mean in the middle" in text
    assert f"{between:.3g} half-way to a bound, and {bound:.3g} at a bound" in text
