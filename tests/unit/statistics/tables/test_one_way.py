"""Tables of single columns with K-norm noise: changes by neighbors, and when it is used."""

from __future__ import annotations

from itertools import chain, combinations_with_replacement, product

import numpy as np
import pytest

from dpcli.data.filters import InRanges
from dpcli.data.kinds import Axis
from dpcli.data.labels import BooleanColumn
from dpcli.data.number_columns import IntegerColumn
from dpcli.privacy.norms import TABLES_NORMS
from dpcli.privacy.unit import Neighbors, PersonUnit, Relation, RowUnit, Unit
from dpcli.queries.one_way import OneWayQuery
from dpcli.statistics.tables.one_way import OneWayTables
from tests.support.norms import norm_of_tables
from tests.support.surveys import planned_statistic

ROW = RowUnit()
THREE_ROWS = PersonUnit("id", 3, 3, 3)


def axes(*sizes: int, missing: int | None = None) -> tuple[Axis, ...]:
    """An axis of whole numbers for each table."""
    return tuple(
        Axis(IntegerColumn(f"c{at}", bounds=(0, size - 1), missing=missing), range(size))
        for at, size in enumerate(sizes)
    )


def added_tables(sizes: tuple[int, ...], unit: Unit, *, skips: bool) -> set[tuple[int, ...]]:
    """All tables that a unit can add: for a person, any rows of each table, as many in all."""
    rows = range(0 if skips else 1, 2) if isinstance(unit, RowUnit) else range(unit.max_rows + 1)
    found = set()
    for count in rows:
        each = [
            [
                tuple(cells.count(cell) for cell in range(size))
                for cells in combinations_with_replacement(range(size), count)
            ]
            for size in sizes
        ]
        found |= {tuple(chain(*tables)) for tables in product(*each)}
    return found


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("norm", TABLES_NORMS)
@pytest.mark.parametrize("sizes", [(2, 2), (2, 3), (1, 2, 2), (3, 3)])
@pytest.mark.parametrize("skips", [False, True])
@pytest.mark.parametrize("unit", [ROW, PersonUnit("id", 2, 2, 2), THREE_ROWS])
def test_the_norm_of_tables_changes_as_stated_and_no_more(
    neighbors: Neighbors, norm: str, sizes: tuple[int, ...], skips: bool, unit: Unit
) -> None:
    """By all neighbors; noise with fixed sums is refused where sums may change."""
    query = OneWayQuery(items=axes(*sizes, missing=None if skips else 0), norm=norm)
    relation = Relation(unit, neighbors)
    exchanged = neighbors is Neighbors.CHANGE_ONE
    if norm == "exchanged-tables" and (skips or not exchanged or unit != ROW):
        with pytest.raises(ValueError, match="the sum of a table may change"):
            query.sensitivity(relation)
        return
    vectors = added_tables(sizes, unit, skips=skips)
    others = vectors if exchanged else {(0,) * sum(sizes)}
    changes = (
        [a - b for a, b in zip(one, other, strict=True)] for one in vectors for other in others
    )
    reached = max(norm_of_tables(norm, sizes, change) for change in changes)
    assert reached == query.sensitivity(relation).l1


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("norm", ["tables", "moved-tables"])
def test_rows_that_move_to_another_group_change_two_vectors(
    neighbors: Neighbors, norm: str
) -> None:
    """A removal from one group and an addition to another one have a norm of one each."""
    group = Axis(BooleanColumn("g", (("0", "0"), ("1", "1"))))
    query = OneWayQuery(by=(group,), items=axes(2, 2), norm=norm)
    moved = 2 if neighbors is Neighbors.CHANGE_ONE else 1
    assert query.sensitivity(Relation(ROW, neighbors)).l1 == moved
    fixed = OneWayQuery(by=(group,), items=axes(2, 2, missing=0), norm="exchanged-tables")
    with pytest.raises(ValueError, match="the sum of a table may change"):
        fixed.sensitivity(Relation(ROW, Neighbors.CHANGE_ONE))


@pytest.mark.parametrize("by_group", [False, True])
@pytest.mark.parametrize(
    "unit", [PersonUnit("id", 1, 2, 2), PersonUnit("id", 2, 1, 2), PersonUnit("id", 2, 2, 2)]
)
def test_tables_that_may_use_other_rows_of_a_person_are_refused(
    by_group: bool, unit: PersonUnit
) -> None:
    """Limits on groups, and rows in several groups, make the sums of tables differ."""
    group = Axis(BooleanColumn("g", (("0", "0"), ("1", "1"))))
    query = OneWayQuery(by=(group,) * by_group, items=axes(2, 2), norm="tables")
    if not by_group and not unit.limits_groups:
        assert query.sensitivity(Relation(unit, Neighbors.ADD_REMOVE)).l1 == unit.max_rows
        return
    with pytest.raises(ValueError, match="other rows of a person"):
        query.sensitivity(Relation(unit, Neighbors.ADD_REMOVE))


def test_tables_of_other_rows_are_refused() -> None:
    """A label that an axis lacks is in no cell, and a single table needs no other norm."""
    two = axes(2, 2)
    lacking = Axis(two[0].column, range(2), chosen=(0,))
    for items, norm in (((lacking, two[1]), "tables"), (two[:1], "tables"), (two, "cube")):
        with pytest.raises(ValueError, match="table"):
            OneWayQuery(items=items, norm=norm)


def test_the_answer_has_the_tables_of_each_group_in_order() -> None:
    """Each part is a table, whose rows need the values of all columns."""
    group = Axis(BooleanColumn("g", (("0", "0"), ("1", "1"))))
    items = axes(2, 3)
    passing = (InRanges(IntegerColumn("c9", bounds=(0, 1)), ((1, 1),)),)
    query = OneWayQuery(by=(group,), items=items, where=passing, norm="tables")
    assert [set(part.present) for part in query.parts] == [{axis.column for axis in items}] * 2
    assert {part.where for part in query.parts} == {passing}
    first, second = np.arange(4), np.arange(10, 16)
    assert query.combined(first, second).tolist() == [0, 1, 10, 11, 12, 2, 3, 13, 14, 15]


def spec(
    *sizes: int, unit: str = "row", neighbors: str = "add-remove", missing: bool = False,
    of_entry: str = "", privacy: str = "", columns: str = "",
) -> str:  # fmt: skip
    """A spec with one table for each column."""
    names = [f"c{at}" for at in range(len(sizes))]
    lines = (
        f"  {name}: {{type: integer, bounds: [0, {size - 1}]{', missing: 0' * missing}}}"
        for name, size in zip(names, sizes, strict=True)
    )
    return f"""dpcli: 1
dataset: d
privacy: {{unit: {unit}, neighbors: {neighbors}, budget: {{epsilon: 1}}{privacy}}}
quality: none
columns:
{chr(10).join(lines)}
{columns}
statistics:
  - {{name: t, statistic: marginals, columns: [{", ".join(names)}], ways: 1, epsilon: 1{of_entry}}}
"""


@pytest.mark.parametrize(
    ("text", "norm"),
    [
        (spec(5, 4, 6, 2), "tables-5-4-6-2"),
        (spec(5, 4, 6, 2, neighbors="change-one"), "moved-tables-5-4-6-2"),
        (spec(5, 4, 6, 2, neighbors="change-one", missing=True), "exchanged-tables-5-4-6-2"),
        (spec(2, 2, neighbors="change-one", of_entry=", where: {c2: [true]}",
              columns="  c2: {type: boolean}"), "tables-2-2"),
        (spec(2, 2, of_entry=", where: {c0: [1]}"), None),
        (spec(2, 2, neighbors="change-one", of_entry=", by: [c2]", columns="  c2: {type: boolean}"),
         "tables-2-2"),
        (spec(3, 3, unit="{column: id, max_rows: 2}", columns="  id: {type: id}"), "tables-3-3"),
        # Only without a limit on groups do all tables use as many rows of a person.
        (spec(3, 3, unit="{column: id, max_rows: 2, max_groups: 1}", columns="  id: {type: id}"),
         None),
        (spec(20, 20), "tables-20-20"),
        (spec(2, 2, of_entry=", by: [g, h]", columns="  g: {type: integer, bounds: [0, 99]}\n"
              "  h: {type: integer, bounds: [0, 99]}"), None),
        (spec(60, 60), None),
        (spec(5, 4, of_entry=", mechanism: gaussian, delta: 1e-6"), None),
    ],
)  # fmt: skip
def test_tables_of_few_cells_share_noise_where_it_is_less(text: str, norm: str | None) -> None:
    """Otherwise they have noise of their own: it is hardly larger for tables of many cells."""
    planned = planned_statistic(text)
    assert isinstance(planned.design, OneWayTables) == (norm is not None)
    if norm is not None:
        assert planned.queries[0].weighted.query.vectors == (
            sum(map(int, norm.split("-tables-")[-1].removeprefix("tables-").split("-"))),
            norm,
        )
