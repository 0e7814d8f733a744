"""Many releases at once, each as a group of the answers, and how often their intervals hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from numpy.typing import ArrayLike

from dpcli.numeric.arrays import Array, Floats, Ints, integer_array
from dpcli.planning.plan import PlannedStatistic
from dpcli.planning.planner import make_plan
from dpcli.queries.paired import PairedQuery
from dpcli.queries.query import LinearQuery, Query
from dpcli.queries.scaled import ScaledSumsQuery
from dpcli.specification.load import parse_central_spec
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.estimates import HAS_INTERVAL, Estimates
from dpcli.statistics.means.distances import BernsteinQuery
from dpcli.statistics.means.quadratic_pair import QuadraticPairQuery

CONFIDENCE = Fraction(19, 20)

few_and_many_runs = pytest.mark.parametrize(
    ("runs", "least", "most"),
    [(300, 0.91, 0.995), pytest.param(1000, 0.93, 0.97, marks=pytest.mark.slow)],
)
"""Runs, and the least and greatest share of intervals of 95% that hold in as many."""


def planned_statistic(spec: str) -> PlannedStatistic:
    """The only statistic of a spec."""
    (planned,) = make_plan(parse_central_spec(spec, "survey")).statistics
    return planned


def noisy_answers(
    planned: PlannedStatistic, files: Mapping[str, Ints], runs: int
) -> list[NoisyAnswer]:
    """The noisy answers about each run.

    `files` has whole steps by name of column, shape (runs or 1, rows). Numbers of items per run are
    not supported: statistics with items need answers of their own.
    """
    exact = []
    for planned_query in planned.queries:
        terms = row_terms(planned_query.weighted.query, files)
        numbers = [np.broadcast_to(one.sum(axis=1), runs) for one in terms]
        exact.append(np.stack(numbers, axis=1))
    return with_noise(planned, exact)


def with_noise(
    planned: PlannedStatistic, exact: Sequence[ArrayLike], runs: int = 1
) -> list[NoisyAnswer]:
    """The noisy answers to each query, from the exact numbers of all runs or, repeated, of one."""
    answers = []
    for cells, noise in zip(exact, planned.noises, strict=True):
        numbers = np.tile(np.ravel(cells), runs)
        drawn = np.asarray(noise.sample(len(numbers), many=True))
        answers.append(NoisyAnswer(integer_array(numbers + drawn), noise))
    return answers


def noise_alone(planned: PlannedStatistic, runs: int) -> list[NoisyAnswer]:
    """The noisy answers to each query about an empty file, in as many runs."""
    cells = [part.weighted.query.cells or 0 for part in planned.queries]
    return with_noise(planned, [np.zeros(count, np.int64) for count in cells], runs)


def released(planned: PlannedStatistic, exact: Sequence[ArrayLike], runs: int) -> Estimates:
    """The estimates of many releases of the same exact numbers, in order of the queries."""
    return planned.design.estimate(with_noise(planned, exact, runs), CONFIDENCE)


def row_terms(query: Query, files: Mapping[str, Ints]) -> list[Array]:
    """What each row adds to each number of a query."""
    if isinstance(query, BernsteinQuery):
        ones = np.ones_like(files[query.numeric_columns[0].name])
        terms: list[Array] = [ones if query.weight is None else files[query.weight.name]]
        for column in query.numeric_columns:
            above, below = files[column.name] - column.lower, column.upper - files[column.name]
            terms = [
                term * comb(query.degree, j) * above**j * below ** (query.degree - j)
                for term in terms
                for j in range(query.degree + 1)
            ]
        return terms
    if isinstance(query, PairedQuery):
        one, other = row_terms(query.of, files)
        return [one - other, one + other]
    if isinstance(query, ScaledSumsQuery):
        pairs = zip(query.times, query.sums, strict=True)
        return [times * row_terms(one, files)[0] for times, one in pairs]
    if isinstance(query, QuadraticPairQuery):
        column, width = query.column, query.width
        above, below = files[column.name] - column.lower, column.upper - files[column.name]
        sums = [part * (4 * part - 3 * width) for part in (above, below)]
        return [*sums, np.full_like(above, width**2)]
    assert isinstance(query, LinearQuery)
    total: Array = np.ones_like(next(iter(files.values())))
    for factor in query.factors:
        total = total * (factor.times * files[factor.column.name] - factor.offset)
    return [total - query.offset]


def by_item(estimates: Estimates, numbers: Array, items: int) -> Floats:
    """Whole steps as numbers, shape (runs, items)."""
    return np.asarray(numbers.astype(float).reshape(-1, items) * float(estimates.step))


def held(estimates: Estimates, truth: ArrayLike) -> Floats:
    """The share of the intervals of each item that contain its exact number."""
    exact = np.atleast_1d(np.asarray(truth, np.float64))
    lower, upper = (
        by_item(estimates, ends, len(exact)) for ends in (estimates.lower, estimates.upper)
    )
    given = estimates.status.reshape(-1, len(exact)) == HAS_INTERVAL
    inside = (lower <= exact + 1e-9) & (exact - 1e-9 <= upper)
    return np.asarray((inside & given).mean(axis=0))


def assert_covers(
    estimates: Estimates, truth: ArrayLike, least: float = 0.93, most: float = 0.97
) -> None:
    """Of the intervals of each item, a share between these contains its exact number."""
    shares = held(estimates, truth)
    assert ((least <= shares) & (shares <= most)).all(), shares
