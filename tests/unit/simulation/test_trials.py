"""What a simulation finds is true: exact answers, errors, and verdicts with power."""

from __future__ import annotations

import inspect
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import cast

import pytest

from dpcli.columns import NumericColumn
from dpcli.mechanisms.gaussian import Gaussian
from dpcli.mechanisms.laplace import Laplace
from dpcli.noise import entropy
from dpcli.noise.candidate_choice import PermuteAndFlipChoice
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import Noise
from dpcli.numeric.arrays import Array, integer_array
from dpcli.planning.plan import Plan
from dpcli.privacy.confidential import Cells, Confidential
from dpcli.privacy.unit import PersonUnit
from dpcli.releasing import estimate_statistic
from dpcli.simulation import noise_test, noiseless
from dpcli.simulation.noise_test import NoiseVerdict, unlikely
from dpcli.simulation.noiseless import NoiselessRun
from dpcli.simulation.synthetic import SyntheticDataset
from dpcli.simulation.trials import EntryTrial, Trials, simulate
from tests.oracles.plain import evaluate
from tests.support.simulations import PEOPLE, ROWS, Make, content, one, plan_of
from tests.support.streams import CUT, Stream, gaussian_cdf, laplace_cdf, p_value

RUNS = 100

LEAST = 0.95 - 5 * (0.95 * 0.05 / RUNS) ** 0.5
"""Five standard deviations below the stated confidence, of one number in each run."""


@pytest.fixture(scope="module", params=["rows", "people"])
def findings(request: pytest.FixtureRequest) -> Trials:
    """What many runs found of most statistics, with the same noise each time."""
    plan = plan_of(ROWS if request.param == "rows" else PEOPLE)
    with pytest.MonkeyPatch.context() as patched, SyntheticDataset(plan.spec, 3000, 1) as made:
        patched.setattr(entropy, "source", Stream(f"findings {request.param}"))
        return simulate(plan, made, RUNS)


def number(found: int | str | Fraction | None) -> Fraction:
    """What was found, which must be a number."""
    assert isinstance(found, int | Fraction)
    return Fraction(found)


def entry(findings: Trials, name: str) -> EntryTrial:
    """What was found of an entry."""
    (found,) = [tried for tried in findings.entries if tried.name == name]
    return found


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
    """Without limits, what vanishing noise leaves is what plain Python counts."""
    plan = plan_of(text)
    made = dummy(plan, 700, 5)
    unit = plan.spec.privacy.unit
    if isinstance(unit, PersonUnit):
        unit = PersonUnit(unit.column, 10**6, 10**6, 10**6)
    queries = [
        replace(query, user_clamp=None)  # type: ignore[call-arg]
        if getattr(query, "totals", None) not in (None, (0, 1))
        else query
        for query in plan.engine_queries
    ]
    expected = iter(evaluate(queries, content(made, tmp_path), unit))
    compared = 0
    for exact in NoiselessRun(plan, made, limited=False).exact():
        for values in exact.values:
            answer = next(expected)
            if isinstance(answer, dict):
                assert exact.groups is not None
                assert set(exact.groups) == set(answer)
                answer = [cell for group in exact.groups for cell in answer[group]]
            assert list(values) == answer
            compared += len(answer)
    assert compared > 10


def test_limits_bind_in_a_reading(dummy: Make) -> None:
    """With limits fewer rows are counted, and another draw keeps others."""
    plan = plan_of(PEOPLE)
    made = dummy(plan, 2000, 5)
    free = NoiselessRun(plan, made, limited=False).exact()
    first, second = NoiselessRun(plan, made).exact(), NoiselessRun(plan, made).exact()
    place = [planned.entry.request.name for planned in plan.statistics].index("by_sex")
    assert sum(first[place].values[0]) < sum(free[place].values[0])
    both = [[one.values[0].tolist() for one in reading] for reading in (first, second)]
    assert both[0] != both[1]


def test_noise_is_that_of_the_plan(dummy: Make) -> None:
    """Many noisy answers less the exact ones follow the law that the plan states."""
    plan = plan_of(
        one(
            "  - {name: a, statistic: count, by: [sex], epsilon: 0.3}\n"
            "  - {name: b, statistic: sum, column: age, by: [sex], epsilon: 0.7}\n"
            "  - {name: c, statistic: count, by: [sex], mechanism: gaussian, epsilon: 0.5, "
            "delta: 1e-5}\n"
        )
    )
    read = NoiselessRun(plan, dummy(plan, 500, 1))
    exact = read.exact()
    draws: list[list[int]] = [[], [], []]
    for _ in range(4000):
        for place, answered in enumerate(read.noisy()):
            pairs = zip(answered.answers[0].values, exact[place].values[0], strict=True)
            draws[place] += [noisy - true for noisy, true in pairs]
    for part, found in zip(plan.queries, draws, strict=True):
        scale = part.noise.scale
        cdf = laplace_cdf(scale) if part.noise.kind == "laplace" else gaussian_cdf(float(scale))
        assert p_value(found, cdf, float(scale)) > CUT


def test_observed_errors_are_as_predicted(findings: Trials) -> None:
    """Counts and sums err as the plan says, without bias, and nothing is flagged."""
    assert not findings.broken
    for name in ("all", "by_sex", "earned", "soft", "ages", "old"):
        (asked,), (published,) = entry(findings, name).query_trials, entry(findings, name).published
        assert asked.verdict is NoiseVerdict.KEPT
        found = asked.row
        assert LEAST < number(found["within"]) <= 1
        # A count errs by whole numbers, of which one is a large share of a small error.
        assert asked.predicted * Fraction(7, 10) < number(found["observed95"]) + 1
        assert number(found["observed95"]) < asked.predicted * Fraction(14, 10)
        assert abs(number(found["bias"])) < 5 * number(found["bias_standard_error"])
        assert published.row["observed95"] == found["observed95"]
        assert published.row["held"] == found["within"]


def test_intervals_hold_as_often_as_they_say(findings: Trials) -> None:
    """Over all statistics with intervals, but for a margin of chance."""
    shares = {
        tried.name: number(published.row["held"])
        for tried in findings.entries
        for published in tried.published
        if published.row["held"] is not None and tried.name not in ("towns", "few")
    }
    assert len(shares) >= 8
    assert all(share > LEAST for share in shares.values()), shares


def test_choices_are_compared_by_their_utility(findings: Trials) -> None:
    """No choice falls short by more than the plan says, and several are the best."""
    for name in ("middle", "usual"):
        tried = entry(findings, name)
        assert sum(asked.errors.compared for asked in tried.query_trials) == 2 * RUNS
        for asked in tried.query_trials:
            assert number(asked.row["best"]) > 0
            assert asked.row["within"] == 1
            assert asked.verdict is NoiseVerdict.KEPT
    assert [published.item for published in entry(findings, "middle").published] == ["0.25", "0.5"]
    assert entry(findings, "usual").published == ()


def test_private_groups_are_compared_where_they_are_shown(findings: Trials) -> None:
    """Some of the dummy's groups are shown, and entries that share them tell of those."""
    towns, ages = entry(findings, "towns"), entry(findings, "town_ages")
    assert towns.shown is not None
    assert 0 < towns.shown.shown < towns.shown.groups / 2
    assert towns.query_trials[0].errors.compared == RUNS * towns.shown.shown
    assert towns.query_trials[0].verdict is None
    assert ages.shown == towns.shown
    assert ages.query_trials[0].verdict is NoiseVerdict.KEPT


def test_suppressed_numbers_are_counted_and_not_compared(dummy: Make) -> None:
    """A number that is left out has no error, and its share is reported."""
    plan = plan_of(ROWS)
    findings = simulate(plan, dummy(plan, 1000, 1), 20)
    (published,) = entry(findings, "few").published
    suppressed = number(published.row["suppressed"])
    assert 0 < suppressed < 1
    assert published.errors.compared == 120 * (1 - suppressed)


def test_what_limits_change_is_told_apart_from_noise(dummy: Make) -> None:
    """Limits leave out rows, so counts are too small by many times the noise."""
    plan = plan_of(PEOPLE)
    findings = simulate(plan, dummy(plan, 1000, 1), 5)
    (rows,), (people,) = entry(findings, "all").published, entry(findings, "people").published
    assert number(rows.row["limits"]) < -50
    assert number(rows.row["limits"]) < number(people.row["limits"]) <= 0
    plain = plan_of(ROWS)
    findings = simulate(plain, dummy(plain, 100, 1), 2)
    assert all(
        published.row["limits"] is None
        for tried in findings.entries
        for published in tried.published
    )


FACTORS = [
    (Fraction(1, 2), NoiseVerdict.SMALLER),
    (Fraction(2), NoiseVerdict.LARGER),
    (Fraction(4, 5), NoiseVerdict.SMALLER),
    (Fraction(5, 4), NoiseVerdict.LARGER),
]


@pytest.mark.parametrize(("factor", "verdict"), FACTORS)
@pytest.mark.parametrize("mechanism", [Laplace, Gaussian])
def test_other_noise_than_planned_is_noticed(
    mechanism: type[Laplace | Gaussian],
    factor: Fraction,
    verdict: NoiseVerdict,
    dummy: Make,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Too little noise and too much, by a fifth or by half, of either kind."""
    real = mechanism.add_noise

    def wrong(self: Laplace | Gaussian, noise: Noise, values: Array) -> Array:
        return real(self, replace(noise, scale=noise.scale * factor), values)

    name = "laplace" if mechanism is Laplace else "gaussian, delta: 1e-6"
    text = f"  - {{name: a, statistic: histogram, column: age, mechanism: {name}, epsilon: 0.2, "
    plan = plan_of(one(text + "bins: {width: 1}}\n"))
    made = dummy(plan, 200, 1)
    assert not simulate(plan, made, 60).broken
    monkeypatch.setattr(mechanism, "add_noise", wrong)
    ((broken, asked),) = simulate(plan, made, 60).broken
    assert (broken, asked.verdict) == ("a", verdict)


def test_default_runs_notice_halved_noise_of_a_table(
    dummy: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred runs of a few cells suffice for that."""
    real = Laplace.add_noise
    plan = plan_of(ROWS)
    made = dummy(plan, 500, 1)
    monkeypatch.setattr(
        Laplace,
        "add_noise",
        lambda self, noise, values: real(self, DiscreteLaplace(noise.scale / 2), values),
    )
    broken = {name for name, _ in simulate(plan, made, 100).broken}
    assert {"by_sex", "earned", "ages", "town_ages"} <= broken


def test_choices_worse_than_planned_are_noticed(
    dummy: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A choice that does not look at scores falls short more often than the plan allows."""
    plan = plan_of(ROWS)
    made = dummy(plan, 1000, 1)
    monkeypatch.setattr(PermuteAndFlipChoice, "pick", lambda self, gaps: len(gaps) - 1)
    findings = simulate(plan, made, 20)
    assert {name for name, _ in findings.broken} >= {"middle", "usual"}


def test_a_verdict_is_no_accident() -> None:
    """A share near its chance is never surprising, one that is far off is, either way."""
    level = Fraction(1, 20)
    assert unlikely(60, 1000, level) == (False, False)
    assert unlikely(120, 1000, level) == (True, False)
    assert unlikely(5, 1000, level) == (False, True)
    assert unlikely(0, 0, level) == (False, False)
    assert unlikely(0, 10**6, level) == (False, True)
    assert unlikely(10, 10, level) == (True, False)
    # The bound is above what it bounds: the exact chance of all heads is p^n.
    assert unlikely(7, 7, level)[0] is (noise_test.MISTAKEN > 7 * -2.9957)


def test_published_numbers_are_those_of_a_release(plan: Plan, dummy: Make) -> None:
    """The estimates that are compared come from the functions that a release calls."""
    read = NoiselessRun(plan, dummy(plan, 300, 1))
    for noisy in read.noisy():
        made = estimate_statistic(noisy, plan.spec.confidence)
        assert made.planned is noisy.planned
        assert len(made.estimates) or noisy.groups == ()


def test_exact_answers_are_about_invented_rows_alone(dummy: Make) -> None:
    """A dataset opens what it aggregated itself: not answers of another one, nor sealed by hand."""
    plan = plan_of(ROWS)
    made, other = dummy(plan, 10, 1), dummy(plan, 10, 1)
    asked = plan.engine_queries, plan.spec.privacy.unit
    sealed, foreign = (
        cast("Confidential[Cells]", each.aggregate(*asked)[0]) for each in (made, other)
    )
    by_hand = Confidential(integer_array([7]), plan.engine_queries[0], plan.spec.privacy.unit)

    assert len(made.exact(sealed))
    for found in (foreign, by_hand):
        with pytest.raises(ValueError, match="not about these synthetic rows"):
            made.exact(found)
        with pytest.raises(ValueError, match="not about these synthetic rows"):
            plan.queries[0].calibrated.answer(found, made.permit)


def test_synthetic_rows_come_from_a_spec_and_a_number() -> None:
    """Nothing that could hold rows is taken: no file, no column with texts of its own."""

    class Column(NumericColumn):
        def text(self, steps: int) -> str:
            raise AssertionError

    plan = plan_of(ROWS)
    taken = inspect.get_annotations(SyntheticDataset.__init__)
    assert taken == {"spec": "Spec", "rows": "int", "seed": "int", "return": "None"}
    assert {name for name in vars(SyntheticDataset) if not name.startswith("_")} == {
        "aggregate", "close", "copy_to", "exact", "permit",
    }  # fmt: skip
    columns = (*plan.spec.columns, Column("other", "integer", bounds=(0, 1)))
    with pytest.raises(TypeError, match="only declared columns"):
        SyntheticDataset(replace(plan.spec, columns=columns), 10, 1)


def test_vanishing_noise_has_no_other_way() -> None:
    """What opens answers without noise is private to the file that reads dummies."""
    public = {name for name in vars(noiseless) if not name.startswith("_")}
    own = {
        name
        for name in public
        if getattr(vars(noiseless)[name], "__module__", "") == noiseless.__name__
    }
    assert own == {"NoiselessAnswers", "NoiselessRun"}
    assert {name for name in vars(NoiselessRun) if not name.startswith("_")} == {
        "noisy", "exact", "stopped",
    }  # fmt: skip
