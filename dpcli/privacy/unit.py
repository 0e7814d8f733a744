"""The privacy unit: whether a row or a person is protected, and neighbors."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Any, final

from dpcli.problems.light_dataclasses import dataclass


@final
@dataclass(frozen=True, slots=True)
class RowUnit:
    """Each row is protected by itself: right only if no person has two rows."""

    @property
    def limits_groups(self) -> bool:
        """Whether a query with groups may use fewer rows than one without: never."""
        return False


@final
@dataclass(frozen=True, slots=True)
class PersonUnit:
    """All rows with one id are protected together, within enforced limits.

    At most `max_rows` rows of a person are used. In a query with groups they enter at most
    `max_groups` cells, and at most `max_rows_per_group` of them enter one cell. With
    `singletons_without_id`, a row without an id counts as one person; otherwise it is dropped.
    `source` is where the file has the ids, if not under the name of the column. `options` are those
    of their column, such as marks of missing ids: for each one, its key and its values. If several
    columns together are the id, `parts` has the name, the source and the options of each. With
    `of_people`, not rows are used but lines of people, one for each person in each of the groups.
    """

    column: str
    max_rows_per_group: int
    max_groups: int
    max_rows: int
    singletons_without_id: bool = False
    source: str | int | None = None
    options: tuple[tuple[Any, ...], ...] = ()
    of_people: bool = False
    parts: tuple[tuple[str, str | int | None, tuple[tuple[Any, ...], ...]], ...] = ()

    def __post_init__(self) -> None:
        # A number of another type could be one limit to the engine and another to a sensitivity.
        limits = self.max_rows_per_group, self.max_groups, self.max_rows
        if any(type(limit) is not int for limit in limits):
            raise TypeError("a limit must be a plain number")
        if type(self.options) is not tuple or not _is_plain(self.options):
            raise TypeError("the options of ids are plain values")
        if any(not _is_plain(options) for _, _, options in self.parts):
            raise TypeError("the options of ids are plain values")
        if min(limits) < 1:
            raise ValueError("a limit must be at least one")

    @property
    def id_columns(self) -> tuple[str, ...]:
        """The names of the columns that are the id, alone or together."""
        return tuple(name for name, *_ in self.parts) or (self.column,)

    @property
    def limits_groups(self) -> bool:
        """Whether a query with groups may use fewer than `max_rows` rows of a person."""
        return self.max_rows_per_group < self.max_rows or self.max_groups < self.max_rows

    @property
    def max_grouped_rows(self) -> int:
        """The most rows of a person in a query with groups."""
        return min(self.max_rows, self.max_groups * self.max_rows_per_group)

    @property
    def for_ungrouped(self) -> PersonUnit:
        """The unit for a query without groups: all `max_rows` rows enter its one cell."""
        return replace(self, max_rows_per_group=self.max_rows, max_groups=1)

    @property
    def for_totals(self) -> PersonUnit:
        """Per-user totals: a person adds one total to each of `max_groups` cells."""
        return replace(self, max_rows_per_group=1, max_rows=self.max_groups)

    @property
    def in_one_cell(self) -> PersonUnit:
        """The unit where a person adds once to one cell, or one row of each is used."""
        return replace(self, max_rows_per_group=1, max_groups=1, max_rows=1)


@final
@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on a person as a spec states them; None where it states none.

    An entry `of_people` uses lines of people: at most `max_groups` of each person, or only one.

    >>> own, of_unit = Limits(max_groups=4), Limits(max_rows=20, max_groups=1)
    >>> own.or_else(of_unit)
    Limits(max_rows=20, max_groups=4, max_rows_per_group=None, of_people=False)
    """

    max_rows: int | None = None
    max_groups: int | None = None
    max_rows_per_group: int | None = None
    of_people: bool = False

    @property
    def are_stated(self) -> bool:
        """Whether any limit on rows is stated."""
        stated = any((self.max_rows, self.max_groups, self.max_rows_per_group))
        return stated and not self.of_people

    def or_else(self, defaults: Limits) -> Limits:
        """These limits, with those of `defaults` where none is stated."""
        if self.of_people:
            return self
        return Limits(
            self.max_rows or defaults.max_rows,
            self.max_groups or defaults.max_groups,
            self.max_rows_per_group or defaults.max_rows_per_group,
        )

    def of(self, unit: Unit) -> Unit:
        """The unit with these limits; those not stated equal `max_rows`. A row has none."""
        if not isinstance(unit, PersonUnit):
            return unit
        if self.of_people:
            lines = self.max_groups or 1
            return replace(unit.in_one_cell, max_rows=lines, max_groups=lines, of_people=True)
        rows = self.max_rows or unit.max_rows
        in_group = min(self.max_rows_per_group or rows, rows)
        groups = self.max_groups or rows
        return replace(unit, max_rows=rows, max_groups=groups, max_rows_per_group=in_group)


NO_LIMITS = Limits()
"""No limit is stated."""


def _is_plain(value: object) -> bool:
    """Whether a value is a text, true or false, or a tuple of plain values."""
    return all(map(_is_plain, value)) if type(value) is tuple else type(value) in (str, bool)


Unit = RowUnit | PersonUnit


class Neighbors(Enum):
    """How two neighboring datasets differ in one privacy unit.

    Under ADD_REMOVE (unbounded) one of them has an additional unit. Under CHANGE_ONE (bounded) the
    rows of one unit are replaced; for a row unit the number of rows is then public, because it is
    the same for neighbors (Dwork and Roth 2014, section 2.3).
    """

    ADD_REMOVE = "add-remove"
    CHANGE_ONE = "change-one"


@final
@dataclass(frozen=True, slots=True)
class Relation:
    """The unit that is protected, and how neighbors differ in it."""

    unit: Unit
    neighbors: Neighbors

    @property
    def size_is_public(self) -> bool:
        """Whether all neighbors have the same number of rows."""
        return self.neighbors is Neighbors.CHANGE_ONE and isinstance(self.unit, RowUnit)

    @property
    def limits_groups(self) -> bool:
        """Whether a query with groups may use fewer rows than one without."""
        return self.unit.limits_groups


def unit_text(unit: Unit) -> str:
    """A short text that names who is protected; ledgers compare it.

    Ids are those of a column of the file, whatever a spec calls it. The text leaves out the
    limits on the rows of a person: they decide how much noise is needed, not who is protected.
    It also leaves out the options of ids. They correct which rows are one person's; earlier
    releases charged the account for the same people, with rows of one person under several ids.
    """
    if isinstance(unit, RowUnit):
        return "row"
    parts = unit.parts or ((unit.column, unit.source, ()),)
    columns = [f"column {of}" if isinstance(of, int) else of or name for name, of, _ in parts]
    return f"person by {' and '.join(columns)}" + (
        " or single row without one" if unit.singletons_without_id else ""
    )
