"""The errors that plans expect of typical values, and the keys that they advise."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest

from dpcli.numeric.arrays import Ints
from dpcli.planning.expected_errors import advice, expected_error
from dpcli.planning.plan import CentralPlan
from dpcli.planning.planner import make_plan
from dpcli.specification.load import parse_central_spec
from dpcli.statistics.design import TYPICAL_MEAN, TYPICAL_VARIANCE
from dpcli.statistics.estimates import Estimates
from tests.support.rules import mostly_extended
from tests.support.surveys import CONFIDENCE, noisy_answers, with_noise

ROWS, RUNS = 4000, 4000

TOLERANCE = 0.15
"""How far a published half-width, or the error that 5% exceed, may be from the stated one."""

SPEC = """\
dpcli: 1
dataset: d
privacy: {{unit: {unit}, neighbors: {neighbors}, budget: {{epsilon: 9}}}}
quality: none
columns:
  who: {{type: id}}
  x: {{type: integer, bounds: [0, 1000], missing: 0}}
  y: {{type: number, bounds: [-50, 150], step: 0.5}}
  w: {{type: integer, bounds: [1, 5]}}
  town: {{type: category, values: [a, b, c, d]}}
  f: {{type: boolean}}
  g: {{type: boolean}}
  h: {{type: boolean}}
  k: {{type: boolean}}
statistics: [{{name: n, {fields}}}]
"""

PEOPLE = "{column: who, max_rows: 50}"


def plan_of(fields: str, unit: str = "row", neighbors: str = "add-remove") -> CentralPlan:
    """The plan of a spec with one entry, at epsilon 1 if its fields request no budget."""
    fields += "" if re.search("epsilon|error", fields) else ", epsilon: 1"
    spec = SPEC.format(unit=unit, neighbors=neighbors, fields=fields)
    return make_plan(parse_central_spec(spec, "spec"))


def widths(plan: CentralPlan, rows: int | None = ROWS) -> list[float | None]:
    """The stated error of each item."""
    expected = expected_error(plan.statistics[0], plan, rows)
    assert expected is not None
    return [None if width is None else float(width) for width in expected.widths]


def typical_column(low: int, high: int, seed: int) -> Ints:
    """Whole numbers between the bounds with the mean and the variance of typical values."""
    place, spread = (1 + TYPICAL_MEAN) / 2, TYPICAL_VARIANCE / 4
    both = place * (1 - place) / spread - 1
    levels = (np.arange(ROWS) + 0.5) / ROWS
    stream = np.random.default_rng(seed)
    drawn = np.quantile(stream.beta(place * both, (1 - place) * both, 10**5), levels)
    shuffled: Ints = stream.permutation(np.rint(low + (high - low) * drawn)).astype(np.int64)
    return shuffled[None]


FILES = {
    "x": typical_column(0, 1000, 1),
    "y": typical_column(-100, 300, 2),
    "w": typical_column(1, 5, 3),
}


def assert_as_stated(plan: CentralPlan, estimates: Estimates) -> None:
    """Half-widths are the stated ones at the median, and 95% of errors are within them."""
    stated, step = np.array(widths(plan), float), float(estimates.step)
    lower, upper, value = (
        np.array(part, float).reshape(-1, len(stated)) * step
        for part in (estimates.lower, estimates.upper, estimates.value)
    )
    exceeded = np.quantile(abs(value - np.median(value, axis=0)), float(CONFIDENCE), axis=0)

    assert np.median(upper - lower, axis=0) / 2 == pytest.approx(stated, rel=TOLERANCE)
    assert exceeded == pytest.approx(stated, rel=TOLERANCE)


RELATIONS = (
    ("row", "add-remove"), ("row", "change-one"), (PEOPLE.replace("50", "3"), "add-remove"),
)  # fmt: skip

OF_NUMBERS = (
    "statistic: mean, column: x",
    "statistic: mean, column: y, weight: w",
    "statistic: std, column: x",
    "statistic: variance, column: y",
    "statistic: describe, column: y",
    "statistic: covariance, columns: [x, y]",
    "statistic: correlation, columns: [x, y]",
    "statistic: ratio, numerator: x, denominator: y",
    "statistic: ratio, numerator: y, denominator: rows, per: 1000",
    "statistic: linear_regression, column: y, on: [x]",
)


@pytest.mark.parametrize(
    ("fields", "unit", "neighbors"),
    mostly_extended(
        [(fields, *relation) for fields in OF_NUMBERS for relation in RELATIONS],
        *[(fields, *RELATIONS[at % 3]) for at, fields in enumerate(OF_NUMBERS)],
        unpack=True,
    ),
)
def test_intervals_of_typical_files_are_as_wide_as_planned(
    fields: str, unit: str, neighbors: str
) -> None:
    """A file of typical values has the stated half-widths, and errors within them."""
    fields = fields.replace("denominator: y", "denominator: w")
    plan = plan_of(fields, unit, neighbors)
    (planned,) = plan.statistics
    answers = noisy_answers(planned, FILES, RUNS)

    assert_as_stated(plan, planned.design.estimate(answers, CONFIDENCE))


@pytest.mark.parametrize(
    ("fields", "cells"),
    [
        ("statistic: proportion, column: f", [1000, 3000]),
        ("statistic: proportion, column: town, values: [a], per: 100", [1000, 3000]),
        ("statistic: ratio, numerator: f, denominator: g", [250, 750, 750, 2250]),
        ("statistic: comparison, between: {town: [a, b]}", [2000, 2000]),
    ],
)
def test_intervals_of_shares_are_as_wide_as_planned(fields: str, cells: Sequence[int]) -> None:
    """Where three quarters of the rows are true, or groups are equal, errors are as stated."""
    plan = plan_of(f"{fields}, epsilon: 0.2")
    (planned,) = plan.statistics
    answers = with_noise(planned, [cells], RUNS)

    assert_as_stated(plan, planned.design.estimate(answers, CONFIDENCE))


def test_rows_are_divided_equally_among_groups() -> None:
    """The error in each of four groups is that of a quarter of the rows without groups."""
    grouped, plain = (plan_of(f"statistic: mean, column: x{by}") for by in (", by: [town]", ""))

    assert widths(grouped, 4 * ROWS) == widths(plain, ROWS)


def test_the_error_of_noisy_coefficients_is_in_units_of_the_columns() -> None:
    """A slope is in units of `y` for one of `x`, not in half-widths of their bounds."""
    output = "method: output, ridge: 0.1, rows: 4000"
    fields = f"statistic: linear_regression, column: x, on: [x2], {output}"
    column = "columns:\n  x2: {{type: integer, bounds: [0, 10], missing: 0}}"
    spec = SPEC.replace("columns:", column).format(
        unit="row", neighbors="change-one", fields=f"{fields}, epsilon: 1"
    )
    plan = make_plan(parse_central_spec(spec, "spec"))
    (planned,) = plan.statistics
    scaled = float(planned.queries[0].error(CONFIDENCE))

    intercept, slope = widths(plan, None)
    assert planned.error(CONFIDENCE) is None
    assert slope == pytest.approx(scaled * 500 / 5, rel=0.01)
    assert intercept is not None and intercept > scaled * 500


def test_an_error_depends_on_a_number_of_rows() -> None:
    """Without the number it is not stated; with few rows, everything is possible."""
    plan = plan_of("statistic: mean, column: x")

    assert expected_error(plan.statistics[0], plan, None) is None
    assert widths(plan_of("statistic: mean, column: x, epsilon: 0.001"), 10) == [None]


KEYS = {
    "statistic: count, by: [town]": "max_rows: 1",
    "statistic: count, by: [town], max_rows: 1": None,
    "statistic: sum, column: x, by: [town], bound: sum, unit_bounds: [0, 9]": None,
    "statistic: sum, column: x, bound: rows, unit_bounds: [0, 900]": "bound: sum",
    "statistic: median, column: x, max_rows: 1": None,
    "statistic: selections, columns: [f, g, h, k], max_rows: 1, by: [town]": None,
    "statistic: mean, column: x": "max_rows: 1",
    "statistic: count, by: [town], error: 30": None,
}
"""Fields of an entry, and the key that a plan advises, if any."""


@pytest.mark.parametrize(("fields", "key"), KEYS.items(), ids=map(str, range(len(KEYS))))
def test_advice_is_the_error_of_a_spec_with_the_key(fields: str, key: str | None) -> None:
    """A plan with the advised key has the smaller error at the same loss, by a factor of two."""
    plan = plan_of(fields, PEOPLE)
    advised = list(advice(plan, ROWS))
    if key is None:
        assert not advised
        return
    name, _, _ = key.partition(":")
    kept = re.sub(rf", {name}: \w+", "", fields)
    changed = plan_of(f"{kept}, {key}", PEOPLE)
    before, after = (widths(one)[0] or 0 for one in (plan, changed))

    (sentence,) = advised
    found = re.search(rf"n: `{key}` .* error of about (\S+) instead of (\S+);", sentence)
    assert found is not None
    stated = [float(number.replace(",", "")) for number in found.groups()]
    assert stated == pytest.approx([after, before], rel=0.01)
    assert after <= before / 2
    assert plan.cost == changed.cost
