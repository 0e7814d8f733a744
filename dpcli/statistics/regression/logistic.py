"""Logistic regression: coefficients of the log-odds, by a perturbed objective."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import floor, log10
from typing import Annotated, Any

from dpcli.data.filters import InRanges
from dpcli.data.labels import require_labeled
from dpcli.fields.section import field_types
from dpcli.fields.statistic_fields import FieldFault, LabelsOfColumn, Predictors, ShareColumnName
from dpcli.fields.values import Choice
from dpcli.numeric.arrays import integer_array
from dpcli.numeric.minimizers import MAX_HALF_WIDTH
from dpcli.privacy.unit import Relation
from dpcli.queries.sums import Factor
from dpcli.statistics.design import Design, Inputs, NoisyAnswer
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.intervals import EXTRA_DECIMALS
from dpcli.statistics.means.ratio import TRUE, faults_of_values
from dpcli.statistics.regression.curvature import ObjectiveDesign, curvature_sentence
from dpcli.statistics.regression.queries import LogisticQuery
from dpcli.statistics.statistic import Statistic

METHODS = ("objective",)
"""What noise is added to: the objective that is minimized."""


class LogisticObjective(ObjectiveDesign):
    """The coefficients that minimize the logistic loss."""

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        query = self.objective
        first, *coefficients = (int(steps) * query.grid for steps in answers[0].values)
        units = [
            1 / (half * factor.step)
            for half, factor in zip(query.half_widths[1:], query.inputs, strict=True)
        ]
        slopes = [theta * unit for theta, unit in zip(coefficients, units, strict=True)]
        middles = (factor.origin for factor in query.inputs)
        shift = sum((a * x for a, x in zip(slopes, middles, strict=True)), start=Fraction(0))
        # To a ten-thousandth of a coefficient of one on the scaled column.
        decimals = (4, *(max(0, 4 - floor(log10(unit))) for unit in units))
        step = Fraction(1, 10 ** (max(decimals) + EXTRA_DECIMALS))
        values = integer_array([floor(number / step) for number in (first - shift, *slopes)])
        estimates = replace(Estimates.chosen(values, step), decimals=decimals)
        return self.with_intervals(estimates, answers, (Fraction(1), *units), confidence)


class LogisticRegression(Statistic):
    """The coefficients that predict whether `column` is true from the columns `on`.

    The log-odds of a row are the intercept plus each column of `on` times its coefficient. Items
    are `intercept` and the names of these columns, in log-odds per unit of the column. With
    `values`, a row is true if it has one of these labels of a category. Rows count if all
    columns are present.

    Noise is added to the objective that is minimized (`method: objective`, the only one). The
    objective is sum log(1 + exp(-s <theta, x>)), with s = 1 for rows that are true and s = -1 for
    others, over columns x scaled to [-1, 1], with a column of ones. A ridge that epsilon sets
    (about 0.7 k/epsilon for k coefficients) shrinks theta towards zero. So log-odds from inputs
    within bounds are finite, even if all rows are true. There are no groups.

    Privacy: see `dpcli explain objective`. The gradient of a row is x times a number of size p,
    from 0 to 1, so at most p in each coordinate, and its curvature is p (1 - p) |x|^2, with |x|^2
    at most k. A row with the largest gradient has no curvature, so both together cost only 1/24
    more than the gradient alone (`LogisticQuery`). No bound on theta is needed.

    Nine tenths of the loss are for that, and a tenth for the sums of the products of any two
    inputs, ones included: k (k + 1)/2 sums of numbers in [-1, 1], once they are scaled.

    >>> x = "{type: integer, bounds: [0, 10]}"
    >>> l1("statistic: logistic_regression, column: y, on: [x]", x=x, y="{type: boolean}")
    {'add-remove': [1, 1, 5, 25], 'change-one': [1.96, 1, 10, 25]}

    How far noise moves the coefficients depends on how much the inputs vary, and on p (1 - p).
    Intervals follow from the noisy products, and contain the coefficients of the same regression,
    with its ridge, without noise. The products do not show p (1 - p), which is taken to be as
    small as at the largest log-odds that inputs within bounds can have. So intervals hold more
    often than stated, and are too wide where such inputs are rare and slopes are steep.

    No interval is given, but the flag `no-information`, where the products less their noise may
    be those of inputs that do not vary, or of no rows, or the odds are extreme.
    """

    name = "logistic_regression"
    noun = "logistic regression"
    takes = field_types(
        column=ShareColumnName,
        values=LabelsOfColumn | None,
        on=Predictors,
        method=Annotated[str, Choice("unknown-method", METHODS)] | None,
    )
    has_raw = False
    families = ("slope",)
    mixed_units = True
    item = "coefficient"

    def complete_inputs(self, bare: Inputs, given: Mapping[str, Any]) -> Inputs:
        columns, options = tuple(given["on"]), (("values", given["values"]),)
        return replace(bare, column=given["column"], columns=columns, options=options)

    def faults(self, inputs: Inputs, relation: Relation) -> Iterable[FieldFault]:
        """Faults for `values` that are missing or all labels, for fine grids and groups."""
        yield from faults_of_values(inputs)
        for factor in _inputs(inputs):
            if max(map(abs, factor.limits)) > MAX_HALF_WIDTH:
                yield FieldFault("grid-too-fine.logistic", "on", column=factor.column.name)
        if inputs.by:
            yield FieldFault("objective-without-groups", "by")

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        rarer = "; by more where one outcome is rarer than the other"
        query = _query(inputs)
        return (LogisticObjective.of(inputs, relation, query, "logistic loss", rarer),)

    def names(self, inputs: Inputs) -> tuple[str, ...]:
        return ("intercept", *(column.name for column in inputs.columns))

    def sentences(self, inputs: Inputs) -> tuple[str, ...]:
        outcome = _query(inputs).outcome.text
        predicted = (
            f"the log-odds of a row for `{outcome}` are the intercept plus each column times "
            "its coefficient"
        )
        return (predicted, curvature_sentence())


def _query(inputs: Inputs) -> LogisticQuery:
    outcome = InRanges(require_labeled(inputs.column), inputs.option("values") or TRUE)
    return LogisticQuery(outcome=outcome, inputs=_inputs(inputs), where=inputs.where)


def _inputs(inputs: Inputs) -> tuple[Factor, ...]:
    return tuple(map(Factor.centered, inputs.columns))
