"""Which values a column can have in rows that pass filters, from the spec alone.

Only what is certain is left out: a value stays if it is not known that no row has it.

Privacy: an axis without impossible values is a function of the spec, and no row decides about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpcli.data.column import Ranges, ValuedColumn, common_ranges, require_valued
from dpcli.data.filters import AllOf, Filter, all_implied
from dpcli.data.kinds import Axis
from dpcli.problems.light_dataclasses import dataclass


@dataclass(frozen=True)
class PossibleValues:
    """The values that columns can have where a row passes some filters."""

    known: Mapping[ValuedColumn, Ranges]

    def ranges(self, column: ValuedColumn) -> Ranges:
        """Ranges that contain all values of a column; none if no row passes the filters."""
        found = common_ranges(
            self.known.get(column, column.declared_ranges), column.declared_ranges
        )
        derivation, (low, high) = column.derivation, column.limits
        # A value of a person follows from all rows, also from those that do not pass.
        of_rows = PossibleValues({}) if derivation and derivation.of_person else self
        possible = derivation.possible(of_rows.ranges) if derivation else None
        if possible is None:
            return found
        # Values are clamped to the bounds, and a constant replaces missing ones.
        clamped = [
            (min(max(first, low), high), min(max(last, low), high)) for first, last in possible
        ]
        constant = () if column.missing is None else ((column.missing, column.missing),)
        return common_ranges(found, (*clamped, *constant))

    def axis(self, axis: Axis) -> Axis:
        """The axis with only the labels or bins that a row can have."""
        return axis if axis.is_private else axis.within(self.ranges(require_valued(axis.column)))


def possible_values(where: Sequence[Filter]) -> PossibleValues | None:
    """The values where all filters are true; None if they never are."""
    implied = AllOf(tuple(where)).implied()
    known = None if implied is None else all_implied(map(_with_inputs, implied, implied.values()))
    values = None if known is None else PossibleValues(known)
    return values if values and all(map(values.ranges, values.known)) else None


def _with_inputs(column: ValuedColumn, ranges: Ranges) -> Mapping[ValuedColumn, Ranges] | None:
    """The ranges of a column, and those that they imply for its inputs."""
    own, derivation = {column: ranges}, column.derivation
    # A constant may stand for any values of the inputs.
    constant = () if column.missing is None else ((column.missing, column.missing),)
    if derivation is None or common_ranges(ranges, constant):
        return own
    implied = derivation.implied(ranges)
    if implied is None:
        return None
    return all_implied([own, *map(_with_inputs, implied, implied.values())])
