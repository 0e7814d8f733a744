"""Bounded contributions against the oracle, and the numbers and priorities behind them."""

from __future__ import annotations

import gc
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from random import Random
from typing import cast

import numpy as np
import polars as pl
import pytest

from dpcli.data.kinds import Axis
from dpcli.data.labels import CategoryColumn, IdColumn
from dpcli.data.number_columns import IntegerColumn
from dpcli.engine.files import pieces
from dpcli.engine.sums import bounding
from dpcli.engine.sums.aggregate import QueryAggregator
from dpcli.engine.sums.bounding import UserScan
from dpcli.engine.sums.joint_tables import joint_tables, roll_up
from dpcli.engine.sums.users import TextDictionary, UserIdIndex
from dpcli.noise import entropy
from dpcli.numeric.arrays import Array
from dpcli.privacy.unit import Limits, PersonUnit, RowUnit
from dpcli.queries.query import LinearQuery, RowsPerUserQuery
from dpcli.statistics.quality.faults import FirstFaultQuery
from tests.oracles.agreement import agreed
from tests.oracles.files import batches, vectors
from tests.oracles.opened import bounded, cells_of, engine
from tests.oracles.plain import BLANKS, Priority
from tests.oracles.users import generate, less_people, limits_of_each
from tests.support.blocks import compact_often
from tests.support.rules import mostly_extended

BITS = 1 << 8
"""Hashes are drawn from so few that users meet."""

FILES = 200
PER_TEST = 25


@pytest.mark.parametrize("hurried", mostly_extended([False, True], True))
@pytest.mark.parametrize("start", batches(FILES, 10, 10, 20))
def test_people_are_bounded_by_the_written_rules(
    start: int, hurried: bool, priority: Priority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For every file, engine and oracle keep the same rows of every user for each query.

    Queries have limits of their own. With several shards that are compacted after every few rows.
    """
    if hurried:
        compact_often(monkeypatch)
    for seed in range(start, start + 10):
        data, unit, generated = generate(seed)
        columns = dict.fromkeys(column for query in generated for column in query.columns)
        queries = [*generated, *vectors(seed, columns), *less_people(seed, generated)]
        units = limits_of_each(seed, unit, queries)
        agreed(queries, data, tmp_path, units, priority=priority, empty_groups=False)


def test_the_limits_of_a_person_hold_together(priority: Priority, tmp_path: Path) -> None:
    """With every combination of small limits, of people with up to three rows in each group.

    A row in no group, such as that of ward `z`, takes no place of another row.
    """
    ward = CategoryColumn("ward", (("a", "a"), ("b", "b"), ("c", "c")))
    queries = [LinearQuery(by=(Axis(ward),)), LinearQuery()]
    people = ("abcabcabc", "aab", "cbab", "zzazbz", "zzzzc", "bzzzza", "zzzza", "czzzz")
    rows = [f"p{at},{place}\n" for at, wards in enumerate(people) for place in wards]
    every = [PersonUnit("who", *limits) for limits in product((1, 2, 3), (1, 2, 3), (1, 2, 4, 9))]
    for unit in every:
        agreed(queries, f"who,ward\n{''.join(rows)}", tmp_path, unit, priority=priority)
    # The same together, each query with limits of its own.
    pairs = [*product(queries, every)]
    together, units = [query for query, _ in pairs], [unit for _, unit in pairs]
    agreed(together, f"who,ward\n{''.join(rows)}", tmp_path, units, priority=priority)


def test_queries_of_one_scan_are_about_the_same_people() -> None:
    """Their limits may differ, but not the column of ids or what happens to rows without one."""
    one = PersonUnit("who", 1, 1, 1)
    queries = [LinearQuery(), LinearQuery()]
    QueryAggregator(bounded(queries, [one, Limits(3).of(one)]))
    for other in (RowUnit(), replace(one, column="x"), replace(one, singletons_without_id=True)):
        with pytest.raises(ValueError, match="same people"):
            QueryAggregator(bounded(queries, [one, other]))


def test_a_smaller_limit_uses_a_part_of_the_rows_of_a_larger_one(tmp_path: Path) -> None:
    """With random priorities, the row of a limit of one is among those of a limit of two."""
    day, path = IntegerColumn("day", bounds=(0, 9)), tmp_path / "data.csv"
    path.write_text("who,day\n" + "".join(f"p,{row}\n" for row in range(10)))
    query = LinearQuery(by=(Axis(day, (*range(10),)),))
    units = [PersonUnit("who", rows, rows, rows) for rows in (1, 2, 5)]
    for _ in range(20):
        counts = [cells_of(answer) for answer in engine([query] * 3, units, path)]
        assert [*map(sum, counts)] == [1, 2, 5]
        for less, more in pairwise(counts):
            assert all(a <= b for a, b in zip(less, more, strict=True))


@pytest.mark.extended
@pytest.mark.parametrize("start", batches(FILES, PER_TEST, 25, 25))
def test_single_rows_have_private_keys_and_distinct_values_too(start: int, tmp_path: Path) -> None:
    """With the row as unit, engine and oracle agree on these queries, too."""
    for seed in range(start, start + PER_TEST):
        data, _, queries = generate(seed)
        row_queries = [
            query
            for query in queries
            if not (isinstance(query, LinearQuery) and query.user_clamp)
            and not isinstance(query, RowsPerUserQuery | FirstFaultQuery)
        ]
        agreed(row_queries, data, tmp_path, empty_groups=False)


class Halves(RowsPerUserQuery):
    """Half of the users in each bin, rounded down."""

    def answer(self, sums: Array) -> Array:
        """The halves."""
        return sums.ravel() // 2


def test_users_in_bins_are_what_the_query_makes_of_them() -> None:
    """Queries that share the users in bins each give their own answer, and share no memory."""
    queries = [RowsPerUserQuery(starts=(0, 2)), Halves(starts=(0, 2)), Halves(starts=(0, 2))]
    (table,) = joint_tables(bounded(queries, PersonUnit("who", 1, 1, 3)))
    merged = pl.DataFrame({"cell": [0, 1], "s0": [7, 4]})
    answers = [cast("Array", answer) for answer in roll_up(merged, table).values()]

    assert [answer.tolist() for answer in answers] == [[7, 4], [3, 2], [3, 2]]
    assert not np.shares_memory(answers[0], answers[1])


def test_numbers_and_texts_are_equal_exactly_when_ids_are() -> None:
    """Ids are equal if their texts without outer blanks are equal, in all blocks."""
    users = UserIdIndex(IdColumn("who"))
    batches = [
        ["1", " 1\t", "01", "+1", "1.0", "-1", "a", "1e3", "1000"],
        ["A", "a ", "9223372036854775807", "9223372036854775808", "", " ", "0", "00", "b", "1"],
    ]
    actual: dict[str, set[tuple[int | None, str | None]]] = {}
    for batch in batches:
        frame = pl.DataFrame({"t": batch}, schema={"t": pl.String()})
        rows = users.with_users(frame.lazy(), pl.col("t")).select("user", "id").collect().rows()
        for text, row in zip(batch, rows, strict=True):
            actual.setdefault(text.strip(BLANKS), set()).add(row)

    assert all(len(rows) == 1 for rows in actual.values())
    assert actual.pop("") == {(None, None)}
    assert len({row for rows in actual.values() for row in rows}) == len(actual)
    assert all(text in (None, name) for name, rows in actual.items() for _, text in rows)
    assert all((number < 0) != (text is None) for ((number, text),) in actual.values() if number)


@pytest.mark.extended
@pytest.mark.parametrize("start", batches(FILES, PER_TEST, 25, 25))
def test_users_whose_hashes_are_equal_stay_apart(
    start: int, priority: Priority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With hashes of a few bits, scans start again until no two ids have the same hash."""
    begun = []
    drawn = UserIdIndex.with_users

    def few(
        self: UserIdIndex, rows: pl.LazyFrame, cell: pl.Expr, *, are_ids: bool = False
    ) -> pl.LazyFrame:
        begun.append(self)
        user = pl.col("user")
        short = pl.when(user < 0).then(user % -BITS - 1).otherwise(user)
        return drawn(self, rows, cell, are_ids=are_ids).with_columns(short.alias("user"))

    monkeypatch.setattr(UserIdIndex, "with_users", few)
    # With these seeds of hashes, two files or more of each test start again.
    monkeypatch.setattr("secrets.randbits", Random(start + 3).getrandbits)
    files = 0
    for seed in range(start, start + PER_TEST):
        data, unit, generated = generate(seed)
        before = len(set(map(id, begun)))
        agreed(generated, data, tmp_path, unit, priority=priority, empty_groups=False)
        files += len(set(map(id, begun))) > before + 1
    assert files > 1


def test_a_dictionary_keeps_numbers_that_no_column_holds() -> None:
    """A text keeps its number, and the number gives the text back."""
    dictionary = TextDictionary()

    def numbers(*texts: str) -> list[int]:
        frame = pl.DataFrame({"t": texts})
        return frame.select(dictionary.numbers(pl.col("t"))).to_series().to_list()

    first = numbers("a", "b")
    assert numbers("c", "b", "a") == [2, *reversed(first)]
    back = pl.DataFrame({"n": [2, None, 0]}).select(dictionary.texts(pl.col("n")))
    assert back.to_series().to_list() == ["c", None, "a"]


def test_every_row_of_a_person_is_kept_equally_often(tmp_path: Path) -> None:
    """No position in the file is favored: with three of ten rows, each is kept in 30%."""
    day = IntegerColumn("day", bounds=(0, 9))
    people, kept = 4000, 3
    lines = [f"p{person},{row}" for row in range(10) for person in range(people)]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(["who,day", *lines, ""]), encoding="utf-8")
    query = LinearQuery(by=(Axis(day, (*range(10),)),))
    (counts,) = engine([query], PersonUnit("who", kept, kept, kept), path)
    cells = np.array(counts)

    assert cells.sum() == people * kept
    expected = np.full(10, people * kept / 10)
    assert (((cells - expected) ** 2) / expected).sum() < 40


def test_people_with_consecutive_ids_keep_independent_rows(tmp_path: Path) -> None:
    """For consecutive ids with rising dates, the kept rows are as even as chance predicts."""
    day = IntegerColumn("day", bounds=(0, 2020))
    lines = [f"{person},{person + row}" for person in range(2000) for row in range(20)]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(["who,day", *lines, ""]), encoding="utf-8")
    query = LinearQuery(by=(Axis(day, (*range(2021),)),))
    for _ in range(4):
        (counts,) = engine([query], PersonUnit("who", 1, 1, 1), path)
        inner = np.array(cells_of(counts)[40:1980])
        assert 0.75 < inner.var() < 1.15


def test_no_two_rows_have_the_same_priority(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if all random bytes are equal, because a tie could keep an extra row."""
    monkeypatch.setattr(entropy, "source", bytes)
    priorities, rows = bounding.Priorities(), pl.DataFrame({"x": range(1000)})
    actual = [value for _ in range(3) for value in priorities.of(rows).to_list()]

    assert len(set(actual)) == 3000


def test_priorities_are_random_in_their_leading_bits() -> None:
    """The order of two priorities does not depend on the order of the rows in the file."""
    actual = bounding.Priorities().of(pl.DataFrame({"x": range(20_000)})).to_numpy()
    assert abs((actual[1:] > actual[:-1]).mean() - 0.5) < 0.02
    # Numbers of rows are in the low bits alone.
    leading = actual >> np.uint64(bounding.ROW_COUNT_BITS)
    assert abs(leading.mean() / 2 ** (64 - bounding.ROW_COUNT_BITS) - 0.5) < 0.02


def test_clamped_totals_do_not_wrap(tmp_path: Path) -> None:
    """Bounds far from zero on a person's total add up exactly over people."""
    path, high = tmp_path / "data.csv", 2**62 - 1
    path.write_text("who\n" + "".join(f"p{person}\n" for person in range(50)), encoding="utf-8")
    for low, expected in ((high - 1, 50 * (high - 1)), (-high, 50)):
        query = LinearQuery(user_clamp=(low, high))
        assert engine([query], PersonUnit("who", 1, 1, 1), path) == [[expected]]


def test_pieces_that_were_read_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A query holds the text of its piece, and no query waits for the search for cycles."""
    path, queries = tmp_path / "data.csv", list[int]()
    path.write_text("who,day\n" + "p,1\n" * 3_000, encoding="utf-8")
    add = UserScan.add

    def counted(self: UserScan, rows: pl.DataFrame) -> None:
        queries.append(sum(isinstance(known, pl.LazyFrame) for known in gc.get_objects()))
        add(self, rows)

    monkeypatch.setattr(UserScan, "add", counted)
    monkeypatch.setattr(pieces, "PIECE", 1_000)
    day = IntegerColumn("day", bounds=(0, 9))
    gc.disable()
    # What other tests made is not looked at.
    gc.freeze()
    try:
        engine([LinearQuery(by=(Axis(day, (*range(10),)),))], PersonUnit("who", 1, 1, 1), path)
    finally:
        gc.unfreeze()
        gc.enable()

    assert len(queries) > 10
    assert max(queries) <= min(queries) + 5
