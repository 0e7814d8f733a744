"""Ratios of sums or counts of the same rows, and proportions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import floor, log10
from typing import Annotated

from pydantic import Field

from dpcli.data.column import Column
from dpcli.data.derived.labels import Satisfies
from dpcli.data.filters import Filter, InRanges
from dpcli.data.grid_columns import NumericColumn, require_numeric
from dpcli.data.kinds import Axis
from dpcli.data.labels import BooleanColumn, LabeledColumn, labeled_columns, require_labeled
from dpcli.fields.section import field_types
from dpcli.fields.statistic_fields import (
    FieldFault,
    GroupSizes,
    LabelsOfColumn,
    RatioBase,
    RatioPart,
    ShareColumnName,
    WeightColumnName,
)
from dpcli.fields.values import whole_number
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery
from dpcli.queries.sums import Factor
from dpcli.statistics.design import Design, Inputs, Queries, WeightedQuery, typical_value
from dpcli.statistics.intervals import Printed
from dpcli.statistics.means.distances import SUM_WEIGHT, designs_of_mean
from dpcli.statistics.means.population_quotients import with_population
from dpcli.statistics.means.products import ratio_of_sums
from dpcli.statistics.means.quotient import Quotient, QuotientDesign
from dpcli.statistics.weights import WeightedStatistic, min_denominator, weight_factors, weight_step

HALF = Fraction(1, 2)

DECIMALS, MAX_DECIMALS = 6, 12
"""Printed decimals of a share and of a ratio; one of large numbers has fewer."""

TRUE = ((1, 1),)
"""The position of the label `true` of a boolean column, as ranges."""

Part = NumericColumn | LabeledColumn | None
"""A sum of numbers, the number of rows with a true boolean, or of all rows."""

Per = Annotated[int, whole_number(10**8, "rows or units a rate is for"), Field(examples=[1000])]


class Ratio(WeightedStatistic):
    """The ratio of two sums or counts of the same rows, overall or in each group of `by`.

    `numerator` and `denominator` are each a numeric column (its sum), a boolean column (the
    number of rows in which it is true) or `rows` (their number). For the number of rows that pass
    conditions, derive a boolean column, as in `derive: {fatal: {is: {severity: [fatal]}}}`. Rows
    count if no value that the two need is missing. `per: 1000` multiplies the ratio: it is then a
    rate per 1000. The noisy numerator is divided by a noisy denominator of at least one step, and
    the interval covers the ratios of all exact sums and counts that are plausible given the noisy
    ones.

    If both parts are counts, the rows of each kind are counted once: a row is of one kind, so
    every count gets all of epsilon. If both parts are sums, rows are added or removed and the noise
    is Laplace, four sums of products are answered, of the distances of both values from either
    bound; they get all of epsilon too. Where rows are changed, these are the difference and the
    sum of both, in units in which a row changes both equally. Otherwise each part gets half of it,
    the best guarantee against the greatest error if the ratio may be up to that of the greatest
    values.
    A sum over `rows` is answered as for `mean`: with Laplace noise by the distances from both
    bounds, or by their difference and their sum where rows are changed; else centered and with 3/5
    of the rho. If a `sample` is declared, squares are answered with it; other ratios in the
    population need no further answer.

    Privacy: counts of rows of each kind are a `histogram`: adding or removing a row changes one
    of them by 1. Distances from both bounds L and U are U - L together, whatever the value is.
    So their products are never negative, and are the product of both widths together: adding or
    removing a row changes the four sums by that in L1. For changes a and b of two sums,
    |a - b| + |a + b| is twice the larger of |a| and |b|.
    Else there are two answers about the same rows, and both are charged: a sum of
    values in [L, U] changes by at most max(|L|, |U|), a centered one by at most (U - L)/2
    and a count by 1. A person changes them by that for every row that the limits allow. If
    neighbors change a row and no row can be skipped, the number of rows is public, and dividing
    by it costs nothing.

    >>> columns = {"x": "{type: integer, bounds: [0, 9]}", "y": "{type: integer, bounds: [0, 4]}"}
    >>> l1("statistic: ratio, numerator: x, denominator: y", **columns)
    {'add-remove': [36], 'change-one': [72]}
    >>> l1("statistic: ratio, numerator: x, denominator: rows", **columns)
    {'add-remove': [9], 'change-one': [9]}
    >>> l1("statistic: ratio, numerator: a, denominator: rows", a="{type: boolean}")
    {'add-remove': [1], 'change-one': [2]}

    No interval is given where the noise is so large that the denominator may be below one step,
    and the ratio has no greatest value. With noise about as large as the denominator, most runs
    have no interval. Those that have one were lucky: noise made the denominator larger. Such
    intervals are rarely right.
    """

    name = "ratio"
    # `Proportion` takes a weight as well; a ratio of weighted sums has no use that was asked for.
    takes = field_types(numerator=RatioPart, denominator=RatioBase, per=Per | None)
    derivation = "noisy numerator divided by noisy denominator (at least one step)"

    def units(
        self, inputs: Inputs, counted: str, unit_of: Callable[[Column], str]
    ) -> tuple[str, ...]:
        above, below = (
            unit_of(part) or part.name if part else counted for part in self.parts(inputs)
        )
        per = dict(inputs.options).get("per") or 1
        return (f"{above} per {per:,} {below}" if per > 1 else f"{above} per {below}",)

    def parts(self, inputs: Inputs) -> tuple[Part, Part]:
        """The numerator and the denominator."""
        return inputs.option("numerator"), inputs.option("denominator")

    def adds_rows(self, inputs: Inputs) -> bool:
        """True: it compares counts or totals."""
        return True

    def faults(self, inputs: Inputs, relation: Relation) -> Iterator[FieldFault]:
        """Faults for equal parts, and for a denominator that can be negative or is zero."""
        yield from super().faults(inputs, relation)
        above, below = self.parts(inputs)
        if above == below:
            yield FieldFault("ratio-parts", "denominator")
        if below is not None and (below.limits[0] < 0 or below.limits[1] <= 0):
            yield FieldFault("ratio-parts.negative", "denominator", column=below.name)

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        above, below = parts = self.parts(inputs)
        present = tuple(dict.fromkeys(part for part in parts if part is not None))
        tests = _tests(parts)
        rows = LinearQuery(
            factors=weight_factors(inputs), by=inputs.by, where=inputs.where, present=present
        )
        step, public = weight_step(inputs), below is None and rows.is_public(relation)
        if len(tests) == len(present) and not public:
            kinds = replace(rows, items=tuple(map(Axis, tests)), present=())
            counts = WeightedQuery("rows of each kind", kinds, step=step)
            design = self._design(inputs, (counts,), self._quotient_of_kinds(inputs))
            return (*design.in_pairs(relation), design)
        weight = Fraction(1) if public else SUM_WEIGHT if below is None else HALF
        # A sum that is divided by the number of rows is centered.
        numerator, denominator = _Summed.of(above, centered=below is None), _Summed.of(below)
        queries = (
            WeightedQuery("numerator", numerator.query(rows), weight, numerator.step * step),
            WeightedQuery(
                "denominator", denominator.query(rows), 1 - weight, denominator.step * step
            ),
        )
        printed = self.printed(inputs)
        if numerator.factor and denominator.factor:
            columns = numerator.factor.column, denominator.factor.column
            return ratio_of_sums(inputs, relation, queries, columns, printed)
        if below is not None or numerator.factor is None:
            step, smallest = numerator.step / denominator.step, min_denominator(inputs)
            quotient = Quotient((1, 0), (0, 1), printed, step, min_below=smallest)
            return (self._design(inputs, queries, quotient),)
        return designs_of_mean(inputs, queries, numerator.factor.column, printed, relation)

    def _design(self, inputs: Inputs, queries: Queries, quotient: Quotient) -> QuotientDesign:
        above, below = (_Summed.of(part).typical for part in self.parts(inputs))
        # Rows are counted as the divisor, or by kind.
        counts = self.parts(inputs)[1] is None or len(queries) == 1
        design = QuotientDesign(
            inputs, queries, quotient=quotient, typical_row=(above, below), counts_rows=counts
        )
        return with_population(design, is_share=self.parts(inputs)[1] is None)

    def _quotient_of_kinds(self, inputs: Inputs) -> Quotient:
        """The quotient of numbers of rows of each kind.

        The kind of a row is in which of the parts it is true.
        """
        parts = self.parts(inputs)
        tests = _tests(parts)
        kinds: list[dict[Part, int]] = [
            dict(zip(tests, kind, strict=True)) for kind in product((0, 1), repeat=len(tests))
        ]
        above, below = (tuple(kind.get(part, 1) for kind in kinds) for part in parts)
        return Quotient(above, below, self.printed(inputs), min_below=min_denominator(inputs))

    def printed(self, inputs: Inputs) -> Printed:
        """The unit of the ratio, its printed decimals, and its limits."""
        above, below = self.parts(inputs)
        per = Fraction(dict(inputs.options).get("per") or 1)
        low, high = (end * per for end in _Summed.of(above).limits)
        largest = max(abs(low), abs(high), Fraction(1, 10**9)) / _Summed.of(below).limits[1]
        decimals = min(max(DECIMALS - floor(log10(largest)), 0), MAX_DECIMALS)
        limits = (low, high) if below is None else (Fraction(0) if low >= 0 else None, None)
        return Printed(per, decimals, limits)


@dataclass(frozen=True, slots=True)
class _Summed:
    """A part of a ratio: the sum of a factor, or the rows that pass filters."""

    factor: Factor | None = None
    where: tuple[Filter, ...] = ()

    @classmethod
    def of(cls, part: Part, *, centered: bool = False) -> _Summed:
        """The sum of a part; with `centered`, of distances from the middle of the bounds."""
        if part is None:
            return cls()
        if part.labels:
            return cls(where=(InRanges(part, TRUE),))
        column = require_numeric(part)
        return cls(Factor.centered(column) if centered else Factor(column))

    @property
    def step(self) -> Fraction:
        return self.factor.step if self.factor else Fraction(1)

    @property
    def typical(self) -> Fraction:
        """What a typical row adds to the sum, in steps."""
        return typical_value(self.factor.limits if self.factor else (int(not self.where), 1))

    @property
    def limits(self) -> tuple[Fraction, Fraction]:
        """The least and the most that one row adds to the sum."""
        low, high = self.factor.limits if self.factor else (0, 1)
        return low * self.step, high * self.step

    def query(self, rows: LinearQuery) -> LinearQuery:
        """The query for the sum over these rows."""
        factors = (self.factor, *rows.factors) if self.factor else rows.factors
        return replace(rows, factors=factors, where=(*rows.where, *self.where))


def _tests(parts: Sequence[Part]) -> list[LabeledColumn]:
    return list(dict.fromkeys(labeled_columns(parts)))


def faults_of_values(inputs: Inputs) -> Iterator[FieldFault]:
    """Faults for a category without `values`, and for `values` that are all labels."""
    column, ranges = require_labeled(inputs.column), inputs.option("values")
    if ranges is None and not column.is_truth:
        yield FieldFault("proportion-labels", "column", column=column.name)
    if ranges == ((0, len(column.labels) - 1),):
        yield FieldFault("proportion-labels.all", "values", column=column.name)


BOOLEAN_VALUES = (("false", "false"), ("true", "true"))


class Proportion(Ratio):
    """The share of rows whose boolean is true, overall or in each group of `by`.

    With `values`, it is the share of rows that have one of these labels of a category. Rows
    count if the column is not missing. `per: 100` publishes it in percent. The rows inside and
    outside are counted once, as two cells; the share is the noisy number of rows inside over
    the noisy number of all, which is at least one, clamped to the range from 0 to 1. The
    interval covers the shares of all exact counts that are plausible given the noisy ones.
    With `weight`, each row counts by its value in that column. If a `sample` is declared, the
    share of the population is published too. With public `sizes` of groups, it is 1/2 plus a noisy
    sum of +1/2 for rows inside and -1/2 for others, divided by the size.

    Privacy: a row lies in one of the two cells, as in a `histogram`. Adding or removing a row
    changes one of them by 1, or by at most W with weights up to W, so each count gets all of
    epsilon. With discrete Laplace noise,
    that gives a smaller error for every share than a sum and a count that divide epsilon.
    Changing a row moves it from one cell to the other: 2 in L1. Without groups and conditions,
    the difference and the sum of both also change by 2. With Laplace noise they are answered
    instead, and the error of the share is the root of two times smaller. A person changes as many
    rows as the limits allow; each cell of each group counts as a group. If neighbors change a row
    and no row can be skipped, the number of rows is public, and only the rows inside are
    counted with noise. With `sizes`, a row changes the sum of its group by 1/2; a row that is
    changed, or moves between groups, changes all sums by 1 in L1, whether or not they are true.

    >>> l1("statistic: proportion, column: insured", insured="{type: boolean}")
    {'add-remove': [1], 'change-one': [2]}
    >>> b = "{type: boolean, missing: false}"
    >>> l1("statistic: proportion, column: b", b=b)
    {'add-remove': [1], 'change-one': [1, 0]}
    >>> l1("statistic: proportion, column: b, sizes: 300", b=b)
    {'add-remove': [0.5], 'change-one': [1]}
    """

    name = "proportion"
    takes = field_types(
        column=ShareColumnName,
        values=LabelsOfColumn | None,
        per=Per | None,
        weight=WeightColumnName | None,
        sizes=GroupSizes | None,
    )
    derivation = (
        "noisy number of rows inside divided by that of all rows (at least 1), clamped to a share "
        "from none to all"
    )

    def units(
        self, inputs: Inputs, counted: str, unit_of: Callable[[Column], str]
    ) -> tuple[str, ...]:
        per = dict(inputs.options).get("per") or 1
        return ("share" if per == 1 else "%" if per == 100 else f"per {per:,}",)

    def parts(self, inputs: Inputs) -> tuple[Part, Part]:
        column = require_labeled(inputs.column)
        ranges = dict(inputs.options).get("values")
        if ranges is None:
            return column, None
        constant = column.missing
        missing = None if constant is None else int(any(a <= constant <= b for a, b in ranges))
        inside = InRanges(column, ranges)
        return BooleanColumn(
            inside.text, BOOLEAN_VALUES, missing, derivation=Satisfies(inside)
        ), None

    def faults(self, inputs: Inputs, relation: Relation) -> Iterator[FieldFault]:
        """Faults for a category without `values`, with all labels, or as a key too."""
        yield from super().faults(inputs, relation)
        yield from faults_of_values(inputs)
        column = require_labeled(inputs.column)
        if any(key.column.name == column.name for key in inputs.by):
            yield FieldFault(
                "duplicate-key-column.both", "column", column=column.name, key="column"
            )

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        if inputs.sizes is None:
            return super().designs(inputs, relation)
        from dpcli.statistics.means.public_sizes import MeansOfSizes, zero_or_one

        inside = zero_or_one(require_labeled(self.parts(inputs)[0]))
        return (MeansOfSizes.of(inputs, inputs.sizes, inside, self.printed(inputs), relation),)


PROPORTION = Proportion()
