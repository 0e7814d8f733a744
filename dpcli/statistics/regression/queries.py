"""Queries for the coefficients of regressions: of a ridge, and of objectives.

Neither minimizer nor objective has a sensitivity in steps. What a row changes is the gradient of
the objective at any coefficients, and its curvature there. So a query states the privacy loss that
one unit causes for noise of scale one, and which noise and ridge have that loss.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement
from math import exp, floor
from typing import ClassVar, NamedTuple

from dpcli.data.column import Column
from dpcli.data.filters import InRanges
from dpcli.numeric.arrays import Array, Floats, integer_array, np
from dpcli.numeric.interval_arithmetic import round_down, sqrt_down, sqrt_up
from dpcli.numeric.minimizers import (
    Located,
    LogisticMinimizer,
    constrained_least_squares,
    solve_equations,
)
from dpcli.privacy.sensitivity import RowContribution, Sensitivity
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import AnswerWords, LinearQuery, Query
from dpcli.queries.sums import CountedFactors, Factor, PlainSum, RowSums, Shape
from dpcli.queries.terms import QueryTerms

GRID_STEPS = 1 << 10
"""Steps of the grid in the largest change of a coefficient; rounding adds one."""


@dataclass(frozen=True, kw_only=True)
class RegressionQuery(Query):
    """The intercept and coefficients of a regression of an outcome on inputs."""

    inputs: tuple[Factor, ...]

    @property
    def half_widths(self) -> tuple[int, ...]:
        """The divisors that scale the column of ones and the inputs to [-1, 1], in steps."""
        return (1, *(max(map(abs, factor.limits)) for factor in self.inputs))

    @cached_property
    def cells(self) -> int:
        return len(self.inputs) + 1

    @cached_property
    def cells_per_group(self) -> int:
        return self.cells

    def add_remove_sensitivity(self, relation: Relation) -> None:
        """None: a bound is known only for the neighbors of the relation."""

    def terms(self, relation: Relation) -> QueryTerms:
        of = tuple(factor.terms for factor in self.inputs)
        return replace(super().terms(relation), rule="objective", factors=of)


@dataclass(frozen=True, kw_only=True)
class LinearRegressionQuery(RegressionQuery):
    """The coefficients of a regression of a number, from moments of the rows."""

    outcome: Factor

    @property
    def operands(self) -> tuple[Column, ...]:
        return tuple(factor.column for factor in (self.outcome, *self.inputs))

    @cached_property
    def moments(self) -> tuple[LinearQuery, ...]:
        """The sums of products of any two of these: one, the inputs, and the outcome."""
        rows = LinearQuery(where=self.where, present=(*self.present, *self.operands))
        terms: list[tuple[Factor, ...]] = [
            (),
            *((factor,) for factor in (*self.inputs, self.outcome)),
        ]
        pairs = combinations_with_replacement(terms, 2)
        return tuple(replace(rows, factors=first + second) for first, second in pairs)

    @property
    def largest_product(self) -> int:
        return max(moment.largest_product for moment in self.moments)

    @property
    def shape(self) -> Shape:
        return RowSums(tuple(moment.weighted_sum for moment in self.moments))

    def normal_equations(
        self, moments: Sequence[int], ridge: Fraction, rows: int = 1
    ) -> list[list[Fraction]]:
        """The normal equations of the mean squared error, for columns in [-1, 1].

        `moments` has the answers to the queries `moments`, which are divided by `rows`. The last
        column is the right side.
        """
        size = self.cells
        halves = (*self.half_widths, max(map(abs, self.outcome.limits)))
        pairs = combinations_with_replacement(range(size + 1), 2)
        scaled = {
            pair: Fraction(total, halves[pair[0]] * halves[pair[1]] * rows)
            for pair, total in zip(pairs, moments, strict=True)
        }
        return [
            [scaled[min(i, j), max(i, j)] + (ridge if i == j else 0) for j in range(size)]
            + [scaled[i, size]]
            for i in range(size)
        ]


@dataclass(frozen=True, kw_only=True)
class RidgeQuery(LinearRegressionQuery):
    """The coefficients of a ridge regression, in whole steps of a grid.

    Every column is centered and divided by its half-width, so that it lies in [-1, 1]. A column
    of ones comes first. The coefficients minimize, over the rows,

        sum (y - <theta, x>)^2 / (2 n) + ridge |theta|^2 / 2,

    where n is the greater of `rows` and the number of rows. They are rounded to `grid`.
    Raises ValueError if there is no bound: without a ridge above zero or without rows.
    """

    ridge: Fraction
    rows: int

    def __post_init__(self) -> None:
        if self.ridge <= 0 or self.rows < 1:
            raise ValueError("a bound needs a ridge above zero, and rows")

    @cached_property
    def change(self) -> Fraction:
        """The most that replacing a row changes the coefficients, in L2.

        2 (N M + P M^2)/(n ridge) with M^2 = k coefficients, N = 1 and P = 1/(2 sqrt(ridge)),
        rounded up; `LinearRegression` has the proof.
        """
        root = sqrt_up(Fraction(self.cells))
        longest = 1 / (2 * sqrt_down(self.ridge))
        return 2 * (root + longest * self.cells) / (self.rows * self.ridge)

    @cached_property
    def grid(self) -> Fraction:
        """The coefficients' step: a power of two, at most 1/`GRID_STEPS` of the `change`."""
        return round_down(self.change / GRID_STEPS, 1)

    @cached_property
    def change_in_steps(self) -> Sensitivity:
        """The most a replaced row changes, in steps; rounding adds one per coefficient."""
        size, steps = self.cells, self.change / self.grid
        root = sqrt_up(Fraction(size))
        return Sensitivity(
            size, floor(root * steps + size), floor((steps + root) ** 2), floor(steps + 1)
        )

    @cached_property
    def row_contribution(self) -> RowContribution:
        """The most that replacing a row changes one coefficient, in steps; both signs."""
        return RowContribution(-self.change_in_steps.linf, self.change_in_steps.linf)

    def terms(self, relation: Relation) -> QueryTerms:
        own = super().terms(relation)
        return replace(own, rule="ridge", ridge=str(self.ridge), counted=self.rows)

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """The `change_in_steps`; ValueError unless rows are replaced and none is skipped."""
        if not relation.size_is_public or self.may_skip or self.axes:
            raise ValueError("coefficients have a bound if rows are replaced, and none is skipped")
        return self.change_in_steps

    def answer(self, sums: Array) -> Array:
        """The coefficients in steps of the grid, halves rounded up, from the moments.

        The equations are solved in exact rationals, so that the sensitivity that is proved for
        exact coefficients holds for the computed ones. They have one solution, because the ridge
        is above zero.
        """
        moments = [int(total) for total in sums.ravel()]
        equations = self.normal_equations(moments, self.ridge, max(self.rows, moments[0]))
        return integer_array(
            [floor(theta / self.grid + Fraction(1, 2)) for theta in solve_equations(equations)]
        )


Locator = Callable[[Sequence[Fraction]], Located | None]
"""Locates the minimizer for a random slope; None if it needs more random digits."""


class Perturbation(NamedTuple):
    """What is added to the objective: <b, theta>, b random, and ridge |theta|^2 / 2.

    The density of b is proportional to exp(-max |b_j| / scale).
    """

    scale: Fraction
    ridge: Fraction


@dataclass(frozen=True, kw_only=True)
class ObjectiveQuery(RegressionQuery):
    """The coefficients that minimize a sum of convex losses of the rows.

    Every input is centered and divided by its half-width, so that it lies in [-1, 1]. A column of
    ones comes first: each row has a vector x with |x|^2 at most k, for k coefficients.

    Privacy: `ObjectivePerturbation` has the argument. Let g be the greatest coordinate of the
    gradient of a row, and h x x' its second derivative, both at the output. For a random slope of
    scale s, an output is at most exp(g/s) (1 + h k/ridge) times as likely with the row as without
    it, and at most exp(g/s) times as likely without it. So a row costs g/s + log(1 + h k/ridge),
    and if it replaces another row, only the g/s of that one more. Each query bounds the sum.

    Attributes:
        step: The unit at which a row costs its `losses`, as in `perturbation`.
        losses: The privacy loss of a row that is added or removed, and of one that is replaced.
        curvature: The greatest h of a row.
    """

    step: ClassVar[Fraction]
    losses: ClassVar[tuple[int, int]]
    curvature: ClassVar[Fraction]
    grid: ClassVar[Fraction] = Fraction(1, 1 << 20)
    minimizes: ClassVar[bool] = True
    block = None

    @abstractmethod
    def perturbation(self, unit: Fraction) -> Perturbation:
        """The noise and the ridge for which a row costs its `losses` times `step`/`unit`."""

    @property
    def greatest(self) -> Fraction | None:
        """The limit on the L1 norm of the coefficients; None if there is no limit."""
        return None

    @abstractmethod
    def mean_curvature(self, size: float, changes: Floats) -> Floats:
        """The least mean of the curvature h of a row, between two coefficients.

        One has the L1 norm `size`, and the other lies within `changes` of it in L1.
        """

    @abstractmethod
    def locator(self, ridge: Fraction, answer: Array) -> Locator:
        """A function that locates the minimizer for a random slope, with this ridge.

        `answer` is the exact answer.
        """

    def terms(self, relation: Relation) -> QueryTerms:
        return replace(super().terms(relation), times=self.losses)

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """The privacy loss of one unit at noise of scale one step, as a sensitivity.

        The losses of the rows of a person add up. Raises ValueError if the query has groups: a
        row that is replaced could then change two of them.
        """
        if self.axes:
            raise ValueError("an objective has no groups")
        rows = relation.unit.max_rows if isinstance(relation.unit, PersonUnit) else 1
        added, replaced = self.losses
        loss = rows * (added if relation.neighbors is Neighbors.ADD_REMOVE else replaced)
        return Sensitivity(1, loss, loss**2, loss)

    def trial_errors(self, noisy: Array, exact: Array) -> Array:
        """Empty: the errors of coefficients depend on the rows too."""
        return np.zeros(0, np.int64)

    def protection(self, words: AnswerWords) -> str:
        return (
            f"{words.role}: one random slope was added to the objective, on columns that are "
            "scaled to [-1, 1], and its minimizer is published. In one direction the slope is "
            f"within {words.error} in {words.percent}% of cases; how far that moves a coefficient "
            "depends on the rows."
        )

    @cached_property
    def row_contribution(self) -> RowContribution:
        """What one row adds to one coordinate of the gradient, in steps."""
        return RowContribution(-self.losses[0], self.losses[0])


@dataclass(frozen=True, kw_only=True)
class LeastSquaresQuery(ObjectiveQuery, LinearRegressionQuery):
    """The coefficients of a least-squares regression, from moments of the rows.

    The outcome is scaled as the inputs are. The objective is sum (y - <theta, x>)^2 / 2 over the
    rows, for all theta whose absolute values add up to at most one: those are the coefficients for
    which the predictions of all possible inputs lie within the bounds of the outcome.

    Privacy: the gradient of a row is x (<theta, x> - y), in each coordinate at most 2 from zero,
    and its second derivative is x x'. For a slope of scale 4t/3, a row costs 3/(2t) for its
    gradient. The ridge is k/(u + u^2/2 + u^3/6) with u = 1/(2t), so that log(1 + k/ridge) is at
    most u. So a row that is added costs 2/t, and one that is replaced, with two gradients, 7/(2t).
    """

    step: ClassVar[Fraction] = Fraction(1, 2)
    losses: ClassVar[tuple[int, int]] = (4, 7)
    curvature: ClassVar[Fraction] = Fraction(1)

    def perturbation(self, unit: Fraction) -> Perturbation:
        part = self.step / unit
        ridge = self.curvature * self.cells / (part + part**2 / 2 + part**3 / 6)
        return Perturbation(unit * Fraction(4, 3), ridge)

    @property
    def greatest(self) -> Fraction:
        return Fraction(1)

    def mean_curvature(self, size: float, changes: Floats) -> Floats:
        return np.ones_like(changes)

    def locator(self, ridge: Fraction, answer: Array) -> Locator:
        """Exact least squares, with a limit on the sum of absolute coefficients."""
        equations = self.normal_equations([int(total) for total in answer], ridge)
        matrix, vector = [row[:-1] for row in equations], [row[-1] for row in equations]

        def locate(slope: Sequence[Fraction]) -> Located | None:
            shifted = [value - part for value, part in zip(vector, slope, strict=True)]
            solution = constrained_least_squares(matrix, shifted)
            return None if solution is None else Located(solution, Fraction(0))

        return locate


@dataclass(frozen=True, kw_only=True)
class LogisticQuery(ObjectiveQuery):
    """The coefficients of a logistic regression, from rows per combination of inputs.

    With s = 1 for rows whose `outcome` is true and s = -1 for others, the objective is
    sum log(1 + exp(-s <theta, x>)) over the rows, for all theta.

    Privacy: with p = 1/(1 + exp(s <theta, x>)), which is between 0 and 1, the gradient of a row is
    -s p x, in each coordinate at most p from zero. Its second derivative is p (1 - p) x x': a row
    with a large gradient has little curvature. For a slope of scale r and a ridge of 2 r k/3, a row
    that is added costs at most p/r + log(1 + p (1 - p) k/ridge), at most (p + 3/2 p (1 - p))/r,
    which is greatest at p = 5/6: 25/(24 r). One that is replaced costs 1/r more: 49/(24 r). With
    r = 25 t/24, that is 1/t and 49/(25 t). The half-width of an input must be at most
    `MAX_HALF_WIDTH`.
    """

    outcome: InRanges

    step: ClassVar[Fraction] = Fraction(1, 25)
    losses: ClassVar[tuple[int, int]] = (25, 49)
    curvature: ClassVar[Fraction] = Fraction(1, 4)

    def perturbation(self, unit: Fraction) -> Perturbation:
        scale = unit * Fraction(25, 24)
        return Perturbation(scale, scale * self.cells * Fraction(2, 3))

    def mean_curvature(self, size: float, changes: Floats) -> Floats:
        """The mean of p (1 - p) from the largest log-odds, `size`, outwards.

        p (1 - p) is the derivative of p, so that its mean is a quotient of differences.
        """
        near = exp(-size)
        gaps = np.maximum(changes, 1e-9)
        mean: Floats = near * -np.expm1(-gaps) / gaps / ((1 + near) * (1 + near * np.exp(-gaps)))
        return mean

    @property
    def operands(self) -> tuple[Column, ...]:
        return (self.outcome.column, *(factor.column for factor in self.inputs))

    @property
    def shape(self) -> Shape:
        not_missing = frozenset(
            column for column in self.required_columns if column.missing is None
        )
        every = PlainSum((), self.where, not_missing)
        true = PlainSum((), (*self.where, self.outcome), not_missing)
        return CountedFactors(self.inputs, (((1, every),), ((1, true),)))

    def answer(self, sums: Array) -> Array:
        """The combinations of inputs, unchanged: the minimizer needs no order."""
        return sums

    def locator(self, ridge: Fraction, answer: Array) -> Locator:
        """Newton's method, which also proves a bound on the distance from the minimizer."""
        return LogisticMinimizer(self.half_widths, ridge, answer).locate
