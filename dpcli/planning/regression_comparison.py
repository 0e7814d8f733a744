"""Which method of a linear regression is expected to have the smaller error."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from statistics import mean

from dpcli.mechanisms.query_sensitivity import query_sensitivity
from dpcli.messages import note
from dpcli.numeric.number_text import rounded_text
from dpcli.planning.plan import CentralPlan, PlannedStatistic
from dpcli.privacy.neighboring import Relation
from dpcli.statistics.design import Request, WeightedQuery
from dpcli.statistics.linear_regression import OBJECTIVE, LinearRegression
from dpcli.statistics.moments import TYPICAL_MEAN, Moments

TYPICAL_EFFECT = 0.5
"""What all slopes add up to, on columns scaled to [-1, 1]; every input has an equal part."""


def regression_comparisons(plan: CentralPlan) -> list[str]:
    """How the errors of slopes by moments and by the objective compare, for pure noise."""
    return [
        sentence
        for planned in plan.statistics
        if isinstance(planned.entry.statistic, LinearRegression)
        for sentence in _comparison(planned, plan.spec.privacy.relation)
    ]


def _comparison(planned: PlannedStatistic, relation: Relation) -> list[str]:
    request, target = planned.entry.request, planned.target
    fixed = request.method == "output" or request.ridge is not None
    if fixed or request.by or target.rho is not None or target.delta:
        return []
    epsilon = target.epsilon
    errors = {
        "moments": moments_error(request, relation, epsilon),
        "objective": objective_error(request, relation, epsilon),
    }
    (other,) = errors.keys() - {request.method}
    ratio = rounded_text(Fraction(errors[request.method] / errors[other]), 2)
    return [note("regressions.ratio", name=planned.name, other=other, ratio=ratio)]


def moments_error(request: Request, relation: Relation, epsilon: Fraction) -> float:
    """The error of a slope by moments on scaled columns, times rows and variance of the inputs.

    For many rows, inputs that are not correlated and typical means, it is the noise in its
    covariance with the outcome, minus that in its covariances with all inputs times their slopes.
    A covariance is a mean product minus a product of means. Noise of scale s has the variance
    2 s^2.
    """
    model = Moments(request.columns)
    *inputs, outcome = range(len(request.columns))
    places = [(), *((place,) for place in (*inputs, outcome)), *model.pairs]
    variances = {
        place: _variance(weighted, float(model.unit(*place)), relation, epsilon)
        for place, weighted in zip(places, model.queries(request, relation), strict=True)
    }

    def covariance(one: int, other: int) -> float:
        pair = variances[min(one, other), max(one, other)]
        sums = 4 * variances[one,] if one == other else variances[one,] + variances[other,]
        return pair + TYPICAL_MEAN**2 * sums + TYPICAL_MEAN**4 * variances[()]

    slope = TYPICAL_EFFECT / len(inputs)
    return sqrt(
        mean(
            covariance(one, outcome) + slope**2 * sum(covariance(one, other) for other in inputs)
            for one in inputs
        )
    )


def _variance(weighted: WeightedQuery, unit: float, relation: Relation, epsilon: Fraction) -> float:
    """The variance of discrete Laplace noise in an answer, in a unit; zero if it is exact."""
    moved = query_sensitivity(weighted.query, relation).l1 * weighted.step
    return 2 * (float(moved / weighted.weight / epsilon) / unit) ** 2 if moved else 0.0


def objective_error(request: Request, relation: Relation, epsilon: Fraction) -> float:
    """The same error by the objective: that of the random slope, and that of the ridge.

    A coordinate of the slope for k coefficients and scale s has the variance s^2 (k + 1)(k + 2)/3.
    The slope of an input takes up its coordinate, and its mean times that of the intercept.
    """
    (design,) = OBJECTIVE.designs(request, relation)
    weighted, query = design.queries[0], design.objective
    moved = query_sensitivity(query, relation).l1 * weighted.step / weighted.weight
    scale, ridge = map(float, query.perturbation(moved / epsilon))
    size = query.cells
    noise = scale**2 * (size + 1) * (size + 2) / 3 * (1 + TYPICAL_MEAN**2)
    slope = TYPICAL_EFFECT / (size - 1)
    intercept = TYPICAL_MEAN * (1 - TYPICAL_EFFECT)
    return sqrt(noise + (ridge * (slope - TYPICAL_MEAN * intercept)) ** 2)
