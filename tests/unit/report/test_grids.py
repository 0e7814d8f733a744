"""The tables of a page: each number is in one of them, under its labels."""

from __future__ import annotations

from itertools import product

import pytest

from dpcli.report.grids import MAX_ACROSS, Column, Grid, grids, single_numbers
from dpcli.report.numbers import CellText
from dpcli.statistics.postprocessing import Flag


def column(
    *labels: tuple[str, ...], name: str = "n", totals: str = "", item: bool = False
) -> Column:
    """Numbers with these labels: the first is 0, and each one is greater by 1."""
    keys = [label[:-1] if item else label for label in labels]
    cells = [
        CellText(name, dict(zip("abcd", key, strict=False)), label[-1] if item else "", str(at),
                 str(at - 1), str(at + 1), Flag.NONE)
        for at, (key, label) in enumerate(zip(keys, labels, strict=True))
    ]  # fmt: skip
    return Column(
        name, "", tuple("abcd")[: len(labels[0])], cells,
        drawn=True, bars=True, bounds=(), totals=totals, dates=False,
    )  # fmt: skip


def numbers(grid: Grid) -> list[list[str]]:
    """The numbers of a table, line by line."""
    return [[cell.value for cell in cells] for _, cells in grid.lines]


def test_the_labels_of_the_last_key_are_columns() -> None:
    """Each line has a number for each of them, also with three keys."""
    (grid,) = grids([column(*product("xy", "pq", "123"))])

    assert (grid.names, grid.across, grid.columns) == (("a", "b"), "c", ("1", "2", "3"))
    assert numbers(grid) == [["0", "1", "2"], ["3", "4", "5"], ["6", "7", "8"], ["9", "10", "11"]]
    assert [labels for labels, _ in grid.lines] == [*product("xy", "pq")]


def test_a_key_with_many_labels_names_lines() -> None:
    """The other key is across if its labels are few; if both have many, neither is."""
    many = tuple("abcdefghij"[: MAX_ACROSS + 1])
    (turned,) = grids([column(*product("xy", many))])
    (both,) = grids([column(*product(many, many))])

    assert (turned.columns, turned.names) == (("x", "y"), ("b",))
    assert numbers(turned)[0] == ["0", str(len(many))]
    assert both.alone and len(both.lines) == len(many) ** 2


def test_groups_that_are_not_all_shown_name_lines() -> None:
    """Of private groups, a line has no number for some labels."""
    (grid,) = grids([column(("x", "1"), ("x", "2"), ("y", "2"))])

    assert grid.alone and numbers(grid) == [["0"], ["1"], ["2"]]


def test_statistics_with_equal_labels_share_a_table() -> None:
    """Others have tables of their own."""
    same, other = column(("x",), ("y",), name="m"), column(("x",), ("z",), name="o")
    shared, alone = grids([column(("x",), ("y",)), same, other])

    assert shared.columns == ("n", "m") and numbers(shared) == [["0", "0"], ["1", "1"]]
    assert alone.alone and [labels for labels, _ in alone.lines] == [("x",), ("z",)]


def test_marginals_have_a_table_for_each_pair_of_keys() -> None:
    """The key over which numbers are totals is not in it."""
    pairs = [*product("xy", "pq", ["all"]), *product("xy", ["all"], "12"), ("all", "all", "all")]
    first, second, total = grids([column(*pairs, totals="all")])

    assert (first.names, first.across, first.columns) == (("a",), "b", ("p", "q"))
    assert (second.names, second.across, second.columns) == (("a",), "c", ("1", "2"))
    assert numbers(total) == [["8"]]


def test_totals_of_all_groups_stay_in_their_table() -> None:
    """They are its last line and column."""
    (grid,) = grids([column(*product(["x", "all"], ["1", "2", "all"]), totals="all")])

    assert grid.columns == ("1", "2", "all") and len(grid.lines) == 2


@pytest.mark.parametrize("item", [True, False])
def test_no_number_is_lost_where_labels_are_equal(item: bool) -> None:
    """Ranks of a top k that have no label are lines of their own."""
    (grid,) = grids([column(("no label",), ("no label",), ("q",), item=item)])

    assert numbers(grid) == [["0"], ["1"], ["2"]]


def test_numbers_without_keys_share_a_table() -> None:
    """A line is named by the statistic and the item."""
    parts = column(("low",), ("high",), name="m", item=True)
    (grid,) = grids([single_numbers([parts, column((), name="n")])])

    assert grid.scale is None
    assert [labels for labels, _ in grid.lines] == [("m", "low"), ("m", "high"), ("n", "all")]
