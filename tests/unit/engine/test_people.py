"""Bounded contributions against the oracle, and the numbers and priorities behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dpcli.columns import NumericColumn
from dpcli.engine import contribution_bounding, group_limits, user_ids
from dpcli.engine.shard import RowSampler, smallest
from dpcli.engine.user_ids import Dictionary, UserIdIndex, grouped_by_user
from dpcli.privacy.relation import PersonUnit, RowUnit
from dpcli.queries import Key, LinearQuery
from dpcli.sampling import entropy
from tests.oracles.crowds import generate
from tests.oracles.files import batches, readability
from tests.oracles.opened import cells_of, engine
from tests.oracles.plain import Answer, Priority, evaluate
from tests.support.streams import Stream

FILES = 200
PER_TEST = 50


def priorities(freeze: Callable[[], None]) -> Priority:
    """The priorities that the engine assigns after the same freezing."""
    freeze()
    draw, people = RowSampler(), UserIdIndex()

    @cache
    def priority(name: str, ordinal: int) -> int:
        number = people.numbers(pl.Series([name]))
        word = people.words(number.to_numpy())
        return int(draw.priorities(word, np.array([ordinal], dtype=np.uint32))[0])

    return priority


@pytest.fixture
def freeze(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Begin the same randomness, each time it is called."""
    return lambda: monkeypatch.setattr(entropy, "source", Stream("people"))


def without_empty(answers: Sequence[Answer]) -> list[Answer]:
    """Private groups whose cells are all zero may be there or not."""
    return [
        {key: cells for key, cells in answer.items() if any(cells)}
        if isinstance(answer, dict)
        else answer
        for answer in answers
    ]


@pytest.mark.parametrize("hurried", [False, True])
@pytest.mark.parametrize("start", batches(FILES, PER_TEST, 100))
def test_people_are_bounded_by_the_written_rules(
    start: int,
    hurried: bool,
    freeze: Callable[[], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever the file, engine and oracle keep the same rows of every user.

    Hurried: many shards that are compacted after every few rows.
    """
    if hurried:
        monkeypatch.setattr(contribution_bounding, "SHARD", 64)
        monkeypatch.setattr(contribution_bounding, "SCATTERED", 3)
        monkeypatch.setattr(contribution_bounding, "WAITING", 1)
        monkeypatch.setattr(group_limits, "PENDING", 1)
    path = tmp_path / "data.csv"
    priority = priorities(freeze)
    for seed in range(start, start + PER_TEST):
        data, unit, asked = generate(seed)
        columns = dict.fromkeys(column for query in asked for column in query.columns)
        queries = [*asked, readability(seed, columns)]
        path.write_bytes(data)
        freeze()
        found = without_empty(engine(queries, unit, path))
        assert found == without_empty(evaluate(queries, data, unit, priority)), seed


@pytest.mark.parametrize("start", batches(200, PER_TEST, 100))
def test_single_rows_have_private_keys_and_distinct_values_too(start: int, tmp_path: Path) -> None:
    """Where every row is protected by itself, engine and oracle agree on new questions."""
    path = tmp_path / "data.csv"
    for seed in range(start, start + PER_TEST):
        data, _, queries = generate(seed)
        asked = [q for q in queries if not (isinstance(q, LinearQuery) and q.totals)]
        path.write_bytes(data)
        found = without_empty(engine(asked, RowUnit(), path))
        assert found == without_empty(evaluate(asked, data)), seed


def test_numbers_are_equal_exactly_when_ids_are() -> None:
    """Ids are compared as texts without blanks around them, across batches."""
    people = UserIdIndex()
    batches = [
        ["1", " 1\t", "01", "+1", "1.0", "-1", "a"],
        ["A", "a ", "9223372036854775807", "9223372036854775808", "", " ", "0", "00", "b", "1"],
    ]
    numbers: dict[str, set[int]] = {}
    for batch in batches:
        found = people.numbers(pl.Series(batch, dtype=pl.String())).to_list()
        for text, number in zip(batch, found, strict=True):
            numbers.setdefault(text.strip(" \t"), set()).add(number)

    assert all(len(each) == 1 for each in numbers.values())
    assert numbers.pop("") == {-(1 << 63)}
    assert len({number for each in numbers.values() for number in each}) == len(numbers)


def test_a_dictionary_keeps_its_numbers_when_no_column_holds_them() -> None:
    """A text met before gets the number it got before, and gives the text back."""
    dictionary = Dictionary()

    def numbers(*texts: str) -> list[int]:
        frame = pl.DataFrame({"t": texts})
        return frame.select(dictionary.numbers(pl.col("t"))).to_series().to_list()

    first = numbers("a", "b")
    assert numbers("c", "b", "a") == [2, *reversed(first)]
    back = pl.DataFrame({"n": [2, None, 0]}).select(dictionary.texts(pl.col("n")))
    assert back.to_series().to_list() == ["c", None, "a"]


def test_words_of_people_do_not_depend_on_who_came_before() -> None:
    """The same id has the same word, whatever number it got."""
    first, second = UserIdIndex(), UserIdIndex()
    first.numbers(pl.Series(["x", "y", "z"]))
    words = [
        people.words(people.numbers(pl.Series(["z", "7"])).to_numpy()).tolist()
        for people in (first, second)
    ]
    assert words[0] == words[1]


@pytest.mark.parametrize("colliding", [False, True])
def test_rows_are_brought_together_by_person_alone(
    colliding: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if mixed words of many people agree, no two people are taken for one."""
    if colliding:
        monkeypatch.setattr(
            user_ids,
            "scattered",
            lambda people: people.view(np.uint64) % np.uint64(3) << np.uint64(62),
        )
    draws = np.random.default_rng(1).integers(-5, 40, 3000)
    found = grouped_by_user(draws)
    whose = draws[found.order]

    assert sorted(found.order.tolist()) == list(range(3000))
    assert len(found.first) == len(set(draws.tolist()))
    for first, length in zip(found.first, found.lengths, strict=True):
        assert len(set(whose[first : first + length].tolist())) == 1
        assert (np.diff(found.order[first : first + length]) > 0).all()
    assert (found.rank == np.arange(3000) - found.first[found.group]).all()


def test_every_row_of_a_person_is_kept_equally_often(tmp_path: Path) -> None:
    """No place in the file is favored: three of ten rows, each in three of ten cases."""
    day = NumericColumn("day", "integer", bounds=(0, 9))
    people, kept = 4000, 3
    lines = [f"p{person},{row}" for row in range(10) for person in range(people)]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(["who,day", *lines, ""]), encoding="utf-8")
    query = LinearQuery(by=(Key(day, (*range(10),)),))
    (counts,) = engine([query], PersonUnit("who", kept, kept, kept), path)
    cells = np.array(counts)

    assert cells.sum() == people * kept
    expected = np.full(10, people * kept / 10)
    assert (((cells - expected) ** 2) / expected).sum() < 40


def test_people_with_neighbouring_ids_keep_rows_of_their_own(tmp_path: Path) -> None:
    """Ids in a row, and dates that follow them: what is kept is as even as chance makes it."""
    day = NumericColumn("day", "integer", bounds=(0, 2020))
    lines = [f"{person},{person + row}" for person in range(2000) for row in range(20)]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(["who,day", *lines, ""]), encoding="utf-8")
    query = LinearQuery(by=(Key(day, (*range(2021),)),))
    for _ in range(4):
        (counts,) = engine([query], PersonUnit("who", 1, 1, 1), path)
        inner = np.array(cells_of(counts)[40:1980])
        assert 0.75 < inner.var() < 1.15


def test_how_priorities_are_compared_does_not_depend_on_other_users() -> None:
    """Priorities that differ in their last bits alone are ordered, however many users there are."""
    priorities = np.array([0b1011, 0b1000, *([5 << 40] * 90)], dtype=np.uint64)
    for people in (1, 2, 3, 40):
        run = np.array(
            [0, 0, *(1 + place // 2 for place in range(2 * people - 2))], dtype=np.uint32
        )
        rank = np.array([0, 1] * people, dtype=np.uint32)
        chosen = smallest(run, rank, priorities[: len(run)], np.uint32(1))
        assert chosen[0] == 1
        assert len(chosen) == people


def test_clamped_totals_do_not_wrap(tmp_path: Path) -> None:
    """Bounds of a person's total that are far from zero add up exactly over people."""
    path, high = tmp_path / "data.csv", 2**62 - 1
    path.write_text("who\n" + "".join(f"p{person}\n" for person in range(50)), encoding="utf-8")
    for low, expected in ((high - 1, 50 * (high - 1)), (-high, 50)):
        query = LinearQuery(totals=(low, high))
        assert engine([query], PersonUnit("who", 1, 1, 1), path) == [[expected]]
