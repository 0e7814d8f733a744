"""Counts in percent of noisy totals: coverage, costs and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dpcli.numeric.arrays import Floats, Ints
from dpcli.planning.plan import PlannedStatistic
from dpcli.planning.results import NoisyStatistic
from dpcli.releasing.steps import estimate_statistic
from dpcli.statistics.estimates import NONNEGATIVE, Estimates
from dpcli.statistics.tables.percent import COLUMN, ROW, TOTAL
from tests.support.rules import in_pairs
from tests.support.surveys import CONFIDENCE, held, planned_statistic, with_noise

SPEC = """
dpcli: 1
dataset: shares
privacy: {{unit: {unit}, neighbors: {neighbors}, budget: {{epsilon: 1000, delta: 1e-3}}}}
columns:
  who: {{type: id}}
  sex: {{type: category, values: [f, m]{sex}}}
  region: {{type: category, values: [north, south, east]{region}}}
  size: {{type: integer, bounds: [1, 5]}}
statistics: [{{name: s, {fields}, epsilon: {epsilon}}}]
"""

PEOPLE = "{column: who, max_rows: 3}"

RELATIONS = (("row", "add-remove"), ("row", "change-one"), (PEOPLE, "add-remove"))

TABLES = "statistic: marginals, columns: [sex, region, size], ways: 2"

FORMS = {
    "total": "statistic: count, by: [region], percent: total",
    "row": "statistic: count, by: [region, sex], percent: row",
    "column": "statistic: histogram, column: size, by: [region], percent: column",
    "tables": f"{TABLES}, percent: row",
    "gaussian": f"{TABLES}, percent: total, mechanism: gaussian, delta: 1e-6",
}

AXES = ("sex", "region", "size")

SHARES = np.einsum("i,j,k->ijk", [0.65, 0.35], [0.2, 0.55, 0.25], [0.42, 0.3, 0.2, 0.06, 0.02])

pytestmark = pytest.mark.usefixtures("stream")


def planned(
    fields: str, relation: tuple[str, str] = RELATIONS[0], epsilon: object = 1, fill: bool = False
) -> PlannedStatistic:
    """The only statistic of a spec; with `fill`, each row has a sex and a region."""
    unit, neighbors = relation
    constants = (", missing: f", ", missing: north") if fill else ("", "")
    text = SPEC.format(
        unit=unit, neighbors=neighbors, fields=fields, epsilon=epsilon,
        sex=constants[0], region=constants[1],
    )  # fmt: skip
    return planned_statistic(text)


def table(rows: int) -> Ints:
    """The number of rows of each sex, region and size."""
    counts: Ints = np.floor(SHARES * rows).astype(np.int64)
    counts[0, 1, 0] += rows - counts.sum()
    return counts


def along(counts: Ints, names: Sequence[str]) -> Ints:
    """The counts along these axes, summed over all others."""
    others = tuple(at for at, name in enumerate(AXES) if name not in names)
    kept = [name for name in AXES if name in names]
    order = [kept.index(name) for name in names]
    numbers: Ints = np.transpose(counts.sum(axis=others), order)
    return numbers


def truth(statistic: PlannedStatistic, counts: Ints) -> Floats:
    """The exact percent of each number."""
    inputs, found = statistic.entry.inputs, []
    percent = inputs.option("percent")
    names = [key.column.name for key in (*inputs.by, *([inputs.bins] if inputs.bins else []))]
    every = [["sex", "region"], ["sex", "size"], ["region", "size"]] if inputs.margins else [names]
    for axes in every:
        numbers = along(counts, axes)
        numbers = numbers.reshape(-1, numbers.shape[-1]).astype(float)
        axis = {TOTAL: None, ROW: 1, COLUMN: 0}[percent]
        found.append(100 * numbers / np.maximum(numbers.sum(axis=axis, keepdims=True), 1))
    return np.concatenate([one.ravel() for one in found])


def released(statistic: PlannedStatistic, counts: Ints, runs: int) -> Estimates:
    """The estimates of many releases of the same counts."""
    exact = [
        along(counts, [axis.column.name for axis in part.weighted.query.axes])
        for part in statistic.queries
    ]
    answers, design = with_noise(statistic, exact, runs), statistic.design
    found = statistic.entry.statistic.possible_estimate(design, answers, CONFIDENCE)
    if statistic.entry.post:
        found = design.make_consistent(answers, found, CONFIDENCE).within(found.limits)
    return found


SIZES, EPSILONS = (30, 300, 30_000), (Fraction(1, 5), 1, 3)


@pytest.mark.parametrize(
    ("form", "relation", "size", "epsilon"),
    in_pairs(
        product(FORMS, RELATIONS, SIZES, EPSILONS),
        *[(form, RELATIONS[at % 3], SIZES[at % 3], 1) for at, form in enumerate(FORMS)],
        ("total", RELATIONS[1], 30, 1),
    ),
)
@pytest.mark.parametrize("fill", [False, True], ids=["", "each row"])
def test_intervals_hold(
    form: str, relation: tuple[str, str], size: int, epsilon: Fraction, fill: bool
) -> None:
    """An interval of 95% contains the noise-free percent in at least that share of releases."""
    statistic, counts = planned(FORMS[form], relation, float(epsilon), fill), table(size)
    if any("effect" in part.weighted.role for part in statistic.queries):
        # Effects have answers of their own, and the intervals of tables.
        return
    coverage = held(released(statistic, counts, 600), truth(statistic, counts))

    # The mean of a few cells in 600 releases has a deviation of 0.5% to 0.9%.
    assert coverage.mean() >= 0.935
    assert coverage.min() >= 0.91


def test_percent_costs_the_answer_alone() -> None:
    """Percent of counts has the queries, the noise and the loss of the counts."""
    for form in FORMS.values():
        plain = form.replace(f", percent: {form.split('percent: ')[1].split(',')[0]}", "")
        shares, counts = planned(form), planned(plain)

        assert [part.weighted.query for part in shares.queries] == [
            part.weighted.query for part in counts.queries
        ]
        assert shares.noises == counts.noises


def test_a_public_total_has_no_noise() -> None:
    """If each row counts and rows are changed, intervals have the noise of a count alone."""
    statistic = planned(FORMS["total"], RELATIONS[1], 1, fill=True)
    counts, noise = table(300), statistic.noises[0]
    found = released(statistic, counts, 1)
    widths = (found.upper - found.lower).astype(float) * float(found.step)

    assert widths == pytest.approx(2 * noise.half_width(CONFIDENCE) / 3, abs=1e-3)


def test_shares_of_a_total_are_precise() -> None:
    """The interval of a share is no wider than that of the count for a known total."""
    found = released(planned(FORMS["total"]), table(30_000), 1)
    widths = (found.upper - found.lower).astype(float) * float(found.step)

    assert widths.max() <= 2 * 3 / 300 * 1.01


def test_parts_of_a_row_sum_to_all_of_it() -> None:
    """The published percent of the parts of a total sum to 100, but for rounding."""
    found = released(planned(FORMS["row"]), table(3000), 1)
    sums = found.value.astype(float).reshape(3, 2).sum(axis=1) * float(found.step)

    assert sums == pytest.approx(100, abs=1e-4)


@pytest.mark.parametrize("step", ["", ", post: [integer]"])
def test_raw_numbers_of_percent_are_the_counts(step: str) -> None:
    """With `raw: true`, what is published next to percent adds up: the noisy answers."""
    statistic = planned(f"{FORMS['total']}, raw: true{step}")
    answers = tuple(with_noise(statistic, [[70, 30, 5]]))
    found = estimate_statistic(NoisyStatistic(statistic, answers), CONFIDENCE)

    assert found.raw is not None
    assert found.raw.step == 1
    assert (found.raw.value == answers[0].values).all()
    assert found.raw.limits == (NONNEGATIVE,)
