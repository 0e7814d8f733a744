"""Results of simulations are correct: exact answers and errors."""

from __future__ import annotations

import inspect
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import cast

import pytest

from dpcli.data.number_columns import IntegerColumn
from dpcli.noise import entropy
from dpcli.numeric.arrays import integer_array
from dpcli.planning.plan import CentralPlan
from dpcli.privacy.confidential import Cells, Confidential
from dpcli.privacy.unit import PersonUnit
from dpcli.releasing.steps import estimate_statistic
from dpcli.simulation import trials
from dpcli.simulation.synthetic import Corners, SyntheticDataset
from dpcli.simulation.trials import SimulationResult, StatisticTrial, SyntheticRun, simulate
from tests.oracles.opened import queries_of
from tests.oracles.plain import evaluate
from tests.support.rules import mostly_extended
from tests.support.simulations import PEOPLE, ROWS, Make, content, one, plan_of
from tests.support.streams import CUT, Stream, gaussian_cdf, laplace_cdf, p_value

RUNS = 60

LEAST = 0.95 - 5 * (0.95 * 0.05 / RUNS) ** 0.5
"""Five standard deviations below the stated confidence, of one number in each run."""


@pytest.fixture(scope="module", params=mostly_extended(["rows", "people"], "people"))
def result(request: pytest.FixtureRequest) -> SimulationResult:
    """The result of many runs of most statistics, with the same noise each time."""
    plan = plan_of(ROWS if request.param == "rows" else PEOPLE)
    with pytest.MonkeyPatch.context() as patched, SyntheticDataset(plan.spec, 3000, 1) as dataset:
        patched.setattr(entropy, "source", Stream(f"result {request.param}"))
        return simulate(plan, dataset, RUNS)


def number(observed: int | str | Fraction | None) -> Fraction:
    """A figure, which must be a number."""
    assert isinstance(observed, int | Fraction)
    return Fraction(observed)


def entry(result: SimulationResult, name: str) -> StatisticTrial:
    """The trial of a statistic."""
    (observed,) = [trial for trial in result.statistics if trial.name == name]
    return observed


ODD = """
dpcli: 1
dataset: d
privacy: {unit: row, neighbors: change-one, budget: {epsilon: 100}}
columns:
  'a,"b"': {type: category, values: {'x"y': 'one, two', ',': other, "0": other, 'é': third}}
  dpcli_simulation: {type: integer, bounds: [-3, 3], missing: 0}
  "n": {type: number, bounds: [0.1, 0.3], step: 0.1, missing: 0.2}
  "7": {type: date, bounds: [0001-01-01, 9999-12-31]}
statistics:
  - {name: a, statistic: count, by: ['a,"b"'], where: {"n": 0.1}, epsilon: 1}
  - {name: b, statistic: sum, column: dpcli_simulation, by: [{column: "7", bins: {edges:
     [0001-01-01, 2000-01-01, 9999-12-31]}}], epsilon: 1}
  - {name: c, statistic: median, column: "n", epsilon: 1}
  - {name: d, statistic: mode, column: 'a,"b"', by: ['a,"b"'], epsilon: 1}
  - {name: e, statistic: count, epsilon: 1}
"""


@pytest.mark.parametrize("text", [ROWS, PEOPLE, ODD], ids=["rows", "people", "odd"])
def test_exact_answers_are_those_of_the_oracle(text: str, dummy: Make, tmp_path: Path) -> None:
    """Without limits on people, exact answers are those of the oracle."""
    plan = plan_of(text)
    dataset = dummy(plan, 700, 5)
    unit = plan.spec.privacy.unit
    if isinstance(unit, PersonUnit):
        unit = PersonUnit(unit.column, 10**6, 10**6, 10**6)
    queries = [
        replace(query, user_clamp=None)  # type: ignore[call-arg]
        if getattr(query, "user_clamp", None) not in (None, (0, 1))
        else query
        for query in queries_of(plan)
    ]
    expected = iter(evaluate(queries, content(dataset, tmp_path), unit))
    compared = 0
    for exact in SyntheticRun(plan, dataset, limited=False).exact():
        for values in exact.values:
            answer = next(expected)
            if isinstance(answer, dict):
                assert exact.groups is not None
                assert set(exact.groups) == set(answer)
                answer = [cell for group in exact.groups for cell in answer[group]]
            assert list(values) == answer
            compared += len(answer)
    assert compared > 10


def test_limits_on_people_bind(dummy: Make) -> None:
    """With limits fewer rows are counted, and each run keeps other rows."""
    plan = plan_of(PEOPLE)
    dataset = dummy(plan, 2000, 5)
    free = SyntheticRun(plan, dataset, limited=False).exact()
    first, second = SyntheticRun(plan, dataset).exact(), SyntheticRun(plan, dataset).exact()
    place = [planned.entry.inputs.name for planned in plan.statistics].index("by_sex")
    assert sum(first[place].values[0]) < sum(free[place].values[0])
    both = [[one.values[0].tolist() for one in sample] for sample in (first, second)]
    assert both[0] != both[1]


def test_noise_is_that_of_the_plan(dummy: Make) -> None:
    """Noisy minus exact answers follow the distribution that the plan states."""
    plan = plan_of(
        one(
            "  - {name: a, statistic: count, by: [sex], epsilon: 0.3}\n"
            "  - {name: b, statistic: sum, column: age, by: [sex], epsilon: 0.7}\n"
            "  - {name: c, statistic: count, by: [sex], mechanism: gaussian, epsilon: 0.5, "
            "delta: 1e-5}\n"
        )
    )
    run = SyntheticRun(plan, dummy(plan, 500, 1))
    exact = run.exact()
    draws: list[list[int]] = [[], [], []]
    for _ in range(1500):
        for place, answered in enumerate(run.noisy()):
            pairs = zip(answered.answers[0].values, exact[place].values[0], strict=True)
            draws[place] += [noisy - true for noisy, true in pairs]
    for part, observed in zip(plan.queries, draws, strict=True):
        scale = part.calibrated.noise.scale
        cdf = (
            laplace_cdf(scale)
            if part.calibrated.noise.kind == "laplace"
            else gaussian_cdf(float(scale))
        )
        assert p_value(observed, cdf, float(scale)) > CUT


def test_observed_errors_are_as_predicted(result: SimulationResult) -> None:
    """Errors of counts and sums are as predicted, without bias."""
    for name in ("all", "by_sex", "earned", "soft", "ages", "old"):
        (query,), (published,) = entry(result, name).query_trials, entry(result, name).published
        observed = query.observed
        assert LEAST < number(observed["within"]) <= 1
        # Errors of counts are whole numbers, so one step is a large part of a small error.
        assert query.predicted * Fraction(7, 10) < number(observed["observed95"]) + 1
        assert number(observed["observed95"]) < query.predicted * Fraction(14, 10)
        assert abs(number(observed["bias"])) < 5 * number(observed["bias_standard_error"])
        assert published.observed["observed95"] == observed["observed95"]
        assert published.observed["held"] == observed["within"]


def test_intervals_have_the_stated_coverage(result: SimulationResult) -> None:
    """The coverage of every statistic with intervals is at most five deviations too low."""
    shares = {
        trial.name: number(published.observed["held"])
        for trial in result.statistics
        for published in trial.published
        if published.observed["held"] is not None and trial.name not in ("towns", "few")
    }
    assert len(shares) >= 8
    assert all(fraction > LEAST for fraction in shares.values()), shares


def test_choices_are_compared_by_their_scores(result: SimulationResult) -> None:
    """Nearly no choice falls short of the best by more than the plan says; several are the best."""
    for name in ("middle", "usual"):
        trial = entry(result, name)
        *choices, _ = trial.query_trials
        assert sum(query.errors.compared for query in choices) == 2 * RUNS
        for query in choices:
            assert number(query.observed["best"]) > 0
            assert number(query.observed["within"]) > LEAST
    query, _ = entry(result, "quarters").query_trials
    assert query.errors.compared == 3 * RUNS
    assert number(query.observed["within"]) > LEAST
    assert [published.item for published in entry(result, "middle").published] == ["0.25", "0.5"]
    assert entry(result, "usual").published == ()


def test_private_groups_are_compared_if_selected(result: SimulationResult) -> None:
    """Some groups are selected, and statistics that share the selection have the same groups."""
    towns, ages = entry(result, "towns"), entry(result, "town_ages")
    assert towns.selected_groups is not None
    assert 0 < towns.selected_groups.average < towns.selected_groups.groups / 2
    assert towns.query_trials[0].errors.compared == RUNS * towns.selected_groups.average
    assert ages.selected_groups == towns.selected_groups


def test_suppressed_numbers_are_counted_and_not_compared(dummy: Make) -> None:
    """A number that is left out has no error, and the fraction of such numbers is reported."""
    plan = plan_of(ROWS)
    result = simulate(plan, dummy(plan, 1000, 1), 20)
    (published,) = entry(result, "few").published
    suppressed = number(published.observed["suppressed"])
    assert 0 < suppressed < 1
    assert published.errors.compared == 120 * (1 - suppressed)


def test_items_with_different_units_are_compared_one_by_one(dummy: Make) -> None:
    """The numbers, the difference and the index of a comparison have errors of their own."""
    plan = plan_of(
        """
dpcli: 1
dataset: compared
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 10}}
columns:
  sex: {type: category, values: [f, m, x]}
  ok: {type: boolean}
statistics:
  - {name: sexes, statistic: comparison, between: {sex: [f, m]}, by: [ok], epsilon: 1}
"""
    )
    result = simulate(plan, dummy(plan, 1000, 1), 20)
    published = entry(result, "sexes").published
    assert [item.item for item in published] == ["f", "m", "difference", "index"]
    assert all(item.errors.compared == 2 * 20 for item in published)


def test_the_effect_of_limits_is_separate_from_noise(dummy: Make) -> None:
    """Limits leave out rows, so counts are too small by a multiple of the noise."""
    plan = plan_of(PEOPLE)
    result = simulate(plan, dummy(plan, 1000, 1), 5)
    (rows,), (people,) = entry(result, "all").published, entry(result, "people").published
    assert number(rows.observed["limits"]) < -50
    assert number(rows.observed["limits"]) < number(people.observed["limits"]) <= 0
    plain = plan_of(ROWS)
    result = simulate(plain, dummy(plain, 100, 1), 2)
    assert all(
        published.observed["limits"] is None
        for trial in result.statistics
        for published in trial.published
    )


def test_estimates_are_those_of_a_release(plan: CentralPlan, dummy: Make) -> None:
    """A simulation gets its estimates from the function that a release calls."""
    run = SyntheticRun(plan, dummy(plan, 300, 1))
    for noisy in run.noisy():
        dataset = estimate_statistic(noisy, plan.spec.confidence)
        assert dataset.planned is noisy.planned
        assert len(dataset.estimates) or noisy.groups == ()


def test_only_answers_about_synthetic_rows_are_opened(dummy: Make) -> None:
    """A dataset opens answers about its own rows, and none of another dataset or made by hand."""
    plan = plan_of(ROWS)
    dataset, other = dummy(plan, 10, 1), dummy(plan, 10, 1)
    sealed, foreign = (
        cast("Confidential[Cells]", each.aggregate(plan.engine_queries)[0])
        for each in (dataset, other)
    )
    by_hand = Confidential(integer_array([7]), queries_of(plan)[0], plan.spec.privacy.unit)

    assert len(dataset.exact(sealed))
    for observed in (foreign, by_hand):
        with pytest.raises(ValueError, match="not about these synthetic rows"):
            dataset.exact(observed)
        with pytest.raises(ValueError, match="not about these synthetic rows"):
            plan.queries[0].calibrated.answer(observed, dataset.permit)


def test_synthetic_rows_depend_on_spec_and_seed_alone() -> None:
    """The constructors accept nothing that could hold rows: no file, no column with own texts.

    A row of extreme cells is a choice among texts of the spec, by number.
    """

    class Column(IntegerColumn):
        def text(self, steps: int) -> str:
            raise AssertionError

    plan = plan_of(ROWS)
    taken = inspect.get_annotations(SyntheticDataset.__init__)
    assert taken == {"spec": "CentralSpec", "rows": "int", "seed": "int", "return": "None"}
    assert {name for name in vars(SyntheticDataset) if not name.startswith("_")} == {
        "aggregate", "close", "copy_to", "exact", "of_corners", "permit",
    }  # fmt: skip
    columns = (*plan.spec.columns, Column("other", bounds=(0, 1)))
    with pytest.raises(TypeError, match="only declared columns"):
        SyntheticDataset(replace(plan.spec, columns=columns), 10, 1)
    with pytest.raises(TypeError, match="cannot be subclassed"):
        SyntheticDataset.of_corners(cast("Corners", object()), [{"age": 0}])
    rows = [{"age": 0}, {"age": 10**6}]
    with pytest.raises(IndexError):
        SyntheticDataset.of_corners(Corners(plan.spec), rows)


def test_only_a_run_gives_exact_answers() -> None:
    """The module has no other public name that gives answers without noise."""
    public = {name for name in vars(trials) if not name.startswith("_")}
    own = {
        name for name in public if getattr(vars(trials)[name], "__module__", "") == trials.__name__
    }
    assert own == {
        "ExactAnswers", "SyntheticRun", "ItemTrial", "SelectedGroups", "StatisticTrial",
        "SimulationResult", "simulate",
    }  # fmt: skip
    assert {name for name in vars(SyntheticRun) if not name.startswith("_")} == {
        "noisy", "exact", "stopped",
    }  # fmt: skip
