"""The line (or plane) that predicts one numeric column from others best."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any

from dpcli.fields import Fault, NumericColumnName, Predictors
from dpcli.privacy.relation import Neighbors, Relation, RowUnit
from dpcli.statistics.base import ANY, Answer, Estimate, Question, Request, Statistic, numeric
from dpcli.statistics.least_squares import Line, Scaled, coefficients, minimiser
from dpcli.statistics.moments import Moments
from dpcli.statistics.plausible import Plausible
from dpcli.values import Choice, Exact, Shape, whole

METHODS = ("moments", "output")
"""How the coefficients are made private."""


Method = Annotated[str, Choice("unknown-method", METHODS)]
Ridge = Annotated[Fraction, Exact("not-in-range.ridge", least=Fraction(1, 10**9), most=1000)]
Rows = Annotated[int, whole(10**12, "rows the file has: a public number")]


class RegressionFields(Shape):
    """The predicted column, those that predict it, and how noise is added."""

    column: NumericColumnName
    on: Predictors
    method: Method = METHODS[0]
    ridge: Ridge | None = None
    rows: Rows | None = None


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

    No interval is given where a ridge had to keep coefficients of moments stable: they are
    shrunk towards zero by an unknown part.
    """

    name = "linear_regression"
    keeps_raw = False
    fields = RegressionFields
    item = "coefficient"
    several_units = True
    made = "least squares of noisy moments, with a ridge where noise could leave no slope"

    def request(self, bare: Request, given: Mapping[str, Any]) -> Request:
        """The inputs and the outcome as columns, the outcome last."""
        columns = (*given["on"], given["column"])
        method, ridge, rows = given["method"], given["ridge"], given["rows"] or 0
        return replace(
            bare, column=columns[-1], columns=columns, method=method, ridge=ridge, rows=rows
        )

    def faults(self, request: Request, relation: Relation) -> Iterable[Fault]:
        """No column predicts itself, and noise for the minimiser needs a fixed number of rows."""
        if request.column in request.columns[:-1]:
            yield Fault("column-twice.predicted", "on", column=numeric(request).name)
        if request.method != "output":
            if request.rows:
                yield Fault("rows-not-taken", "rows")
            return
        if request.ridge is None:
            yield Fault("missing-field.output-ridge", "method", user=request.name)
        if not request.rows:
            yield Fault("missing-field.output-rows", "method", user=request.name)
        for holds, reason in (
            (relation.neighbors is not Neighbors.CHANGE_ONE, "`neighbors` are not `change-one`"),
            (not isinstance(relation.unit, RowUnit), "the unit is not `row`"),
            (bool(request.by or request.where), "it has `by` or `where`"),
            (
                any(column.missing is None for column in request.columns),
                "a cell may be missing, and its row skipped",
            ),
        ):
            if holds:
                yield Fault("output-needs-fixed-rows", "method", reason=reason)

    def questions(self, request: Request, relation: Relation) -> tuple[Question, ...]:
        """All moments of inputs and outcome, or the minimiser itself."""
        if request.method == "output":
            query = minimiser(request.columns, request.ridge or Fraction(0), request.rows)
            return (Question("coefficients", query, unit=query.grid),)
        return Moments(request.columns).questions(request, relation)

    def estimate(
        self, request: Request, answers: Sequence[Answer], confidence: Fraction
    ) -> tuple[Estimate, ...]:
        """The coefficients in the units of the columns."""
        if request.method == "output":
            query = minimiser(request.columns, request.ridge or Fraction(0), request.rows)
            return coefficients(request, query.grid, answers[0], confidence)
        scaled = Scaled(request.columns)
        line = Line(scaled, request.ridge, answers)
        found = Plausible(answers, line.plain, confidence, count=0)
        found.settle(*line.stable(found.noisy))
        return found.estimates(scaled.units, scaled.places, [ANY] * len(scaled.units))

    def items(self, request: Request) -> tuple[str, ...]:
        """The intercept and the inputs."""
        return ("intercept", *(column.name for column in request.columns[:-1]))

    def notes(self, request: Request) -> tuple[str, ...]:
        """How the answers become coefficients."""
        if request.method == "output":
            return ("noisy coefficients of scaled columns, brought to the columns' own units",)
        return super().notes(request)
