"""Score functions and quantiles: sensitivities are reached, and choices are correct."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from dpcli.data.number_columns import IntegerColumn
from dpcli.noise.candidate_choice import ExponentialChoice
from dpcli.noise.distribution import NO_NOISE
from dpcli.numeric.arrays import integer_array
from dpcli.privacy.sensitivity import sensitivity
from dpcli.privacy.unit import Neighbors, Relation, RowUnit
from dpcli.queries.scores import Points, Rank, ScoreQuery
from dpcli.statistics import STATISTICS
from dpcli.statistics.choices.candidates import classes_at_and_between, classes_from_each
from dpcli.statistics.design import Inputs, NoisyAnswer
from dpcli.statistics.quantiles.quantile import Quantile
from tests.oracles.opened import cells_of
from tests.oracles.plain import evaluate

COLUMN = IntegerColumn("x", bounds=(0, 4))
ADDED = Relation(RowUnit(), Neighbors.ADD_REMOVE)


def rank(quantile: Fraction, points: Points | None = None) -> ScoreQuery:
    """The query for one quantile."""
    key, places = classes_at_and_between(COLUMN, range(5) if points is None else points)
    return ScoreQuery(classes=(key,), score_function=Rank(places, quantile))


def scores(query: ScoreQuery, values: Sequence[int]) -> list[int]:
    """The scores for a file of these values, by the oracle."""
    data = "x\n" + "".join(f"{value}\n" for value in values)
    return cells_of(evaluate([query], data.encode())[0])


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("quantile", ["1/2", "1/4", "9/10", "1/3"])
def test_rank_scores_change_by_exactly_their_sensitivity(
    quantile: str, neighbors: Neighbors
) -> None:
    """Over all files of up to five values some neighbor reaches the sensitivity."""
    query = rank(Fraction(quantile))
    known = {
        values: scores(query, values)
        for size in range(6)
        for values in combinations_with_replacement(range(5), size)
    }
    worst = 0
    for values, here in known.items():
        if len(values) == 5:
            continue
        if neighbors is Neighbors.ADD_REMOVE:
            pairs = [(here, known[tuple(sorted((*values, added)))]) for added in range(5)]
        else:
            both = (tuple(sorted((*values, one))) for one in range(5))
            every = [known[one] for one in both]
            pairs = list(product(every, every))
        for one, other in pairs:
            change = [a - b for a, b in zip(one, other, strict=True)]
            worst = max(worst, max(change) - min(change))
    claim = sensitivity(query.row_contribution, neighbors, RowUnit(), 1).l1
    # For the quantile 0.9 of five rows, no candidate has room on both sides.
    assert worst == claim if quantile != "9/10" else worst <= claim


@pytest.mark.parametrize(
    "points", [None, (1, 3), (0, 4), (2,), (0, 1, 2, 3, 4), range(0, 5, 2), range(0, 5, 3)]
)
@pytest.mark.parametrize("quantile", ["1/2", "1/4", "99/100"])
def test_the_best_candidate_is_the_nearest_to_the_quantile(
    points: Points | None, quantile: str
) -> None:
    """The candidate with the best score misses the quantile by the fewest rows."""
    query = rank(Fraction(quantile), points)
    candidates = list(range(5)) if points is None else list(points)
    for values in combinations_with_replacement(range(5), 4):
        scored = scores(query, values)
        wanted = Fraction(quantile) * 4
        missed = [
            max(
                Fraction(0),
                sum(value < point for value in values) - wanted,
                wanted - sum(value <= point for value in values),
            )
            for point in candidates
        ]
        assert [-Fraction(score, Fraction(quantile).denominator) for score in scored] == missed


def test_classes_cover_every_value_once() -> None:
    """For any candidates, each value is in one class, and each point has a class of its own."""
    regular = (range(5), range(0, 5, 2), range(0, 5, 3), range(0, 5, 9), range(1, 5, 2))
    for points in ((0,), (4,), (1, 2), (0, 2, 4), (0, 1, 2, 3, 4), *regular):
        key, places = classes_at_and_between(COLUMN, points)
        bins = list(zip(key.starts, (*key.starts[1:], 5), strict=True))
        for value in range(5):
            assert sum(low <= value < high for low, high in bins) == 1
        assert [bins[place] for place in places] == [(point, point + 1) for point in points]
        key, places = classes_from_each(COLUMN, points)
        assert [key.starts[place] for place in places] == list(points)


def test_scores_do_not_overflow() -> None:
    """Counts that would overflow machine words are Python integers, and stay exact."""
    utility = Rank(range(3), Fraction(999_999, 1_000_000))
    counts = np.array([[10**30, 1, 10**30]], dtype=object)
    wanted = 999_999 * (2 * 10**30 + 1)
    scored = utility.scores(counts)[0].tolist()
    assert scored[0] == -(wanted - 10**6 * 10**30)
    assert scored[2] == 0


def test_consistent_quantiles_increase() -> None:
    """Swapped quantiles are sorted within each group."""
    inputs = Inputs(
        "q",
        COLUMN,
        candidates=range(5),
        quantiles=(Fraction(9, 10), Fraction(1, 10), Fraction(1, 2)),
    )
    noise = ExponentialChoice(Fraction(1))
    given = [
        NoisyAnswer(integer_array([1, 4, 2]), noise),
        NoisyAnswer(integer_array([100]), NO_NOISE),
    ]
    statistic = Quantile()
    *_, design = statistic.designs(inputs, ADDED)
    crossed = design.estimate(given, Fraction(19, 20))
    assert [chosen.value for chosen in crossed] == [1, 4, 2]
    put = design.make_consistent(given, crossed, Fraction(19, 20))
    assert [chosen.value for chosen in put] == [4, 1, 2]


def test_every_missing_interval_is_explained() -> None:
    """A statistic without intervals gives the reason in its documentation."""
    for statistic in STATISTICS:
        if statistic.chooses:
            assert "No interval is given" in (type(statistic).__doc__ or "")
