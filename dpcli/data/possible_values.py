"""Which values a column can have in rows that pass filters, from the spec alone.

Only what is certain is left out: a value stays if it is not known that no row has it.

Privacy: an axis without impossible values is a function of the spec, and no row decides about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dpcli.data.column import Column, Ranges, ValuedColumn, common_ranges, require_valued
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
    if known is None or _lacks_what_it_needs(where, known):
        return None
    values = PossibleValues({one: known[one] for one in known if not one.is_private})
    return values if all(map(values.ranges, values.known)) else None


def _lacks_what_it_needs(where: Sequence[Filter], known: Mapping[ValuedColumn, Ranges]) -> bool:
    """Whether a column has no value by one test, and by another one it has."""
    states = {*AllOf(tuple(where)).states()}
    lacking = {one for column, has_value in states if not has_value for one in _lacking(column)}
    present = {column for column, has_value in states if has_value}
    # A constant is in place of a missing value.
    return bool(lacking & {*present, *known}) or any(
        column.missing is not None
        and column.without_missing_constant() in lacking
        and not common_ranges(ranges, ((column.missing, column.missing),))
        for column, ranges in known.items()
    )


def _lacking(column: Column) -> Iterator[Column]:
    """A column without a value, and the only column from whose value it is computed."""
    yield column
    derivation = column.derivation
    if derivation is None or derivation.may_lack or derivation.of_person:
        return
    if len(derivation.inputs) == 1:
        yield from _lacking(derivation.inputs[0])


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
