"""Tables of several columns as one vector, which noise protects together."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cached_property

from dpcli.data.column import Column
from dpcli.numeric.arrays import Array, np
from dpcli.privacy.norms import TABLES_NORMS, tables_name
from dpcli.privacy.sensitivity import RowContribution, Sensitivity
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation, RowUnit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import AnswerWords, LinearQuery, Query
from dpcli.queries.sums import Shape
from dpcli.queries.terms import QueryTerms


@dataclass(frozen=True, kw_only=True)
class OneWayQuery(Query):
    """In each group, the table of the first item, that of the second, and so on.

    Raises ValueError unless all tables count the same rows: there are several items, no private
    groups, and no item lacks a value. `norm` is that of the noise (`TABLES_NORMS`).

    Privacy: neighbors differ in vectors of which all tables have the same sum, as noise has. A
    unit that is added adds n >= 0 to the sum of each table, with nothing below zero: it has the
    norm n, at most the L1 of a table. One that is changed is removed and added. In one vector,
    all increases of a table, and all decreases, are at most n. If the sum of each table is the
    public number of rows, both are the same. Tables count the same number of rows of a person: all
    need the values of all columns, and the limit on rows is the same. It is not shown for persons
    in several groups, of whom each table could use the rows of other groups.
    """

    norm: str

    def __post_init__(self) -> None:
        lacking = any(axis.lacks_values for axis in self.items)
        if self.norm not in TABLES_NORMS or len(self.items) < 2:
            raise ValueError("a norm of tables is for two or more")
        if self.has_private_groups or lacking:
            raise ValueError("each row is in a cell of each table of a known group")

    @property
    def parts(self) -> tuple[LinearQuery, ...]:
        columns: tuple[Column, ...] = tuple(axis.column for axis in self.items)
        present = tuple(dict.fromkeys((*self.present, *columns)))
        return tuple(
            LinearQuery(by=self.by, items=(item,), where=self.where, present=present)
            for item in self.items
        )

    def combined(self, answer: Array, *following: Array) -> Array:
        every = zip((answer, *following), self.items, strict=True)
        return np.hstack([table.reshape(-1, len(item)) for table, item in every]).ravel()

    @property
    def vectors(self) -> tuple[int, str]:
        return self.cells_per_group, tables_name(self.norm, [*map(len, self.items)])

    @cached_property
    def cells_per_group(self) -> int:
        return sum(map(len, self.items))

    @property
    def sum_of_row(self) -> int:
        """One in each table."""
        return len(self.items)

    @property
    def row_contribution(self) -> RowContribution:
        return RowContribution(0, 1)

    @property
    def shape(self) -> Shape:
        """That of the first table: the engine answers the tables, not this query."""
        return self.parts[0].shape

    def terms(self, relation: Relation) -> QueryTerms:
        of = tuple(part.terms(relation) for part in self.parts)
        return replace(super().terms(relation), rule="tables", norm=self.norm, of=of)

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """The L1 is the change in the norm; raises ValueError if sums may differ."""
        unit, exchanged = relation.unit, relation.neighbors is Neighbors.CHANGE_ONE
        is_row = isinstance(unit, RowUnit)
        if isinstance(unit, PersonUnit) and not self._counts_alike(unit):
            raise ValueError("tables may count other rows of a person")
        if self.norm == "exchanged-tables":
            may_skip = any(part.may_skip for part in self.parts)
            if self.by or may_skip or not (is_row and exchanged):
                raise ValueError("the sum of a table may change")
        added = Relation(unit, Neighbors.ADD_REMOVE)
        most = max(part.sensitivity(added).l1 for part in self.parts)
        times = 2 if exchanged and (self.by or self.norm == "tables") else 1
        each = [part.sensitivity(relation) for part in self.parts]
        return Sensitivity(
            sum(one.l0 for one in each),
            times * most,
            sum(one.l2_squared for one in each),
            max(one.linf for one in each),
        )

    def _counts_alike(self, unit: PersonUnit) -> bool:
        """Whether the tables of each group count the same number of rows of a person."""
        if unit.of_people:
            return not self.row_axes
        return not self.by and not unit.limits_groups

    def add_remove_sensitivity(self, relation: Relation) -> Sensitivity | None:
        """None if the noise is only for tables with a public sum."""
        with suppress(ValueError):
            return super().add_remove_sensitivity(relation)
        return None

    def protection(self, words: AnswerWords) -> str:
        """How all tables are protected, in two sentences."""
        each = ", summed over all groups" if self.by else ""
        return (
            f"{words.role}: one {words.unit} can change the answer by at most {words.change}, "
            f"where a change is {TABLES_NORMS[self.norm].change}{each}. Discrete {words.noise} "
            f"noise of scale {words.scale} was added to all tables together; that of a number is "
            f"within {words.error} in {words.percent}% of cases."
        )
