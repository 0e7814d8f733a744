"""The count, mean and deviation of the values of a column, from one answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from dpcli.data.column import Column
from dpcli.fields.section import field_types
from dpcli.fields.statistic_fields import NumericColumnName
from dpcli.numeric.arrays import Floats, np
from dpcli.numeric.exact import decimal_places
from dpcli.privacy.unit import Relation
from dpcli.statistics.design import Design, Inputs, NoisyAnswer
from dpcli.statistics.estimates import NONNEGATIVE, Estimates
from dpcli.statistics.intervals import FiducialInterval, Printed
from dpcli.statistics.means.products import MomentsDesign, PublishedMoments
from dpcli.statistics.means.quadratic_pair import designs_of_one
from dpcli.statistics.statistic import Statistic


class PublishedDescription(PublishedMoments):
    """The number of rows, the mean and the standard deviation of a single column."""

    def estimate(
        self, design: MomentsDesign, answers: Sequence[NoisyAnswer], confidence: Fraction
    ) -> Estimates:
        (column,), half = self.columns, self.unit(0)
        low, high = (limit * column.step for limit in column.limits)
        middle = float((low + high) / 2)

        def described(sums: Floats) -> Floats:
            answered = design.to_moments(sums)
            _, (means,), ((variances,),) = self.centered(answered)
            rows = answered[0]
            # Fewer rows than one have neither a mean nor a deviation.
            means, variances = np.where(rows >= 1.0, (means, variances), np.nan)
            roots = np.sqrt(np.maximum(variances, 0.0))
            return np.stack([rows, middle + float(half) * means, roots])

        intervals = FiducialInterval(design.divided(answers), described, confidence)
        # The middle and zero are published for what is not a number.
        unknown = np.array([[0.0], [middle], [0.0]])
        intervals.values = np.where(np.isfinite(intervals.values), intervals.values, unknown)
        # A number of rows is whole, so the whole numbers within the ends cover as often.
        nearest = np.rint(intervals.values[0])
        intervals.lower[0] = np.minimum(np.ceil(intervals.lower[0]), nearest)
        intervals.upper[0] = np.maximum(np.floor(intervals.upper[0]), nearest)
        estimates = intervals.estimates(
            Printed(Fraction(1), 0, NONNEGATIVE),
            Printed(Fraction(1), column.mean_decimals, (low, high)),
            Printed(half, decimal_places(column.step) + 2, (Fraction(0), half)),
        )
        return replace(estimates, variances=(design.variance_of_rows(answers), None, None))


class Description(Statistic):
    """How many values a numeric column has, their mean and their standard deviation.

    They are about the rows with a value, overall or in each group of `by`. Items are `count`,
    `mean` and `std`. All three follow from the noisy sums that a `variance` needs, so they cost
    what one of them would, where three entries divide epsilon. The deviation has the error that it
    has alone with all of epsilon, and the mean at most twice the one that it has alone. If noise
    makes the variance negative, the deviation is zero. Each interval covers the numbers of all
    exact answers that are plausible given the noisy ones; that all three hold together is less
    likely. No steps of `post` apply, because the numbers have different units.

    Privacy: as for `variance`, of whose answers the numbers are functions.

    >>> l1("statistic: describe, column: x", x="{type: integer, bounds: [0, 10]}")
    {'add-remove': [100], 'change-one': [200]}
    """

    name = "describe"
    noun = "description"
    takes = field_types(column=NumericColumnName)
    item = "number"
    steps = ("suppress_below",)
    has_raw = False
    mixed_units = True
    derivation = (
        "the noisy number of rows, the noisy sum divided by it, and the root of the noisy mean "
        "square less the square of the noisy mean, within what the bounds allow"
    )

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        """Moments of the column, together with the number of rows."""
        moments = PublishedDescription((inputs.numeric,))
        separate = MomentsDesign.separate(inputs, relation, moments, moments.pairs)
        return designs_of_one(separate, separate.or_products(relation)[:-1], relation)

    def units(
        self, inputs: Inputs, counted: str, unit_of: Callable[[Column], str]
    ) -> tuple[str, ...]:
        unit = unit_of(inputs.numeric)
        return counted, unit, unit

    def names(self, inputs: Inputs) -> tuple[str, ...]:
        return ("count", "mean", "std")
