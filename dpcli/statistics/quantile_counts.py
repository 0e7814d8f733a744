"""Quantiles from the noisy counts of a tree: queries, numbers and errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from dpcli.numeric.arrays import Ints, integer_array, multiply_exact, np
from dpcli.privacy.neighboring import Relation
from dpcli.privacy.unit import PersonUnit
from dpcli.queries.quantile_recursion import LEAST_FOR_RECURSION, nearest_candidates
from dpcli.queries.query import LinearQuery
from dpcli.queries.scores import Points
from dpcli.statistics.candidate_classes import classes_at_and_between
from dpcli.statistics.count_tree import CountTree
from dpcli.statistics.count_tree_estimates import classes_of_quantiles
from dpcli.statistics.estimates import HAS_INTERVAL, Estimates
from dpcli.statistics.numeric_columns import numeric
from dpcli.statistics.statistic import NoisyAnswer, Queries, Request, WeightedQuery, groups

EPSILON, RHO = 1, 2
"""The power of the noise that a share of epsilon or of rho divides."""

USUAL_PART = 0.5
"""The part of `usual_error` with which choices are compared: counts that are not negative have
smaller errors, for incomes and for even values about half on average. Where rows share values,
counts are better than that by far, and choices in rounds can be worse than single choices."""


def may_count(request: Request, quantiles: int, relation: Relation) -> bool:
    """Whether counts may answer: for several quantiles, in public groups, about the same rows.

    Limits on the groups of a person would leave out other rows in each level.
    """
    unit = relation.unit
    limited = isinstance(unit, PersonUnit) and unit.limits_groups
    private = any(axis.is_private for axis in request.by)
    return quantiles >= LEAST_FOR_RECURSION and not limited and not private


def count_queries(request: Request, power: int) -> Queries:
    """The rows in each node of a tree over the classes of candidates, one query for each level."""
    classes, _ = classes_at_and_between(numeric(request), request.candidates)
    tree = CountTree(len(classes))
    return tuple(
        WeightedQuery(
            f"rows in {len(axis):,} ranges",
            LinearQuery(by=request.by, items=(axis,), where=request.where),
            share,
        )
        for axis, share in zip(tree.axes(classes), tree.shares(power), strict=True)
    )


def is_counted(queries: Sequence[WeightedQuery]) -> bool:
    """Whether these are the queries of a tree."""
    return isinstance(queries[0].query, LinearQuery)


def error_of_counts(
    quantiles: Sequence[Fraction],
    queries: Sequence[WeightedQuery],
    errors: Sequence[Fraction | float],
) -> float:
    """About how many ranks the worst quantile misses by where values lie densely and evenly.

    It is at the confidence of `errors`, those of a count in each level.
    """
    tree = CountTree(queries[-1].query.cells_per_group)
    middle = min((float(quantile) for quantile in quantiles), key=lambda one: abs(one - 0.5))
    return tree.usual_error(middle, list(map(float, errors)))


def quantiles_from_counts(
    request: Request,
    quantiles: Sequence[Fraction],
    answers: Sequence[NoisyAnswer],
    confidence: Fraction,
) -> Estimates:
    """The candidate of each quantile, with an interval that has the exact one."""
    column, points = numeric(request), request.candidates
    classes, known = classes_at_and_between(column, points)
    counts = [answer.values.reshape(groups(request), -1) for answer in answers]
    noises = [answer.noise for answer in answers]
    places, last = np.asarray(known), len(points) - 1
    items = []
    for found in classes_of_quantiles(
        CountTree(len(classes)), counts, noises, quantiles, confidence
    ):
        value = nearest_candidates(known, found.place, found.in_first_half)
        lower = np.maximum(np.searchsorted(places, found.lowest, side="right") - 1, 0)
        upper = np.minimum(np.searchsorted(places, found.highest), last)
        chosen = Estimates.chosen(candidate_values(points, value), column.step)
        bounded = replace(
            chosen,
            lower=candidate_values(points, lower),
            upper=candidate_values(points, upper),
            status=np.full(len(value), HAS_INTERVAL, np.int8),
        )
        items.append(bounded)
    return Estimates.interleaved(items)


def candidate_values(points: Points, indices: Ints) -> Ints:
    """The candidates at these indices, in steps of the column."""
    if isinstance(points, range):
        values: Ints = points.start + multiply_exact(indices, points.step)
        return values
    return integer_array(points)[indices]
