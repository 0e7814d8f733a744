"""Weighted rows: the sum of weights takes the place of the number of rows."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar

from dpcli.fields.statistic_fields import FieldFault
from dpcli.privacy.unit import Relation
from dpcli.queries.sums import Factor
from dpcli.statistics.design import Inputs, typical_value
from dpcli.statistics.statistic import Statistic


def weight_factors(inputs: Inputs) -> tuple[Factor, ...]:
    """The factor by which each row counts; empty if rows have no weights.

    Privacy: the weight is a column with declared bounds, to which every cell is clamped. So one row
    changes a sum of weighted values by at most the greatest product within the bounds.
    """
    return (Factor(inputs.weight),) if inputs.weight else ()


def weight_step(inputs: Inputs) -> Fraction:
    """The value of one step of the weights; one if rows have no weights."""
    return inputs.weight.step if inputs.weight else Fraction(1)


def min_denominator(inputs: Inputs) -> int:
    """The least sum of weights in a group that has rows, in steps, and at least one.

    If rows have no weights, it is one.
    """
    return max(inputs.weight.lower, 1) if inputs.weight else 1


def typical_weight(inputs: Inputs) -> Fraction:
    """The weight of a typical row, over `min_denominator`; one without weights."""
    low, high = (inputs.weight.lower, inputs.weight.upper) if inputs.weight else (1, 1)
    return typical_value((low, high)) / min_denominator(inputs)


AS_DECLARED = "sizes of groups are public, as declared"


class WeightedStatistic(Statistic):
    """Rows may have weights; `weighted_derivation` then replaces `derivation`."""

    weighted_derivation: ClassVar[str] = ""

    def faults(self, inputs: Inputs, relation: Relation) -> Iterator[FieldFault]:
        """Faults of sizes, for weights below zero, and a column that weighs itself."""
        weight, column, sizes = inputs.weight, inputs.column, inputs.sizes
        if sizes is not None and column is not None and column.may_be_missing:
            yield FieldFault("sizes-form.missing", "sizes", column=column.name)
        if weight is None:
            if sizes and any(size.denominator > 1 for _, size in sizes.numbers):
                yield FieldFault("sizes-form.whole", "sizes", at_value=True)
            return
        if weight.lower < 0:
            arguments = {"column": weight.name, "least": weight.text(weight.lower)}
            yield FieldFault("bad-weight", "weight", at_value=True, **arguments)
        if column is not None and column.name == weight.name:
            yield FieldFault("column-twice.itself", "weight", at_value=True, column=weight.name)

    def sentences(self, inputs: Inputs) -> tuple[str, ...]:
        weight = inputs.weight
        text = self.derivation if weight is None else self.weighted_derivation
        if inputs.sizes:
            text = (
                f"{AS_DECLARED}: the noisy sum of the distances from the middle of the bounds is "
                f"divided by the declared {'sum of weights' if weight else 'number of rows'} of "
                "its group, and the middle is added"
            )
        derived = (text,) if text else ()
        if weight is None:
            return derived
        low, high = map(weight.text, weight.limits)
        weighted = (
            f"each row counts by its {weight.name}, from {low} to {high}; weights outside are "
            "clamped to that, so totals are too small if many weights are above"
        )
        return (*derived, weighted)
