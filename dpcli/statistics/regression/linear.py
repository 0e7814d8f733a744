"""Linear regression from noisy moments, or a ridge regression with noise."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, log10
from typing import Annotated, Any

from dpcli.data.column import Column
from dpcli.data.grid_columns import NumericColumn
from dpcli.fields.section import field_types
from dpcli.fields.statistic_fields import FieldFault, NumericColumnName, Predictors
from dpcli.fields.values import Choice, ExactNumber, whole_number
from dpcli.noise.distribution import NO_NOISE, Noise
from dpcli.numeric.arrays import Array, Bools, Floats, np
from dpcli.privacy.unit import Neighbors, Relation, RowUnit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.problems.messages import quote
from dpcli.queries.sums import Factor
from dpcli.statistics.design import TYPICAL_VARIANCE, Design, Inputs, NoisyAnswer, WeightedQuery
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.intervals import FiducialInterval, Printed
from dpcli.statistics.means.products import MomentsDesign, PublishedMoments
from dpcli.statistics.moments import CenteredMoments
from dpcli.statistics.regression.curvature import ObjectiveDesign, curvature_sentence
from dpcli.statistics.regression.queries import LeastSquaresQuery, RidgeQuery
from dpcli.statistics.statistic import Statistic

RIDGE_CONFIDENCE = Fraction(19, 20)
"""A ridge covers noise up to the half-width of this confidence."""

SINGULAR = 1e-9
"""Covariances with an eigenvalue up to this (squared half-widths) have no slopes."""


@dataclass(frozen=True)
class LeastSquares(PublishedMoments):
    """Moments for the least-squares regression of the last column on the others.

    The last column is the outcome, the others are the inputs. Columns are centered and in units of
    their half-widths. The `ridge` is added to the variance of every input, in squared half-widths.
    If it is None, `solve_stably` adds the least ridge that keeps noise from making the covariances
    singular.
    """

    ridge: Fraction | None = None

    def estimate(
        self, design: MomentsDesign, answers: Sequence[NoisyAnswer], confidence: Fraction
    ) -> Estimates:
        intervals = design.intervals(answers, self.solve, confidence)
        widths = design.half_widths([answer.noise for answer in answers], RIDGE_CONFIDENCE)
        intervals.replace_values(*self.solve_stably(design.to_moments(intervals.noisy), widths))
        return self.estimates(intervals)

    def rows_for_interval(self, design: MomentsDesign, noises: Sequence[Noise]) -> int:
        """From how many rows on uncorrelated inputs of typical variance need no ridge."""
        if self.ridge is not None:
            return 0
        bound = self.noise_bound(design.half_widths(noises, RIDGE_CONFIDENCE))
        return ceil(bound / TYPICAL_VARIANCE)

    def of_scaled(self, answer: NoisyAnswer, grid: Fraction, confidence: Fraction) -> Estimates:
        """Intercept and slopes, from those for scaled columns in steps of a `grid`."""

        def outcome(coefficients: Floats) -> Floats:
            return self.uncentered(coefficients[1:] * float(grid), coefficients[0] * float(grid))

        answers = [NoisyAnswer(value, answer.noise) for value in answer.values[:, None]]
        return self.estimates(FiducialInterval(answers, outcome, confidence))

    def estimates(self, intervals: FiducialInterval) -> Estimates:
        """Intercept and slopes in the units of the columns, to 1/10,000 of each unit."""
        return intervals.estimates(
            *(Printed(unit, max(0, 4 - floor(log10(unit)))) for unit in self.units)
        )

    @cached_property
    def units(self) -> tuple[Fraction, ...]:
        """The units of intercept and slopes, in those of the columns."""
        *inputs, outcome = (self.unit(index) for index in range(len(self.columns)))
        return outcome, *(outcome / input_unit for input_unit in inputs)

    def uncentered(self, slopes: Array, intercept: Array) -> Floats:
        """Intercept and slopes for columns as they are, from those for centered columns.

        The result is in half-widths, and has the shape (columns, cells).
        """
        *inputs, outcome = (
            factor.offset / half for half, factor in zip(self.halves, self.factors, strict=True)
        )
        pairs = zip(slopes, inputs, strict=True)
        shift = sum((slope * middle for slope, middle in pairs), start=0.0)
        return np.vstack([intercept - shift + outcome, slopes])

    def solve(self, sums: Floats) -> Floats:
        """Intercept and slopes from answers to the queries; NaN if inputs do not vary.

        `sums` has the shape (queries, cells), the result (columns, cells).
        """
        return self._solve(self.centered(sums), float(self.ridge or 0))

    def solve_stably(self, sums: Floats, widths: Floats) -> tuple[Floats, Bools]:
        """Finite intercept and slopes, and whether each cell gets no interval.

        `widths` are half-widths of the noise in the `sums`. A cell gets no interval if it needs a
        ridge although none is declared, or has no solution.
        """
        moments = self.centered(sums, clamp=True)
        ridge = np.full(len(moments.rows), float(self.ridge or 0))
        if self.ridge is None:
            min_eigenvalues = np.linalg.eigvalsh(_matrices(moments.covariances[:-1, :-1]))[:, 0]
            bound = self.noise_bound(widths)
            ridge = np.maximum(bound / moments.rows - min_eigenvalues, 0.0)
        coefficients = self._solve(moments, ridge)
        unsolved = ~np.isfinite(coefficients).all(axis=0)
        coefficients[:, unsolved] = 0.0
        return coefficients, unsolved | ((self.ridge is None) & (ridge > 0))

    def noise_bound(self, widths: Floats) -> float:
        """A bound on the noise in covariances of the inputs, times the number of rows."""
        inputs = len(self.columns) - 1
        return inputs * max(
            float(width) / (self.halves[i] * self.halves[j])
            for (i, j), width in zip(self.pairs, widths[len(self.columns) + 1 :], strict=True)
            if i < inputs and j < inputs
        )

    def _solve(self, moments: CenteredMoments, ridge: Floats | float) -> Floats:
        _, means, covariances = moments
        inputs = _matrices(covariances[:-1, :-1])
        size = inputs.shape[1]
        inputs = inputs + np.broadcast_to(ridge, len(inputs))[:, None, None] * np.eye(size)
        singular = np.linalg.eigvalsh(inputs)[:, 0] <= SINGULAR
        inputs[singular] = np.eye(size)
        slopes = np.linalg.solve(inputs, covariances[:-1, -1].T[:, :, None])[:, :, 0].T.copy()
        slopes[:, singular] = np.nan
        intercept = means[-1] - (slopes * means[:-1]).sum(axis=0)
        return self.uncentered(slopes, intercept)


def _matrices(covariances: Floats) -> Floats:
    """Covariances of shape (columns, columns, cells) as (cells, columns, columns)."""
    return np.ascontiguousarray(np.moveaxis(covariances, 2, 0))


class NoisyMinimizer(Design):
    """The coefficients of a ridge regression, with noise."""

    has_typical = True

    @classmethod
    def of(cls, inputs: Inputs) -> NoisyMinimizer:
        """The design for inputs that have the ridge and the number of rows."""
        assert inputs.ridge is not None, "the spec has checked that there is a ridge"
        query = ridge_query(inputs.columns, inputs.ridge, inputs.rows)
        return cls(inputs, (WeightedQuery("coefficients", query, step=query.grid),))

    def typical_sums(self, rows: Fraction) -> Floats:
        """Coefficients of zero: their errors are the same for all values and `rows`."""
        return np.zeros(1)

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        model = LeastSquares(self.inputs.columns)
        return model.of_scaled(answers[0], self.queries[0].step, confidence)


class LeastSquaresObjective(ObjectiveDesign):
    """The coefficients that minimize the sum of squared errors, within bounds."""

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        model = LeastSquares(self.inputs.columns)
        coefficients = NoisyAnswer(answers[0].values, NO_NOISE)
        estimates = model.of_scaled(coefficients, self.objective.grid, Fraction(1))
        origin = model.factors[-1].origin
        return self.with_intervals(estimates, answers, model.units, confidence, origin)

    def shown_incomplete(self, answers: Sequence[NoisyAnswer]) -> str:
        """That the noisy minimizer lies on the border of what is allowed.

        Coefficients are rounded to the grid, so a sum that is nearly one is one.
        """
        sizes = sum(abs(int(steps)) for steps in answers[0].values)
        if (sizes + len(answers[0].values)) * self.objective.grid < 1:
            return ""
        return (
            f"a line with smaller errors would leave the bounds of {self.inputs.numeric.name}, so "
            "these coefficients are not those of least squares; `method: moments` has no such limit"
        )


METHODS = ("moments", "objective", "output")
"""What gets noise: the moments, the minimized objective, or its minimizer."""

Method = Annotated[str, Choice("unknown-method", METHODS)]
Ridge = Annotated[
    Fraction, ExactNumber("not-in-range.ridge", min_value=Fraction(1, 10**9), max_value=1000)
]
Rows = Annotated[int, whole_number(10**12, "rows the file has: a public number")]


class LinearRegression(Statistic):
    """The coefficients that predict `column` from the columns `on` by least squares.

    Items are `intercept` and the names of the columns, in their own units, overall or in
    each group of `by`; rows count if all columns are present.

    With `method: moments` (the default), all first and second moments are answered once,
    jointly, as for `covariance`. The coefficients are computed from the noisy moments. If
    noise could make the covariances of the inputs singular, they get a ridge, just large
    enough to keep the coefficients stable; it shrinks them towards zero. `ridge:` sets it
    as a part of the squared half-width of each column. The interval covers the
    coefficients of all exact moments that are plausible given the noisy ones.

    With `method: objective` (without groups), noise is added to the objective that is
    minimized, and not to its moments: coefficients with less noise where rows are
    few or inputs several, and a tenth of the loss for the products of any two inputs, which
    intervals need. The regression minimizes sum (y - <theta, x>)^2 / 2 over columns
    scaled to [-1, 1], with a column of ones. The absolute values of theta add up to at most
    one, so predictions from inputs within bounds are within bounds. A ridge that epsilon
    sets (about 4 k/epsilon rows for k coefficients) shrinks theta towards zero.

    With `method: output` (for change-one, rows as units and no skipped row), noise is added
    to the coefficients of a ridge regression. It needs `ridge: lambda` and the public
    number of `rows`. The regression minimizes sum (y - <theta, x>)^2 / (2 n) + lambda
    |theta|^2 / 2 over columns scaled to [-1, 1], with a column of ones. The interval is
    that of the noise, around the exact minimizer.

    Privacy: with `method: moments`, as for `covariance`; the coefficients are a function of
    the same answers. With `method: objective`, see `dpcli explain objective`: as |theta| is
    at most one in L1, the gradient of a row is at most 2 in each coordinate. Three quarters
    of epsilon are for that, and a quarter for its curvature. With `method: output`, let
    |y| <= N, |x| <= M and |theta| <= P. Replacing one of n rows changes the gradient at theta
    by at most 2 (N M + P M^2)/n in L2, because each row contributes x (<theta, x> - y)/n. The
    objective is lambda-strongly convex, so its minimizer moves by at most that over lambda
    in L2, and by sqrt(k) times as much in L1 for k coefficients. Here N = 1 and M^2 = k.
    P = 1/(2 sqrt(lambda)): for each singular value s of the inputs over sqrt(n), theta has
    s/(s^2 + lambda) times a part of the outcomes over sqrt(n), whose length is at most one.
    Rounding to the grid adds one step for each coefficient (after Chaudhuri, Monteleoni and
    Sarwate 2011). Without a ridge there is no such bound: 2 (N k + P M^2 sqrt(k))/n, which
    lecture notes print for the unregularized minimizer (Tu 2013, theorem 6), bounds the
    change of the gradient and not that of the minimizer. If the x lie nearly in a
    hyperplane, the objective is nearly flat along some direction, and one row can move the
    minimizer arbitrarily far.

    >>> x = "{type: integer, bounds: [0, 10]}"
    >>> l1("statistic: linear_regression, column: y, on: [x]", x=x, y=x)
    {'add-remove': [10000], 'change-one': [20000]}
    >>> l1("statistic: linear_regression, column: y, on: [x], method: objective", x=x, y=x)
    {'add-remove': [2, 1, 5, 25], 'change-one': [3.5, 1, 10, 25]}

    No interval is given where a ridge was needed to keep coefficients of noisy moments
    stable: they are shrunk towards zero by an unknown part, and flagged `no-information`. With
    `method: objective`, intervals contain the coefficients of the same regression, with its
    ridge, without noise. They follow from the distribution of the noise and from noisy products
    of the inputs, which show how much it moves coefficients. Simulated 95% intervals held in 93%
    to 97% of cases where the products are much larger than their noise, and more often where
    they are not. Where noise may hide all products, intervals are all that is possible, with
    the same flag.
    """

    name = "linear_regression"
    noun = "linear regression"
    has_raw = False
    takes = field_types(
        column=NumericColumnName,
        on=Predictors,
        method=Method | None,
        ridge=Ridge | None,
        rows=Rows | None,
    )
    item = "coefficient"
    mixed_units = True
    derivation = "least squares of noisy moments, with a ridge where noise could leave no slope"

    def variant(
        self, column: Column | None, method: str = "", stated: Collection[str] = ()
    ) -> Statistic:
        return OBJECTIVE if method == "objective" else self

    def complete_inputs(self, bare: Inputs, given: Mapping[str, Any]) -> Inputs:
        columns = (*given["on"], given["column"])
        method, ridge = given["method"] or METHODS[0], given["ridge"]
        rows = given["rows"] or 0
        return replace(
            bare, column=columns[-1], columns=columns, method=method, ridge=ridge, rows=rows
        )

    def faults(self, inputs: Inputs, relation: Relation) -> Iterable[FieldFault]:
        """Faults for a column that predicts itself, and for what the method cannot use.

        Output perturbation needs a ridge, and a number of rows that is stated, public and fixed.
        """
        if inputs.column in inputs.columns[:-1]:
            yield FieldFault("column-twice.itself", "on", column=inputs.numeric.name)
        if inputs.method != "output":
            if inputs.rows:
                yield FieldFault("rows-not-taken", "rows", method=inputs.method or "moments")
            return
        if inputs.ridge is None:
            line = "`ridge: 0.1` or so: without it one row can move the minimizer without limit"
            yield _needed_for_output("ridge", line, inputs)
        if not inputs.rows:
            line = "`rows: ...`, the number of rows, which is public under change-one"
            yield _needed_for_output("rows", line, inputs)
        skipped = any(column.missing is None for column in inputs.columns)
        reasons = {
            "`neighbors` are not `change-one`": relation.neighbors is not Neighbors.CHANGE_ONE,
            "the unit is not `row`": not isinstance(relation.unit, RowUnit),
            "it has `by` or `where`": bool(inputs.by or inputs.where),
            "a cell may be missing, and its row skipped": skipped,
        }
        for reason, holds in reasons.items():
            if holds:
                yield FieldFault("output-needs-fixed-rows", "method", reason=reason)

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        if inputs.method == "output":
            return (NoisyMinimizer.of(inputs),)
        slopes = [(index, len(inputs.columns) - 1) for index in range(len(inputs.columns) - 1)]
        moments = LeastSquares(inputs.columns, inputs.ridge)
        separate = MomentsDesign.separate(inputs, relation, moments, slopes)
        return separate.or_products(relation)

    def names(self, inputs: Inputs) -> tuple[str, ...]:
        return ("intercept", *(column.name for column in inputs.columns[:-1]))

    def sentences(self, inputs: Inputs) -> tuple[str, ...]:
        if inputs.method == "output":
            return ("noisy coefficients of scaled columns, brought to the columns' own units",)
        return super().sentences(inputs)


class ObjectiveLinearRegression(LinearRegression):
    """Linear regression by `method: objective`."""

    families = ("slope",)

    def faults(self, inputs: Inputs, relation: Relation) -> Iterable[FieldFault]:
        """Faults for a column that predicts itself, groups, and stated rows or ridge."""
        yield from super().faults(inputs, relation)
        if inputs.ridge is not None:
            yield FieldFault("ridge-not-taken", "ridge")
        if inputs.by:
            yield FieldFault("objective-without-groups", "by")

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[ObjectiveDesign]:
        *factors, outcome = map(Factor.centered, inputs.columns)
        query = LeastSquaresQuery(outcome=outcome, inputs=tuple(factors), where=inputs.where)
        return (LeastSquaresObjective.of(inputs, relation, query, "sum of squared errors"),)

    def sentences(self, inputs: Inputs) -> tuple[str, ...]:
        fitted = (
            "the coefficients are those for which all predictions from inputs within bounds "
            "lie within the bounds of the outcome; where a line may leave them, use `method: "
            "moments`"
        )
        return (fitted, curvature_sentence())


OBJECTIVE = ObjectiveLinearRegression()
"""The statistic that answers for `method: objective`."""


def _needed_for_output(key: str, line: str, inputs: Inputs) -> FieldFault:
    owner = f"{quote(inputs.name)} with `method: output`"
    return FieldFault("missing-field", "method", owner=owner, key=key, line=line)


def ridge_query(columns: Sequence[NumericColumn], ridge: Fraction, rows: int) -> RidgeQuery:
    """The query for the ridge regression of the last column on the others."""
    *inputs, outcome = map(Factor.centered, columns)
    return RidgeQuery(outcome=outcome, inputs=tuple(inputs), ridge=ridge, rows=rows)
