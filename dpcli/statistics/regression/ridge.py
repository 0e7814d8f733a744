"""Queries for the coefficients of regressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement
from math import floor

from dpcli.data.column import Column
from dpcli.numeric.arrays import Array, integer_array
from dpcli.numeric.constrained_least_squares import solve_equations
from dpcli.numeric.interval_arithmetic import round_down, sqrt_down, sqrt_up
from dpcli.privacy.neighboring import Relation
from dpcli.privacy.sensitivity import RowContribution, Sensitivity
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery, Query
from dpcli.queries.sums import Factor, RowSums, Shape

GRID_STEPS = 1 << 10
"""The steps of the grid in the largest change of a coefficient; rounding adds one more."""


@dataclass(frozen=True, kw_only=True)
class RegressionQuery(Query):
    """The coefficients of a regression of an outcome on inputs, and its intercept."""

    inputs: tuple[Factor, ...]

    @property
    def half_widths(self) -> tuple[int, ...]:
        """What the column of ones and the inputs are divided by, in steps."""
        return (1, *(max(map(abs, factor.limits)) for factor in self.inputs))

    @cached_property
    def cells(self) -> int:
        return len(self.inputs) + 1

    def add_remove_sensitivity(self, relation: Relation) -> None:
        """None: coefficients have a bound for these neighbors alone."""


@dataclass(frozen=True, kw_only=True)
class LinearRegressionQuery(RegressionQuery):
    """The coefficients of a regression of a number, of the moments of the rows."""

    outcome: Factor

    @property
    def operands(self) -> tuple[Column, ...]:
        return tuple(factor.column for factor in (self.outcome, *self.inputs))

    @cached_property
    def moments(self) -> tuple[LinearQuery, ...]:
        """The sums from which it is computed: of products of any two of one, inputs and outcome."""
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
        """The equations of the least sum of squares over `rows`, for columns in [-1, 1].

        `moments` are the totals of the `moments`. The last column is the right side.
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
        """The step of the coefficients: a power of two, at most 1/`GRID_STEPS` of the `change`."""
        return round_down(self.change / GRID_STEPS, 1)

    @cached_property
    def change_in_steps(self) -> Sensitivity:
        """The most that replacing a row changes, in steps; rounding adds one per coefficient."""
        size, steps = self.cells, self.change / self.grid
        root = sqrt_up(Fraction(size))
        return Sensitivity(
            size, floor(root * steps + size), floor((steps + root) ** 2), floor(steps + 1)
        )

    @cached_property
    def row_contribution(self) -> RowContribution:
        """The most that one coefficient changes, in either direction."""
        return RowContribution(-self.change_in_steps.linf, self.change_in_steps.linf)

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """The `change_in_steps`; ValueError unless rows are replaced, and none is skipped."""
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
