"""Survey weights: a column by whose value each row counts."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar

from dpcli.fields.columns import FieldFault
from dpcli.messages import note
from dpcli.privacy.neighboring import Relation
from dpcli.queries.sums import Factor
from dpcli.statistics.design import Request
from dpcli.statistics.statistic import Statistic


def weight_factors(request: Request) -> tuple[Factor, ...]:
    """The factor by which each row counts; none without weights.

    Privacy: it is a column within declared bounds, to which every cell is clamped. So one row
    changes a sum of weighted values by at most the greatest product within the bounds.
    """
    return (Factor(request.weight),) if request.weight else ()


def weight_step(request: Request) -> Fraction:
    """A step of the weights; one without weights."""
    return request.weight.step if request.weight else Fraction(1)


def least_denominator(request: Request) -> int:
    """The least sum of weights of a group with rows, in steps: one row without weights."""
    return max(request.weight.lower, 1) if request.weight else 1


class WeightedStatistic(Statistic):
    """A statistic whose rows may have weights; `weighted_derivation` then replaces `derivation`."""

    weighted_derivation: ClassVar[str] = ""

    def faults(self, request: Request, relation: Relation) -> Iterator[FieldFault]:
        """Weights must not be negative, and no column is its own weight."""
        weight, column = request.weight, request.column
        if weight is None:
            return
        if weight.lower < 0:
            facts = {"column": weight.name, "least": weight.text(weight.lower)}
            yield FieldFault("bad-weight", "weight", at_value=True, **facts)
        if column is not None and column.name == weight.name:
            yield FieldFault("column-twice.weight", "weight", at_value=True, column=weight.name)

    def notes(self, request: Request) -> tuple[str, ...]:
        """How the numbers are computed, how rows are weighted, and which weights are clamped."""
        weight = request.weight
        if weight is None:
            return super().notes(request)
        low, high = map(weight.text, weight.limits)
        derived = (self.weighted_derivation,) if self.weighted_derivation else ()
        return (*derived, note("weighted.by", name=weight.name, low=low, high=high))
