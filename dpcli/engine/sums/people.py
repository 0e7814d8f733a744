"""Values of people, from what is kept of their rows.

Of the rows of a shard, numbers are kept for each person, and tallies of the different values of
some columns. Both are merged over pieces and partials. From them follow the lines of people: one
for each person, with the values that queries use.

Privacy: every row of a person takes part, whatever limits are, and no random choice is made. A line
is a function of the rows of its person, and neighbors differ in the rows of one person: so their
tables of people differ in one line. A query of people adds up lines as a query of rows adds up
rows, with a limit of one line for each person.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from dpcli.data.column import Column, people_columns, row_columns
from dpcli.data.people.person_value import Merge, value_of
from dpcli.engine.cells import with_constant, with_derived
from dpcli.engine.sums.joint_tables import JointTableExpressions
from dpcli.engine.sums.users import TextDictionary, UserTable, smallest_priorities

MERGED: Mapping[Merge, tuple[str, Callable[[pl.Expr], pl.Expr]]] = {
    "sum": ("n", pl.Expr.sum), "least": ("l", pl.Expr.min), "greatest": ("g", pl.Expr.max)
}  # fmt: skip
"""How numbers that are kept become one, and the first letter of their names."""


class PersonNumbers(UserTable):
    """The numbers that are kept of each person, one line for each."""

    def __init__(
        self, columns: Sequence[Column], names: Mapping[Column, str], texts: Sequence[pl.Expr]
    ) -> None:
        self._texts = texts
        self.columns: dict[Column, list[str]] = {}
        self._aggregates, self._merges = list[pl.Expr](), list[pl.Expr]()
        for column in columns:
            own = self.columns.setdefault(column, [])
            for one in value_of(column).kept(names):
                letter, merge = MERGED[one.merge]
                own.append(f"{letter}{len(self._merges)}")
                self._aggregates.append(one.of_rows.alias(own[-1]))
                self._merges.append(merge(pl.col(own[-1])))

    def table(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The numbers of some rows."""
        lines = rows.lazy().with_columns(self._texts).group_by("user").agg(self._aggregates)
        return lines.collect(engine="streaming")

    def gather(self, table: pl.DataFrame) -> pl.DataFrame:
        """One line for each person, from a table that may have several."""
        return table.group_by("user").agg(self._merges)


class PersonTally(UserTable):
    """The different values of each person, each with the number of its rows (`n0`)."""

    def __init__(self, value: pl.Expr, texts: Sequence[pl.Expr]) -> None:
        self._value, self._texts = value, texts

    def table(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The tally of some rows."""
        values = rows.lazy().with_columns(self._texts)
        values = values.select("user", self._value.alias("value")).drop_nulls("value")
        counted = values.group_by("user", "value").agg(pl.len().cast(pl.Int64).alias("n0"))
        return counted.collect(engine="streaming")

    def gather(self, table: pl.DataFrame) -> pl.DataFrame:
        """One line for each person and value, from a table that may have several."""
        return table.group_by("user", "value").agg(pl.col("n0").sum())


class People:
    """The columns of people that queries use, and how lines of people are made.

    `rows` are the names of the columns of rows; `names` are those of the columns of people. Rows
    and lines have numbers of the `dictionary` for private labels. Which label is the first, the
    last or the most frequent depends on the texts, so tables have these.
    """

    def __init__(
        self, columns: Sequence[Column], rows: Mapping[Column, str], dictionary: TextDictionary
    ) -> None:
        wanted, self._dictionary = people_columns(columns), dictionary
        self.names = {column: f"p{index}" for index, column in enumerate(wanted)}
        stated = [column for column in wanted if column.derivation and column.derivation.of_person]
        private = [column for column in row_columns(wanted) if column.is_private]
        texts = [dictionary.texts(pl.col(rows[column])).alias(rows[column]) for column in private]
        self._numbers = PersonNumbers(
            [column for column in stated if not value_of(column).has_tally], rows, texts
        )
        tallies: dict[str, PersonTally] = {}
        self._tallied: dict[Column, PersonTally] = {}
        for column in stated:
            value = value_of(column)
            if value.has_tally:
                tallied = value.tallied(rows)
                tally = tallies.setdefault(str(tallied), PersonTally(tallied, texts))
                self._tallied[column] = tally
        self.tables: tuple[UserTable, ...] = (self._numbers, *tallies.values())

    def lines(self, tables: Mapping[UserTable, pl.DataFrame]) -> pl.LazyFrame:
        """One line for each person: `user`, and the values of the columns of people."""
        lines = tables[self._numbers].lazy()
        for tally in dict.fromkeys(self._tallied.values()):
            kept = (pl.col("value"), pl.col("n0"))
            values = [
                value_of(column).of_kept(kept).alias(self.names[column])
                for column, own in self._tallied.items()
                if own is tally
            ]
            found = tables[tally].lazy().group_by("user").agg(values)
            lines = lines.join(found, on="user", how="left")
        known = {}
        for column in (*self._numbers.columns, *self._tallied):
            known[column] = self.names[column]
            if column in self._tallied:
                value = pl.col(self.names[column])
                if (constant := value_of(column).of_nothing) is not None:
                    value = value.fill_null(constant)
            else:
                kept_names = self._numbers.columns[column]
                value = value_of(column).of_kept([pl.col(name) for name in kept_names])
            if not column.is_private:
                # Sums may need 128 bits before they are clamped.
                value = column.possible(value.cast(pl.Int128)).cast(pl.Int64)
            lines = lines.with_columns(with_constant(value, column).alias(self.names[column]))
        for column in self.names:
            lines = with_derived(lines, column, self.names, known, {})
        named = {name: pl.col(name) for name in self.names.values()}
        for column, name in self.names.items():
            if column.is_private:
                named[name] = self._dictionary.numbers(named[name]).alias(name)
        return lines.select("user", *named.values())


class GroupsOfPeople(UserTable):
    """The groups of each person by the axes of rows, for the queries of one table.

    A table has one line for each person and group: the smallest `priority` of the person's rows
    there, and a value of each axis that lies in the group.
    """

    def __init__(self, expressions: JointTableExpressions, names: Mapping[Column, str]) -> None:
        axes = expressions.table.kind.groups or ()
        self._limit = expressions.table.kind.limits.groups
        # A private label is its own group; scans number them otherwise.
        self._labels = [names[axis.column] for axis in axes if axis.is_private]
        public = [axis for axis in axes if not axis.is_private]
        self._values = list(dict.fromkeys(names[axis.column] for axis in public))
        self._public = {f"k{at}": (axis, names[axis.column]) for at, axis in enumerate(public)}
        self._keys = [*self._public, *self._labels]

    def table(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The groups of some rows."""
        keys = [axis.index(pl.col(of)).alias(name) for name, (axis, of) in self._public.items()]
        inside = [pl.col(name) < len(axis) for name, (axis, _) in self._public.items()]
        inside += [pl.col(name).is_not_null() for name in self._labels]
        columns = ["user", "priority", *dict.fromkeys([*self._values, *self._labels])]
        return self._grouped(rows.lazy().select(*columns, *keys).filter(inside))

    def gather(self, table: pl.DataFrame) -> pl.DataFrame:
        """One line for each person and group, from a table that may have several."""
        return self._grouped(table.lazy())

    def _grouped(self, lines: pl.LazyFrame) -> pl.DataFrame:
        kept = pl.col("priority").min(), *(pl.col(name).min() for name in self._values)
        return lines.group_by("user", *self._keys).agg(kept).collect(engine="streaming")

    def lines(self, table: pl.DataFrame) -> pl.LazyFrame:
        """The groups that are used: as many as allowed, by the smallest priorities."""
        assert self._limit is not None
        return smallest_priorities(table.lazy(), self._limit)
