"""The faults of rows that the check counts, and their order.

Each row, or each person with all rows, is counted once: at the first fault in a public order, or as
without a fault. So one unit changes one count, or two if it is exchanged, however many columns are
used. Of a person, the first fault over all rows counts, so that no limit is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Final

from dpcli.data.column import BLANK, OUTSIDE, STATES, UNREADABLE, Column
from dpcli.data.filters import InRanges, IsMissing
from dpcli.data.kinds import Axis
from dpcli.privacy.sensitivity import RowContribution
from dpcli.privacy.unit import PersonUnit, Unit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery, Query
from dpcli.queries.sums import GroupLimits, UserBins
from dpcli.statistics.design import Design, Inputs

if TYPE_CHECKING:
    from dpcli.data.labels import CategoryColumn

NO_FAULT: Final = "no fault"


@dataclass(frozen=True, slots=True)
class CellFault:
    """A state of the cells of a column that is a fault."""

    column: Column
    state: int

    @property
    def name(self) -> str:
        """The name of the column; of a value within another one, what it is."""
        derivation = self.column.derivation
        return self.column.name or (derivation.text if derivation else "")

    @property
    def label(self) -> str:
        """The column and the state."""
        return f"{self.name}: {STATES[self.state]}"

    def is_same(self, other: CellFault) -> bool:
        """Whether it is of the same column, whose bounds may have been chosen since."""
        one, another = self.column, other.column
        is_named = one.name or another.name
        same = one.name == another.name if is_named else one == another
        return same and self.state == other.state

    @property
    def test(self) -> InRanges:
        """Whether a row has the fault."""
        # Most releases without a check use no labels.
        from dpcli.data.derived.cell_states import cell_state

        return InRanges(cell_state(self.column), ((self.state, self.state),))


@dataclass(frozen=True, slots=True)
class Columns:
    """The declared columns by name, and what is known of their cells.

    `ids` is the column with the ids of people, which is never counted. A blank cell of a column in
    `may_be_blank` is no fault. Noisy counts choose the bounds of the columns in `chosen`.
    """

    declared: Mapping[str, Column]
    ids: str = ""
    may_be_blank: frozenset[str] = frozenset()
    chosen: frozenset[str] = frozenset()


@dataclass(frozen=True)
class FaultOrder:
    """The faults that a check counts, in their public order.

    First come `cells` that cannot be read, and values outside bounds, by column. Then come people
    with a number of rows from one of the `starts` on, and people with more groups, or rows in a
    group, than one of the `groups` allows; a limit leaves out some of their rows. For groups, the
    `kept_rows` rows of a person count. Cells that must not be blank come last.
    """

    cells: tuple[CellFault, ...] = ()
    starts: tuple[int, ...] = ()
    groups: tuple[GroupLimits, ...] = ()
    blanks: tuple[CellFault, ...] = ()
    kept_rows: int = 1

    @cached_property
    def first(self) -> CategoryColumn:
        """The column with the position of the first fault of the cells of a row."""
        return self._first(of_people=False)

    @cached_property
    def first_of_people(self) -> CategoryColumn | None:
        """The column with the position of the first fault of the values of a person."""
        values = [fault.column for fault in (*self.cells, *self.blanks)]
        is_needed = any(column.is_of_people for column in values)
        return self._first(of_people=True) if is_needed else None

    def _first(self, *, of_people: bool) -> CategoryColumn:
        """The position of the first fault of rows or of people.

        The column has no name, so that no other column has the same.
        """
        from dpcli.data.derived.positions import FirstTrue
        from dpcli.data.labels import CategoryColumn

        faults = (*self.cells, *self.blanks)
        labels = _distinct([*(fault.label for fault in faults), NO_FAULT])
        values = tuple((label, label) for label in labels)
        tests = tuple(
            fault.test if fault.column.is_of_people == of_people else None for fault in faults
        )
        return CategoryColumn("", values, len(faults), derivation=FirstTrue(tests))

    def query(self, unit: Unit) -> Query:
        """The query that counts the units by their first fault."""
        if isinstance(unit, PersonUnit):
            return FirstFaultQuery(faults=self.bins)
        return LinearQuery(items=(Axis(self.first),) if len(self.labels) > 1 else ())

    @property
    def bins(self) -> UserBins:
        """The bins of people."""
        return UserBins(
            self.starts, self.first, len(self.cells), self.groups, self.kept_rows,
            self.first_of_people,
        )  # fmt: skip

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of each count, in its order."""
        limits = [f"{start} rows or more" for start in self.starts]
        limits += [f"beyond a limit on {_axes_text(groups)}" for groups in self.groups]
        cells, blanks = ([one.label for one in some] for some in (self.cells, self.blanks))
        return _distinct((*cells, *limits, *blanks, NO_FAULT))

    def at(self, fault: CellFault | GroupLimits) -> int | None:
        """The position of the count of a fault; None if it is not counted.

        Bounds of the column of a cell may have been chosen after the check.
        """
        inner = len(self.cells) + len(self.starts)
        if isinstance(fault, GroupLimits):
            return inner + self.groups.index(fault) if fault in self.groups else None
        for first, some in ((0, self.cells), (inner + len(self.groups), self.blanks)):
            for place, counted in enumerate(some, first):
                if fault.is_same(counted):
                    return place
        return None

    @property
    def starts_at(self) -> int:
        """The position of the count of people for the first of the `starts`."""
        return len(self.cells)


@dataclass(frozen=True, kw_only=True)
class FirstFaultQuery(Query):
    """The number of people by their first fault; last, those without any.

    Privacy: a person is in one bin, whatever limits keep.
    """

    faults: UserBins

    def row_limit(self, unit: PersonUnit) -> None:
        """None: all rows of a person are counted."""

    @property
    def operands(self) -> tuple[Column, ...]:
        axes = (axis.column for limits in self.faults.limits for axis in limits.axes)
        firsts = (self.faults.first, self.faults.first_of_people)
        return (*(first for first in firsts if first is not None), *axes)

    @cached_property
    def cells_per_group(self) -> int:
        return self.faults.bins

    @property
    def shape(self) -> UserBins:
        return self.faults

    def bounded_unit(self, unit: Unit) -> Unit:
        """The unit in which a person adds one to one bin; ValueError for rows."""
        if isinstance(unit, PersonUnit):
            return unit.in_one_cell
        raise ValueError("people are counted where a person is the unit")

    @cached_property
    def row_contribution(self) -> RowContribution:
        """A person adds one to one bin."""
        return RowContribution(0, 1)


def cell_faults(entry: Inputs, designs: Iterable[Design], columns: Columns) -> list[CellFault]:
    """The faults of cells that change numbers of an entry, each once.

    Values outside bounds matter where a number is computed from them, or counted in bins, or where
    a condition may hold for the clamped value alone.
    """
    found: list[CellFault] = []
    answers = {column.name for column in entry.checked}
    for query in (part.query for design in designs for part in design.queries):
        tests = [one for test in query.where for one in test.single_tests]
        valued = {*query.valued_columns, *chain.from_iterable(one.misled_by for one in tests)}
        tested = {one.column.name for one in tests if isinstance(one, IsMissing)}
        blank = columns.may_be_blank | answers | tested
        for column in query.columns:
            for used, is_needed in _with_inputs(column):
                # A value of people within another one is not declared by itself.
                known = columns.declared.get(used.name) if used.name else used
                is_mixed = used.uses_people and not used.is_of_people
                if known is None or known.name == columns.ids or is_mixed:
                    continue
                # If rows are the unit, a broken record is a row, and no cell of it can be read.
                is_read = known.reads_all and columns.ids != ""
                if known.derivation is None and not is_read:
                    found.append(CellFault(known, UNREADABLE))
                if known.name not in columns.chosen and column in valued and _exceeds(known):
                    found.append(CellFault(known, OUTSIDE))
                if is_needed and known.name not in blank:
                    found.append(CellFault(known, BLANK))
    return in_order(found)


def uses_some_rows(entry: Inputs, queries: Iterable[Query], columns: Columns) -> bool:
    """Whether conditions, or blank cells that are no faults, exclude rows."""
    blank = columns.may_be_blank - {column.name for column in entry.checked}
    return any(
        query.selects
        or any(
            is_needed and used.name in blank and used.missing is None
            for column in query.required_columns
            for used, is_needed in _with_inputs(column)
        )
        for query in queries
    )


def _with_inputs(column: Column, *, is_needed: bool = True) -> Iterator[tuple[Column, bool]]:
    """A column and those it is computed from, each with whether it needs a value.

    A derived column needs one by itself where that does not follow from its inputs.
    """
    derivation = column.derivation
    if derivation is None:
        yield column, is_needed
        return
    yield column, is_needed and derivation.may_lack
    for part in derivation.inputs:
        needed = is_needed and not derivation.replaces_blanks
        yield from _with_inputs(part, is_needed=needed)


def _distinct(labels: Sequence[str]) -> tuple[str, ...]:
    """The labels, with a number after one that others have, too.

    Parts of a difference may have the same.
    """
    seen, made = Counter[str](), []
    for label in labels:
        seen[label] += 1
        made.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return tuple(made)


def _axes_text(limits: GroupLimits) -> str:
    """The limit on groups, or on rows in a group, with the axes of the groups."""
    names = " and ".join(axis.column.name for axis in limits.axes)
    return f"groups by {names} ({limits.max_groups}, {limits.max_rows_per_group} rows in each)"


def _exceeds(column: Column) -> bool:
    """Whether a value may lie outside the bounds, as far as the spec shows."""
    if not column.has_outside or column.derivation is None:
        return column.has_outside
    possible = column.derivation.possible(lambda part: part.declared_ranges)
    ((low, high),) = column.declared_ranges
    return possible is None or any(first < low or last > high for first, last in possible)


def in_order(faults: Iterable[CellFault]) -> list[CellFault]:
    """The faults by state, then in the order of their first use."""
    return sorted(dict.fromkeys(faults), key=lambda fault: (fault.state == BLANK, -fault.state))
