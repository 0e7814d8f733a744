"""Proportions: shares of rows whose boolean is true, or with certain labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from dpcli.data.derivations import Satisfies
from dpcli.data.filters import InRanges
from dpcli.data.labels import BooleanColumn, require_labeled
from dpcli.fields.columns import FieldFault, LabelsOfColumn, ShareColumnName, WeightColumnName
from dpcli.fields.section import field_types
from dpcli.numeric.arrays import Floats, np
from dpcli.privacy.neighboring import Relation
from dpcli.statistics.design import NoisyAnswer, Request
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.intervals import FiducialInterval
from dpcli.statistics.means.ratio import Part, Per, Ratio
from dpcli.statistics.population import design_of

BOOLEAN_VALUES = (("false", "false"), ("true", "true"))


class Proportion(Ratio):
    """The share of rows whose boolean is true, overall or in each group of `by`.

    With `values`, it is the share of rows that have one of these labels of a category. Rows
    count if the column is not missing. `per: 100` publishes it in percent. The rows inside and
    outside are counted once, as two cells; the share is the noisy number of rows inside over
    the noisy number of all, which is at least one, clamped to the range from 0 to 1. The
    interval covers the shares of all exact counts that are plausible given the noisy ones.
    With `weight`, each row counts by its value in that column. If a `sample` is declared, the
    share of the population is published too.

    Privacy: a row lies in one of the two cells, as in a `histogram`. Adding or removing a row
    changes one of them by 1, or by at most W with weights up to W, so each count gets all of
    epsilon. With discrete Laplace noise,
    that gives a smaller error for every share than a sum and a count that divide epsilon.
    Changing a row moves it from one cell to the other: 2 in L1. A person changes as many rows
    as the limits allow; each cell of each group counts as a group. If neighbors change a row
    and no row can be skipped, the number of rows is public, and only the rows inside are
    counted with noise.

    >>> l1("statistic: proportion, column: insured", insured="{type: boolean}")
    {'add-remove': [1], 'change-one': [2]}
    >>> l1("statistic: proportion, column: insured", insured="{type: boolean, missing: false}")
    {'add-remove': [1], 'change-one': [1, 0]}
    """

    name = "proportion"
    takes = field_types(
        column=ShareColumnName,
        values=LabelsOfColumn | None,
        per=Per | None,
        weight=WeightColumnName | None,
    )
    derivation = (
        "noisy number of rows inside divided by that of all rows (at least 1), clamped to a share "
        "from none to all"
    )

    def parts(self, request: Request) -> tuple[Part, Part]:
        """The rows inside, and all rows."""
        column = require_labeled(request.column)
        ranges = dict(request.options).get("values")
        if ranges is None:
            return column, None
        constant = column.missing
        missing = None if constant is None else int(any(a <= constant <= b for a, b in ranges))
        inside = InRanges(column, ranges)
        return BooleanColumn(
            inside.text, BOOLEAN_VALUES, missing, derivation=Satisfies(inside)
        ), None

    def faults(self, request: Request, relation: Relation) -> Iterator[FieldFault]:
        """A category needs `values`; neither all of its labels, nor groups of its own."""
        yield from super().faults(request, relation)
        column, ranges = require_labeled(request.column), dict(request.options)["values"]
        if ranges is None and not isinstance(column, BooleanColumn):
            yield FieldFault("proportion-labels", "column", column=column.name)
        if ranges == ((0, len(column.labels) - 1),):
            yield FieldFault("proportion-labels.all", "values", column=column.name)
        if any(key.column.name == column.name for key in request.by):
            yield FieldFault(
                "duplicate-key-column.both", "column", column=column.name, key="column"
            )

    def has_population(self, request: Request) -> bool:
        """The rows of a sample have equal weights."""
        return request.sample is not None and request.weight is None

    def population(
        self, request: Request, answers: Sequence[NoisyAnswer], confidence: Fraction
    ) -> Estimates:
        """The share of each group of the population."""
        design = design_of(request)
        answers, above, below = self.combined(request, answers)

        def outcome(values: Floats) -> Floats:
            inside, rows = (np.array(row, float) @ values[:-1] for row in (above, below))
            divisor = np.maximum(rows, 1.0)
            shares = design.share_of_population(inside / divisor, divisor, values[-1])
            usable: Floats = np.where(rows >= 1.0, shares, np.nan)[None]
            return usable

        intervals = FiducialInterval(answers, outcome, confidence, sampled=True)
        unit, decimals, limits = self.scale(request)
        return intervals.estimates([unit], [decimals], [limits])


PROPORTION = Proportion()
