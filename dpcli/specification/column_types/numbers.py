"""The types of columns that become whole numbers of steps."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

from dpcli.data.column import Column
from dpcli.data.declared_texts import DROP
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.number_columns import IntegerColumn, ListedColumn, NumberColumn
from dpcli.data.steps import Step, WholeStep, bounds_in_steps, proposed_step, require_whole_steps
from dpcli.fields.values import ByForm, NumberPair, ParsedText, parse_number
from dpcli.specification.captions import UnitText
from dpcli.specification.chosen_bounds import ChosenBoundsModel
from dpcli.specification.column_types.model import TEXT_SCHEMA, ColumnModel, taking_options


def _parse_number_or_drop(text: str) -> Fraction | None:
    return None if text == DROP else parse_number(text)


MissingNumber = Annotated[Fraction | None, ParsedText(_parse_number_or_drop, TEXT_SCHEMA)]
BoundsField = Annotated[NumberPair | ChosenBoundsModel, ByForm]


class NumericColumnModel(ColumnModel):
    """A type of numbers or days, which become whole numbers of steps.

    A type that makes no `NumericColumn` overrides `column`.
    """

    column_class: ClassVar[type[NumericColumn]]

    unit: UnitText | None = None

    def missing_line(self, key: str) -> str:
        step = f"`step: {proposed_step(self.node)}`: values are rounded to multiples of it"
        return step * (key == "step")

    def column(self, name: str) -> Column:
        """The column, with bounds and `missing` in whole steps. `missing` needs bounds."""
        fields: Any = self
        step, column_class = getattr(fields, "step", Fraction(1)), self.column_class
        limits, (low, high) = None, (self.text("bounds", side) for side in (0, 1))
        listed = getattr(fields, "values", None)
        if isinstance(listed, list) and column_class is IntegerColumn:
            # Whether the list fits the other keys is checked with the options.
            column_class = ListedColumn
            limits = listed[0], listed[-1]
        if isinstance(fields.bounds, ChosenBoundsModel):
            limits, (low, high) = fields.bounds.outermost(step)
        elif fields.bounds is not None:
            lower, upper = map(Fraction, fields.bounds)
            if lower >= upper:
                code = "bounds-order.equal" if lower == upper else "bounds-order"
                raise self.report(code, "bounds", low=low, high=high)
            limits = bounds_in_steps(self, (lower, upper), step)
        scalar = self.node.scalar("missing")
        if fields.missing is None or scalar is None:
            return column_class(name, step, limits)
        constant = require_whole_steps(fields.missing / step, step, scalar, "`missing`")
        if limits is None:
            raise self.report_key(
                "missing-bounds",
                "missing",
                column=name,
                subject="`missing`",
                example=column_class.bounds_example,
            )
        if not limits[0] <= constant <= limits[1]:
            raise self.report("out-of-bounds", "missing", low=low, high=high)
        return column_class(name, step, limits, constant)


@taking_options
class IntegerColumnModel(NumericColumnModel):
    """Whole numbers within bounds."""

    kind = "integer"
    column_class = IntegerColumn
    type: Literal["integer"]
    bounds: BoundsField | None = None
    step: WholeStep = Fraction(1)
    missing: MissingNumber = None


@taking_options
class NumberColumnModel(NumericColumnModel):
    """Numbers within bounds, rounded to multiples of the step."""

    kind = "number"
    column_class = NumberColumn
    type: Literal["number"]
    bounds: BoundsField | None = None
    step: Step
    missing: MissingNumber = None
