"""Gini coefficients and shares of the top tenth: grouping, intervals and flags."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

from dpcli.data.number_columns import IntegerColumn
from dpcli.noise import entropy
from dpcli.noise.distribution import NO_NOISE
from dpcli.numeric.arrays import Floats, Ints, integer_array
from dpcli.planning.plan import PlannedStatistic
from dpcli.planning.planner import make_plan
from dpcli.privacy.unit import Neighbors, Relation, RowUnit
from dpcli.queries.points import PointsQuery
from dpcli.queries.query import Query
from dpcli.specification.load import parse_central_spec
from dpcli.statistics import STATISTICS
from dpcli.statistics.design import Inputs
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.means.inequality import InequalityDesign
from dpcli.statistics.postprocessing import FLAGS, Flag, flags
from tests.support.rules import EXTENDED, mostly_extended
from tests.support.streams import Stream
from tests.support.surveys import with_noise

ADDED = Relation(RowUnit(), Neighbors.ADD_REMOVE)
(INEQUALITY,) = (statistic for statistic in STATISTICS if statistic.name == "inequality")

SPEC = """
dpcli: 1
dataset: incomes
privacy: {{unit: {unit}, neighbors: {neighbors}, budget: {{epsilon: 100}}}}
columns:
  who: {{type: id}}
  income: {{type: number, bounds: [0, 10000], step: 10}}
statistics:
  - {{name: g, statistic: inequality, column: income, bins: {bins}, epsilon: {epsilon}}}
"""


def exact(values: Sequence[int] | Ints) -> list[float]:
    """The Gini coefficient and the share of the top tenth, by their definitions."""
    ordered = np.sort(np.asarray(values, float))[::-1]
    count, total = len(ordered), ordered.sum()
    ranks = np.arange(count)
    whole, rest = divmod(count, 10)
    top = ordered[:whole].sum() + rest / 10 * (ordered[whole] if whole < count else 0)
    return [float(((count - 1 - 2 * ranks) * ordered).sum() / (count * total)), top / total]


def weights_of(query: PointsQuery, values: Sequence[int] | Ints) -> Ints:
    """The weights of the points, from the sums that the engine computes."""
    bins = query.cells_per_group - 1
    distances = np.asarray(values, np.int64) - query.column.lower
    place = np.minimum(distances // query.width, bins - 1)
    sums = np.stack([np.bincount(place, minlength=bins),
                     np.bincount(place, distances, bins).astype(np.int64)], axis=1)  # fmt: skip
    return integer_array(query.answer(integer_array(sums.reshape(1, -1)))).astype(np.int64)


def design_of(low: int, high: int, bins: int) -> tuple[InequalityDesign, PointsQuery]:
    """The design for whole numbers between these bounds, and its query."""
    column = IntegerColumn("x", Fraction(1), (low, high), None)
    (design,) = INEQUALITY.designs(Inputs("g", column, options=(("bins", bins),)), ADDED)
    query: Query = design.queries[0].query
    assert isinstance(design, InequalityDesign)
    assert isinstance(query, PointsQuery)
    return design, query


def outcomes(design: InequalityDesign, weights: Ints) -> Floats:
    """Values, lower and upper bounds of both numbers, without noise."""
    columns = weights.astype(float)[:, None]
    point = design.sums_of_top(columns).argmin(axis=0)
    return design.outcome(np.vstack([columns, point]))[:, 0].reshape(3, 2)


FILES = [(0, 6, 2), (0, 6, 1), (1, 7, 3), (0, 5, 2), (0, 4, 4)]


@pytest.mark.parametrize(("low", "high", "bins"), FILES)
def test_no_values_within_bins_are_beyond_the_bounds(low: int, high: int, bins: int) -> None:
    """Over all small files, both numbers lie between their bounds, and some reach each."""
    design, query = design_of(low, high, bins)
    reached = np.zeros((2, 2), np.bool_)
    for size in (1, 2, 3, 4, 5):
        for values in combinations_with_replacement(range(low, high + 1), size):
            if not sum(values):
                continue
            weights, true = weights_of(query, values), np.array(exact(values))
            _, lower, upper = outcomes(design, weights)
            assert weights.sum() == size * query.width
            assert weights @ (low + query.width * np.arange(len(weights))) == (
                sum(values) * query.width
            )
            assert (lower <= true + 1e-12).all(), values
            assert (true <= upper + 1e-12).all(), values
            reached |= abs(np.stack([lower, upper]) - true) < 1e-9

    assert reached.all()


def test_repeated_values_leave_the_bounds_of_one_file() -> None:
    """All numbers are of shares: a file in which each row stands ten times has the same."""
    design, query = design_of(0, 100, 10)
    values = [3, 14, 15, 92, 65, 35, 89, 79]
    once, often = (outcomes(design, weights_of(query, values * times)) for times in (1, 10))

    assert np.allclose(once, often)


def incomes(runs: int, rows: int, spread: float = 0.7) -> Ints:
    """Lognormal incomes in tens, the same in every test; shape (runs, rows)."""
    drawn = np.random.default_rng(20).lognormal(np.log(250), spread, (runs, rows))
    found: Ints = np.clip(np.rint(drawn), 0, 1000).astype(np.int64)
    return found


def plan_of(neighbors: str, epsilon: str, unit: str = "row", bins: int = 10) -> PlannedStatistic:
    """The planned statistic."""
    spec = SPEC.format(neighbors=neighbors, epsilon=epsilon, unit=unit, bins=bins)
    return make_plan(parse_central_spec(spec, "spec.yaml")).statistics[0]


def released(planned: PlannedStatistic, rows: int, runs: int) -> tuple[Estimates, Floats]:
    """Releases of as many files, and how often both intervals contain the exact numbers."""
    drawn, query = incomes(runs, rows), planned.queries[0].weighted.query
    assert isinstance(query, PointsQuery)
    true = np.array([exact(values) for values in drawn])
    answers = with_noise(planned, [np.concatenate([weights_of(query, one) for one in drawn])], 1)
    estimates = INEQUALITY.possible_estimate(planned.design, answers, Fraction(19, 20))
    lower, upper = (
        (ends * float(estimates.step)).reshape(runs, 2).astype(float)
        for ends in (estimates.lower, estimates.upper)
    )
    held: Floats = ((lower <= true + 1e-9) & (true <= upper + 1e-9)).mean(axis=0)
    return estimates, held


CASES = [
    *((rows, "add-remove", epsilon) for rows in (30, 300, 3000) for epsilon in ("0.3", "1", "3")),
    (300, "change-one", "1"),
]


@pytest.mark.parametrize(
    ("rows", "neighbors", "epsilon"), mostly_extended(CASES, *CASES[1:5:3], unpack=True)
)
def test_intervals_contain_the_numbers_of_the_rows(
    rows: int, neighbors: str, epsilon: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At least 94% of intervals do, with what is unknown within the bins."""
    monkeypatch.setattr(entropy, "source", Stream(f"inequality {rows} {neighbors} {epsilon}"))
    runs = 600
    estimates, held = released(plan_of(neighbors, epsilon), rows, runs)

    assert (held >= 0.94 - 2 * np.sqrt(0.94 * 0.06 / runs)).all(), held
    if rows >= 300 and epsilon != "0.3":
        marked = flags(estimates).reshape(runs, 2) != FLAGS.index(Flag.NONE)
        assert (marked.mean(axis=0) <= 0.1).all()


@EXTENDED
def test_the_point_of_the_top_tenth_is_chosen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """With many points, the least of their noisy bounds would often be below the exact share."""
    monkeypatch.setattr(entropy, "source", Stream("point of the top"))
    _, held = released(plan_of("add-remove", "0.3", bins=40), 300, 1500)

    assert held[1] >= 0.95


@EXTENDED
def test_numbers_are_not_clamped_to_nonnegative_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where many points have no rows, the mean of many Gini coefficients is the true one."""
    monkeypatch.setattr(entropy, "source", Stream("not clamped"))
    spec = SPEC.format(neighbors="add-remove", epsilon="1", unit="row", bins=20)
    (planned,) = make_plan(
        parse_central_spec(spec.replace("10000]", "20000]"), "spec.yaml")
    ).statistics
    runs, query = 2000, planned.queries[0].weighted.query
    assert isinstance(query, PointsQuery)
    (values,) = incomes(1, 300)
    answers = with_noise(planned, [weights_of(query, values)], runs)
    estimates = planned.design.estimate(answers, Fraction(19, 20))
    means = (estimates.value * float(estimates.step)).reshape(runs, 2).astype(float).mean(axis=0)

    assert means[0] == pytest.approx(exact(values)[0], abs=0.01)


def test_noisy_counts_may_choose_the_bounds() -> None:
    """Bins are of whole steps, so bounds of a single step leave one bin, and no error."""
    text = SPEC.format(neighbors="add-remove", epsilon="1", unit="row", bins=10)
    text = text.replace("[0, 10000]", "{choose: 1-2-5, up_to: 1000000, epsilon: 0.1}")
    text = text.replace("statistics:", "quality: {epsilon: 0.1, min_rows: 100}\nstatistics:")
    (entry,) = parse_central_spec(text, "spec.yaml").entries

    assert entry.inputs.option("bins") == 10
    assert design_of(0, 1, 10)[1].cells_per_group == 2


def test_a_plan_states_the_errors_of_typical_incomes() -> None:
    """Without noise in the typical answers, half-widths are those of typical releases."""
    planned = plan_of("add-remove", "1")
    rows, query = 300, planned.queries[0].weighted.query
    assert isinstance(query, PointsQuery)
    beta = np.random.default_rng(5).beta(4.875, 1.625, (400, rows))
    cells = [weights_of(query, np.rint(values * 1000).astype(np.int64)) for values in beta]
    answers = with_noise(planned, [np.concatenate(cells)], 1)
    typical = planned.design.typical_estimates(planned.noises, Fraction(19, 20), Fraction(rows))
    released = planned.design.estimate(answers, Fraction(19, 20))
    stated, found = (
        np.median((one.upper - one.lower).astype(float).reshape(-1, 2) * float(one.step), axis=0)
        for one in (typical, released)
    )

    assert np.allclose(stated, found, rtol=0.1)


def test_an_empty_group_has_no_information() -> None:
    """Without a noisy row, the interval is all that is possible."""
    design, query = design_of(0, 100, 10)
    answers = with_noise(plan_of("add-remove", "1"), [np.zeros(query.cells_per_group, int)], 1)
    nothing = [type(one)(one.values * 0, NO_NOISE) for one in answers]
    estimates = INEQUALITY.possible_estimate(design, nothing, Fraction(19, 20))

    assert [FLAGS[flag] for flag in flags(estimates)] == [Flag.NO_INFORMATION] * 2
