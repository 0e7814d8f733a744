"""Count, mean and deviation of one answer: as accurate as alone, with intervals that hold."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from dpcli.numeric.arrays import Floats, Ints
from dpcli.planning.plan import PlannedStatistic
from dpcli.statistics.estimates import HAS_INTERVAL, Estimates
from dpcli.statistics.means.products import JointMoments, MomentsDesign
from tests.support.rules import mostly_extended
from tests.support.surveys import (
    CONFIDENCE,
    assert_covers,
    by_item,
    held,
    noisy_answers,
    planned_statistic,
)

SPEC = """
dpcli: 1
dataset: description
privacy: {{unit: row, neighbors: {neighbors}, budget: {{epsilon: 10, delta: 1e-5}}}}
columns:
  x: {{type: number, bounds: [-10, 40], step: 0.1{missing}}}
statistics: [{{name: s, statistic: {entry}}}]
"""

LAPLACE, GAUSSIAN = "epsilon: 1", "mechanism: gaussian, epsilon: 1, delta: 1e-6"

pytestmark = pytest.mark.usefixtures("stream")

FORMS: Mapping[str, tuple[str, str, str, type[MomentsDesign]]] = {
    "added": ("add-remove", "", LAPLACE, JointMoments),
    "changed": ("change-one", "", LAPLACE, JointMoments),
    "changed, none skipped": ("change-one", ", missing: 0", LAPLACE, JointMoments),
    "added, Gaussian": ("add-remove", "", GAUSSIAN, MomentsDesign),
}


def planned(form: str, kind: str = "describe, column: x") -> PlannedStatistic:
    """The statistic of a spec."""
    neighbors, missing, budget, _ = FORMS[form]
    entry = f"{kind}, {budget}"
    return planned_statistic(SPEC.format(neighbors=neighbors, missing=missing, entry=entry))


def values(rows: int) -> Ints:
    """Steps of normal numbers around 20, shape (1, rows)."""
    drawn = np.random.default_rng(3).normal(200, 60, (1, rows))
    return np.clip(np.rint(drawn), -100, 400).astype(np.int64)


def released(statistic: PlannedStatistic, rows: int, runs: int) -> Estimates:
    """The estimates of many releases, each as one group."""
    answers = noisy_answers(statistic, {"x": values(rows)}, runs)
    return statistic.design.estimate(answers, CONFIDENCE)


def truth(rows: int) -> Floats:
    """The number of rows, their mean and their deviation."""
    numbers = values(rows) / 10
    return np.array([rows, numbers.mean(), numbers.std()])


def errors(estimates: Estimates, exact: Floats) -> Floats:
    """The root of the mean squared error of each item."""
    numbers = by_item(estimates, estimates.value, len(exact))
    found: Floats = np.sqrt(((numbers - exact) ** 2).mean(axis=0))
    return found


SETTINGS = [(form, rows) for form in FORMS for rows in (400, 3000)]


@pytest.mark.extended
@pytest.mark.parametrize(
    ("form", "rows"), mostly_extended(SETTINGS, SETTINGS[0], SETTINGS[2], unpack=True)
)
def test_intervals_cover_as_stated(form: str, rows: int) -> None:
    """Of 10,000 intervals, 94 to 96.5% contain the count, 93 to 97% mean and deviation."""
    statistic = planned(form)
    assert type(statistic.design) is FORMS[form][3]
    estimates, exact = released(statistic, rows, 10_000), truth(rows)
    assert (estimates.status == HAS_INTERVAL).all()
    assert_covers(estimates, exact, most=1 if form == "changed, none skipped" else 0.97)
    assert held(estimates, exact)[0] >= 0.94 or form == "changed, none skipped"


@pytest.mark.parametrize("form", ["added", "changed"])
def test_three_numbers_cost_no_more_than_one(form: str) -> None:
    """The error of the deviation is that of one alone, that of the mean at most 1.5 times it.

    With a third of epsilon each, alone, the errors are twice as large as together.
    """
    together = errors(released(planned(form), 2000, 4000), truth(2000))
    alone = [
        errors(released(planned(form, f"{name}, column: x"), 2000, 4000), truth(2000)[[index]])[0]
        for index, name in enumerate(("mean", "std"), start=1)
    ]
    assert (together[1:] < np.array([1.5, 1.05]) * alone).all(), (together, alone)
    assert (2 * together[1:] < 3 * np.array(alone)).all(), (together, alone)


def test_no_rows_have_a_count_alone() -> None:
    """The intervals of mean and deviation are as wide as the bounds allow."""
    estimates = released(planned("added"), 0, 200)
    lower, upper = (by_item(estimates, end, 3) for end in (estimates.lower, estimates.upper))
    assert (upper[:, 0] < 20).all()
    assert (lower[:, 0] == 0).mean() > 0.9
    assert (lower[:, 1:] == [-10, 0]).mean() > 0.9
    assert (upper[:, 1:] == [40, 25]).mean() > 0.9
