"""Intervals of regressions by a perturbed objective, of many releases from the same rows.

Slopes and the noise of products are those of the code. Minimizers are computed in floats, which is
much faster than exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import factorial
from typing import Literal

from dpcli.noise.k_norm import KNormVector
from dpcli.numeric.arrays import Bools, Floats, integer_array, np
from dpcli.numeric.minimizers import constrained_least_squares
from dpcli.planning.plan import PlannedStatistic
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.estimates import UNBOUNDED
from dpcli.statistics.regression.curvature import CoefficientErrors
from dpcli.statistics.regression.queries import LeastSquaresQuery, ObjectiveQuery
from tests.support.surveys import CONFIDENCE, planned_statistic

Model = Literal["linear", "logistic"]

SPEC = """\
dpcli: 1
dataset: d
privacy: {{unit: row, neighbors: add-remove, budget: {{epsilon: 99}}}}
columns:
{columns}
  y: {{type: number, bounds: [-1, 1], step: 0.01}}
  z: {{type: boolean}}
statistics: [{{name: m, {entry}, on: [{names}], method: objective, epsilon: {epsilon}}}]
"""
ENTRIES: dict[Model, str] = {
    "linear": "statistic: linear_regression, column: y",
    "logistic": "statistic: logistic_regression, column: z",
}
STEPS = 100
"""Steps of a column from the middle of its bounds, -1 to 3, to a bound."""


@dataclass(frozen=True)
class Survey:
    """How many of the intervals contain the coefficients without noise, and how wide they are.

    Attributes:
        coverage: The share for each coefficient, of all releases; shape (coefficients,).
        informative: The share of releases with intervals that are not all that is possible.
        half_widths: The median of these, for each coefficient; infinite without any.
    """

    coverage: Floats
    informative: float
    half_widths: Floats


def shaped(shape: str, inputs: int, rows: int) -> Floats:
    """Inputs from -1 to 1 of one shape, with a column of ones; shape (rows, 1 + inputs)."""
    generator = np.random.default_rng(7)
    size = (rows, inputs)
    match shape:
        case "normal":
            made = generator.normal(0.2, 0.4, size)
        case "skewed":
            made = generator.exponential(0.3, size) - 1
        case "clamped":
            # Most rows are alike, and a few are far away.
            made = np.where(generator.random(size) < 0.03, 1.0, generator.normal(-0.8, 0.05, size))
        case "labels":
            made = np.where(generator.random(size) < 0.3, 1.0, -1.0)
        case "correlated":
            common = generator.normal(0.1, 0.35, (rows, 1))
            made = common + generator.normal(0, 0.15, size)
        case _:
            raise ValueError(shape)
    return np.hstack([np.ones((rows, 1)), np.clip(made, -1, 1).round(2)]).astype(np.float64)


def least_squares(matrix: Floats, vector: Floats) -> Floats:
    """The minimizer of x'Ax/2 - v'x over all x with an L1 norm of at most one."""
    free = np.asarray(np.linalg.solve(matrix, vector), np.float64)
    if abs(free).sum() <= 1:
        return free
    exact = [[Fraction(float(number)) for number in row] for row in (*matrix, vector)]
    limited = constrained_least_squares(exact[:-1], exact[-1])
    assert limited is not None
    return np.array([float(number) for number in limited])


def tail(weights: Floats, width: float) -> float:
    """P[|w'b| > c] for a slope b of scale one, weights w that are not zero, and a width c.

    Given its radius r, b is uniform in a cube: the probability is a sum over the corners e, of the
    sign of the product of e times a power of w'e - c/r. Its mean over r is an elementary integral.
    """
    if width == np.inf:
        return 0.0
    size = len(weights)
    corners = np.array(list(product((1.0, -1.0), repeat=size)))
    sums = corners @ abs(weights)
    signs, sums = corners.prod(axis=1)[sums > 0], sums[sums > 0]
    terms = signs * sums**size * np.exp(-width / sums)
    return float(2 * terms.sum() / (2**size * factorial(size) * abs(weights).prod()))


@dataclass(frozen=True)
class Regression:
    """A regression of rows, released many times."""

    model: Model
    inputs: Floats
    outcome: Floats
    epsilon: str

    @property
    def plan(self) -> PlannedStatistic:
        names = [f"x{index}" for index in range(1, self.inputs.shape[1])]
        columns = "\n".join(
            f"  {name}: {{type: number, bounds: [-1, 3], step: 0.02}}" for name in names
        )
        entry = ENTRIES[self.model]
        return planned_statistic(
            SPEC.format(columns=columns, entry=entry, names=", ".join(names), epsilon=self.epsilon)
        )

    @property
    def products(self) -> list[int]:
        """The sums of products of any two inputs, in steps."""
        whole = np.rint(self.inputs * ([1] + [STEPS] * (self.inputs.shape[1] - 1))).astype(int)
        pairs = combinations_with_replacement(range(whole.shape[1]), 2)
        return [int(whole[:, i] @ whole[:, j]) for i, j in pairs]

    def survey(self, releases: int) -> Survey:
        """The intervals of this number of releases."""
        plan = self.plan
        first, *others = plan.queries
        query, noise = first.weighted.query, first.calibrated.noise
        assert isinstance(query, ObjectiveQuery)
        scale, ridge = map(float, query.perturbation(noise.scale * query.step))
        noises = [part.calibrated.noise for part in others]
        sums = [
            total + np.array(one.sample(releases, many=True))
            for total, one in zip(self.products, noises, strict=True)
        ]
        zero = np.zeros(query.cells)
        start = self._minimizer(zero, ridge, zero)
        truth = self._in_own_units(start)
        held, widths = np.zeros(query.cells), []
        for index in range(releases):
            sides = KNormVector(query.cells).enclosure()
            slope = np.array([float(side.low) * scale for side in sides])
            steps = np.rint(self._minimizer(slope, ridge, start) / float(query.grid))
            answers = [NoisyAnswer(integer_array(steps.astype(np.int64)), noise)]
            answers += [
                NoisyAnswer(np.array([total[index]]), one)
                for total, one in zip(sums, noises, strict=True)
            ]
            made = plan.design.estimate(answers, CONFIDENCE)
            step = float(made.step)
            lower, upper = (end.astype(np.float64) * step for end in (made.lower, made.upper))
            covers: Bools = (lower <= truth) & (truth <= upper)
            unbounded = made.status == UNBOUNDED
            held += covers | unbounded
            if not (unbounded | made.covers_all).any():
                widths.append((upper - lower) / 2)
        medians = np.median(widths, axis=0) if widths else np.full(query.cells, np.inf)
        return Survey(held / releases, len(widths) / releases, np.asarray(medians, np.float64))

    def expected_coverage(self, releases: int) -> Floats:
        """The mean probability that intervals of squares hold, over draws of the noisy products.

        This is for coefficients within their limit: the error is then a weighted sum of the slope.
        """
        plan = self.plan
        first, *others = plan.queries
        query, noise = first.weighted.query, first.calibrated.noise
        assert isinstance(query, LeastSquaresQuery)
        scale, ridge = map(float, query.perturbation(noise.scale * query.step))
        weights = np.array([self._in_own_units(unit) for unit in np.eye(query.cells)]).T
        matrix = self.inputs.T @ self.inputs + ridge * np.eye(query.cells)
        moved = np.linalg.solve(matrix, weights.T).T * scale
        held = np.zeros(query.cells)
        for _ in range(releases):
            answers = [NoisyAnswer(np.zeros(query.cells, np.int64), noise)]
            answers += [
                NoisyAnswer(
                    total + np.array(part.calibrated.noise.sample(1)), part.calibrated.noise
                )
                for total, part in zip(self.products, others, strict=True)
            ]
            widths = CoefficientErrors.half_widths(answers, query, weights, CONFIDENCE)
            held += [1 - tail(*pair) for pair in zip(moved, widths, strict=True)]
        return held / releases

    def _in_own_units(self, theta: Floats) -> Floats:
        """Coefficients of columns from -1 to 3, from those of columns from -1 to 1."""
        return np.array([theta[0] - theta[1:].sum() / 2, *(theta[1:] / 2)])

    def _minimizer(self, slope: Floats, ridge: float, start: Floats) -> Floats:
        """The minimizer for a slope, of the columns from -1 to 1."""
        x, theta = self.inputs, start
        if self.model == "linear":
            return least_squares(x.T @ x + ridge * np.eye(x.shape[1]), x.T @ self.outcome - slope)
        for _ in range(100):
            shares = 1 / (1 + np.exp(-x @ theta))
            gradient = x.T @ (shares - self.outcome) + slope + ridge * theta
            curvature = (x.T * (shares * (1 - shares))) @ x + ridge * np.eye(x.shape[1])
            step = np.linalg.solve(curvature, gradient)
            # Log-odds change by at most one at a time, so that the steps do not overshoot.
            theta = theta - step / max(1.0, float(abs(step).sum()))
            if abs(step).max() < 1e-10:
                return theta
        raise AssertionError("no minimizer was found")
