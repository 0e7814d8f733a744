"""Known totals of counts by groups, sums, histograms and marginal tables."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dpcli.numeric.arrays import Floats, Ints
from dpcli.planning.plan import PlannedStatistic
from dpcli.planning.results import NoisyStatistic
from dpcli.queries.query import Query
from dpcli.releasing.steps import estimate_statistic
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.noise_covariance import covariance_of
from dpcli.statistics.tables.effects import EffectQuery, scaled_effect
from tests.support.rules import also_slow, mostly_extended
from tests.support.surveys import CONFIDENCE, planned_statistic, with_noise

SPEC = """
dpcli: 1
dataset: known
privacy: {{unit: row, neighbors: {neighbors}, composition: {rule},
  budget: {{epsilon: 1000, delta: 1e-6}}}}
columns:
  sex: {{type: category, values: [f, m], missing: f}}
  region: {{type: category, values: [north, south, east], missing: north}}
  age: {{type: integer, bounds: [0, 39], missing: 0}}
  paid: {{type: number, bounds: [0, 50], step: 0.5}}
statistics: [{{name: s, {fields}}}]
"""

SHAPE = (2, 3, 4)

EXACT = np.array(
    [[[9, 0, 4, 0], [30, 2, 0, 1], [0, 0, 5, 0]], [[0, 0, 1, 7], [0, 0, 0, 0], [3, 8, 0, 2]]]
)
"""Rows by sex, region and age."""

BY_SEX, BY_REGION = EXACT.sum(axis=(1, 2)), EXACT.sum(axis=(0, 2))

SEX = f"sex: {{f: {BY_SEX[0]}, m: {BY_SEX[1]}}}"
REGION = "region: {{north: {}, south: {}, east: {}}}".format(*BY_REGION)
AGES = "{column: age, bins: {width: 10}}"

NOISES = ["epsilon: 1, mechanism: laplace", "rho: 0.1, mechanism: gaussian"]

FORMS = {
    "count": "statistic: count, by: [sex, region]",
    "totals": "statistic: count, by: [sex, region], totals: true",
    "histogram": "statistic: histogram, column: age, bins: {width: 10}, by: [sex, region]",
    "pairs": f"statistic: marginals, columns: [sex, region, {AGES}], ways: [1, 2]",
    "triples": f"statistic: marginals, columns: [sex, region, {AGES}], ways: [0, 3]",
}

pytestmark = pytest.mark.usefixtures("stream")


def planned(fields: str, neighbors: str = "add-remove", rule: str = "zcdp") -> PlannedStatistic:
    """The only statistic of a spec."""
    return planned_statistic(SPEC.format(fields=fields, neighbors=neighbors, rule=rule))


def margin(query: Query) -> Ints:
    """The exact table of the columns of a query, or of its effect."""
    names = [axis.column.name for axis in (*query.by, *query.items)]
    lacking = (at for at, name in enumerate(("sex", "region", "age")) if name not in names)
    counts = EXACT.sum(axis=tuple(lacking))
    table: Ints = scaled_effect(counts[None])[0] if isinstance(query, EffectQuery) else counts
    return table


def answers_of(plan: PlannedStatistic) -> list[NoisyAnswer]:
    """Noisy answers about the exact table."""
    return with_noise(plan, [margin(part.weighted.query) for part in plan.queries])


def exact_numbers(form: str) -> Floats:
    """The noise-free published numbers."""
    pair = EXACT.sum(axis=2)
    tables = {
        "count": [pair],
        "totals": [np.block([[pair, pair.sum(1)[:, None]], [pair.sum(0), pair.sum()]])],
        "histogram": [EXACT],
        "pairs": [EXACT.sum(axis=axes) for axes in ((1, 2), (0, 2), (0, 1), 2, 1, 0)],
        "triples": [EXACT.sum(), EXACT],
    }[form]
    return np.concatenate([np.ravel(numbers) for numbers in tables]).astype(float)


def published(plan: PlannedStatistic, runs: int) -> tuple[Floats, Floats, Floats]:
    """Values and ends of intervals of releases, shape (runs, numbers)."""
    found = [
        estimate_statistic(NoisyStatistic(plan, tuple(answers_of(plan))), CONFIDENCE).estimates
        for _ in range(runs)
    ]
    step = float(found[0].step)
    value, lower, upper = (
        np.array([getattr(one, name) for one in found], float) * step
        for name in ("value", "lower", "upper")
    )
    return value, lower, upper


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("runs", also_slow(150, 4000))
def test_known_totals_are_met_and_intervals_hold(form: str, noise: str, runs: int) -> None:
    """What is known has no noise; other numbers have less than without it, and intervals hold."""
    plan = planned(f"{FORMS[form]}, {noise}, known: {{{SEX}, {REGION}}}")
    plain, exact = planned(f"{FORMS[form]}, {noise}"), exact_numbers(form)
    value, lower, upper = published(plan, runs)
    errors, without = value - exact, published(plain, runs)[0] - exact
    fixed = (lower == upper).all(axis=0)
    covered = ((lower <= exact) & (exact <= upper))[:, ~fixed].mean()
    slack = 3 * (0.05 * 0.95 / runs / 3) ** 0.5

    assert (np.abs(errors[:, fixed]) < 1e-9).all()
    assert fixed.sum() == {"totals": 6, "pairs": 5, "triples": 1}.get(form, 0)
    assert (errors**2).mean() < 0.97 * (without**2).mean()
    assert covered >= 0.945 - slack


def test_the_mean_discrepancy_of_each_known_group_is_subtracted() -> None:
    """That is least squares for cells of one variance."""
    plan = planned(f"{FORMS['count']}, {NOISES[0]}, known: {{{REGION}}}")
    answers = answers_of(plan)
    cells = answers[0].values.reshape(2, 3)
    found = plan.design.estimate(answers, CONFIDENCE)
    expected = cells - (cells.sum(axis=0) - BY_REGION) / 2

    assert np.allclose(found.value.astype(float) * float(found.step), expected.ravel())


@pytest.mark.parametrize("noise", mostly_extended(NOISES, NOISES[0]))
@pytest.mark.parametrize(
    ("form", "known"),
    [
        *product(FORMS, [f"known: {{{SEX}}}", f"known: {EXACT.sum()}"]),
        *product(["count", "totals", "pairs"], [f"known: {{{SEX}, {REGION}}}"]),
    ],
)
def test_whole_numbers_meet_known_ones(form: str, known: str, noise: str) -> None:
    """They are not negative, and sums of cells are the totals."""
    low = noise.replace("epsilon: 1", "epsilon: 0.2").replace("rho: 0.1", "rho: 0.01")
    plan = planned(f"{FORMS[form]}, {low}, {known}, post: [whole]")
    exact, linear = exact_numbers(form), planned(f"{FORMS[form]}, {low}, {known}")
    _, lower, upper = published(linear, 1)
    fixed = (lower == upper)[0]
    value, _, _ = published(plan, 20)

    assert (value >= 0).all() and (value == np.round(value)).all()
    assert (value[:, fixed] == exact[fixed]).all()
    if form in ("count", "histogram"):
        assert (value.sum(axis=1) == EXACT.sum()).all()
    if form == "count" and "sex" in known:
        assert (value.reshape(-1, 2, 3).sum(axis=2) == BY_SEX).all()
    if form == "triples":
        assert (value[:, 1:].sum(axis=1) == value[:, 0]).all()
    if form == "pairs":
        assert (value[:, :2].sum(axis=1) == value[:, 2:5].sum(axis=1)).all()
        assert (value[:, 9:15].reshape(-1, 2, 3).sum(axis=1) == value[:, 2:5]).all()
        assert (value[:, 15:23].reshape(-1, 2, 4).sum(axis=2) == value[:, :2]).all()


def test_known_tables_need_no_part_of_the_loss() -> None:
    """Others share it, and the public number of rows is not asked for."""
    columns = f"statistic: marginals, columns: [sex, region, {AGES}], ways: 1"
    plan = planned(f"{columns}, epsilon: 1, known: {{{SEX}}}", "change-one", "sequential")
    roles = [part.weighted.role for part in plan.queries]

    assert "table of sex" not in roles and "rows" not in roles
    assert sum(part.weighted.weight for part in plan.queries) == 1


@pytest.mark.parametrize(("number", "contradicts"), [(int(EXACT.sum()), False), (200, True)])
@pytest.mark.parametrize("form", FORMS)
def test_a_known_total_that_noise_does_not_explain_is_named(
    form: str, number: int, contradicts: bool
) -> None:
    """Numbers are then not complete: what is known is about other rows."""
    plan = planned(f"{FORMS[form]}, {NOISES[0]}, known: {number}")
    shown = plan.design.shown_incomplete(answers_of(plan))

    assert bool(shown) == contradicts
    assert shown.startswith("the noisy number of all is") == contradicts


@pytest.mark.parametrize("known", [200, f"{{{SEX}}}"])
def test_a_known_total_that_is_not_measured_is_not_contradicted(known: object) -> None:
    """Effects have no noisy number of it."""
    columns = f"statistic: marginals, columns: [sex, region, {AGES}], ways: 2"
    plan = planned(f"{columns}, {NOISES[1]}, known: {known}")

    assert any(isinstance(part.weighted.query, EffectQuery) for part in plan.queries)
    assert not plan.design.shown_incomplete(answers_of(plan))


def test_noise_contradicts_what_is_known_in_one_of_a_thousand_releases() -> None:
    """Of several known numbers together; here the noise of a table is large."""
    plan = planned(
        f"{FORMS['count']}, epsilon: 0.2, mechanism: laplace, known: {{{SEX}, {REGION}}}"
    )

    assert sum(bool(plan.design.shown_incomplete(answers_of(plan))) for _ in range(2000)) <= 9


@pytest.mark.parametrize("form", FORMS)
def test_the_covariance_does_not_depend_on_what_is_known(form: str) -> None:
    """Known numbers move all others by a constant."""
    one, other = (planned(f"{FORMS[form]}, {NOISES[0]}, known: {number}") for number in (90, 10**9))
    pair = [covariance_of(plan.design, plan.noises, consistent=False) for plan in (one, other)]

    assert pair[0] is not None and pair[1] is not None
    assert np.allclose(pair[0], pair[1], atol=1e-3)


def test_known_totals_of_amounts_are_met() -> None:
    """They are multiples of the step."""
    known = "known: {sex: {f: 40.5, m: 12}}"
    plan = planned(f"statistic: sum, column: paid, by: [sex, region], epsilon: 1, {known}")
    found = plan.design.estimate(with_noise(plan, [[40, 41, 0, 24, 0, 0]]), CONFIDENCE)
    value = (found.value.astype(float) * float(found.step)).reshape(2, 3)

    assert np.allclose(value.sum(axis=1), [40.5, 12])
