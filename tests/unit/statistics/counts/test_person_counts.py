"""Counts by groups of which one person can raise many."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from dpcli.data.kinds import Axis
from dpcli.data.number_columns import IntegerColumn
from dpcli.mechanisms.gaussian import Gaussian
from dpcli.mechanisms.query_sensitivity import query_sensitivity
from dpcli.numeric.arrays import Floats, Ints
from dpcli.planning.plan import PlannedStatistic
from dpcli.privacy.loss import Loss
from dpcli.privacy.sensitivity import Sensitivity, centered_sensitivity
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation, RowUnit
from dpcli.queries.query import LinearQuery
from dpcli.queries.vectors import VectorQuery
from dpcli.statistics.counts.centered_counts import CenteredCountQuery
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.estimates import Estimates
from tests.laws.test_audit import least_epsilon
from tests.oracles.agreement import agreed
from tests.oracles.opened import cells_of
from tests.support.rules import mostly_extended
from tests.support.streams import Stream
from tests.support.surveys import held, planned_statistic

AGE = IntegerColumn("age", bounds=(0, 3))

LAPLACE = {"mechanism": "laplace", "budget": "epsilon: 1"}
"""An entry with Laplace noise."""

SPEC = """
dpcli: 1
dataset: town
privacy:
  unit: {{column: id, max_rows: {rows}, max_groups: {groups}, max_rows_per_group: {each}}}
  neighbors: {neighbors}
  composition: {composition}
  budget: {{epsilon: 2, delta: 1e-5}}
columns:
  id: {{type: id}}
  shop: {{type: category, values: [{shops}]}}
  age: {{type: integer, bounds: [0, 9]}}
statistics:
  - {{name: n, statistic: {statistic}, {by}mechanism: {mechanism}, {budget}}}
"""


def planned(
    shops: int, groups: int | None = None, each: int = 1, rows: int | None = None, **fields: str
) -> PlannedStatistic:
    """The plan of counts by shop; by default, of people who are once in any of the shops."""
    groups = shops if groups is None else groups
    return planned_statistic(
        SPEC.format(
            rows=groups * each if rows is None else rows,
            groups=groups,
            each=each,
            neighbors=fields.get("neighbors", "add-remove"),
            composition=fields.get("composition", "sequential"),
            shops=", ".join(f"s{place}" for place in range(shops)),
            statistic=fields.get("statistic", "count"),
            by=fields.get("by", "by: [shop], "),
            mechanism=fields.get("mechanism", "gaussian"),
            budget=fields.get("budget", "epsilon: 1, delta: 1e-6"),
        )
    )


def deviation(statistic: PlannedStatistic) -> float:
    """The standard deviation of the noise in a published count."""
    counts, *others = [query.calibrated.noise.discrete_variance for query in statistic.queries]
    query = statistic.queries[0].weighted.query
    if isinstance(query, CenteredCountQuery):
        (people,) = others
        return sqrt(counts + query.less**2 * people) / query.times
    return sqrt(counts)


def simulated(
    statistic: PlannedStatistic, truth: Ints, people: int, scale: int = 1
) -> tuple[Floats, Estimates]:
    """The noisy counts of many releases, shape (runs, groups), and their estimates.

    `truth` has the exact counts of each release; the noise is divided by `scale`.
    """
    answers: list[NoisyAnswer] = []
    for part in statistic.queries:
        query, exact = part.weighted.query, truth
        if isinstance(query, CenteredCountQuery):
            exact = query.times * truth - query.less * people
        elif len(answers) == 1:
            exact = np.full((len(truth), 1), people)
        noise = part.calibrated.noise
        drawn = np.array(noise.sample(exact.size)) // scale
        answers.append(NoisyAnswer(exact.ravel() + drawn, noise))
    found = statistic.design.estimate(answers, Fraction(19, 20))
    values: Floats = found.value.astype(float) * float(found.step)
    return values.reshape(truth.shape), found


def single_deviation() -> float:
    """The deviation of Gaussian noise for one count at the same loss."""
    target = Loss(Fraction(1), Fraction(1, 10**6))
    (noise,) = Gaussian().calibrate_and_verify([Sensitivity(1, 1, 1, 1)], target)
    return sqrt(noise.discrete_variance)


def test_the_bins_of_a_histogram_are_groups_of_a_person() -> None:
    """Ten bins of people who can be in all of them share noise, too."""
    bins = "histogram, column: age, bins: {width: 1}"
    (query, people) = planned(1, groups=10, statistic=bins, by="").queries
    assert isinstance(query.weighted.query, CenteredCountQuery)
    assert query.weighted.query.number_of_cells == 10
    assert people.weighted.query == query.weighted.query.people


@pytest.mark.parametrize("statistic", ["count", "count_distinct"])
def test_ten_counts_of_one_person_have_twice_the_noise_of_one(statistic: str) -> None:
    """The factor is (sqrt(10) + 1)/2 = 2.08, against 3.16 for separate counts."""
    factor = deviation(planned(10, statistic=statistic)) / single_deviation()
    assert factor == pytest.approx(2.08, abs=0.01)


@pytest.mark.parametrize("each", [1, 3])
@pytest.mark.parametrize("shops", [2, 40])
def test_the_noise_of_all_groups_follows_the_formula(shops: int, each: int) -> None:
    """With d groups and r rows in each, it is r (sqrt(d) + 1)/2 times that of one count."""
    factor = deviation(planned(shops, each=each)) / single_deviation()
    assert factor == pytest.approx(each * (sqrt(shops) + 1) / 2, rel=0.01)


@pytest.mark.parametrize(("groups", "times"), [(100, 2), (60, 2), (40, 4), (30, 4), (5, 1), (1, 1)])
def test_the_multiple_depends_on_how_many_groups_a_person_can_be_in(
    groups: int, times: int
) -> None:
    """Of 100 groups: half for most of them, a quarter for some, nothing for a few."""
    statistic = planned(100, groups)
    query = statistic.queries[0].weighted.query
    assert (query.times if isinstance(query, CenteredCountQuery) else 1) == times
    # With t of the most rows subtracted: sqrt(l (1 - 2 t) + d t^2) + t, for t from 0 to 1/2.
    part = Fraction(1, times) if times > 1 else Fraction(0)
    factor = sqrt(groups * (1 - 2 * part) + 100 * part**2) + part
    assert deviation(statistic) / single_deviation() == pytest.approx(float(factor), rel=0.01)
    assert factor <= sqrt(groups)


@pytest.mark.parametrize(("shops", "each"), [(3, 1), (10, 1), (10, 3), (100, 1)])
def test_laplace_noise_of_all_groups_becomes_k_norm_noise(shops: int, each: int) -> None:
    """With d groups and r rows in each, it is r sqrt((d + 2) (d + 3) / 12) times that of one."""
    statistic = planned(shops, each=each, **LAPLACE)  # type: ignore[arg-type]
    factor = deviation(statistic) / sqrt(2)
    assert factor == pytest.approx(each * sqrt((shops + 2) * (shops + 3) / 12), rel=0.02)
    assert factor <= 0.95 * each * shops
    assert sum(query.calibrated.loss.epsilon for query in statistic.queries) == 1


@pytest.mark.parametrize("composition", ["zcdp", "pld"])
@pytest.mark.parametrize(("shops", "each"), [(10, 1), (10, 3), (100, 1)])
def test_laplace_noise_has_less_of_it_for_centered_counts_where_rho_counts(
    composition: str, shops: int, each: int
) -> None:
    """With d groups and r rows in each, it is r (d^(2/3) + 1)^(3/2) / 2 times that of one."""
    fields = LAPLACE | {"composition": composition}
    statistic = planned(shops, each=each, **fields)  # type: ignore[arg-type]
    assert isinstance(statistic.queries[0].weighted.query, CenteredCountQuery)
    factor = deviation(statistic) / sqrt(2)
    assert factor == pytest.approx(each * (shops ** (2 / 3) + 1) ** 1.5 / 2, rel=0.02)


@pytest.mark.parametrize(
    "fields",
    [
        {"neighbors": "change-one"},
        {"rows": 3, "each": 3},
        LAPLACE | {"rows": 3, "each": 3},
        LAPLACE | {"groups": 3},
    ],
)
def test_other_plans_count_each_group_alone(fields: dict[str, str]) -> None:
    """People with few rows gain nothing, nor do people who are exchanged, with Gaussian noise."""
    (query,) = planned(10, **fields).queries  # type: ignore[arg-type]
    assert isinstance(query.weighted.query, LinearQuery)


@pytest.mark.parametrize("shops", [2, 10])
def test_counts_of_exchanged_people_have_noise_for_their_largest_change(shops: int) -> None:
    """It is sqrt((d + 1) (d + 2) / 3), instead of sqrt(8) d, for d groups."""
    statistic = planned(shops, **LAPLACE, neighbors="change-one")  # type: ignore[arg-type]
    assert isinstance(statistic.queries[0].weighted.query, VectorQuery)
    expected = sqrt((shops + 1) * (shops + 2) / 3)
    assert deviation(statistic) == pytest.approx(expected, rel=0.02)


def exact_by_person(shops: int, groups: int, each: int) -> list[tuple[int, ...]]:
    """What one person can add to the counts: every vector that the limits allow."""
    return [
        rows for rows in product(range(each + 1), repeat=shops) if sum(map(bool, rows)) <= groups
    ]


@pytest.mark.parametrize("times", [1, 2, 4, 5])
@pytest.mark.parametrize("less", [1, 2, 3])
@pytest.mark.parametrize("most", [1, 2, 3, 5])
@pytest.mark.parametrize(("shops", "groups", "each"), [(1, 1, 3), (3, 2, 2), (4, 4, 1), (4, 3, 2)])
def test_no_person_changes_counts_less_people_by_more_than_stated(
    shops: int, groups: int, each: int, most: int, less: int, times: int
) -> None:
    """Over all vectors of rows, the stated norms are the largest."""
    changes = [
        [abs(times * count - less) for count in rows]
        for rows in exact_by_person(shops, groups, each)
        if sum(rows) <= most
    ]
    unit = PersonUnit("id", min(each, most), groups, most)
    claimed = centered_sensitivity(times, less, unit, shops)
    assert claimed.l1 == max(map(sum, changes))
    assert claimed.l2_squared == max(sum(part**2 for part in change) for change in changes)
    assert claimed.linf >= max(map(max, changes))
    assert claimed.l0 == shops


@pytest.mark.parametrize("of_people", [False, True])
def test_the_pipeline_moves_by_what_the_query_states(of_people: bool, tmp_path: Path) -> None:
    """For a person with any rows, added to a file, the answer moves within the sensitivity."""
    shop = Axis(AGE, range(4))
    query = CenteredCountQuery(by=(shop,), times=2, less=1, of_people=of_people)
    unit = PersonUnit("id", 1, 4, 4)
    base = "id,age\na,0\na,1\nb,3\nb,\n"
    stated = query_sensitivity(query, Relation(unit, Neighbors.ADD_REMOVE))
    assert (stated.l1, stated.l2_squared, stated.linf) == (4, 4, 1)
    reached = 0
    for cells in product([0, 1], repeat=4):
        more = "".join(f"c,{place}\n" for place, inside in enumerate(cells) if inside)
        answers: list[list[int]] = []
        for text in (base, base + more):
            answers += map(cells_of, agreed([query], text, tmp_path, unit))
        before, after = answers
        change = np.array(after) - np.array(before)
        reached = max(reached, int((change**2).sum()))
        assert (change**2).sum() <= stated.l2_squared and abs(change).sum() <= stated.l1
    assert reached == stated.l2_squared


def test_no_bound_is_stated_for_rows_or_exchanged_people() -> None:
    """Where the proof does not hold, there is no sensitivity."""
    query = CenteredCountQuery(by=(Axis(AGE, range(4)),), times=2, less=1)
    for relation in (
        Relation(RowUnit(), Neighbors.ADD_REMOVE),
        Relation(PersonUnit("id", 1, 4, 4), Neighbors.CHANGE_ONE),
    ):
        with pytest.raises(ValueError, match="have a bound"):
            query_sensitivity(query, relation)
    with pytest.raises(ValueError, match="public groups"):
        CenteredCountQuery(times=2, less=1)
    with pytest.raises(ValueError, match="positive"):
        CenteredCountQuery(by=query.by, times=2, less=0)


@pytest.mark.parametrize(
    ("groups", "each", "fields"),
    [
        (10, 1, {}),
        (4, 1, {}),
        (10, 2, {}),
        (10, 1, LAPLACE),
        (10, 2, LAPLACE),
        (9, 1, LAPLACE),
        (10, 1, LAPLACE | {"neighbors": "change-one"}),
    ],
)
def test_sums_of_both_answers_are_the_counts(
    groups: int, each: int, fields: dict[str, str], stream: Stream
) -> None:
    """The published counts are near the truth by the stated deviation, within their intervals."""
    statistic, runs = planned(10, groups, each, **fields), 10_000  # type: ignore[arg-type]
    truth = np.tile(np.arange(0, 5000, 500), (runs, 1))
    values, found = simulated(statistic, truth, people=7000)
    error = np.sqrt(np.mean(np.square(values - truth)))
    assert error == pytest.approx(deviation(statistic), rel=0.03)
    assert 0.94 <= held(found, truth[0]).mean() <= 0.965
    width = statistic.error(Fraction(19, 20))
    assert width == (found.upper[0] - found.lower[0]) * found.step / 2


@pytest.mark.parametrize("statistic", mostly_extended(["count", "count_distinct"], "count"))
def test_a_wanted_error_is_reached(statistic: str) -> None:
    """A plan for an error of 25 has intervals of that half-width, or slightly less."""
    reached = planned(10, statistic=statistic, budget="error: 25, delta: 1e-6")
    error = reached.error(Fraction(19, 20))
    assert error is not None and 24 <= error <= 25
    assert len(reached.queries) == 2


@pytest.mark.parametrize("fields", [{}, LAPLACE])
@pytest.mark.parametrize("scale", [1, 6])
def test_releases_reveal_no_more_than_stated(
    scale: int, fields: dict[str, str], stream: Stream
) -> None:
    """Releases show less than epsilon 1 of a person; with a sixth of the noise, they show more.

    The best test weighs all published counts alike, because they differ by one each.
    """
    statistic, runs = planned(10, **fields), 20_000  # type: ignore[arg-type]
    found = []
    for added in (0, 1):
        truth = np.full((runs, 10), 50 + added)
        found.append(simulated(statistic, truth, 50 + added, scale)[0].mean(axis=1))
    bound = least_epsilon(found[0], found[1], 1e-6)
    assert bound <= 1 if scale == 1 else bound > 1
