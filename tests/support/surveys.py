"""Many releases about simulated files at once: each run is a cell of the answers."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import comb

import numpy as np

from dpcli.numeric.arrays import Array, Ints, integer_array
from dpcli.planning.plan import PlannedStatistic
from dpcli.planning.planner import make_plan
from dpcli.queries.paired import PairedQuery
from dpcli.queries.query import LinearQuery, Query
from dpcli.specification.load import parse_central_spec
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.estimates import HAS_INTERVAL, Estimates
from dpcli.statistics.means.quadratic_pair import QuadraticPairQuery
from dpcli.statistics.means.quotient import BernsteinQuery

CONFIDENCE = Fraction(19, 20)


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
    answers = []
    for planned_query in planned.queries:
        query = planned_query.weighted.query
        numbers = [np.broadcast_to(terms.sum(axis=1), runs) for terms in _terms(query, files)]
        exact = np.stack(numbers, axis=1).ravel()
        noise = np.array(planned_query.calibrated.noise.sample(len(exact)))
        answers.append(NoisyAnswer(integer_array(exact + noise), planned_query.calibrated.noise))
    return answers


def _terms(query: Query, files: Mapping[str, Ints]) -> list[Array]:
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
        one, other = _terms(query.of, files)
        return [one - other, one + other]
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


def covered(estimates: Estimates, truth: Fraction | float) -> float:
    """The share of intervals that contain a number."""
    step = float(estimates.step)
    lower, upper = estimates.lower * step, estimates.upper * step
    inside = (lower <= float(truth)) & (float(truth) <= upper)
    return float(np.mean(inside & (estimates.status == HAS_INTERVAL)))
