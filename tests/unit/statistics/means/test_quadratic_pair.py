"""Variances from two quadratic sums: their errors, their intervals, and where they are used."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from dpcli.numeric.arrays import Ints
from dpcli.planning.plan import PlannedStatistic
from dpcli.privacy.unit import PersonUnit, RowUnit
from dpcli.statistics.design import TYPICAL_MEAN, TYPICAL_VARIANCE
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.means import quadratic_pair
from dpcli.statistics.means.products import JointMoments, MomentsDesign
from dpcli.statistics.means.spread import DistancesOfVariance
from tests.oracles.agreement import agreed
from tests.support.rules import for_each, mostly_extended
from tests.support.streams import Stream
from tests.support.surveys import CONFIDENCE, assert_covers, noisy_answers, planned_statistic

HALF = 1_000
"""Half the width of the bounds, in steps of one hundredth."""

WITHOUT_INTERVALS = Fraction(9999, 10_000)
"""A confidence for which no intervals are computed, to save time."""

SPEC = """\
dpcli: 1
dataset: d
privacy: {{unit: {unit}, neighbors: {neighbors}, budget: {{epsilon: 2, delta: 1e-5}}}}
columns:
  who: {{type: id}}
  s: {{type: category, values: [a, b]}}
  x: {{type: number, step: {step}, bounds: [-4, {upper}]{missing}}}
  y: {{type: integer, bounds: [0, 10], missing: 0}}
statistics: [{{name: v, statistic: {entry}}}]
"""

PEOPLE = "{column: who, max_rows: 3}"
PUBLIC = ", missing: 0"

RELATIONS = (
    ("row", "", 2 * sqrt(2)),
    ("row", PUBLIC, 2 * sqrt(2)),
    (PEOPLE, "", 6 * sqrt(2)),
    (PEOPLE, PUBLIC, 6 * sqrt(2)),
)
"""The unit, missing values, and the noise in a sum for epsilon 1, in squared widths."""

PLACES = (0.0, 0.5, -0.8)
"""Where the mean lies, in half-widths from the middle."""


def planned(
    unit: str = "row",
    missing: str = "",
    entry: str = "variance, column: x, raw: true, epsilon: 1",
    *,
    neighbors: str = "change-one",
    upper: int = 16,
    step: str = "0.01",
) -> PlannedStatistic:
    """The variance of a spec, without missing values or with rows that may be skipped."""
    return planned_statistic(
        SPEC.format(
            unit=unit, neighbors=neighbors, missing=missing, entry=entry, upper=upper, step=step
        )
    )


def file_of(place: float, rows: int) -> Ints:
    """Two values, as often, around a mean at this place; shape (1, rows)."""
    apart = HALF * sqrt(TYPICAL_VARIANCE)
    ends = [round(-400 + HALF + HALF * place + side * apart) for side in (1, -1)]
    values: Ints = np.clip(np.resize(ends, (1, rows)), -400, 1600)
    return values


def released(
    statistic: PlannedStatistic, values: Ints, runs: int, confidence: Fraction = CONFIDENCE
) -> Estimates:
    """The estimates of many releases about these values."""
    answers = noisy_answers(statistic, {"x": values}, runs)
    return statistic.design.estimate(answers, confidence)


def raw_error(statistic: PlannedStatistic, values: Ints) -> float:
    """The root of the mean squared error of the variance without clamping, in squared steps."""
    estimates = released(statistic, values, 10_000, WITHOUT_INTERVALS)
    assert estimates.raw is not None
    errors = estimates.raw.astype(float) * float(estimates.step) * 100**2 - values.var()
    return float(np.sqrt((errors**2).mean()))


CASES = [(place, *relation) for place in PLACES for relation in RELATIONS]


@pytest.mark.parametrize(
    ("place", "unit", "missing", "times"), mostly_extended(CASES, *CASES[::4], unpack=True)
)
def test_the_error_of_a_variance_is_that_of_its_closed_form(
    place: float, unit: str, missing: str, times: float, stream: Stream
) -> None:
    """Both sums and the number of rows have the same noise, unless rows are public."""
    rows, values = 20_000, file_of(place, 20_000)
    statistic = planned(unit, missing)
    mean, square = (np.mean(((values + 400) / HALF - 1) ** power) for power in (1, 2))
    is_public = (unit, missing) == ("row", PUBLIC)
    counted = 0.0 if is_public else 0.5 + 2 * mean**2 - square
    spread = sqrt((0.5 - 2 * mean) ** 2 + (0.5 + 2 * mean) ** 2 + counted**2)
    stated = times * HALF**2 * spread / rows

    assert isinstance(statistic.design, JointMoments)
    assert raw_error(statistic, values) == pytest.approx(stated, rel=0.03)
    if place == TYPICAL_MEAN:
        noises = [sqrt(2) * float(query.scale) for query in statistic.queries]
        expected = statistic.design.expected_error(noises) * HALF**2 / rows
        assert expected == pytest.approx(stated, rel=0.01)


@pytest.mark.parametrize(("place", "gain"), [(0.0, 2.07), (0.5, 1.355), (-0.8, 1.23)])
def test_errors_are_smaller_than_those_of_squared_distances(
    place: float, gain: float, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the same epsilon; the expected errors compare both designs for a typical mean."""
    values, statistics = file_of(place, 20_000), [planned()]
    monkeypatch.setattr(quadratic_pair, "quadratic_pair", lambda _: ())
    statistics.append(planned())
    assert isinstance(statistics[1].design, DistancesOfVariance)
    less, more = (raw_error(statistic, values) for statistic in statistics)
    assert more / less == pytest.approx(gain, rel=0.03)
    expected = [
        statistic.design.expected_error([float(statistic.queries[0].error(CONFIDENCE))])
        for statistic in statistics
    ]
    assert expected[1] / expected[0] == pytest.approx(1.355, rel=0.001)


@pytest.mark.parametrize("place", PLACES)
def test_errors_are_about_root_two_times_smaller_than_those_of_separate_sums(
    place: float, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the number of rows is public, wherever the mean lies: by 1.36 to 1.41."""
    values, statistics = file_of(place, 20_000), [planned(missing=PUBLIC)]
    monkeypatch.setattr(quadratic_pair, "quadratic_pair", lambda _: ())
    statistics.append(planned(missing=PUBLIC))
    assert type(statistics[1].design) is MomentsDesign
    less, more = (raw_error(statistic, values) for statistic in statistics)
    assert 1.32 < more / less < 1.48


FORMS = [
    (place, kind, unit, missing)
    # The ends of a deviation are the roots of those of a variance.
    for place, kind in ((0.0, "variance"), (0.5, "variance"), (0.5, "std"), (-0.98, "variance"))
    for unit, missing, _ in RELATIONS
]


@pytest.mark.parametrize("runs", [4_000, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("place", "kind", "unit", "missing"), mostly_extended(FORMS, *FORMS[::5], unpack=True)
)
def test_intervals_cover_as_stated(
    place: float, kind: str, unit: str, missing: str, runs: int, stream: Stream
) -> None:
    """Of as many intervals, 93 to 97% contain the number, also where that of rows matters."""
    values = file_of(place, 600)
    estimates = released(planned(unit, missing, f"{kind}, column: x, epsilon: 1"), values, runs)
    truth = values.var() / 100**2
    assert_covers(estimates, truth if kind == "variance" else sqrt(truth))


@for_each(
    [
        ("add-remove", "column: x", DistancesOfVariance),
        ("change-one", "column: x, by: [s]", DistancesOfVariance),
        ("change-one", "column: x, where: {s: a}", JointMoments),
        ("change-one", "column: y", JointMoments),
        ("change-one", "column: x, mechanism: gaussian, delta: 1e-6", MomentsDesign),
    ]
)
def test_quadratic_sums_are_for_changed_rows_without_groups(case: tuple[str, str, type]) -> None:
    """And for pure noise; otherwise variances are computed as for added rows."""
    neighbors, fields, design = case
    statistic = planned(entry=f"variance, {fields}, epsilon: 1", neighbors=neighbors)
    assert type(statistic.design) is design


@for_each(
    [("row", 16, "0.01"), ("row", 13, "1"), (PEOPLE, 16, "0.01"), ("row", (1 << 39) - 4, "1")]
)
def test_exact_answers_are_those_of_the_oracle(case: tuple[str, int, str], tmp_path: Path) -> None:
    """With missing cells, values outside the bounds, a filter, and limits on rows of people."""
    unit, upper, step = case
    entry = "variance, column: x, where: {s: a}, epsilon: 1"
    statistic = planned(unit, entry=entry, upper=upper, step=step)
    query = statistic.queries[0].weighted.query
    values = ("-9", "-4", "-1", "", "0", "7", str(upper - 1), str(upper), str(2 * upper))
    lines = [f"p{index // 3},{'aab'[index % 3]},{values[index % 9]}" for index in range(40)]
    of_unit = PersonUnit("who", 3, 1, 3) if unit == PEOPLE else RowUnit()
    agreed([query], "\n".join(["who,s,x", *lines, ""]), tmp_path, of_unit)


def test_separate_sums_are_answered_for_wide_bounds() -> None:
    """Squared widths below 2^80 fit the sums; then squares of separate sums do, too."""
    kinds = [type(planned(upper=(1 << power) - 4, step="1").design) for power in (39, 40)]
    assert kinds == [JointMoments, MomentsDesign]
