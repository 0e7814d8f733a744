"""The line (or plane) that predicts one numeric column from others best.

From noisy moments, or with noise on the least squares themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, log10
from typing import Annotated, Any

from dpcli.columns import NumericColumn
from dpcli.numeric.arrays import Array, Bools, Floats, np
from dpcli.privacy.neighboring import Neighbors, Relation
from dpcli.privacy.unit import RowUnit
from dpcli.queries import Factor, RidgeQuery
from dpcli.spec_fields import FieldFault, NumericColumnName, Predictors
from dpcli.spec_values import Choice, ExactNumber, field_types, whole_number
from dpcli.statistics.estimates import ANY, Estimates
from dpcli.statistics.fiducial import FiducialInterval
from dpcli.statistics.moments import Moments
from dpcli.statistics.statistic import (
    NoisyAnswer,
    Request,
    Statistic,
    WeightedQuery,
    center,
    numeric,
)

METHODS = ("moments", "output")
"""How the coefficients are made private."""


Method = Annotated[str, Choice("unknown-method", METHODS)]
Ridge = Annotated[Fraction, ExactNumber("not-in-range.ridge", least=Fraction(1, 10**9), most=1000)]
Rows = Annotated[int, whole_number(10**12, "rows the file has: a public number")]


class LinearRegression(Statistic):
    """The coefficients that predict `column` from the columns `on` by least squares.

    Items are `intercept` and the names of the columns, in their own units, overall or in
    each group of `by`; rows count if all columns are present.

    `method: moments` (the default): all first and second moments are answered once,
    jointly, as for `covariance`, and the coefficients are computed from the noisy ones.
    Where the noise could leave no slope at all, the covariances of the inputs get a ridge,
    just enough to keep them stable, which shrinks coefficients towards zero; `ridge:` sets
    it, as a part of the squared half-width of each column. The interval covers the
    coefficients of the exact moments that may be behind the noisy ones.

    `method: output` (with change-one, rows as units and no row skipped): noise is added to
    the coefficients of a ridge regression themselves. It needs `ridge: lambda` and the
    public number of `rows`, and minimizes sum (y - <theta, x>)^2 / (2 n) + lambda |theta|^2
    / 2 over columns scaled to [-1, 1], with a column of ones. The interval is that of the
    noise, around the exact minimizer.

    Privacy: of moments, as for `covariance`, of which the coefficients are a function. Of
    outputs: with |y| <= N, |x| <= M and |theta| <= P, replacing one of n rows changes the
    gradient at theta by at most 2 (N M + P M^2)/n in L2, because the part of each row is x
    (<theta, x> - y)/n. The objective is strongly convex with lambda, so its minimizer moves
    by at most that over lambda in L2, and sqrt(k) times as much in L1 (k coefficients).
    Here N = 1, M^2 = k and, because the objective at its minimum is at most what it is at
    zero, P = 1/sqrt(lambda). Rounding to the grid adds one step for each coefficient (after
    Chaudhuri, Monteleoni and Sarwate 2011). Without a ridge there is no such bound: 2 (N k
    + P M^2 sqrt(k))/n, which lecture notes print for the unregularized minimizer (Tu 2013,
    theorem 6), bounds the change of the gradient, and says nothing about the minimizer.
    Where the x lie nearly on a line, the objective is nearly flat along it, and one row can
    move the minimizer arbitrarily far.

    >>> x = "{type: integer, bounds: [0, 10]}"
    >>> l1("statistic: linear_regression, column: y, on: [x]", x=x, y=x)
    {'add-remove': [1, 5, 5, 13, 25, 13], 'change-one': [1, 10, 10, 25, 50, 25]}

    No interval is given where a ridge had to keep coefficients of moments stable: they are
    shrunk towards zero by an unknown part.
    """

    name = "linear_regression"
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

    def complete_request(self, bare: Request, given: Mapping[str, Any]) -> Request:
        """The inputs and the outcome as columns, the outcome last."""
        columns = (*given["on"], given["column"])
        method, ridge = given["method"] or METHODS[0], given["ridge"]
        rows = given["rows"] or 0
        return replace(
            bare, column=columns[-1], columns=columns, method=method, ridge=ridge, rows=rows
        )

    def faults(self, request: Request, relation: Relation) -> Iterable[FieldFault]:
        """No column predicts itself, and noise for the ridge_query needs a fixed number of rows."""
        if request.column in request.columns[:-1]:
            yield FieldFault("column-twice.predicted", "on", column=numeric(request).name)
        if request.method != "output":
            if request.rows:
                yield FieldFault("rows-not-taken", "rows")
            return
        if request.ridge is None:
            yield FieldFault("missing-field.output-ridge", "method", subject=request.name)
        if not request.rows:
            yield FieldFault("missing-field.output-rows", "method", subject=request.name)
        skipped = any(column.missing is None for column in request.columns)
        reasons = {
            "`neighbors` are not `change-one`": relation.neighbors is not Neighbors.CHANGE_ONE,
            "the unit is not `row`": not isinstance(relation.unit, RowUnit),
            "it has `by` or `where`": bool(request.by or request.where),
            "a cell may be missing, and its row skipped": skipped,
        }
        for reason, holds in reasons.items():
            if holds:
                yield FieldFault("output-needs-fixed-rows", "method", reason=reason)

    def queries(self, request: Request, relation: Relation) -> tuple[WeightedQuery, ...]:
        """All moments of inputs and outcome, or the ridge_query itself."""
        if request.method == "output":
            query = _ridge_query(request)
            return (WeightedQuery("coefficients", query, step=query.grid),)
        return Moments(request.columns).queries(request, relation)

    def estimate(
        self, request: Request, answers: Sequence[NoisyAnswer], confidence: Fraction
    ) -> Estimates:
        """The coefficients in the units of the columns."""
        if request.method == "output":
            return _coefficients(request, answers[0], confidence)
        line = Line(request.columns, request.ridge)
        found = FiducialInterval(answers, line.plain, confidence, count=0)
        found.replace_values(*line.stable(found.noisy, answers))
        return line.estimates(found)

    def names(self, request: Request) -> tuple[str, ...]:
        """The intercept and the inputs."""
        return ("intercept", *(column.name for column in request.columns[:-1]))

    def notes(self, request: Request) -> tuple[str, ...]:
        """How the answers become coefficients."""
        if request.method == "output":
            return ("noisy coefficients of scaled columns, brought to the columns' own units",)
        return super().notes(request)


LEVEL = Fraction(19, 20)
"""What noise does at most with this probability decides whether a ridge is needed."""

FLAT = 1e-9
"""Inputs that vary by less than this along some direction leave no slope there."""


@dataclass(frozen=True)
class Line(Moments):
    """The coefficients of an outcome, the last of some columns, on the others.

    Columns are taken from their centers, in half-widths. With a `ridge`, that much is added to
    the variance of every input, in squared half-widths. Without one, just enough where noise
    could leave no slope.
    """

    ridge: Fraction | None = None

    def estimates(self, found: FiducialInterval) -> Estimates:
        """Intercept and slopes in the columns' own units, to a ten-thousandth of each."""
        *inputs, outcome = (self.unit(place) for place in range(len(self.columns)))
        units = [outcome, *(outcome / one for one in inputs)]
        places = [max(0, 4 - floor(log10(unit))) for unit in units]
        return found.estimates(units, places, [ANY] * len(units))

    def from_zero(self, slopes: Array, intercept: Array) -> Floats:
        """Intercept and slopes, the intercept where all columns are zero."""
        *inputs, outcome = (
            center(column) / half for half, column in zip(self.halves, self.columns, strict=True)
        )
        shift = sum((slope * at for slope, at in zip(slopes, inputs, strict=True)), start=0.0)
        return np.vstack([intercept - shift + outcome, slopes])

    def plain(self, sums: Floats) -> Floats:
        """Intercept and slopes of noisy answers; no numbers where inputs do not vary."""
        _, means, covariances = self.read(sums)
        return self._solved(means, covariances, float(self.ridge or 0))

    def stable(self, sums: Floats, answers: Sequence[NoisyAnswer]) -> tuple[Floats, Bools]:
        """Intercept and slopes that always exist, and in which cells a ridge was needed."""
        rows, means, covariances = self.read(sums, possible=True)
        ridge = np.full(len(rows), float(self.ridge or 0))
        if self.ridge is None:
            least = np.linalg.eigvalsh(_matrices(covariances[:-1, :-1]))[:, 0]
            ridge = np.maximum(self._disturbance(answers) / rows - least, 0.0)
        found = self._solved(means, covariances, ridge)
        flat = ~np.isfinite(found).all(axis=0)
        found[:, flat] = 0.0
        return found, flat | ((self.ridge is None) & (ridge > 0))

    def _disturbance(self, answers: Sequence[NoisyAnswer]) -> float:
        """What noise does to the matrix of the inputs, at most, times the number of rows."""
        inputs = len(self.columns) - 1
        return inputs * max(
            answer.noise.half_width(LEVEL) / (self.halves[i] * self.halves[j])
            for (i, j), answer in zip(self.pairs, answers[len(self.columns) + 1 :], strict=True)
            if i < inputs and j < inputs
        )

    def _solved(self, means: Floats, covariances: Floats, ridge: Floats | float) -> Floats:
        inputs = _matrices(covariances[:-1, :-1])
        size = inputs.shape[1]
        inputs = inputs + np.broadcast_to(ridge, len(inputs))[:, None, None] * np.eye(size)
        flat = np.linalg.eigvalsh(inputs)[:, 0] <= FLAT
        inputs[flat] = np.eye(size)
        slopes = np.linalg.solve(inputs, covariances[:-1, -1].T[:, :, None])[:, :, 0].T.copy()
        slopes[:, flat] = np.nan
        intercept = means[-1] - (slopes * means[:-1]).sum(axis=0)
        return self.from_zero(slopes, intercept)


def _matrices(stacked: Floats) -> Floats:
    """Matrices whose cells stand last, with the cells first."""
    return np.ascontiguousarray(np.moveaxis(stacked, 2, 0))


def ridge_query(columns: Sequence[NumericColumn], ridge: Fraction, rows: int) -> RidgeQuery:
    """The query for the ridge regression of the last column on the others."""
    *inputs, outcome = (Factor(column, center(column)) for column in columns)
    return RidgeQuery(outcome=outcome, inputs=tuple(inputs), ridge=ridge, rows=rows)


def _ridge_query(request: Request) -> RidgeQuery:
    assert request.ridge is not None, "the spec has checked that there is a ridge"
    return ridge_query(request.columns, request.ridge, request.rows)


def _coefficients(request: Request, answer: NoisyAnswer, confidence: Fraction) -> Estimates:
    line, grid = Line(request.columns), float(_ridge_query(request).grid)

    def outcome(thetas: Floats) -> Floats:
        return line.from_zero(thetas[1:] * grid, thetas[0] * grid)

    each = [NoisyAnswer(value, answer.noise) for value in answer.values[:, None]]
    return line.estimates(FiducialInterval(each, outcome, confidence))
