"""Queries for the minimizer of an objective that noise perturbs.

Neither minimizer nor objective has a sensitivity in steps. What a row changes is the gradient of
the objective at any coefficients, and its curvature there. So a query states the privacy loss that
one unit causes for noise of scale one, and which noise and ridge have that loss.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from math import exp
from typing import ClassVar, NamedTuple

from dpcli.data.column import Column
from dpcli.data.filters import InRanges
from dpcli.numeric.arrays import Array, np
from dpcli.numeric.constrained_least_squares import constrained_least_squares
from dpcli.numeric.logistic import Located, LogisticMinimizer
from dpcli.privacy.neighboring import Neighbors, Relation
from dpcli.privacy.sensitivity import RowContribution, Sensitivity
from dpcli.privacy.unit import PersonUnit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import AnswerWords
from dpcli.queries.sums import CountedFactors, PlainSum, Shape
from dpcli.statistics.regression.ridge import LinearRegressionQuery, RegressionQuery

Locator = Callable[[Sequence[Fraction]], Located | None]
"""Locates the minimizer for a slope; None if that takes more random digits."""


class Perturbation(NamedTuple):
    """What is added to the objective: <b, theta> for random b, and ridge |theta|^2 / 2.

    The density of b is proportional to exp(-max |b_j| / scale).
    """

    scale: Fraction
    ridge: Fraction


@dataclass(frozen=True, kw_only=True)
class ObjectiveQuery(RegressionQuery):
    """The coefficients that minimize a sum of convex losses of the rows.

    Every input is centered and divided by its half-width, so that it lies in [-1, 1]. A column of
    ones comes first: each row has a vector x with |x|^2 at most k, for k coefficients.

    Privacy: `ObjectivePerturbation` has the argument. The gradient of a row is at most G = 4 `step`
    from zero in each coordinate, and its second derivative is h x x' with h at most `curvature`.
    For noise of scale 4t/3, a row that is added or removed costs 3G/(4t) for its gradient, and at
    most log(1 + h k/ridge) for its curvature. The ridge is h k/(u + u^2/2 + u^3/6) with u = G/(4t),
    so that this is at most u. Together this is G/t. A row that is replaced costs twice 3G/(4t) and
    once u, because only one of two curvatures can count: 7G/(4t).
    """

    step: ClassVar[Fraction]
    curvature: ClassVar[Fraction]
    losses: ClassVar[tuple[int, int]] = (4, 7)
    grid: ClassVar[Fraction] = Fraction(1, 1 << 20)
    minimizes: ClassVar[bool] = True

    def perturbation(self, unit: Fraction) -> Perturbation:
        """The noise and the ridge for a loss of 4 `step`/unit if a row is added or removed."""
        part = self.step / unit
        ridge = self.curvature * self.cells / (part + part**2 / 2 + part**3 / 6)
        return Perturbation(unit * Fraction(4, 3), ridge)

    @property
    def greatest(self) -> Fraction | None:
        """What absolute values of coefficients add up to at most; None if there is no limit."""
        return None

    @abstractmethod
    def curvature_at(self, size: float) -> float:
        """The least h of a row, for coefficients whose absolute values add up to at most `size`."""

    @abstractmethod
    def locator(self, ridge: Fraction, answer: Array) -> Locator:
        """What locates the minimizer with this ridge for a slope, from the exact answer."""

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """The loss that one unit causes for noise of scale one step, as the change of one number.

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
        """What the slope does."""
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
    """The coefficients of a least-squares regression, of the moments of the rows.

    The outcome is scaled as the inputs are. The objective is sum (y - <theta, x>)^2 / 2 over the
    rows, for all theta whose absolute values add up to at most one: those are the coefficients for
    which the predictions of all possible inputs lie within the bounds of the outcome.

    Privacy: the gradient of a row is x (<theta, x> - y), in each coordinate at most 2 from zero,
    and its second derivative is x x'. So a row that is added costs 2/t, and one that is replaced
    7/(2t).
    """

    step: ClassVar[Fraction] = Fraction(1, 2)
    curvature: ClassVar[Fraction] = Fraction(1)

    @property
    def greatest(self) -> Fraction:
        return Fraction(1)

    def curvature_at(self, size: float) -> float:
        return 1.0

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
    """The coefficients of a logistic regression, of the different inputs and their numbers of rows.

    With s = 1 for rows whose `outcome` is true and s = -1 for others, the objective is
    sum log(1 + exp(-s <theta, x>)) over the rows, for all theta.

    Privacy: with p = 1/(1 + exp(s <theta, x>)), which is between 0 and 1, the gradient of a row is
    -s p x, in each coordinate at most 1 from zero. Its second derivative is p (1 - p) x x', with
    p (1 - p) at most 1/4. So a row that is added costs 1/t, and one that is replaced 7/(4t).
    The half-width of an input must be at most `MAX_HALF_WIDTH`.
    """

    outcome: InRanges

    step: ClassVar[Fraction] = Fraction(1, 4)
    curvature: ClassVar[Fraction] = Fraction(1, 4)

    def curvature_at(self, size: float) -> float:
        """p (1 - p) at log-odds of this size, which inputs in [-1, 1] cannot exceed."""
        odds = exp(-size)
        return odds / (1 + odds) ** 2

    @property
    def operands(self) -> tuple[Column, ...]:
        return (self.outcome.column, *(factor.column for factor in self.inputs))

    @property
    def shape(self) -> Shape:
        """The combinations of inputs, with their rows and those whose outcome is true."""
        not_missing = frozenset(
            column for column in self.required_columns if column.missing is None
        )
        every = PlainSum((), self.where, not_missing)
        true = PlainSum((), (*self.where, self.outcome), not_missing)
        return CountedFactors(self.inputs, (((1, every),), ((1, true),)))

    def answer(self, sums: Array) -> Array:
        """The combinations as they are, a line for each: the minimizer needs no order."""
        return sums

    def locator(self, ridge: Fraction, answer: Array) -> Locator:
        """Newton's method, with a proven distance."""
        return LogisticMinimizer(self.half_widths, ridge, answer).locate
